"""Cells run while others write, fail or are stopped."""

import threading
import time
from pathlib import Path

import pytest

from cotrain.compare.base import Comparison, Trained, Untrained
from cotrain.compare.cells import CellFolder
from cotrain.compare.command import run_comparison
from cotrain.compare.running import Children
from cotrain.runs.durable import RunFolderError, RunFolderRefusedError
from cotrain.runs.lock import FolderLock, is_being_written


def never() -> bool:
    return False


def comparison() -> Comparison:
    start = Untrained("start", "a", {"environment.options.size": 5})
    return Comparison("c", "plan_path_tiny", 1, {}, (Trained("a", {}), start))


def test_a_cell_waits_for_the_process_that_still_saves_its_run(tmp_path: Path) -> None:
    lock = FolderLock(tmp_path)
    assert is_being_written(tmp_path)
    waiting = threading.Thread(target=Children(never, 1).wait_for_writer, args=(tmp_path,))
    waiting.start()
    waiting.join(0.5)
    assert waiting.is_alive()
    lock.release()
    waiting.join(5)
    assert not waiting.is_alive()
    assert not is_being_written(tmp_path)


def test_a_stop_request_ends_the_wait(tmp_path: Path) -> None:
    lock = FolderLock(tmp_path)
    began = time.monotonic()
    Children(lambda: time.monotonic() > began + 0.3, 1).wait_for_writer(tmp_path)
    lock.release()
    assert time.monotonic() - began < 5


def test_a_place_where_no_folder_can_be_is_wrong_use(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("")
    with pytest.raises(RunFolderRefusedError, match="file"):
        run_comparison(comparison(), file, 1, never, print)


@pytest.mark.parametrize("text", ["", "{", "[1]", "{}", '{"solved": "1"}'])
def test_a_result_that_is_no_evaluation_row_is_named(tmp_path: Path, text: str) -> None:
    folder = CellFolder(tmp_path, comparison())
    cell = list(folder.comparison.cells())[1]
    folder.result(cell).parent.mkdir(parents=True)
    folder.result(cell).write_text(text)
    with pytest.raises(RunFolderError, match=r"start/seed_0\.json"):
        folder.evaluation(cell)


def test_a_damaged_result_is_named_before_any_cell_runs(tmp_path: Path) -> None:
    folder = CellFolder(tmp_path, comparison())
    trained, start = folder.comparison.cells()
    folder.result(start).parent.mkdir(parents=True)
    folder.result(start).write_text("{")
    with pytest.raises(RunFolderError, match=r"start/seed_0\.json"):
        run_comparison(comparison(), tmp_path, 1, never, print)
    assert not folder.has_begun(trained.row.name)


@pytest.mark.parametrize("text", ["", "[1]", "nothing"])
def test_a_damaged_comparison_is_named(tmp_path: Path, text: str) -> None:
    (tmp_path / "comparison.json").write_text(text)
    with pytest.raises(RunFolderError, match=r"comparison\.json"):
        run_comparison(comparison(), tmp_path, 1, never, print)
