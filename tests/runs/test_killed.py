"""Whatever file operation a kill comes at, the run folder can be trusted afterwards."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from cotrain.runs.checkpoint_folder import complete_checkpoints, latest_complete, write_checkpoint
from cotrain.runs.store import RunFolder, RunStore

KILLED_ANYWHERE = Path(__file__).with_name("killed_anywhere.py")
SAVES = ("save_second", "save_again", "save_over_half")


def folders_after_kills(action: str, root: Path) -> list[Path]:
    done = subprocess.run(
        [sys.executable, KILLED_ANYWHERE, action, root], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return [root / str(number) for number in range(1, int(done.stdout.split()[-1]) + 1)]


@pytest.mark.parametrize("action", SAVES)
def test_kill_anywhere_in_a_save_leaves_the_old_or_the_new_checkpoint_complete(action, tmp_path):
    folders = folders_after_kills(action, tmp_path)
    found = []
    for folder in folders:
        latest = latest_complete(folder)
        assert latest.checkpoint is not None, folder
        state = (latest.checkpoint.path / "state.json").read_text()
        weights = (latest.checkpoint.path / "policies" / "model.safetensors").read_text()
        assert state.split()[1] == weights.split()[1]
        found.append(state)
    assert found == sorted(found)
    assert {found[0], found[-1]} == {"state 2", "state 4"}
    assert len(folders) > 10


@pytest.mark.parametrize("action", SAVES)
def test_save_after_a_kill_anywhere_succeeds_and_leaves_nothing_else(action, tmp_path):
    for folder in folders_after_kills(action, tmp_path):
        write_checkpoint(folder, 4, lambda new: (new / "state.json").write_text("again"), keep=1)
        assert [path.name for path in folder.iterdir()] == ["step_000004"]
        assert (folder / "step_000004" / "state.json").read_text() == "again"


def test_kill_anywhere_in_a_cut_is_healed_by_cutting_again(tmp_path):
    for folder in folders_after_kills("cut", tmp_path):
        with RunStore.open(folder / "run") as store:
            latest = latest_complete(store.checkpoints).checkpoint
            assert latest is not None
            store.cut_to(latest.step)
            steps = list(range(1, latest.step + 1))
            assert [row["step"] for row in store.metrics()] == steps
            assert [row["step"] for row in store.evaluations()] == steps


def test_kill_anywhere_in_the_beginning_leaves_no_run_or_a_whole_one(tmp_path):
    for folder in folders_after_kills("create", tmp_path):
        run = folder / "run"
        if (run / "config.json").exists():
            assert RunFolder(run).config() == {"run": {"seed": 1}}
            assert RunFolder(run).manifest() == {}
        else:
            RunStore.create(run, {"run": {"seed": 2}}, {}).close()


def test_kill_in_the_middle_of_a_checkpoint_resumes_from_the_one_before(tmp_path, fill):
    write_checkpoint(tmp_path, 2, fill("two"), keep=3)
    script = (
        "import sys; from pathlib import Path\n"
        "from cotrain.runs.checkpoint_folder import write_checkpoint\n"
        "def fill(folder):\n"
        "    (folder / 'model.safetensors').write_text('half')\n"
        "    print('in the middle', flush=True)\n"
        "    sys.stdin.read()\n"
        f"write_checkpoint(Path({str(tmp_path)!r}), 4, fill, keep=3)\n"
    )
    child = subprocess.Popen(
        [sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert child.stdout is not None
    assert child.stdout.readline() == "in the middle\n"
    assert any("000004" in path.name for path in tmp_path.iterdir())
    child.send_signal(signal.SIGKILL)
    child.communicate()

    latest = latest_complete(tmp_path).checkpoint
    assert latest is not None
    assert latest.step == 2
    write_checkpoint(tmp_path, 4, fill("four"), keep=3)
    assert [c.step for c in complete_checkpoints(tmp_path)] == [2, 4]
    assert not [path.name for path in tmp_path.iterdir() if path.name.startswith(".")]
