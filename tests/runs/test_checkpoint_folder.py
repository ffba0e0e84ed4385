"""Checkpoints as folders: what counts, what is passed over, what is removed."""

import errno
import json
from pathlib import Path

import pytest

from cotrain.runs.checkpoint_folder import (
    checkpoint_at,
    complete_checkpoints,
    latest_complete,
    set_aside_later,
    write_checkpoint,
)
from cotrain.runs.durable import RunFolderError, RunFolderRefusedError

OPTIMISER = "optimizers/planner.safetensors"


@pytest.fixture
def root(tmp_path, fill) -> Path:
    """Checkpoints of steps 2 and 4."""
    for step in (2, 4):
        write_checkpoint(tmp_path, step, fill(str(step)), keep=3)
    return tmp_path


def names(root: Path) -> list[str]:
    return sorted(path.name for path in root.iterdir())


def test_the_mark_lists_every_file_with_size_and_hash(root):
    mark = json.loads((root / "step_000004" / "COMPLETE").read_text())
    assert mark["step"] == 4
    assert set(mark["files"]) == {"state.json", OPTIMISER, "policies/planner/model.safetensors"}
    assert mark["files"][OPTIMISER]["bytes"] == 200
    assert len(mark["files"][OPTIMISER]["sha256"]) == 64


def test_a_file_cut_to_half_falls_back_to_the_checkpoint_before_and_is_named(root):
    path = root / "step_000004" / OPTIMISER
    path.write_bytes(path.read_bytes()[:100])
    latest = latest_complete(root)
    assert latest.checkpoint is not None
    assert latest.checkpoint.step == 2
    [warning] = latest.warnings
    assert f"{OPTIMISER} has 100 bytes instead of 200" in warning
    assert "step_000004" in warning


def test_changed_contents_of_the_same_size_fall_back_and_are_named(root):
    path = root / "step_000004" / OPTIMISER
    path.write_bytes(b"x" * path.stat().st_size)
    latest = latest_complete(root)
    assert latest.checkpoint is not None
    assert latest.checkpoint.step == 2
    assert OPTIMISER in latest.warnings[0]


@pytest.mark.parametrize(
    ("spoil", "named"),
    [
        (lambda folder: (folder / OPTIMISER).unlink(), f"{OPTIMISER} is missing"),
        (lambda folder: (folder / "policies/b.safetensors").write_text("b"), "b.safetensors"),
        (lambda folder: (folder / "COMPLETE").unlink(), "no COMPLETE mark"),
        (lambda folder: (folder / "COMPLETE").write_text('{"step": 4'), "COMPLETE cannot be read"),
        (lambda folder: (folder / "COMPLETE").write_text("[]"), "COMPLETE cannot be read"),
        (
            lambda folder: (folder / "COMPLETE").write_text('{"step": 9, "files": {}}'),
            "that of step 9",
        ),
    ],
)
def test_a_spoilt_checkpoint_is_passed_over_with_the_reason(root, spoil, named):
    spoil(root / "step_000004")
    latest = latest_complete(root)
    assert latest.checkpoint is not None
    assert latest.checkpoint.step == 2
    assert named in latest.warnings[0]
    assert [c.step for c in complete_checkpoints(root)] == [2]


def test_a_file_managers_hidden_file_does_not_spoil_a_checkpoint(root):
    (root / "step_000004" / ".DS_Store").write_text("x")
    latest = latest_complete(root)
    assert latest.checkpoint is not None
    assert latest.checkpoint.step == 4


def test_without_a_complete_checkpoint_there_is_none_and_every_bad_one_is_named(root):
    for step in (2, 4):
        (root / f"step_00000{step}" / "state.json").unlink()
    latest = latest_complete(root)
    assert latest.checkpoint is None
    assert len(latest.warnings) == 2


def test_a_missing_root_has_no_checkpoints(tmp_path):
    assert complete_checkpoints(tmp_path / "checkpoints") == []
    assert latest_complete(tmp_path / "checkpoints").checkpoint is None


def test_keeping_one_leaves_the_newest_alone(root, fill):
    write_checkpoint(root, 6, fill("6"), keep=1)
    assert names(root) == ["step_000006"]


def test_keeping_two_drops_the_oldest_by_number_not_by_name(tmp_path, fill):
    for step in (999_999, 1_000_000, 1_000_001):
        write_checkpoint(tmp_path, step, fill("x"), keep=2)
    assert [c.step for c in complete_checkpoints(tmp_path)] == [1_000_000, 1_000_001]


def test_keeping_none_is_refused_with_the_key(tmp_path, fill):
    with pytest.raises(ValueError, match=r"run\.keep_checkpoints is 0"):
        write_checkpoint(tmp_path, 2, fill("2"), keep=0)


def test_a_leftover_of_the_same_step_is_replaced(root, fill):
    (root / "step_000006").mkdir()
    (root / "step_000006" / "model.safetensors").write_text("half")
    write_checkpoint(root, 6, fill("6"), keep=3)
    latest = latest_complete(root)
    assert latest.checkpoint is not None
    assert latest.checkpoint.step == 6
    assert names(root) == ["step_000002", "step_000004", "step_000006"]


def test_a_checkpoint_just_written_is_kept_beside_damaged_ones_of_later_steps(root, fill):
    (root / "step_000004" / "state.json").unlink()
    write_checkpoint(root, 3, fill("3"), keep=1)
    assert (root / "step_000003").is_dir()


def test_a_failing_fill_leaves_the_former_checkpoints_and_no_trace(root):
    def fail(folder: Path) -> None:
        (folder / "state.json").write_text("{}")
        raise RuntimeError("no gradient")

    with pytest.raises(RuntimeError, match="no gradient"):
        write_checkpoint(root, 6, fail, keep=1)
    assert names(root) == ["step_000002", "step_000004"]


def test_a_full_disk_while_saving_names_the_file_and_leaves_the_former_checkpoints(root):
    def fill_up(folder: Path) -> None:
        (folder / "state.json").write_text("{}")
        raise OSError(errno.ENOSPC, "No space left on device", str(folder / "model.safetensors"))

    with pytest.raises(RunFolderError, match=r"model\.safetensors: No space left .* --resume"):
        write_checkpoint(root, 6, fill_up, keep=1)
    assert names(root) == ["step_000002", "step_000004"]


def test_later_checkpoints_are_set_aside_until_their_step_is_saved_again(root, fill):
    assert [path.name for path in set_aside_later(root, 2)] == ["step_000004.damaged"]
    latest = latest_complete(root)
    assert latest.checkpoint is not None
    assert (latest.checkpoint.step, latest.warnings) == (2, ())
    write_checkpoint(root, 4, fill("again"), keep=3)
    assert names(root) == ["step_000002", "step_000004"]


def test_a_checkpoint_is_found_by_its_mark_under_any_name(root):
    moved = (root / "step_000004").rename(root / "best")
    assert checkpoint_at(moved).step == 4


def test_a_folder_that_is_no_checkpoint_is_refused(tmp_path):
    with pytest.raises(RunFolderRefusedError, match="is no checkpoint"):
        checkpoint_at(tmp_path)


def test_a_damaged_checkpoint_is_refused_with_the_file(root):
    (root / "step_000004" / "state.json").write_text("")
    with pytest.raises(RunFolderRefusedError, match=r"state\.json has 0 bytes"):
        checkpoint_at(root / "step_000004")
