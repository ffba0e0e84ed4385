"""Draws Sokoban rooms: boxes are pulled from their targets, and a search proves the way back."""

from functools import lru_cache
from random import Random

from cotrain.environments.sokoban_room import Room, cells_of, reach, set_cells
from cotrain.environments.sokoban_search import SearchLimitError, pushes_in, shortest_solution

PULLS_A_BOX = 12
MAX_POSITIONS = 20_000
"""Rooms that take a longer search are drawn anew."""


def draw_room(
    size: int, num_boxes: int, walls: float, min_moves: int, generator: Random
) -> Room | None:
    """One try at a room of `size` x `size` cells, its outer wall included, that can be solved.

    Each inner cell is a wall with probability `walls`; floor that cannot be reached is filled up.
    Returns None where a shortest solution has fewer than `min_moves` moves, or is not found.
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
    room = Room(size, size, floor, goals, player, boxes)
    return room if _takes(room, min_moves) else None


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


def _takes(room: Room, min_moves: int) -> bool:
    """Whether the room is solved by this many moves or more, and not by fewer."""
    pushes = pushes_in(room)
    try:
        solution = shortest_solution(room, pushes, room.opening, MAX_POSITIONS)
    except SearchLimitError:
        return False
    return solution is not None and len(solution) >= min_moves


@lru_cache
def _inner_bits(size: int) -> tuple[int, ...]:
    inside = range(1, size - 1)
    rows = [list(cells_of(size, size))[row * size : (row + 1) * size] for row in inside]
    return tuple(1 << row[column] for row in rows for column in inside)
