"""Grades Sudoku: whether a grid solves a puzzle, by the rules and not by a stored grid."""

from cotrain.assembly.graders.base import Case, CaseError, field_of
from cotrain.environments.sudoku_grid import Puzzle
from cotrain.environments.sudoku_reply import fills_in


def grade_sudoku(case: Case) -> str:
    """`puzzle` and `reply_grid` to `"solved"` or `"wrong"`; rows with `/` between them.

    >>> grade_sudoku({"puzzle": "0034/3412/0043/4321", "reply_grid": "2134/3412/1243/4321"})
    'solved'
    """
    text = field_of(case, "puzzle", str, "it must be rows of digits, with / between them")
    reply = field_of(case, "reply_grid", str, "it must be a text")
    try:
        puzzle = Puzzle.of_text(text)
    except ValueError as error:
        raise CaseError(f"puzzle: {error}") from error
    cells = dict[tuple[int, int], int]()
    for row, column, value in fills_in(reply, puzzle.size) or ():
        cells[row - 1, column - 1] = value
    places = [divmod(cell, puzzle.size) for cell in range(puzzle.size**2)]
    grid = tuple(cells.get(place, 0) for place in places)
    return "solved" if puzzle.is_solved_by(grid) else "wrong"
