"""Hundreds of hostile programs in one sandbox, and what they left behind: `sandbox.py --soak`.

Memory is this process's, so it should be a process of its own.
"""

import ctypes
import json
import os
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from dataclasses import dataclass
from itertools import cycle, islice
from pathlib import Path

from hostile import HOSTILE

from cotrain.environments.sandbox import Limits
from cotrain.environments.sandbox.bubblewrap import FIRST_USER, NUM_USERS
from cotrain.environments.sandbox.pool import BubblewrapSandbox

LEFT_BEHIND = ("leftover", "big", "f0", "own-session")
SOAK_LIMITS = Limits(seconds=1.0, memory_bytes=2**27, file_bytes=2**22)
TRIM_THRESHOLD, MMAP_THRESHOLD = -1, -3  # of glibc's malloc.h
MAY_KEEP_BYTES = 2**16


@dataclass(frozen=True)
class Soak:
    """What hostile programs did, and what was left of them when the sandbox had been closed.

    `grown_bytes` is what this process holds more at the end than halfway, free memory aside.
    """

    statuses: Counter[str]
    broke_out: list[str]
    survivors: list[str]
    zombies: list[str]
    files_left: list[str]
    descriptors_left: int
    grown_bytes: int
    seconds: float

    def as_json(self) -> str:
        """The figures, on one line."""
        return json.dumps(vars(self))

    def as_text(self) -> str:
        """The figures, a line each."""
        names = ("broke_out", "survivors", "zombies", "files_left")
        lists = [f"{name:17}{len(getattr(self, name))} {getattr(self, name)[:3]}" for name in names]
        return "\n".join(
            [
                f"{'programs':17}{self.statuses.total()} in {self.seconds:.0f} s: "
                + ", ".join(f"{count} {status}" for status, count in self.statuses.items()),
                *lists,
                f"{'descriptors_left':17}{self.descriptors_left}",
                f"{'grown_bytes':17}{self.grown_bytes}",
            ]
        )


def soak(programs: int, workers: int) -> Soak:
    """Runs this many hostile programs, every kind in turn, and looks at what is left."""
    _keep_no_freed_memory()
    began, users = time.monotonic(), _users(workers)
    processes, descriptors = set(_processes()), _num_descriptors()
    names = list(islice(cycle(HOSTILE), programs))
    sandbox = BubblewrapSandbox(workers, SOAK_LIMITS)
    with ThreadPoolExecutor(workers) as threads, closing(sandbox):

        def one(name: str) -> tuple[str, str]:
            run = sandbox.run(HOSTILE[name], "#SECRET-OF-ANOTHER-PROGRAM\n")
            return run.status, name if "BROKE OUT" in run.stdout + run.stderr else ""

        first = list(threads.map(one, names[: programs // 2]))
        held = _resident_bytes()
        runs = first + list(threads.map(one, names[programs // 2 :]))
        grown = _resident_bytes() - held
    new = {line: path for path, line in _processes().items() if path not in processes}
    return Soak(
        statuses=Counter(status for status, _ in runs),
        broke_out=[name for _, name in runs if name],
        survivors=[line for line, path in new.items() if _is_ours(line, path, users)],
        zombies=[str(path) for path in _processes() if _is_zombie_child(path)],
        files_left=[*_files_left(), *_segments_left()],
        descriptors_left=_num_descriptors() - descriptors,
        grown_bytes=grown,
        seconds=time.monotonic() - began,
    )


def _keep_no_freed_memory() -> None:
    """Has the allocator give what is freed back to the system, so that the rest is held by us.

    By itself it keeps, for each thread, about as much as the thread's largest buffers, once held.
    """
    allocator = ctypes.CDLL(None)
    for option in (TRIM_THRESHOLD, MMAP_THRESHOLD):
        if not allocator.mallopt(option, MAY_KEEP_BYTES):
            raise RuntimeError(f"the allocator refuses its option {option}")


def _users(workers: int) -> set[int]:
    """The users that programs ran as, where that says whose they are."""
    numbers = {FIRST_USER + (os.getpid() + place) % NUM_USERS for place in range(2 * workers)}
    return numbers if os.geteuid() == 0 else set()


def _processes() -> dict[Path, str]:
    found: dict[Path, str] = {}
    for path in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            found[path] = (path / "cmdline").read_bytes().replace(b"\0", b" ").decode()
    return found


def _is_ours(line: str, path: Path, users: set[int]) -> bool:
    """Whether a new process is a program's, by its user where that is known, else by its words."""
    with suppress(OSError):
        return path.stat().st_uid in users if users else "own-session" in line
    return False


def _is_zombie_child(path: Path) -> bool:
    with suppress(OSError):
        state, parent = (path / "stat").read_text().rpartition(")")[2].split()[:2]
        return state == "Z" and int(parent) == os.getpid()
    return False


def _files_left() -> Iterator[str]:
    for folder in ("/tmp", "/dev/shm", "/"):
        yield from (f"{folder}/{name}" for name in LEFT_BEHIND if Path(folder, name).exists())


def _segments_left() -> list[str]:
    lines = Path("/proc/sysvipc/shm").read_text().splitlines()[1:]
    return [line for line in lines if line.split()[0] == "4711"]


def _num_descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


def _resident_bytes() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
