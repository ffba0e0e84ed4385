"""Tables and figures from cells: what is paired, what is counted once, and what is missing."""

from collections.abc import Sequence
from typing import Any

import pytest

from cotrain.compare.base import (
    Claim,
    Comparison,
    Imitating,
    Place,
    Played,
    Row,
    Trained,
    Untrained,
)
from cotrain.compare.figures import CellFigures, Findings, RowFigures, claim_figures
from cotrain.compare.table import table_of
from cotrain.runs.metrics import wilson_interval

CLAIM = Claim("a > b", "a", "b")


def cell(seed: int, solved: str, task_hash: str = "same", **more: Any) -> CellFigures:
    success = solved.count("1") / len(solved)
    return CellFigures(seed, success, solved, 2, 1.5, 30.0, task_hash, **more)


def findings(*rows: RowFigures, claims: Sequence[Claim] = ()) -> Findings:
    names = {row.row.name: row for row in rows}
    comparison = Comparison("c", "base", 2, {}, tuple(row.row for row in rows), tuple(claims))
    found = (claim_figures(claim, names[claim.better], names[claim.than]) for claim in claims)
    return Findings(comparison, rows, tuple(found))


def line(text: str, start: str) -> list[str]:
    return next(line.split() for line in text.splitlines() if line.startswith(start))


def test_the_interval_of_a_row_is_that_of_its_tasks_however_many_seeds_solved_them() -> None:
    start = RowFigures(Untrained("start", "a"), tuple(cell(s, "1" * 10 + "0" * 30) for s in (0, 1)))
    low, high = wilson_interval(10, 40)
    assert start.success == {
        "tasks": 40,
        "success": 0.25,
        "success_low": low,
        "success_high": high,
    }


def test_rows_that_played_other_tasks_are_not_paired() -> None:
    a = RowFigures(Trained("a", {}), (cell(0, "1111", "one"), cell(1, "1111", "one")))
    b = RowFigures(Trained("b", {}), (cell(0, "0000", "another"), cell(1, "0000", "one")))
    found = claim_figures(CLAIM, a, b)
    assert (found.difference, found.verdict) == (None, "no figures")
    assert "no figures: the rows played different tasks" in table_of(findings(a, b, claims=[CLAIM]))


def test_a_claim_takes_the_seeds_that_both_rows_have() -> None:
    a = RowFigures(Trained("a", {}), (cell(0, "1111"), cell(1, "1100")))
    b = RowFigures(Trained("b", {}), (cell(1, "1000"),))
    found = claim_figures(CLAIM, a, b)
    assert found.seeds == (1,)
    assert found.difference is not None
    assert found.difference.mean == 0.25


def test_a_part_of_the_matrix_has_dashes_for_the_rest() -> None:
    rows = [
        RowFigures(Played("a-on-x", "a", settings={}, place=Place("a", "x")), (cell(0, "11"),)),
        RowFigures(Untrained("b-on-y", "a", {}, Place("b", "y")), (cell(0, "00"),)),
    ]
    text = table_of(findings(*rows))
    assert line(text, "success on") == ["success", "on", "x", "y"]
    assert line(text, "a ")[1] == "1.000"
    assert line(text, "a ")[-1] == "-"
    assert line(text, "b ")[1] == "-"


def test_a_row_without_any_cell_is_shown_and_its_claims_say_so() -> None:
    a, b = RowFigures(Trained("a", {}), ()), RowFigures(Trained("b", {}), (cell(0, "1"),))
    text = table_of(findings(a, b, claims=[CLAIM]))
    assert line(text, "a ")[1:3] == ["0", "-"]
    assert "no seed is done in both rows" in text


@pytest.mark.parametrize(
    ("row", "sampled"), [(Trained("r", {}), "700"), (Imitating("r", "a", {}), "-")]
)
def test_what_imitates_has_sampled_nothing(row: Row, sampled: str) -> None:
    text = table_of(findings(RowFigures(row, (cell(0, "10", tokens_sampled=700, steps=3),))))
    heads = [part for part in text.splitlines()[0].split("  ") if part]
    values = [part for part in line(text, "r ") if part != "to"]
    assert len(heads) == 12
    assert values[8] == sampled


def test_a_cell_that_ended_before_its_budget_is_named() -> None:
    cells = (
        cell(0, "1", tokens_sampled=900, tokens_budget=1000),
        cell(1, "1", tokens_sampled=1010, tokens_budget=1000),
    )
    text = table_of(findings(RowFigures(Trained("a", {}), cells)))
    assert "a: 1 of 2 cells ended before their budget of tokens was spent" in text


def test_a_verdict_that_shared_tasks_take_back_says_so() -> None:
    rows = {"a": "1" * 11 + "0" * 4 + "1" * 85, "b": "0" * 11 + "1" * 4 + "1" * 85}
    a, b = (
        RowFigures(Trained(name, {}), tuple(cell(seed, solved) for seed in range(3)))
        for name, solved in rows.items()
    )
    text = table_of(findings(a, b, claims=[CLAIM]))
    assert text.endswith("holds (over tasks: not decided)")


def test_alarms_are_shown() -> None:
    row = RowFigures(Trained("a", {}), (cell(0, "1", alarms=1), cell(1, "1", alarms=2)))
    assert "a: 3 events reward_hacking" in table_of(findings(row))
