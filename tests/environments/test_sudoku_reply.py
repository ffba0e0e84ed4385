"""Replies of Sudoku: one grid, and one list of fills, in every form that is read."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cotrain.environments.sudoku_reply import fills_in, grid_as_fills, parse_fills, parse_printed

GRID = grid_as_fills(tuple(map(int, "1234341221434321")), 4)
TWO = ((1, 2, 4), (2, 1, 3))

GRIDS = [
    "1234/3412/2143/4321",
    "1234;3412;2143;4321",
    "1234\n3412\n2143\n4321",
    " 1 2 3 4\n\n 3 4 1 2\r\n 2 1 4 3\n 4 3 2 1 \n",
    "1 2 3 4 / 3 4 1 2 / 2 1 4 3 / 4 3 2 1",
    "1,2,3,4\n3,4,1,2\n2,1,4,3\n4,3,2,1,",
    "1 2 | 3 4\n3 4 | 1 2\n----+----\n2 1 | 4 3\n4 3 | 2 1",
    "+--+--+\n|12|34|\n|34|12|\n+--+--+\n|21|43|\n|43|21|\n+--+--+",
    "Row 1: 1 2 3 4\nRow 2: 3 4 1 2\nRow 3: 2 1 4 3\nRow 4: 4 3 2 1",
    "1. 1 2 3 4\n2. 3 4 1 2\n3. 2 1 4 3\n4. 4 3 2 1",
    "1234341221434321",
    "1 2 3 4 3 4 1 2 2 1 4 3 4 3 2 1",
    "[[1, 2, 3, 4], [3, 4, 1, 2], [2, 1, 4, 3], [4, 3, 2, 1]]",
    "[[1, 2, 3, 4],\n [3, 4, 1, 2],\n [2, 1, 4, 3],\n [4, 3, 2, 1],]",
    "((1, 2, 3, 4), (3, 4, 1, 2), (2, 1, 4, 3), (4, 3, 2, 1))",
    "[1 2 3 4] [3 4 1 2] [2 1 4 3] [4 3 2 1]",
    "[1, 2, 3, 4, 3, 4, 1, 2, 2, 1, 4, 3, 4, 3, 2, 1]",
    '["1234", "3412", "2143", "4321"]',
    '[["1", "2", "3", "4"], [3, 4, 1, 2], "2 1 4 3", ["4", "3", "2", "1"]]',
    '{"size": 4, "grid": [[1, 2, 3, 4], [3, 4, 1, 2], [2, 1, 4, 3], [4, 3, 2, 1]]}',
    '"1234/3412/2143/4321"',
    "```\n1234\n3412\n2143\n4321\n```",
    "```json\n[[1,2,3,4],[3,4,1,2],[2,1,4,3],[4,3,2,1]]\n```",
]
FILLS = [
    "(1, 2, 4) (2, 1, 3)",
    "(1,2,4), (2,1,3)",
    "(1,2,4) and (2,1,3)",
    "[(1, 2, 4), (2, 1, 3)]",
    "[[1, 2, 4], [2, 1, 3]]",
    "[1, 2, 4], [2, 1, 3]",
    "{1,2,4},{2,1,3}",
    "1 2 4\n2 1 3",
    "1,2,4;2,1,3",
    " 1 2 4 2 1 3 ",
    "[1, 2, 4, 2, 1, 3]",
    "1. (1, 2, 4)\n2. (2, 1, 3)",
    "- (1, 2, 4)\n- (2, 1, 3)",
    "r1c2=4, r2c1=3",
    "R1C2: 4\nR2C1: 3",
    "r1c2 4 r2c1 3",
    "row 1, column 2, 4\nrow 2, column 1, 3",
    "row 1, column 2, value 4; row 2, column 1, value 3",
    "row=1, col=2, val=4\nrow=2, col=1, val=3",
    "- row 1, column 2: 4\n- row 2, column 1: 3",
    "(row 1, column 2, value 4), (row 2, column 1, value 3)",
    "(1, 2) = 4, (2, 1) = 3",
    "(1, 2): 4\n(2, 1): 3",
    "(1,2)->4 (2,1)->3",
    '[{"row": 1, "column": 2, "value": 4}, {"value": "3", "col": 1, "Row": 2}]',
    '{"fills": [[1, 2, 4], [2, 1, 3]]}',
    "```json\n[[1,2,4],[2,1,3]]\n```",
]
NOTHING = [
    "",
    "1",
    "1 2",
    "123",
    "1234/3412",
    "1 2 3 4",
    "1234/3412/2143/43210",
    "1/2/4",
    "r1c24",
    "value 4 in row 1, column 2",
    "put (1, 2, 4)",
    "(1, 2, 4) or (1, 2, 3)",
    "1 2 x",
    "1 2 3.5",
    "1e0 2 3",
    "true 1 2",
    "\u0661 \u0662 \u0663",
    "null",
    "[]",
    "[[]]",
    "{}",
    "[null]",
    "[1, 2, true]",
    '[{"row": 1, "value": 2}]',
    "0000/0000/0000/0000",
    "....\n....\n....\n....",
]


@pytest.mark.parametrize("text", GRIDS)
def test_a_whole_grid_is_read_in_any_of_its_forms(text: str) -> None:
    assert fills_in(text, 4) == GRID
    assert parse_fills(f"So: <answer>{text}</answer>", 4) == GRID


@pytest.mark.parametrize("text", FILLS)
def test_fills_are_read_in_any_of_their_forms(text: str) -> None:
    assert fills_in(text, 4) == TWO
    assert parse_fills(f"So:\n<answer>\n{text}\n</answer>", 4) == TWO


@pytest.mark.parametrize("text", NOTHING)
def test_what_is_neither_or_fills_nothing_is_no_answer(text: str) -> None:
    assert parse_fills(f"<answer>{text}</answer>", 4) is None


@pytest.mark.parametrize("cell", ["0", ".", "_"])
def test_open_cells_of_a_grid_are_no_fills(cell: str) -> None:
    open_row = cell * 4
    assert fills_in(f"1{cell}3{cell}/{open_row}/{open_row}/{cell}{cell}{cell}2", 4) == (
        (1, 1, 1),
        (1, 3, 3),
        (4, 4, 2),
    )
    assert fills_in("[[1,null,null,null],[0,0,0,0],[0,0,0,0],[0,0,0,0]]", 4) == ((1, 1, 1),)


def test_numbers_out_of_range_are_read_so_that_they_can_be_refused() -> None:
    assert fills_in("(0, 5, 10) (-1, 2, 3)", 4) == ((0, 5, 10), (-1, 2, 3))
    assert fills_in("5000/0000/0000/0000", 4) == ((1, 1, 5),)


def test_81_bare_numbers_are_a_grid_and_27_groups_of_three_are_fills() -> None:
    assert len(fills_in(" ".join(["1"] * 81), 9) or ()) == 81
    assert len(fills_in("(1,1,1) " * 27, 9) or ()) == 27


def test_the_last_answer_that_can_be_read_counts_and_thinking_does_not() -> None:
    reply = "<think><answer>(1, 1, 1)</answer></think><answer>(1, 2, 4)</answer>"
    assert parse_fills(reply, 4) == ((1, 2, 4),)
    assert parse_fills(f"{reply} or <answer>(2, 1, 3)</answer>", 4) == ((2, 1, 3),)
    assert parse_fills(f"{reply} form: <answer>row, column, value</answer>", 4) == ((1, 2, 4),)
    assert parse_fills("<answer>(1, 2, 4)", 4) is None
    assert parse_fills("(1, 2, 4)", 4) is None


def test_a_program_may_print_other_lines_before_its_grid_or_fills() -> None:
    assert parse_printed("1234\n3412\n2143\n4321\n", 4) == GRID
    assert parse_printed("trying...\n\nsolved:\n1 2 3 4\n3 4 1 2\n2 1 4 3\n4 3 2 1\n", 4) == GRID
    assert parse_printed("done\n[(1, 2, 4), (2, 1, 3)]\n", 4) == TWO
    assert parse_printed("<answer>(1, 2, 4)(2, 1, 3)</answer>\nbye\n", 4) == TWO
    assert parse_printed("no solution\n", 4) is None
    assert parse_printed("", 4) is None


@pytest.mark.parametrize(
    "text",
    [
        "r1" * 50_000,
        "row 1 col " * 20_000,
        " " * 200_000,
        "1 " * 99_999,
        "(1,2" * 50_000,
        "[" * 100_000,
        "[[" * 50_000 + "]]" * 50_000,
        "-" * 100_000,
        "9" * 100_000,
        "row 1 " + " " * 100_000,
    ],
    ids=lambda text: text[:8],
)
def test_hostile_answers_are_read_in_a_time_that_grows_with_their_length(text: str) -> None:
    reply = f"<answer>{text}</answer>"
    fills = parse_fills(reply, 4)
    assert fills is None or len(fills) == 33_333


@given(st.lists(st.tuples(*[st.integers(-3, 12)] * 3), min_size=1, max_size=30))
def test_fills_are_read_back_as_they_are_written(fills: list[tuple[int, int, int]]) -> None:
    written = " ".join(f"({row}, {column}, {value})" for row, column, value in fills)
    assert parse_fills(f"<answer>{written}</answer>", 9) == tuple(fills)


@given(st.text("0123456789 ./,;|()[]{}rc=:-\nrowcal\"'_", max_size=60))
def test_no_answer_is_an_exception(text: str) -> None:
    for size in (4, 9):
        fills = parse_fills(f"<answer>{text}</answer>", size)
        assert fills is None or all(len(fill) == 3 for fill in fills)
