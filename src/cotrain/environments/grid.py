"""A grid with blocked cells on a bitboard: floods, distances and walks in plain integer steps.

A cell is one integer, its place in rows of `size + 1` cells. A spare blocked column at the right
and spare rows above and below close the grid on all sides, so that a move is one addition and a
test of one bit.
"""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from cotrain.environments.parsing import MOVES


@dataclass(frozen=True, slots=True)
class Grid:
    """Free cells as a bitboard, with a start and a goal.

    >>> grid = Grid.of_rows(["A#G", "...", "..#"])
    >>> grid.place(grid.start), grid.place(grid.goal), grid.rows(grid.start)
    ((0, 0), (0, 2), ['A#G', '...', '..#'])
    """

    size: int
    free: int
    start: int
    goal: int

    @classmethod
    def of_rows(cls, rows: Sequence[str]) -> "Grid":
        """Reads rows of `.` free, `#` blocked, `A` start and `G` goal.

        Raises ValueError when the rows are not square, or lack exactly one `A` and one `G`.
        """
        size, text = len(rows), "".join(rows)
        if any(len(row) != size for row in rows) or text.count("A") != 1 or text.count("G") != 1:
            raise ValueError(f"{list(rows)}: a grid is square, with one A (start) and one G (goal)")
        cells = {cell: text[index] for index, cell in enumerate(_cells(size))}
        free = sum(1 << cell for cell, symbol in cells.items() if symbol != "#")
        named = {symbol: cell for cell, symbol in cells.items()}
        return cls(size, free, named["A"], named["G"])

    @classmethod
    def of_free_cells(cls, size: int, start: int, goal: int) -> "Grid":
        """A grid without blocked cells."""
        return cls(size, sum(_bits(size)), start, goal)

    def place(self, cell: int) -> tuple[int, int]:
        """Row and column of a cell, both from 0."""
        row, column = divmod(cell, self.size + 1)
        return row - 1, column

    def rows(self, agent: int) -> list[str]:
        """The grid as text, one string a row, with the agent at this cell."""
        symbols = {self.goal: "G", agent: "A"}
        cells = list(_cells(self.size))
        text = [symbols.get(cell, "." if self.free >> cell & 1 else "#") for cell in cells]
        return ["".join(text[i : i + self.size]) for i in range(0, len(text), self.size)]

    def offsets(self) -> dict[str, int]:
        """What each move adds to a cell."""
        width = self.size + 1
        return dict(zip(MOVES, (-width, width, -1, 1), strict=True))

    def legal(self, cell: int) -> tuple[str, ...]:
        """The moves from a cell that stay on free cells, in the order of `MOVES`."""
        return tuple(m for m, step in self.offsets().items() if self.free >> cell + step & 1)


@dataclass(frozen=True, slots=True)
class Walk:
    """Where a list of moves leads: the end cell and the first illegal move, from 1; 0 if none.

    `closer` counts the played moves that took one step off the distance to the goal.
    """

    end: int
    illegal: int
    closer: int = 0


def walk(grid: Grid, cell: int, moves: Sequence[str], distances: Sequence[int]) -> Walk:
    """Plays moves until the goal is reached or one is illegal; the rest is not played.

    `distances` are those of `distances_to`.

    >>> grid = Grid.of_rows(["A.", ".G"])
    >>> walk(grid, grid.start, ["Right", "Up", "Down"], distances_to(grid, grid.goal)).illegal
    2
    """
    offsets, free, goal, closer = grid.offsets(), grid.free, grid.goal, 0
    for number, move in enumerate(moves, 1):
        target = cell + offsets[move]
        if not free >> target & 1:
            return Walk(cell, number, closer)
        closer += distances[target] < distances[cell]
        cell = target
        if cell == goal:
            break
    return Walk(cell, 0, closer)


def flood(size: int, free: int, cell: int) -> Iterator[int]:
    """The cells at distance 0, 1, 2, ... from a cell, each distance as a bitboard."""
    width = size + 1
    layer, unseen = 1 << cell, free
    while layer:
        yield layer
        unseen &= ~layer
        layer = (layer << 1 | layer >> 1 | layer << width | layer >> width) & unseen


def distances_to(grid: Grid, cell: int) -> tuple[int, ...]:
    """The shortest distance from every cell to this one, by cell; -1 where there is no path."""
    distances = [-1] * ((grid.size + 1) * (grid.size + 2))
    for distance, layer in enumerate(flood(grid.size, grid.free, cell)):
        rest = layer
        while rest:
            cell_bit = rest & -rest
            distances[cell_bit.bit_length() - 1] = distance
            rest ^= cell_bit
    return tuple(distances)


def shortest_path(grid: Grid, cell: int, distances: Sequence[int]) -> tuple[str, ...]:
    """A shortest list of moves to the cell that `distances` belong to; ties in `MOVES` order.

    >>> grid = Grid.of_rows(["A#G", "...", "..#"])
    >>> shortest_path(grid, grid.start, distances_to(grid, grid.goal))
    ('Down', 'Right', 'Right', 'Up')
    """
    offsets, moves = grid.offsets(), list[str]()
    while distances[cell] > 0:
        nearer = (m for m in MOVES if distances[cell + offsets[m]] == distances[cell] - 1)
        moves.append(next(nearer))
        cell += offsets[moves[-1]]
    return tuple(moves)


def draw_grid(
    size: int, blocked: float, min_distance: int, generator: random.Random
) -> Grid | None:
    """One try at a grid: start and goal joined, the shortest path at least `min_distance` long.

    Each cell is blocked with probability `blocked`. Returns None where the drawn cells have no such
    goal for the drawn start.
    """
    draw = generator.random
    bits = [bit for bit in _bits(size) if draw() >= blocked]
    if not bits:
        return None
    free, start = sum(bits), generator.choice(bits)
    far = sum(list(flood(size, free, start.bit_length() - 1))[min_distance:])
    goals = [bit for bit in bits if far & bit]
    if not goals:
        return None
    return Grid(size, free, start.bit_length() - 1, generator.choice(goals).bit_length() - 1)


@lru_cache
def _bits(size: int) -> tuple[int, ...]:
    return tuple(1 << cell for cell in _cells(size))


def _cells(size: int) -> Iterator[int]:
    width = size + 1
    return (row * width + column for row in range(1, width) for column in range(size))
