"""Sokoban's rules on boards, and searches against plain ones over rows of text."""

from collections import deque
from random import Random

import pytest

from cotrain.environments.parsing import MOVES
from cotrain.environments.sokoban_generator import (
    MAX_GIVEN_UP,
    TakesMoves,
    TooLargeError,
    draw_room,
)
from cotrain.environments.sokoban_room import Position, Room, cells_of, play, set_cells
from cotrain.environments.sokoban_search import (
    SearchLimitError,
    least_pushes,
    pushes_in,
    shortest_solution,
)

STEPS = {"Up": (-1, 0), "Down": (1, 0), "Left": (0, -1), "Right": (0, 1)}
LETTERS = {"U": "Up", "D": "Down", "L": "Left", "R": "Right"}
OPEN = ("######", "#@___#", "#_$__#", "#__._#", "#____#", "######")


def played(rows: tuple[str, ...], letters: str) -> tuple[list[str], int, int]:
    """Board, moves played and first blocked move after these moves."""
    room = Room.of_rows(rows)
    found = play(room, room.opening, [LETTERS[letter] for letter in letters])
    return room.rows(found.position), found.moves, found.blocked


def plain_step(rows: list[str], move: str) -> list[str]:
    """One move on rows of text, as a reference."""
    board = {(r, c): s for r, row in enumerate(rows) for c, s in enumerate(row)}
    row, column = next(place for place, symbol in board.items() if symbol in "@+")
    down, right = STEPS[move]
    near, behind = (row + down, column + right), (row + 2 * down, column + 2 * right)
    if board.get(near, "#") == "#":
        return rows
    if board[near] in "$*":
        if board.get(behind, "#") not in "_.":
            return rows
        board[behind] = {"_": "$", ".": "*"}[board[behind]]
        board[near] = {"$": "_", "*": "."}[board[near]]
    board[near] = {"_": "@", ".": "+"}[board[near]]
    board[row, column] = {"@": "_", "+": "."}[board[row, column]]
    return ["".join(board[r, c] for c in range(len(rows[r]))) for r in range(len(rows))]


def plain_search(rows: list[str], counts: str) -> int | None:
    """Fewest moves or pushes (`counts`) to a board without `$`, over all boards there are."""
    fewest, queue = {tuple(rows): 0}, deque([tuple(rows)])
    while queue:
        board = queue.popleft()
        if not any("$" in row for row in board):
            return fewest[board]
        for move in MOVES:
            after = tuple(plain_step(list(board), move))
            pushed = [symbol in "$*" for symbol in "".join(after)] != [
                symbol in "$*" for symbol in "".join(board)
            ]
            cost = fewest[board] + (1 if counts == "moves" else int(pushed))
            if cost < fewest.get(after, cost + 1):
                fewest[after] = cost
                (queue.append if counts == "moves" or pushed else queue.appendleft)(after)
    return None


def random_room(seed: int, num_boxes: int) -> Room:
    """A room that need not be solvable, walls at the rim left out."""
    generator = Random(seed)
    while True:
        rows, columns = generator.randint(2, 4), generator.randint(3, 5)
        symbols = [generator.choice("____#") for _ in range(rows * columns)]
        places = generator.sample(range(rows * columns), 2 * num_boxes + 1)
        for place, symbol in zip(places, "@" + "$." * num_boxes, strict=True):
            symbols[place] = symbol
        text = "".join(symbols)
        return Room.of_rows([text[i : i + columns] for i in range(0, len(text), columns)])


@pytest.mark.parametrize(
    ("board", "moves", "after", "count", "blocked"),
    [
        ("#@$$_#", "R", "#@$$_#", 1, 1),
        ("#_+$_#", "L", "#@.$_#", 1, 0),
        ("#_+$_#", "LR", "#_+$_#", 2, 0),
        ("#_@*_#", "R", "#__+$#", 1, 0),
        ("#@$##", "R", "#@$##", 1, 1),
        ("#@$*_#", "R", "#@$*_#", 1, 1),
        ("#@$._#", "RR", "#_@*_#", 1, 0),
        ("#@_$.#", "URRR", "#__@*#", 3, 1),
        ("_@$.", "LLR", "_@$.", 3, 2),
        ("#@_$_#", "", "#@_$_#", 0, 0),
    ],
)
def test_boxes_are_pushed_one_at_a_time_never_pulled_and_targets_show_again(
    board: str, moves: str, after: str, count: int, blocked: int
) -> None:
    assert played((board,), moves) == ([after], count, blocked)


def test_moves_after_the_last_box_is_home_are_not_played() -> None:
    rows, count, blocked = played(OPEN, "DRURDUU")
    assert (rows[3], count, blocked) == ("#__*_#", 5, 0)


def test_a_solved_board_is_played_on_from_its_opening() -> None:
    assert played(("#_@*_#",), "LRR") == (["#__+$#"], 3, 0)


@pytest.mark.parametrize("seed", range(40))
def test_random_moves_lead_where_they_lead_on_rows_of_text(seed: int) -> None:
    room = random_room(seed, 1 + seed % 2)
    generator = Random(seed)
    rows, position = room.rows(room.opening), room.opening
    for _ in range(60):
        move = generator.choice(MOVES)
        expected = plain_step(rows, move)
        found = play(room, position, [move])
        assert room.rows(found.position) == expected
        assert (found.blocked > 0) == (expected == rows)
        assert (move in room.legal(position)) == (expected != rows)
        rows, position = expected, found.position


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([], "one player"),
        (["#@$.#", "####"], "one length"),
        (["#@$x#"], "'x', allowed are"),
        (["#$.#"], "one player"),
        (["#@@$#"], "one player"),
        (["#@_.#"], "and a box"),
    ],
)
def test_a_board_that_is_none_is_refused(rows: list[str], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        Room.of_rows(rows)


def test_blanks_and_dashes_are_floor_and_drawn_as_such() -> None:
    room = Room.of_rows(["#@ -$.#"])
    assert room.rows(room.opening) == ["#@__$.#"]
    assert room.place(room.player) == (0, 1)


@pytest.mark.parametrize("seed", range(60))
def test_a_solution_is_as_short_as_a_plain_search_finds_and_solves(seed: int) -> None:
    room = random_room(seed, 1 + seed % 2)
    solution = shortest_solution(room, pushes_in(room), room.opening, 100_000)
    expected = plain_search(room.rows(room.opening), "moves")
    assert (None if solution is None else len(solution)) == expected
    if solution is not None:
        end = play(room, room.opening, solution)
        assert room.solved(end.position.boxes)
        assert (end.moves, end.blocked) == (expected, 0)


@pytest.mark.parametrize("seed", range(60))
def test_the_pushes_of_one_box_are_exact(seed: int) -> None:
    room = random_room(seed, 1)
    found = least_pushes(room, pushes_in(room), room.opening)
    assert found == plain_search(room.rows(room.opening), "pushes")


@pytest.mark.parametrize("seed", range(30))
def test_the_pushes_of_two_boxes_are_never_more_than_are_needed(seed: int) -> None:
    room = random_room(seed, 2)
    needed = plain_search(room.rows(room.opening), "pushes")
    bound = least_pushes(room, pushes_in(room), room.opening)
    assert needed is None or (bound is not None and bound <= needed)


def test_two_boxes_take_targets_of_their_own() -> None:
    room = Room.of_rows(["########", "#______#", "#@$.$_.#", "#______#", "########"])
    pushes = pushes_in(room)
    one, other = set_cells(room.boxes)
    assert (pushes.nearest[one], pushes.nearest[other]) == (1, 1)
    assert least_pushes(room, pushes, room.opening) == 1 + 2


def test_corners_and_walls_without_a_target_are_dead() -> None:
    room = Room.of_rows(OPEN)
    pushes = pushes_in(room)
    dead = [room.place(cell) for cell in set_cells(room.floor) if pushes.deadlocked(1 << cell)]
    rim = [(r, c) for r in range(1, 5) for c in range(1, 5) if r in {1, 4} or c in {1, 4}]
    assert dead == rim
    assert least_pushes(room, pushes, Position(room.player, room.floor & -room.floor)) is None


def test_a_box_at_home_needs_no_push_even_where_no_one_can_reach_it() -> None:
    room = Room.of_rows(["#@$.#*#"])
    assert least_pushes(room, pushes_in(room), room.opening) == 1
    assert shortest_solution(room, pushes_in(room), room.opening, 100) == ("Right",)


def test_more_boxes_than_targets_have_no_solution() -> None:
    room = Room.of_rows(["#@$._$#"])
    assert least_pushes(room, pushes_in(room), room.opening) is None
    assert shortest_solution(room, pushes_in(room), room.opening, 1000) is None


def test_a_search_that_may_not_go_on_says_so() -> None:
    room = Room.of_rows(OPEN)
    with pytest.raises(SearchLimitError, match="within 3 positions"):
        shortest_solution(room, pushes_in(room), room.opening, 3)


@pytest.mark.parametrize(("size", "boxes"), [(5, 1), (6, 1), (6, 2), (6, 3), (8, 2), (9, 1)])
def test_drawn_rooms_are_walled_joined_and_solved_by_no_fewer_moves_than_asked(
    size: int, boxes: int
) -> None:
    generator = Random(size + boxes)
    rooms, takes_five = (draw_room(size, boxes, 0.15, generator) for _ in range(40)), TakesMoves(5)
    drawn = [room for room in rooms if room is not None and takes_five(room)]
    assert len(drawn) >= 5
    for room in drawn:
        rows = room.rows(room.opening)
        assert {rows[0], rows[-1]} == {"#" * size}
        assert {row[0] + row[-1] for row in rows} == {"##"}
        assert room.boxes.bit_count() == room.goals.bit_count() == boxes
        if boxes == 1:
            needed = plain_search(rows, "moves")
            assert needed is not None
            assert needed >= 5


def test_rooms_that_nearly_all_take_too_long_a_search_are_refused_soon() -> None:
    generator, takes_forty = Random(1), TakesMoves(40, given_up=MAX_GIVEN_UP - 2)
    rooms = [draw_room(12, 3, 0.0, generator) for _ in range(100)]
    with pytest.raises(TooLargeError, match=f"{MAX_GIVEN_UP} rooms took a search"):
        list(map(takes_forty, [room for room in rooms if room is not None]))


def test_a_room_without_space_for_its_boxes_is_not_drawn() -> None:
    assert draw_room(5, 3, 0.9, Random(0)) is None
    assert len(list(cells_of(5, 5))) == 25
