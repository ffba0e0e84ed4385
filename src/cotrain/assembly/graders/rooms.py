"""Grades boards of the games: a Sokoban room by a shortest solution, a grid by paths and walks."""

import json
from typing import cast

from cotrain.assembly.graders.base import Case, CaseError, shown
from cotrain.environments.grid import Grid, distances_to, walk
from cotrain.environments.parsing import parse_moves
from cotrain.environments.sokoban_room import Room
from cotrain.environments.sokoban_search import SearchLimitError, pushes_in, shortest_solution

MAX_POSITIONS = 1_000_000
ROWS = "it must be a list of rows, or a text with a row a line or rows between /"
CELLS = "allowed are . (free), # (blocked), A or S (start) and G (goal)"


def grade_sokoban(case: Case) -> str:
    """`board` to `solvable, shortest N` (moves), or `unsolvable`."""
    try:
        room = Room.of_rows(_without_gaps(_rows(case, "board")))
    except ValueError as error:
        raise CaseError(f"board: {error}") from error
    try:
        solution = shortest_solution(room, pushes_in(room), room.opening, MAX_POSITIONS)
    except SearchLimitError as error:
        raise CaseError(f"board: {error}") from error
    return "unsolvable" if solution is None else f"solvable, shortest {len(solution)}"


def grade_grid(case: Case) -> str:
    """`grid` to `shortest N` or `unreachable`; with `moves`, to where they lead.

    Moves give `success`, `not at the goal, position (r,c)` or `invalid at move N, position (r,c)`.
    """
    grid = _grid(_rows(case, "grid"))
    distances = distances_to(grid, grid.goal)
    if case.get("moves") is None:
        distance = distances[grid.start]
        return "unreachable" if distance < 0 else f"shortest {distance}"
    walked = walk(grid, grid.start, _moves(case["moves"]), distances)
    row, column = grid.place(walked.end)
    if walked.illegal:
        return f"invalid at move {walked.illegal}, position ({row},{column})"
    return "success" if walked.end == grid.goal else f"not at the goal, position ({row},{column})"


def _grid(rows: list[str]) -> Grid:
    """The grid of these rows; one that is not square is filled up with blocked cells."""
    rows = [row.replace(" ", "").replace("S", "A") for row in rows]
    width = len(rows[0])
    if any(len(row) != width for row in rows):
        raise CaseError(f"grid: its rows must have one length, got {shown(rows)}")
    if unknown := sorted(set("".join(rows)) - set(".#AG")):
        raise CaseError(f"grid: it holds {shown(unknown[0])}, {CELLS}")
    side = max(width, len(rows))
    square = [row.ljust(side, "#") for row in rows] + ["#" * side] * (side - len(rows))
    try:
        return Grid.of_rows(square)
    except ValueError as error:
        raise CaseError(f"grid: it needs one start and one goal, {CELLS}") from error


def _moves(given: object) -> tuple[str, ...]:
    """Moves in any form that a reply may have; an empty list is none."""
    if given == []:
        return ()
    text = given if isinstance(given, str) else json.dumps(given)
    moves = parse_moves(f"<answer>{text}</answer>")
    if moves is None:
        raise CaseError(f"moves is {shown(given)}: it must be a list of Up, Down, Left, Right")
    return moves


def _rows(case: Case, name: str) -> list[str]:
    """The rows of a board, at least one. Raises CaseError where the field holds none."""
    if name not in case:
        raise CaseError(f"{name} is missing: {ROWS}")
    given: object = case[name]
    rows: list[object] = list(cast("list[object]", given)) if isinstance(given, list) else []
    if isinstance(given, str):
        separator = next((s for s in ("\n", " / ", "/") if s in given), "\n")
        rows = list(given.strip("\n").split(separator))
    rows = ["".join(map(str, cast("list[object]", r))) if isinstance(r, list) else r for r in rows]
    texts = [row for row in rows if isinstance(row, str) and row]
    if not rows or len(texts) != len(rows):
        raise CaseError(f"{name} is {shown(given)}: {ROWS}")
    return texts


def _without_gaps(rows: list[str]) -> list[str]:
    """The rows without the blanks that prompts show between the cells."""
    gaps = all(len(row) > 2 and not row[1::2].strip(" ") for row in rows)
    return [row[::2] for row in rows] if gaps else rows
