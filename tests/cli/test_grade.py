"""`cotrain grade`: values beside ids, and no case that stops the others."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.cli.commands import call, shell

Grade = Callable[..., list[Any]]


@pytest.fixture
def grade(tmp_path: Path) -> Grade:
    """Grades cases of one kind: their answers in order."""

    def of(kind: str, *cases: object) -> list[Any]:
        path = tmp_path / "cases.json"
        path.write_text(json.dumps(cases))
        found = call("grade", kind, path, "--json")
        assert found.code == 0, found.stderr
        return found.document

    return of


@pytest.mark.parametrize(
    ("rewards", "right"),
    [
        ([1, 0, 0, 0], [1.5, -0.5, -0.5, -0.5]),
        ([0.1] * 8, [0.0] * 8),
        ([1.0], [0.0]),
        ([], []),
        ([None, None, 0.8, None], [0.0] * 4),
        ([1.0, None, 0.0], [0.7071, 0.0, -0.7071]),
        ([1.0, float("inf"), 0.0], [0.7071, 0.0, -0.7071]),
    ],
)
def test_an_advantage_has_a_number_for_every_member_and_zero_for_the_unscored(
    grade: Grade, rewards: list[float | None], right: list[float]
) -> None:
    (answer,) = grade("advantage", {"id": "a", "rewards": rewards, "ddof": 1})
    assert answer == {"id": "a", "value": pytest.approx(right, abs=1e-3)}


def test_the_estimator_may_be_chosen_case_by_case(grade: Grade) -> None:
    answers = grade(
        "advantage",
        {"id": 1, "rewards": [1, 0, 0], "estimator": "leave_one_out"},
        {"id": 2, "rewards": [1, 0], "estimator": "centered"},
    )
    assert [answer["value"] for answer in answers] == [[1.0, -0.5, -0.5], [0.5, -0.5]]


@pytest.mark.parametrize(
    ("reply", "right"),
    [
        ("<answer>Up</answer> a wall. <answer>down, r</answer>", ["Down", "Right"]),
        ("I would go up.", None),
        ("", None),
    ],
)
def test_moves_are_those_that_an_episode_would_play(
    grade: Grade, reply: str, right: list[str] | None
) -> None:
    assert grade("moves", {"id": "m", "reply": reply}) == [{"id": "m", "value": right}]


@pytest.mark.parametrize(
    ("case", "reason"),
    [
        ({}, "rewards is missing"),
        ({"rewards": "1, 0"}, 'rewards is "1, 0"'),
        ({"rewards": [1, "0"]}, 'rewards holds "0"'),
        ({"rewards": [1, True]}, "rewards holds true"),
        ({"rewards": [10**400, 0]}, "OverflowError"),
        ({"rewards": [1, 0], "ddof": 0}, "ddof is 0"),
        ({"rewards": [1, 0], "estimator": "z"}, "allowed are normalised, centered, leave_one_out"),
        ({"rewards": [1, 0], "kind": "moves"}, 'kind is "moves"'),
    ],
)
def test_a_case_that_cannot_be_graded_is_an_error_with_a_reason_and_stops_no_other(
    grade: Grade, case: dict[str, object], reason: str
) -> None:
    answers = grade("advantage", {"id": 0, **case}, {"id": 1, "rewards": [1, 1]})
    assert answers[0]["value"] == "error"
    assert reason in answers[0]["reason"]
    assert answers[1] == {"id": 1, "value": [0.0, 0.0]}


@pytest.mark.parametrize("case", [3, None, [], {"reply": "x"}, {"id": None}, {"id": [1.5]}])
def test_what_has_no_id_is_an_error_in_its_place(grade: Grade, case: object) -> None:
    first, second = grade("moves", case, {"id": "b", "reply": ""})
    assert (first["id"], first["value"], second["id"]) == (None, "error", "b")


def test_every_case_stands_in_the_table_with_its_value_or_its_reason(tmp_path: Path) -> None:
    path = tmp_path / "cases.json"
    path.write_text(json.dumps([{"id": "a", "reply": "<answer>up</answer>"}, {"id": "\ud800"}]))
    found = call("grade", "moves", path)
    assert found.code == 0
    assert found.stdout.splitlines() == [
        'a         ["Up"]',
        '"\\ud800"  "error": reply is missing: it must be a text',
        "moves: 2 cases, 1 of them in error",
    ]


def test_an_unknown_kind_is_refused_with_the_nearest_one(tmp_path: Path) -> None:
    found = call("grade", "advantages", tmp_path / "cases.json", "--json")
    assert (found.code, found.stdout) == (2, "")
    assert found.stderr.endswith("nearest known: advantage\n")


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "must be a readable JSON file: No such file or directory"),
        (b"[1,", "must be a JSON file: "),
        (b'["\xff"]', "must be a JSON file: "),
        (b"[" * 200_000, "must be a JSON file: "),
        (b'{"id": 1}', 'must hold a JSON list of cases, got {"id": 1}'),
    ],
)
def test_a_file_that_holds_no_list_of_cases_is_refused_in_one_line(
    tmp_path: Path, content: bytes | None, said: str
) -> None:
    path = tmp_path / "cases.json"
    if content is not None:
        path.write_bytes(content)
    found = call("grade", "moves", path)
    assert found.code == 2
    assert found.lines[0].startswith(f'CASES.json = "{path}"'[:60])
    assert said in found.stderr
    assert len(found.lines) == 1


def test_the_command_prints_one_document_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "cases.json"
    path.write_text(json.dumps([{"id": "é", "rewards": [1, 0, None]}]))
    found = shell("grade", "advantage", path, "--json")
    assert (found.code, found.stderr) == (0, "")
    assert found.document[0]["id"] == "é"


@pytest.mark.parametrize(
    ("puzzle", "grid", "right"),
    [
        ("0034/3412/0043/4321", "1234/3412/2143/4321", "solved"),
        ("0034/3412/0043/4321", "2134/3412/1243/4321", "solved"),
        ("0034/3412/0043/4321", "1234/3412/1243/4321", "wrong"),
        ("1000/0040/0100/0002", "1423/3241/2134/4312", "solved"),
        ("1000/0040/0100/0002", "2143/4321/1234/3412", "wrong"),
        ("1000/0040/0100/0002", "1423/3241/2134/4310", "wrong"),
        ("1000/0040/0100/0002", "1423/3241", "wrong"),
        ("1000/0040/0100/0002", "", "wrong"),
    ],
)
def test_any_grid_that_keeps_clues_and_rules_solves_a_sudoku(
    grade: Grade, puzzle: str, grid: str, right: str
) -> None:
    assert grade("sudoku", {"id": 1, "puzzle": puzzle, "reply_grid": grid}) == [
        {"id": 1, "value": right}
    ]


def test_a_sudoku_that_is_none_is_an_error_that_names_its_row(grade: Grade) -> None:
    answers = grade(
        "sudoku",
        {"id": 1, "puzzle": "1000/0040", "reply_grid": ""},
        {"id": 2, "puzzle": "1000/0040/0100/0005", "reply_grid": ""},
        {"id": 3, "puzzle": "1000/0040/0100/0002"},
    )
    assert [answer["value"] for answer in answers] == ["error"] * 3
    assert "2 rows" in answers[0]["reason"]
    assert "'0005'" in answers[1]["reason"]
    assert "reply_grid is missing" in answers[2]["reason"]
