"""The run folder: whole rows, once and in order; one writer; errors that say what to do."""

import errno
import json
import os
import resource
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

import pytest

from cotrain.runs.durable import RunFolderError, RunFolderRefusedError, chosen, reported
from cotrain.runs.store import RunFolder, RunStore


def evaluation(step: int, split: str = "test", method: str = "at_grpo") -> dict[str, object]:
    return {"step": step, "method": method, "split": split, "turns": 4, "success": 0.5}


@contextmanager
def files_of_at_most(max_bytes: int) -> Iterator[None]:
    """The system then refuses to write past this size, after a part of the data."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (max_bytes, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_rows_come_back_as_they_were_written(store):
    row = {"step": 1, "success": 1 / 3, "loss": None, "policy.a.skipped": False, "message": "é\n"}
    store.append_metrics(row)
    assert RunFolder(store.path).metrics() == [row]
    assert store.config() == {"run": {"steps": 4}}
    assert store.manifest() == {"seeds": {"run": 1}}


def test_a_folder_that_holds_a_run_is_refused_with_the_two_ways_on(store):
    store.close()
    with pytest.raises(RunFolderRefusedError, match=r"already holds a run.*--resume.*--run-dir"):
        RunStore.create(store.path, {}, {})


def test_an_empty_folder_and_missing_parents_are_fine(tmp_path):
    RunStore.create(tmp_path, {}, {}).close()
    RunStore.create(tmp_path / "a" / "b", {}, {}).close()
    assert (tmp_path / "a" / "b" / "config.json").read_text() == "{}\n"


def make_wrong_place(root: Path, kind: str) -> Path:
    """A place where no run's folder can be."""
    (root / "taken").write_text("")
    (root / "loop").symlink_to(root / "loop")
    (root / "locked" / ".lock").mkdir(parents=True)
    return root / kind


WRONG_PLACES = ("taken", "taken/below", "loop", "loop/below", "a" * 300, "locked")


@pytest.mark.parametrize("kind", WRONG_PLACES)
def test_a_place_that_can_be_no_folder_of_a_run_is_a_wrong_use(tmp_path, kind):
    place = make_wrong_place(tmp_path, kind)
    with pytest.raises(RunFolderRefusedError, match=r"choose another one with --run-dir$"):
        RunStore.create(place, {}, {})


@pytest.mark.parametrize("kind", WRONG_PLACES)
def test_a_place_that_can_hold_no_run_is_refused_when_one_is_to_go_on(tmp_path, kind):
    place = make_wrong_place(tmp_path, kind)
    with pytest.raises(RunFolderRefusedError, match=r"holds no run|nothing can be read there"):
        RunStore.open(place)


@pytest.mark.parametrize("number", [errno.EACCES, errno.EPERM, errno.EROFS])
def test_a_chosen_folder_that_is_closed_is_a_wrong_use_and_a_full_disk_is_not(tmp_path, number):
    with pytest.raises(RunFolderRefusedError, match="permissions"), chosen(tmp_path):
        raise OSError(number, os.strerror(number))
    with pytest.raises(RunFolderError, match="disk") as caught, chosen(tmp_path):
        raise OSError(errno.ENOSPC, "No space left on device")
    assert not isinstance(caught.value, RunFolderRefusedError)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_may_not_be_written_is_a_wrong_use(tmp_path):
    tmp_path.chmod(0o500)
    for place in (tmp_path, tmp_path / "new"):
        with pytest.raises(RunFolderRefusedError, match="permissions"):
            RunStore.create(place, {}, {})


def test_a_folder_without_a_run_is_refused(tmp_path):
    with pytest.raises(RunFolderRefusedError, match="holds no run"):
        RunStore.open(tmp_path)


def test_reading_a_run_writes_nothing_into_it(store):
    store.close()
    before = sorted(path.name for path in store.path.iterdir())
    folder = RunFolder(store.path)
    assert (folder.metrics(), folder.evaluations(), folder.events()) == ([], [], [])
    assert folder.episode_steps() == []
    assert sorted(path.name for path in store.path.iterdir()) == before


def test_a_second_process_is_refused_with_the_holders_process_id_until_the_first_dies(tmp_path):
    script = (
        "import sys; from cotrain.runs.store import RunStore\n"
        f"store = RunStore.create({str(tmp_path)!r}, {{}}, {{}})\n"
        "print('holding', flush=True); sys.stdin.read()\n"
    )
    child = subprocess.Popen(
        [sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert child.stdout is not None
    assert child.stdout.readline() == "holding\n"
    with pytest.raises(RunFolderRefusedError, match=f"process {child.pid}"):
        RunStore.open(tmp_path)
    child.kill()
    child.communicate()
    RunStore.open(tmp_path).close()


def test_a_second_store_of_the_same_process_is_refused(store):
    with pytest.raises(RunFolderRefusedError, match="is being written by process"):
        RunStore.open(store.path)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
def test_a_number_that_is_not_finite_is_refused_with_its_key_and_nothing_is_written(store, value):
    with pytest.raises(ValueError, match=r"roles\.planner\.1 is -?(nan|inf)"):
        store.append_metrics({"step": 1, "roles": {"planner": [0.5, value]}})
    assert store.metrics() == []


def test_a_value_without_a_form_in_json_is_refused_with_its_key(store):
    with pytest.raises(TypeError, match=r"folder is a PosixPath"):
        store.append_metrics({"step": 1, "folder": Path("x")})


def test_each_step_has_one_metrics_row_in_order(store):
    store.append_metrics({"step": 2})
    with pytest.raises(ValueError, match="step is 2"):
        store.append_metrics({"step": 2})
    store.close()
    with RunStore.open(store.path) as again, pytest.raises(ValueError, match="ends with step 2"):
        again.append_metrics({"step": 1})


def test_each_evaluation_is_there_once_and_in_order(store):
    store.append_evaluation(evaluation(0))
    store.append_evaluation(evaluation(0, split="validation"))
    store.append_evaluation(evaluation(0, method="single_grpo"))
    store.append_evaluation(evaluation(2))
    with pytest.raises(ValueError, match="step 2, method at_grpo, split test, turns 4"):
        store.append_evaluation(evaluation(2))
    with pytest.raises(ValueError, match="rows come in order"):
        store.append_evaluation(evaluation(1))


def test_events_have_a_time_in_utc_and_survive_a_cut(store):
    store.record_event("resume", "from step 2", step=2)
    store.cut_to_nothing()
    [event] = store.events()
    assert (event["kind"], event["message"], event["step"]) == ("resume", "from step 2", 2)
    assert datetime.fromisoformat(event["time"]).utcoffset().total_seconds() == 0


def test_a_torn_last_line_is_dropped_by_readers_and_by_the_next_append(store):
    store.append_metrics({"step": 1})
    with (store.path / "metrics.jsonl").open("ab") as file:
        file.write(b'{"step": 2, "suc')
    assert store.metrics() == [{"step": 1}]
    store.append_metrics({"step": 2})
    assert (store.path / "metrics.jsonl").read_text() == '{"step": 1}\n{"step": 2}\n'


def test_a_torn_last_line_is_dropped_by_a_cut(store):
    for step in (1, 2):
        store.append_metrics({"step": step})
    with (store.path / "metrics.jsonl").open("ab") as file:
        file.write(b"\0" * 100)
    store.cut_to(1)
    assert (store.path / "metrics.jsonl").read_bytes() == b'{"step": 1}\n'


def test_a_whole_line_that_cannot_be_read_is_named(store):
    (store.path / "metrics.jsonl").write_text('{"step": 1}\nnonsense\n{"step": 3}\n')
    with pytest.raises(RunFolderError, match=r"metrics\.jsonl: line 2"):
        store.metrics()


def test_a_cut_removes_what_is_later_and_the_steps_can_be_written_again(store, episode):
    store.append_evaluation(evaluation(0))
    for step in (1, 2, 3):
        store.append_metrics({"step": step})
        store.write_episodes(step, [episode])
        store.append_evaluation(evaluation(step))
    store.cut_to(1)
    assert [row["step"] for row in store.metrics()] == [1]
    assert [row["step"] for row in store.evaluations()] == [0, 1]
    assert store.episode_steps() == [1]
    store.append_metrics({"step": 2})
    store.append_evaluation(evaluation(2))


def test_a_cut_is_made_by_rename_and_keeps_the_bytes_of_what_stays(store):
    (store.path / "metrics.jsonl").write_bytes(b'{"step":1,"a":1e2}\n{"step": 2}\n')
    with (store.path / "metrics.jsonl").open("rb") as old:
        store.cut_to(1)
        assert len(old.read().splitlines()) == 2
    assert (store.path / "metrics.jsonl").read_bytes() == b'{"step":1,"a":1e2}\n'


def test_a_cut_to_step_0_keeps_the_first_evaluations_and_one_to_nothing_does_not(store):
    store.append_evaluation(evaluation(0))
    store.append_metrics({"step": 1})
    store.cut_to(0)
    assert (len(store.evaluations()), store.metrics()) == (1, [])
    store.cut_to_nothing()
    assert store.evaluations() == []


def test_a_cut_sets_later_checkpoints_aside(store, fill):
    for step in (2, 4):
        store.write_checkpoint(step, fill(str(step)), keep=3)
    assert [path.name for path in store.cut_to(2)] == ["step_000004.damaged"]


def test_episodes_come_back_from_the_folder_and_none_make_no_file(store, episode):
    store.write_episodes(3, [episode, episode])
    store.write_episodes(4, [])
    assert [stored.episode for stored in store.episodes(3)] == [episode, episode]
    assert store.episode_steps() == [3]
    with pytest.raises(RunFolderError, match="step_000004"):
        list(store.episodes(4))


def test_a_resumed_runs_configuration_replaces_the_former_one(store):
    store.replace_config({"run": {"steps": 9}})
    assert RunFolder(store.path).config() == {"run": {"steps": 9}}


def test_a_full_disk_in_mid_row_leaves_whole_rows_and_says_what_to_do(store):
    *rows, fifth = [{"step": step, "text": "x" * 900} for step in range(1, 6)]
    for row in rows:
        store.append_metrics(row)
    with files_of_at_most(4096), pytest.raises(RunFolderError) as raised:
        store.append_metrics(fifth)
    assert "metrics.jsonl" in str(raised.value)
    assert "--resume" in str(raised.value)
    written = (store.path / "metrics.jsonl").read_bytes()
    assert written.endswith(b"\n")
    assert [json.loads(line)["step"] for line in written.splitlines()] == [1, 2, 3, 4]
    store.append_metrics(fifth)
    assert len(store.metrics()) == 5


def test_a_full_disk_while_a_whole_file_is_written_leaves_the_former_one(store):
    with files_of_at_most(4096), pytest.raises(RunFolderError, match=r"config\.json"):
        store.replace_config({"text": "x" * 9000})
    assert store.config() == {"run": {"steps": 4}}
    assert not list(store.path.glob(".*partial"))


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="the system has no full device")
def test_a_full_device_is_one_kind_of_error(store):
    (store.path / "metrics.jsonl").symlink_to("/dev/full")
    with pytest.raises(RunFolderError, match="disk or the quota is full"):
        store.append_metrics({"step": 1})


def test_a_forbidden_folder_is_the_same_kind_of_error(tmp_path):
    with (
        pytest.raises(RunFolderError, match=r"config\.json: Permission denied.*--run-dir"),
        reported(tmp_path / "config.json"),
    ):
        raise PermissionError(errno.EACCES, "Permission denied")


def test_the_package_needs_no_torch():
    script = (
        "import sys, cotrain.runs.store, cotrain.runs.following, cotrain.runs.manifest\n"
        "import cotrain.runs.metrics, cotrain.runs.loggers.console\n"
        "sys.exit('torch' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0


@pytest.mark.parametrize("name", ["metrics.jsonl", "evaluations.jsonl"])
def test_a_row_without_a_step_is_no_runs_and_its_file_is_named(store, name):
    store.close()
    (store.path / name).write_text('{"loss": 1}\n')
    with pytest.raises(RunFolderError, match=rf"{name}.*step is None"):
        RunStore.open(store.path)
