"""Rows of published sets and of records that are not as they should be: told or left out."""

import datetime
import decimal
import json
import time
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet
import pytest

from cotrain.config.faults import ConfigurationError
from cotrain.environments.data.coding import Sources, load_problems
from cotrain.environments.data.maths import read_maths

TESTS = {"input": ["1\n"], "output": ["2\n"]}
CONTEST: dict[str, Any] = {
    "name": "a",
    "description": "Add one.",
    "public_tests": TESTS,
    "private_tests": TESTS,
    "generated_tests": TESTS,
}
CALLED: dict[str, Any] = {"fn_name": "f", "inputs": [[1]], "outputs": [1]}


def parquet(path: Path, *rows: dict[str, Any]) -> str:
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(list(rows)), path)
    return str(path)


@pytest.mark.parametrize(
    "programs",
    ["print(1)", [{"language": 3, "solution": "print(1)"}], {"language": 3, "solution": "x"}],
    ids=str,
)
def test_programs_of_another_shape_are_told_with_line_and_field(
    tmp_path: Path, programs: object
) -> None:
    path = parquet(tmp_path / "train.parquet", {**CONTEST, "solutions": programs})
    with pytest.raises(ConfigurationError, match=r"line 1, field solutions is .* lists called"):
        load_problems(Sources(f"code_contests:{path}"))


@pytest.mark.parametrize("solution", [5, None])
def test_a_program_that_is_no_text_is_no_program(tmp_path: Path, solution: object) -> None:
    programs = {"language": [3, 3], "solution": [solution, solution]}
    path = parquet(tmp_path / "train.parquet", {**CONTEST, "incorrect_solutions": programs})
    problems = load_problems(Sources(f"code_contests:{path}"))
    [problem] = [*problems.train, *problems.validation]
    assert problem.mutants == ()


@pytest.mark.parametrize(
    "tests",
    [
        {**CALLED, "fn_name": 5},
        {**CALLED, "fn_name": "f(); import os"},
        {"inputs": "abc", "outputs": "abc"},
        {"inputs": {"a": 1}, "outputs": {"a": 1}},
        {"inputs": ["\ud800"], "outputs": ["1"]},
    ],
    ids=ascii,
)
def test_published_tests_that_cannot_be_run_are_left_out_and_counted(
    tmp_path: Path, tests: object
) -> None:
    row = {"problem_id": None, "question": "?", "input_output": json.dumps(tests)}
    path = parquet(tmp_path / "train.parquet", row)
    assert load_problems(Sources(f"apps:{path}")).left_out == (("apps, unreadable tests", 1),)


@pytest.mark.parametrize(
    "value", [b"a", datetime.date(2020, 1, 1), decimal.Decimal("1.5")], ids=repr
)
@pytest.mark.parametrize("where", ["inputs", "outputs"])
def test_a_value_that_json_has_no_form_for_is_told_with_line_and_field(
    tmp_path: Path, value: object, where: str
) -> None:
    tests = {**CALLED, where: [[value]]}
    path = parquet(tmp_path / "mine.parquet", {"prompt": "Go.", "tests": tests})
    with pytest.raises(ConfigurationError, match="line 1, field tests cannot be read"):
        load_problems(Sources(path))


def test_records_without_a_name_are_called_by_file_and_line(tmp_path: Path) -> None:
    rows = [{"id": None, "problem": f"{n} + 1?", "answer": "1"} for n in range(2)]
    found = read_maths(parquet(tmp_path / "mine.parquet", *rows)).problems
    assert [problem.id for problem in found] == ["mine 1", "mine 2"]


def test_an_answer_that_takes_too_long_to_read_stops_the_reading_of_a_file_of_records(
    tmp_path: Path,
) -> None:
    rows = [{"problem": f"{n} + 1?", "answer": "9" * 300_000} for n in range(30)]
    started = time.monotonic()
    with pytest.raises(ConfigurationError, match="line 1, field answer is") as caught:
        read_maths(parquet(tmp_path / "mine.parquet", *rows))
    assert time.monotonic() - started < 60.0
    assert len(str(caught.value)) < 500
