"""How far a Sokoban room is from solved: pushes of each box by pulling from the targets, and moves.

A lone box on each cell, with the player on each side of it, has a least number of pushes to each
target; one backward search a target finds all of them. Cells with none are dead: a box there never
comes home, wherever the player stands. On these rests the search for a shortest solution.
"""

from dataclasses import dataclass
from heapq import heappop, heappush
from itertools import permutations

from cotrain.environments.parsing import MOVES
from cotrain.environments.sokoban_room import Position, Room, reach, set_cells, step

SIDES = range(len(MOVES))


class SearchLimitError(RuntimeError):
    """The search looked at as many positions as it may and knows neither way."""


@dataclass(frozen=True, slots=True)
class Pushes:
    """The least pushes of a lone box.

    `by_goal` has one table a target: at `4 * cell + side` the pushes of a box on the cell with the
    player on that side of it (sides in the order of `MOVES`), -1 where it cannot come home.
    `nearest` is the least of all sides and targets, by cell, -1 where the cell is dead.
    """

    by_goal: tuple[tuple[int, ...], ...]
    nearest: tuple[int, ...]

    def deadlocked(self, boxes: int) -> bool:
        """Whether a box stands on a dead cell."""
        return any(self.nearest[cell] < 0 for cell in set_cells(boxes))


def pushes_in(room: Room) -> Pushes:
    """The table of a room, found by pulling a box from each target.

    >>> room = Room.of_rows(["######", "#@__.#", "#_$__#", "######"])
    >>> pushes = pushes_in(room)
    >>> cell = next(set_cells(room.boxes))
    >>> pushes.nearest[cell], pushes.deadlocked(room.boxes)
    (-1, True)
    """
    by_goal = tuple(_pulled_from(room, goal) for goal in set_cells(room.goals))
    nearest = [-1] * room.num_cells
    for cell in set_cells(room.floor):
        found = (n for table in by_goal for n in table[4 * cell : 4 * cell + 4] if n >= 0)
        nearest[cell] = 0 if room.goals >> cell & 1 else min(found, default=-1)
    return Pushes(by_goal, tuple(nearest))


def least_pushes(room: Room, pushes: Pushes, position: Position) -> int | None:
    """The least pushes that bring all boxes home, None where they cannot come home.

    Exact for one box. Several boxes are summed, each on its way to a target of its own as if it
    were alone, in the cheapest assignment: never more than are needed.

    >>> room = Room.of_rows(["#@_$_.#"])
    >>> least_pushes(room, pushes_in(room), room.opening)
    2
    >>> least_pushes(room, pushes_in(room), Position(room.player + 4, room.boxes)) is None
    True
    """
    costs = [_costs(room, pushes, position.player, box) for box in set_cells(position.boxes)]
    assigned = (
        [row[goal] for row, goal in zip(costs, goals, strict=True)]
        for goals in permutations(range(len(pushes.by_goal)), len(costs))
    )
    return min((sum(each) for each in assigned if min(each) >= 0), default=None)


def shortest_solution(
    room: Room, pushes: Pushes, position: Position, max_positions: int
) -> tuple[str, ...] | None:
    """A shortest list of moves that brings all boxes home, None where there is none.

    Best-first, with the least pushes of each box to its nearest target, which no solution beats.
    Raises SearchLimitError when it would look at more than `max_positions`.

    >>> room = Room.of_rows(["######", "#@___#", "#_$__#", "#__._#", "#____#", "######"])
    >>> shortest_solution(room, pushes_in(room), room.opening, 10_000)
    ('Down', 'Right', 'Up', 'Right', 'Down')
    """
    search = _Search(room, pushes)
    search.add((position.player, position.boxes), 0, _NOTHING)
    while search.frontier:
        _, fewer, player, boxes = heappop(search.frontier)
        if room.solved(boxes):
            return search.way_to((player, boxes))
        if len(search.came) > max_positions:
            raise SearchLimitError(f"no answer within {max_positions} positions")
        search.expand(player, boxes, -fewer)
    return None


_NOTHING = (0, 0, -1)


class _Search:
    """Positions seen, each with its fewest moves so far and the move that led there."""

    def __init__(self, room: Room, pushes: Pushes) -> None:
        self.room = room
        self.pushes = pushes
        self.offsets = list(room.offsets().values())
        self.bounds: dict[int, int] = {}
        self.fewest: dict[tuple[int, int], int] = {}
        self.came: dict[tuple[int, int], tuple[int, int, int]] = {}
        self.frontier: list[tuple[int, int, int, int]] = []

    def expand(self, player: int, boxes: int, number: int) -> None:
        """Adds the positions one move on, unless a shorter way here was found meanwhile."""
        if number > self.fewest[player, boxes]:
            return
        for side, offset in enumerate(self.offsets):
            after = step(self.room, player, boxes, offset)
            if number + 1 < self.fewest.get(after, number + 2):
                self.add(after, number + 1, (player, boxes, side))

    def add(self, after: tuple[int, int], number: int, came: tuple[int, int, int]) -> None:
        """Notes a position, unless a box in it stands on a dead cell."""
        bound = self.bounds.get(after[1])
        if bound is None:
            bound = self.bounds[after[1]] = _bound(self.pushes, after[1])
        if bound >= 0:
            self.fewest[after], self.came[after] = number, came
            heappush(self.frontier, (number + bound, -number, *after))

    def way_to(self, end: tuple[int, int]) -> tuple[str, ...]:
        """The moves from the opening to a position."""
        moves: list[str] = []
        player, boxes, side = self.came[end]
        while side >= 0:
            moves.append(MOVES[side])
            player, boxes, side = self.came[player, boxes]
        return tuple(reversed(moves))


def _bound(pushes: Pushes, boxes: int) -> int:
    """Pushes of each box to its nearest target, summed; -1 where one is on a dead cell."""
    each = [pushes.nearest[cell] for cell in set_cells(boxes)]
    return -1 if min(each) < 0 else sum(each)


def _costs(room: Room, pushes: Pushes, player: int, box: int) -> list[int]:
    """Pushes of one box, alone, to each target, -1 where the player cannot bring it there."""
    region = reach(room.floor & ~(1 << box), player, room.num_columns + 1)
    offsets = room.offsets().values()
    sides = [side for side, offset in enumerate(offsets) if region >> box + offset & 1]
    found = ([table[4 * box + side] for side in sides] for table in pushes.by_goal)
    least = [min((n for n in costs if n >= 0), default=-1) for costs in found]
    return [0 if goal == box else n for goal, n in zip(set_cells(room.goals), least, strict=True)]


def _pulled_from(room: Room, goal: int) -> tuple[int, ...]:
    """The table of one target: a box is pulled from it, one pull a layer."""
    offsets = list(room.offsets().values())
    table = [-1] * (4 * room.num_cells)
    layer = [(goal, side) for side in SIDES if room.floor >> goal + offsets[side] & 1]
    number = 0
    while layer:
        pulled: list[tuple[int, int]] = []
        for box, stands in layer:
            for side in _sides_joined(room, box, box + offsets[stands], offsets):
                if table[4 * box + side] < 0:
                    table[4 * box + side] = number
                    pulled.append((box + offsets[side], side))
        layer = [
            (box, side)
            for box, side in pulled
            if room.floor >> box + offsets[side] & 1 and table[4 * box + side] < 0
        ]
        number += 1
    return tuple(table)


def _sides_joined(room: Room, box: int, player: int, offsets: list[int]) -> list[int]:
    """The sides of a box that a player can walk to."""
    region = reach(room.floor & ~(1 << box), player, room.num_columns + 1)
    return [side for side in SIDES if region >> box + offsets[side] & 1]
