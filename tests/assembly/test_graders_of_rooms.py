"""Boards that `cotrain grade` decides on: Sokoban rooms and grids."""

import pytest

from cotrain.assembly.grading import grade

ROOM = ["######", "#@___#", "#_$__#", "#__._#", "#____#", "######"]


def value(kind: str, **case: object) -> object:
    """The value of one case."""
    (graded,) = grade(kind, [{"id": 1, **case}])
    return graded.value


def reason(kind: str, **case: object) -> str:
    """Why a case cannot be graded."""
    (graded,) = grade(kind, [{"id": 1, **case}])
    assert graded.value == "error"
    return graded.reason


@pytest.mark.parametrize(
    "board",
    [
        ROOM,
        "\n".join(ROOM),
        "\n".join(ROOM) + "\n",
        " / ".join(ROOM),
        "/".join(ROOM),
        "\n".join(ROOM).replace("_", " "),
        "\n".join(ROOM).replace("_", "-"),
        "\n".join(" ".join(row) for row in ROOM),
        [list(row) for row in ROOM],
    ],
)
def test_a_room_is_read_in_every_form_of_a_board(board: object) -> None:
    assert value("sokoban", board=board) == "solvable, shortest 5"


@pytest.mark.parametrize(
    ("board", "right"),
    [
        (["#@$.#"], "solvable, shortest 1"),
        (["#@$_.#"], "solvable, shortest 2"),
        (["#+$_#"], "unsolvable"),
        (["#@$$_#"], "unsolvable"),
        (["#_@*_#"], "solvable, shortest 0"),
        (["#####", "#@__#", "#__$#", "#._##", "#####"], "unsolvable"),
        (["######", "#@$.##", "#_$._#", "######"], "solvable, shortest 4"),
    ],
)
def test_a_room_has_its_shortest_number_of_moves_or_none(board: list[str], right: str) -> None:
    assert value("sokoban", board=board) == right


@pytest.mark.parametrize(
    ("board", "said"),
    [
        (["#@$.#", "###"], "one length"),
        (["#$.#"], "one player"),
        (["#@.#"], "a box"),
        (["#@$x#"], "'x'"),
        ([], "it must be a list of rows"),
        ("", "it must be a list of rows"),
        (7, "board is 7: it must be"),
        ([1, 2], "it must be a list of rows"),
    ],
)
def test_what_is_no_room_is_an_error_with_a_reason(board: object, said: str) -> None:
    assert said in reason("sokoban", board=board)
    assert "board is missing" in reason("sokoban")


GRID = ["A#G", "...", "..#"]


@pytest.mark.parametrize(
    ("grid", "moves", "right"),
    [
        (GRID, None, "shortest 4"),
        ("A#G/.../..#", None, "shortest 4"),
        ("S # G\n. . .\n. . #", None, "shortest 4"),
        (["A#G", ".#.", ".#."], None, "unreachable"),
        (["A..G"], None, "shortest 3"),
        (["A", ".", "G"], None, "shortest 2"),
        (GRID, ["Down", "Right", "Right", "Up"], "success"),
        (GRID, "D R R U", "success"),
        (GRID, ["Down", "Right", "Right", "Up", "Up"], "success"),
        (GRID, ["Down", "Right"], "not at the goal, position (1,1)"),
        (GRID, [], "not at the goal, position (0,0)"),
        (GRID, ["Down", "Left", "Right"], "invalid at move 2, position (1,0)"),
        (GRID, ["right"], "invalid at move 1, position (0,0)"),
        (["A..G"], ["Right", "Down"], "invalid at move 2, position (0,1)"),
        (["A#G", ".#.", ".#."], ["Down"], "not at the goal, position (1,0)"),
    ],
)
def test_a_grid_has_a_shortest_path_and_moves_lead_somewhere(
    grid: object, moves: object, right: str
) -> None:
    assert value("grid", grid=grid, moves=moves) == right


@pytest.mark.parametrize(
    ("case", "said"),
    [
        ({}, "grid is missing"),
        ({"grid": ["A#G", "."]}, "one length"),
        ({"grid": ["A#."]}, "one start and one goal"),
        ({"grid": ["A#GG"]}, "one start and one goal"),
        ({"grid": ["A#Gx"]}, 'it holds "x"'),
        ({"grid": GRID, "moves": ["Jump"]}, 'moves is ["Jump"]'),
        ({"grid": GRID, "moves": 3}, "moves is 3"),
    ],
)
def test_what_is_no_grid_or_no_moves_is_an_error_with_a_reason(
    case: dict[str, object], said: str
) -> None:
    assert said in reason("grid", **case)
