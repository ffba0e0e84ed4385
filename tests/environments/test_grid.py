"""Grids: distances against a plain search, and walks."""

from collections import deque
from random import Random

import pytest

from cotrain.environments.grid import (
    Grid,
    Walk,
    distances_to,
    draw_grid,
    shortest_path,
    walk,
)

STEPS = {"Up": (-1, 0), "Down": (1, 0), "Left": (0, -1), "Right": (0, 1)}
SMALL = Grid.of_rows(["A..", "##.", "G.."])


def plain_distances(rows: list[str], goal: tuple[int, int]) -> dict[tuple[int, int], int]:
    """Breadth-first search over rows of text, as a reference."""
    found, queue = {goal: 0}, deque([goal])
    while queue:
        row, column = queue.popleft()
        for down, right in STEPS.values():
            near = (row + down, column + right)
            inside = 0 <= near[0] < len(rows) and 0 <= near[1] < len(rows)
            if inside and rows[near[0]][near[1]] != "#" and near not in found:
                found[near] = found[row, column] + 1
                queue.append(near)
    return found


def drawn(size: int, min_distance: int, seed: int) -> Grid:
    generator = Random(seed)
    while True:
        grid = draw_grid(size, 0.3, min_distance, generator)
        if grid is not None:
            return grid


@pytest.mark.parametrize("seed", range(30))
def test_distances_equal_those_of_a_plain_search(seed: int) -> None:
    grid = drawn(2 + seed % 9, 1, seed)
    expected = plain_distances(grid.rows(grid.start), grid.place(grid.goal))
    distances = distances_to(grid, grid.goal)
    reached = {grid.place(cell): d for cell, d in enumerate(distances) if d >= 0}
    assert reached == expected


@pytest.mark.parametrize("seed", range(30))
def test_a_shortest_path_is_legal_as_long_as_the_distance_and_ends_at_the_goal(seed: int) -> None:
    grid = drawn(3 + seed % 8, 2, seed)
    distances = distances_to(grid, grid.goal)
    path = shortest_path(grid, grid.start, distances)
    assert len(path) == distances[grid.start] >= 2
    assert walk(grid, grid.start, path, distances) == Walk(grid.goal, 0, len(path))


@pytest.mark.parametrize(
    ("moves", "end", "illegal", "closer"),
    [
        (["Right", "Right", "Down", "Down", "Left", "Left"], (2, 0), 0, 6),
        (["Right", "Left", "Right"], (0, 1), 0, 2),
        (["Up", "Right"], (0, 0), 1, 0),
        (["Left", "Right"], (0, 0), 1, 0),
        (["Right", "Down", "Right"], (0, 1), 2, 1),
        (["Right", "Right", "Right"], (0, 2), 3, 2),
    ],
)
def test_a_walk_ends_before_its_first_illegal_move(
    moves: list[str], end: tuple[int, int], illegal: int, closer: int
) -> None:
    walked = walk(SMALL, SMALL.start, moves, distances_to(SMALL, SMALL.goal))
    assert (SMALL.place(walked.end), walked.illegal, walked.closer) == (end, illegal, closer)


def test_moves_after_the_goal_are_not_played() -> None:
    grid = Grid.of_rows(["AG.", "...", "..."])
    walked = walk(grid, grid.start, ["Right", "Right", "Up"], distances_to(grid, grid.goal))
    assert walked == Walk(grid.goal, 0, 1)


def test_legal_moves_are_those_onto_free_cells_of_the_grid() -> None:
    assert SMALL.legal(SMALL.start) == ("Right",)
    assert SMALL.legal(SMALL.goal) == ("Right",)


def test_rows_read_and_written_are_the_same() -> None:
    rows = ["..#", "A.#", ".G."]
    grid = Grid.of_rows(rows)
    assert grid.rows(grid.start) == rows


@pytest.mark.parametrize("rows", [["A.", "G"], ["A.", ".."], ["AA", "G."]])
def test_rows_that_are_no_task_are_refused(rows: list[str]) -> None:
    with pytest.raises(ValueError, match="one A"):
        Grid.of_rows(rows)
