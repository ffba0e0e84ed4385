"""Draws Sokoban rooms: boxes are pulled from their targets, and a search proves the way back."""

from dataclasses import dataclass
from functools import lru_cache
from random import Random

from cotrain.environments.procedural import NothingDrawnError
from cotrain.environments.sokoban_room import Room, cells_of, reach, set_cells
from cotrain.environments.sokoban_search import SearchLimitError, pushes_in, shortest_solution

PULLS_A_BOX = 12
MAX_POSITIONS = 20_000
"""Rooms that take a longer search are drawn anew."""
MAX_GIVEN_UP = 50
"""So many searches may be longer for one task: more take a minute and more."""


class TooLargeError(NothingDrawnError):
    """Nearly all rooms take too long a search."""


def draw_room(size: int, num_boxes: int, walls: float, generator: Random) -> Room | None:
    """One try at a room of `size` x `size` cells, its outer wall included.

    Each inner cell is a wall with probability `walls`; floor that cannot be reached is filled up.
    Returns None where the boxes have no space.
    """
    bits = [bit for bit in _inner_bits(size) if generator.random() >= walls]
    if len(bits) < 2 * num_boxes + 1:
        return None
    width = size + 1
    floor = reach(sum(bits), generator.choice(bits).bit_length() - 1, width)
    cells = list(set_cells(floor))
    if len(cells) < 2 * num_boxes + 1:
        return None
    *homes, player = generator.sample(cells, num_boxes + 1)
    goals = sum(1 << home for home in homes)
    boxes = goals
    for _ in range(PULLS_A_BOX * num_boxes):
        player, boxes = _pull(floor, player, boxes, width, generator)
    player = generator.choice(list(set_cells(reach(floor & ~boxes, player, width))))
    return Room(size, size, floor, goals, player, boxes)


@dataclass
class TakesMoves:
    """Tells of one room after the other whether no fewer than `min_moves` moves solve it.

    A room whose solution is not found counts as one that does not fit; raises TooLargeError after
    `MAX_GIVEN_UP` of them.
    """

    min_moves: int
    given_up: int = 0

    def __call__(self, room: Room) -> bool:
        """Whether the room is solved by this many moves or more, and not by fewer."""
        try:
            solution = shortest_solution(room, pushes_in(room), room.opening, MAX_POSITIONS)
        except SearchLimitError:
            self.given_up += 1
            if self.given_up == MAX_GIVEN_UP:
                raise TooLargeError(
                    f"sokoban: {MAX_GIVEN_UP} rooms took a search of {MAX_POSITIONS} positions"
                ) from None
            return False
        return solution is not None and len(solution) >= self.min_moves


def _pull(floor: int, player: int, boxes: int, width: int, generator: Random) -> tuple[int, int]:
    """Player and boxes after a pull drawn from all that can be reached; unchanged without one."""
    free = floor & ~boxes
    region = reach(free, player, width)
    pulls = [
        (box, offset)
        for box in set_cells(boxes)
        for offset in (-width, width, -1, 1)
        if region >> box + offset & 1 and free >> box + 2 * offset & 1
    ]
    if not pulls:
        return player, boxes
    box, offset = generator.choice(pulls)
    return box + 2 * offset, boxes ^ (1 << box | 1 << box + offset)


@lru_cache
def _inner_bits(size: int) -> tuple[int, ...]:
    inside = range(1, size - 1)
    rows = [list(cells_of(size, size))[row * size : (row + 1) * size] for row in inside]
    return tuple(1 << row[column] for row in rows for column in inside)
