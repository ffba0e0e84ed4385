"""Runs an action again and again, each time in a fresh folder, killed one file operation later.

    python killed_anywhere.py ACTION FOLDER

Every call that opens, renames or removes a file is an audit event of Python. Child number n ends
itself with SIGKILL at its n-th event, and leaves FOLDER/n behind; the last child lives to the end.
The last line of the output is the number of children.
"""

import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path

from cotrain.runs.checkpoint_folder import write_checkpoint
from cotrain.runs.store import RunStore

WATCHED = ("open", "os.rename", "os.remove", "os.rmdir", "os.mkdir", "os.truncate")


def fill(step: int) -> Callable[[Path], None]:
    """Writes a checkpoint of two files that tell which save they are of."""

    def write(folder: Path) -> None:
        (folder / "policies").mkdir()
        (folder / "policies" / "model.safetensors").write_text(f"weights {step}")
        (folder / "state.json").write_text(f"state {step}")

    return write


def save_second(folder: Path) -> Callable[[], object]:
    """The save of step 4 after that of step 2, keeping one."""
    write_checkpoint(folder, 2, fill(2), keep=1)
    return lambda: write_checkpoint(folder, 4, fill(4), keep=1)


def save_again(folder: Path) -> Callable[[], object]:
    """The save of step 2 over a complete folder of step 2."""
    write_checkpoint(folder, 2, fill(2), keep=1)
    return lambda: write_checkpoint(folder, 2, fill(4), keep=1)


def save_over_half(folder: Path) -> Callable[[], object]:
    """The save of step 4 over a folder of step 4 that has no mark."""
    write_checkpoint(folder, 2, fill(2), keep=1)
    (folder / "step_000004").mkdir()
    fill(3)(folder / "step_000004")
    return lambda: write_checkpoint(folder, 4, fill(4), keep=1)


def cut(folder: Path) -> Callable[[], object]:
    """The cut of a run of four steps to its checkpoint of step 2."""
    store = RunStore.create(folder / "run", {}, {})
    for step in (1, 2, 3, 4):
        store.append_metrics({"step": step})
        store.append_evaluation({"step": step, "method": "at_grpo", "split": "test", "turns": 4})
        if step % 2 == 0:
            store.write_checkpoint(step, fill(step), keep=2)
    return lambda: store.cut_to(2)


def create(folder: Path) -> Callable[[], object]:
    """The beginning of a run."""
    return lambda: RunStore.create(folder / "run", {"run": {"seed": 1}}, {})


ACTIONS = {
    action.__name__: action for action in (save_second, save_again, save_over_half, cut, create)
}


def kill_at(event_number: int) -> None:
    """From now on, SIGKILL at this event, counted from 1."""
    seen = 0

    def hook(event: str, _: tuple[object, ...]) -> None:
        nonlocal seen
        if event not in WATCHED:
            return
        seen += 1
        if seen == event_number:
            os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(hook)


def main(action: str, root: Path) -> None:
    """Forks one child after the other until one is not killed."""
    number, status = 0, 1
    while status != 0:
        number += 1
        folder = root / str(number)
        folder.mkdir()
        child = os.fork()
        if child == 0:
            act = ACTIONS[action](folder)
            kill_at(number)
            act()
            os._exit(0)
        _, status = os.waitpid(child, 0)
        if not (status == 0 or os.WTERMSIG(status) == signal.SIGKILL):
            sys.exit(f"child {number} ended with status {status}")
    print(number)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
