"""The published forms of contest problems: APPS, CodeContests and LiveCodeBench."""

from collections.abc import Mapping, Sequence
from typing import Any, cast

from cotrain.config.faults import show
from cotrain.environments.data.coding_records import (
    Case,
    Problem,
    call_cases,
    names_function,
    stdin_cases,
)
from cotrain.environments.data.files import Row, json_value
from cotrain.environments.data.pickled_text import UnreadableTextError, text_of_pickle

MAX_MUTANTS = 4
"""How many wrong programs of a record are kept: each is run for each test that is written."""

PYTHON_3 = 3
"""The number of the language in CodeContests."""

_SPLITS = {"train": "train", "valid": "validation", "validation": "validation", "test": "test"}


class UnusableError(ValueError):
    """Why a published problem cannot be used; such ones are left out and counted."""


def split_of_file(row: Row) -> str:
    """The split that a file's name begins with; empty where it names none.

    >>> from pathlib import Path
    >>> split_of_file(Row(Path("data/valid-00000-of-00001.parquet"), 1, {}))
    'validation'
    """
    word = row.file.name.partition(".")[0].partition("-")[0].rstrip("0123456789").rstrip("_")
    return _SPLITS.get(word, "")


def apps_problem(row: Row) -> Problem:
    """A problem of APPS: `question`, `input_output` as JSON text, `solutions` as JSON text."""
    tests = _json(row.optional_text("input_output"))
    if not isinstance(tests, dict):
        raise UnusableError("no tests")
    given = cast("dict[str, Any]", tests)
    function = given.get("fn_name") or ""
    golden = _cases(given.get("inputs"), given.get("outputs"), function)
    solutions = _json(row.optional_text("solutions"))
    starter = row.optional_text("starter_code")
    return Problem(
        id=f"apps/{row.identity('problem_id')}",
        prompt=_with_starter(row.text("question"), starter),
        function=function,
        golden=golden,
        solution=_first_text(solutions),
        source="apps",
        split=split_of_file(row),
    )


def code_contests_problem(row: Row) -> Problem:
    """A problem of CodeContests: private and generated tests decide, wrong programs are mutants."""
    if row.optional_text("input_file") or row.optional_text("output_file"):
        raise UnusableError("reads or writes files")
    groups = ("private_tests", "generated_tests")
    golden = tuple(case for name in groups for case in _test_lists(row, name))
    if not golden:
        raise UnusableError("no tests")
    solutions = _python_programs(row, "solutions")
    return Problem(
        id=f"code_contests/{row.text('name')}",
        prompt=row.text("description"),
        golden=golden,
        public=_test_lists(row, "public_tests"),
        solution=solutions[0] if solutions else "",
        mutants=tuple(_python_programs(row, "incorrect_solutions")[:MAX_MUTANTS]),
        source="code_contests",
        split=split_of_file(row),
    )


def livecodebench_problem(row: Row) -> Problem:
    """A problem of LiveCodeBench: private tests decide, and are never loaded as a pickle."""
    starter = row.optional_text("starter_code")
    metadata = _json(row.optional_text("metadata"))
    function = metadata.get("func_name", "") if isinstance(metadata, dict) else ""
    golden = _listed(_private_tests(row.optional_text("private_test_cases")), function)
    return Problem(
        id=f"livecodebench/{row.text('question_id')}",
        prompt=_with_starter(row.text("question_content"), starter),
        function=function,
        golden=golden,
        public=_public_tests(row, function),
        source="livecodebench",
        split="test",
        date=str(row.values.get("contest_date", ""))[:10],
    )


def _with_starter(question: str, starter: str) -> str:
    if not starter.strip():
        return question
    return f"{question.rstrip()}\n\nStart from this code:\n```python\n{starter.strip()}\n```"


def _json(text: str) -> Any:
    if not text.strip():
        return None
    try:
        return json_value(text)
    except ValueError as error:
        raise UnusableError("unreadable tests") from error


def _cases(inputs: Any, outputs: Any, function: object) -> tuple[Case, ...]:
    """The tests; with a `function` they are calls of it, and it must be a name."""
    if not inputs or not outputs:
        raise UnusableError("no tests")
    both_are_lists = isinstance(inputs, list) and isinstance(outputs, list)
    if not both_are_lists or (function and not names_function(function)):
        raise UnusableError("unreadable tests")
    build = call_cases if function else stdin_cases
    try:
        return build(inputs, outputs)
    except (ValueError, TypeError, RecursionError) as error:
        raise UnusableError("unreadable tests") from error


def _first_text(solutions: Any) -> str:
    texts = cast("list[Any]", solutions) if isinstance(solutions, list) else []
    return next((text for text in texts if isinstance(text, str) and text.strip()), "")


def _test_lists(row: Row, name: str) -> tuple[Case, ...]:
    tests = cast("Mapping[str, Any]", row.get(name, Mapping, "it must hold input and output"))
    inputs, outputs = tests.get("input"), tests.get("output")
    return _cases(inputs, outputs, "") if inputs and outputs else ()


def _python_programs(row: Row, name: str) -> list[str]:
    allowed = "it must hold lists called language and solution"
    if row.values.get(name) is None:
        return []
    programs = cast("Mapping[str, Any]", row.get(name, Mapping, allowed))
    languages, sources = programs.get("language") or [], programs.get("solution") or []
    if not isinstance(languages, list) or not isinstance(sources, list):
        raise row.fault(name, f"is {show(programs)}", allowed)
    pairs = zip(cast("list[Any]", languages), cast("list[Any]", sources), strict=False)
    return [text for number, text in pairs if number == PYTHON_3 and isinstance(text, str)]


def _private_tests(text: str) -> Any:
    if not text.strip():
        raise UnusableError("no tests")
    if text.lstrip().startswith("["):
        return _json(text)
    try:
        return _json(text_of_pickle(text))
    except UnreadableTextError as error:
        raise UnusableError("unreadable tests") from error


def _public_tests(row: Row, function: str) -> tuple[Case, ...]:
    tests = _json(row.optional_text("public_test_cases"))
    return _listed(tests, function) if tests else ()


def _listed(tests: Any, function: str) -> tuple[Case, ...]:
    if not isinstance(tests, list):
        raise UnusableError("unreadable tests")
    given = cast("Sequence[Any]", tests)
    try:
        inputs = [test["input"] for test in given]
        outputs = [test["output"] for test in given]
    except (TypeError, KeyError) as error:
        raise UnusableError("unreadable tests") from error
    return _cases(inputs, outputs, function)
