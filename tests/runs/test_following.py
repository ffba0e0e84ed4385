"""Following a file of rows that is still being written."""

import pytest

from cotrain.runs.durable import RunFolderError
from cotrain.runs.following import Follower, News


@pytest.fixture
def path(tmp_path):
    return tmp_path / "metrics.jsonl"


def test_a_file_that_is_not_there_yet_has_no_rows(path):
    follower = Follower(path)
    assert follower.poll() == News((), from_start=False)
    path.write_text('{"step": 1}\n')
    assert follower.poll() == News(({"step": 1},), from_start=False)


def test_a_row_is_given_once_and_only_when_its_line_is_whole(path):
    follower = Follower(path)
    path.write_text('{"step": 1}\n{"st')
    assert follower.poll().rows == ({"step": 1},)
    assert follower.poll().rows == ()
    path.write_text('{"step": 1}\n{"step": 2}\n')
    assert follower.poll().rows == ({"step": 2},)


def test_a_shorter_file_is_read_from_its_start(path):
    follower = Follower(path)
    path.write_text('{"step": 1}\n{"step": 2}\n')
    follower.poll()
    path.write_text('{"step": 1}\n')
    assert follower.poll() == News(({"step": 1},), from_start=True)


def test_a_file_that_was_cut_and_has_grown_past_the_old_end_is_read_from_its_start(path):
    follower = Follower(path)
    path.write_text('{"step": 1}\n{"step": 2, "total_seconds": 1.25}\n')
    follower.poll()
    path.write_text('{"step": 1}\n{"step": 2, "total_seconds": 3.5}\n{"step": 3}\n')
    news = follower.poll()
    assert news.from_start
    assert [row["step"] for row in news.rows] == [1, 2, 3]


def test_a_file_that_was_cut_to_nothing_or_removed_starts_again(path):
    follower = Follower(path)
    path.write_text('{"step": 1}\n')
    follower.poll()
    path.write_text("")
    assert follower.poll() == News((), from_start=True)
    path.write_text('{"step": 1}\n')
    assert follower.poll() == News(({"step": 1},), from_start=False)
    path.unlink()
    assert follower.poll() == News((), from_start=True)


def test_a_line_that_cannot_be_read_is_named_by_its_number(path):
    follower = Follower(path)
    path.write_text('{"step": 1}\n')
    follower.poll()
    path.write_text('{"step": 1}\n{"step": 2}\nnonsense\n')
    with pytest.raises(RunFolderError, match="line 3"):
        follower.poll()
