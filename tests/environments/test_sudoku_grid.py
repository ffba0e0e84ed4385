"""Sudoku grids: what solves a puzzle, the solver, puzzles with one solution."""

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cotrain.environments.procedural import NothingDrawnError
from cotrain.environments.sudoku_grid import (
    MOST_EMPTY,
    Puzzle,
    clashes,
    draw_puzzle,
    layout_of,
    solutions,
)

TWO = Puzzle.of_text("0034/3412/0043/4321")
MANY = Puzzle.of_text("1000/0040/0100/0002")


def cells(text: str) -> tuple[int, ...]:
    return tuple(map(int, text.replace("/", "")))


@pytest.mark.parametrize(
    ("puzzle", "grid", "solves"),
    [
        (TWO, "1234/3412/2143/4321", True),
        (TWO, "2134/3412/1243/4321", True),
        (TWO, "1234/3412/1243/4321", False),
        (MANY, "1423/3241/2134/4312", True),
        (MANY, "2143/4321/1234/3412", False),
        (MANY, "1423/3241/2134/4310", False),
    ],
)
def test_any_grid_that_keeps_the_clues_and_the_rules_solves(
    puzzle: Puzzle, grid: str, solves: bool
) -> None:
    assert puzzle.is_solved_by(cells(grid)) is solves


def test_the_solver_finds_every_solution_once() -> None:
    found = list(solutions(TWO.clues))
    assert set(found) == {cells("1234/3412/2143/4321"), cells("2134/3412/1243/4321")}
    assert len(found) == 2
    assert len(set(solutions((0,) * 16))) == len(list(solutions((0,) * 16))) == 288
    assert list(solutions(cells("1100/0000/0000/0000"))) == []
    assert list(solutions(found[0])) == [found[0]]


def test_a_published_9_by_9_puzzle_has_its_one_solution() -> None:
    rows = (
        "530070000/600195000/098000060/800060003/400803001/700020006/060000280/000419005/000080079"
    )
    puzzle = Puzzle.of_text(rows)
    (solution,) = solutions(puzzle.clues)
    assert puzzle.is_solved_by(solution)
    assert solution[:9] == (5, 3, 4, 6, 7, 8, 9, 1, 2)


@pytest.mark.parametrize("size", [4, 9])
def test_every_cell_has_its_peers_and_is_theirs(size: int) -> None:
    box = round(size**0.5)
    layout = layout_of(size)
    assert {len(peers) for peers in layout.peers} == {2 * (size - 1) + (box - 1) ** 2}
    assert all(cell in layout.peers[peer] for cell in range(size**2) for peer in layout.peers[cell])


def test_clashes_are_in_rows_columns_and_boxes() -> None:
    assert list(clashes(cells("1001/0000/0000/0000"))) == [0, 3]
    assert list(clashes(cells("1000/0000/0000/1000"))) == [0, 12]
    assert list(clashes(cells("1000/0100/0000/0000"))) == [0, 5]
    assert list(clashes(cells("1000/0010/0100/0001"))) == []


@settings(max_examples=40, deadline=None)
@given(st.integers(4, MOST_EMPTY[4]), st.integers(0, 10**9))
def test_drawn_and_shuffled_puzzles_have_exactly_one_solution(empty: int, seed: int) -> None:
    puzzle = draw_puzzle(4, empty, Random(seed))
    for drawn in (puzzle, puzzle.shuffled(Random(seed))):
        (solution,) = solutions(drawn.clues)
        assert drawn.empty == empty
        assert drawn.is_solved_by(solution)


@pytest.mark.parametrize("empty", [4, 40, 52])
def test_drawn_9_by_9_puzzles_have_exactly_one_solution(empty: int) -> None:
    puzzle = draw_puzzle(9, empty, Random(empty))
    assert puzzle.empty == empty
    assert len(list(solutions(puzzle.clues))) == 1
    assert len(list(solutions(puzzle.shuffled(Random(1)).clues))) == 1


def test_what_no_puzzle_can_have_ends_with_an_error() -> None:
    with pytest.raises(NothingDrawnError, match="100 grids"):
        draw_puzzle(4, MOST_EMPTY[4] + 1, Random(0))


@pytest.mark.parametrize(
    "text", ["", "123", "1234/1234", "0000/0000/0000/0005", "000/000/000", "0000/000 /0000/0000"]
)
def test_a_text_that_is_no_puzzle_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="row"):
        Puzzle.of_text(text)
