"""Sudoku grids: units and conflicts, a solver on bit masks, puzzles with exactly one solution.

A grid is a tuple of its cells, row by row; 0 is an empty cell.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import isqrt
from random import Random
from typing import TypeAlias

from cotrain.environments.procedural import NothingDrawnError

Cells: TypeAlias = tuple[int, ...]

BOX_OF_SIZE = {4: 2, 9: 3}
"""The sizes that there are, with the side of a box."""

MOST_EMPTY = {4: 12, 9: 64}
"""The most empty cells with which a puzzle can have one solution: 4 and 17 clues are the fewest."""

MAX_DIGS = 100
"""Full grids that are dug out before `draw_puzzle` gives up."""


@dataclass(frozen=True, slots=True)
class Layout:
    """What follows from the size alone.

    `units[cell]` are the indices of the cell's row, column and box among 3 * size units;
    `peers[cell]` are the other cells of these.
    """

    size: int
    box: int
    units: tuple[tuple[int, int, int], ...]
    peers: tuple[tuple[int, ...], ...]


@lru_cache(maxsize=4)
def layout_of(size: int) -> Layout:
    """The layout of a grid of `size` rows.

    >>> layout_of(4).peers[0]
    (1, 2, 3, 4, 5, 8, 12)
    """
    box = BOX_OF_SIZE[size]
    places = [divmod(cell, size) for cell in range(size * size)]
    units = tuple(
        (row, size + column, 2 * size + row // box * box + column // box) for row, column in places
    )
    peers = tuple(
        tuple(
            other
            for other, theirs in enumerate(units)
            if other != cell and any(map(int.__eq__, mine, theirs))
        )
        for cell, mine in enumerate(units)
    )
    return Layout(size, box, units, peers)


@dataclass(frozen=True, slots=True)
class Puzzle:
    """The clues of a puzzle; 0 is an empty cell."""

    clues: Cells

    @classmethod
    def of_text(cls, text: str) -> "Puzzle":
        """The puzzle of rows of digits with `/` between them.

        Raises ValueError for anything but 4 rows of 4 or 9 rows of 9 digits that are in range.

        >>> Puzzle.of_text("1000/0040/0100/0002").empty
        12
        """
        rows = text.strip().split("/")
        size = len(rows)
        if size not in BOX_OF_SIZE:
            raise ValueError(f"{size} rows: a puzzle has 4 or 9, with / between them")
        allowed = frozenset("0123456789"[: size + 1])
        for row in rows:
            if len(row) != size or not allowed.issuperset(row):
                raise ValueError(f"row {row!r}: allowed are {size} digits from 0 to {size}")
        return cls(tuple(map(int, "".join(rows))))

    @property
    def size(self) -> int:
        """The number of rows, of columns and of digits."""
        return isqrt(len(self.clues))

    @property
    def empty(self) -> int:
        """The number of cells to be filled."""
        return self.clues.count(0)

    def is_solved_by(self, cells: Sequence[int]) -> bool:
        """Whether this grid keeps every clue and fills all rows, columns and boxes.

        No stored grid is compared with, so that every solution counts, should there be several.

        >>> puzzle = Puzzle.of_text("0034/3412/0043/4321")
        >>> [puzzle.is_solved_by(tuple(map(int, grid.replace("/", "")))) for grid in (
        ...     "1234/3412/2143/4321", "2134/3412/1243/4321", "1234/3412/1243/4321")]
        [True, True, False]
        """
        kept = all(clue in (0, cell) for clue, cell in zip(self.clues, cells, strict=True))
        return kept and 0 not in cells and not any(clashes(cells))

    def shuffled(self, generator: Random) -> "Puzzle":
        """A puzzle with as many solutions: digits renamed, rows and columns moved, maybe turned."""
        size, box = self.size, BOX_OF_SIZE[self.size]
        digits = [0, *generator.sample(range(1, size + 1), size)]
        rows, columns = _moved(size, box, generator), _moved(size, box, generator)
        places = [(row, column) for row in rows for column in columns]
        if generator.random() < 0.5:
            places = [(column, row) for row, column in places]
        return Puzzle(tuple(digits[self.clues[row * size + column]] for row, column in places))


def _moved(size: int, box: int, generator: Random) -> list[int]:
    """An order of rows (or columns) that keeps those of a box together."""
    bands = generator.sample(range(box), box)
    return [band * box + line for band in bands for line in generator.sample(range(box), box)]


def clashes(cells: Sequence[int]) -> Iterator[int]:
    """The filled cells whose value stands once more in their row, column or box.

    >>> list(clashes((1, 0, 0, 1) + (0,) * 12))
    [0, 3]
    """
    peers = layout_of(isqrt(len(cells))).peers
    for cell, value in enumerate(cells):
        if value and any(cells[peer] == value for peer in peers[cell]):
            yield cell


def values_left(cells: Sequence[int], cell: int) -> tuple[int, ...]:
    """The values that stand nowhere in the row, column and box of this cell.

    >>> values_left((1, 2, 0, 0) + (0, 0, 0, 4) + (0,) * 8, 2)
    (3,)
    """
    size = isqrt(len(cells))
    seen = {cells[peer] for peer in layout_of(size).peers[cell]}
    return tuple(value for value in range(1, size + 1) if value not in seen)


def solutions(cells: Sequence[int], generator: Random | None = None) -> Iterator[Cells]:
    """Every solution, found as it is asked for; with a generator in random order.

    A grid with a clash has none.

    >>> len(list(solutions(Puzzle.of_text("0034/3412/0043/4321").clues)))
    2
    """
    if any(clashes(cells)):
        return
    size = isqrt(len(cells))
    units = layout_of(size).units
    used = [0] * (3 * size)
    for cell, value in enumerate(cells):
        for unit in units[cell]:
            used[unit] |= 1 << value & ~1
    empty = [cell for cell, value in enumerate(cells) if not value]
    if generator is not None:
        generator.shuffle(empty)
    yield from _Search(list(cells), used, empty, generator).run()


class _Search:
    """Depth first, at each node in the cell with the fewest values left.

    Bit `v` of `used[unit]` says that the unit has the value v.
    """

    def __init__(
        self, cells: list[int], used: list[int], empty: list[int], generator: Random | None
    ) -> None:
        self.cells = cells
        self.used = used
        self.empty = empty
        self.generator = generator
        self.layout = layout_of(isqrt(len(cells)))
        self.all_values = (2 << self.layout.size) - 2

    def run(self) -> Iterator[Cells]:
        """The solutions below the node that the search stands at."""
        if not self.empty:
            yield tuple(self.cells)
            return
        place, values = self._narrowest()
        cell = self.empty[place]
        self.empty[place] = self.empty[-1]
        self.empty.pop()
        row, column, box = self.layout.units[cell]
        for value in self._in_order(values):
            bit = 1 << value
            self.cells[cell] = value
            self.used[row] ^= bit
            self.used[column] ^= bit
            self.used[box] ^= bit
            yield from self.run()
            self.used[row] ^= bit
            self.used[column] ^= bit
            self.used[box] ^= bit
        self.cells[cell] = 0
        self.empty.append(cell)
        self.empty[place], self.empty[-1] = self.empty[-1], self.empty[place]

    def _narrowest(self) -> tuple[int, int]:
        """The place in `empty` of the cell with the fewest values left, and these as bits."""
        units, used, everything = self.layout.units, self.used, self.all_values
        best, best_values, fewest = 0, 0, 99
        for place, cell in enumerate(self.empty):
            row, column, box = units[cell]
            values = everything & ~(used[row] | used[column] | used[box])
            count = values.bit_count()
            if count < fewest:
                best, best_values, fewest = place, values, count
                if count <= 1:
                    break
        return best, best_values

    def _in_order(self, values: int) -> list[int]:
        order = [value for value in range(1, self.layout.size + 1) if values >> value & 1]
        if self.generator is not None:
            self.generator.shuffle(order)
        return order


def draw_puzzle(size: int, empty: int, generator: Random) -> Puzzle:
    """A random puzzle with this many empty cells and exactly one solution.

    A random full grid loses clues in random order, each only if the puzzle keeps one solution.
    Raises NothingDrawnError when `MAX_DIGS` grids could not lose as many.

    >>> puzzle = draw_puzzle(4, 10, Random(1))
    >>> puzzle.empty, len(list(solutions(puzzle.clues)))
    (10, 1)
    """
    for _ in range(MAX_DIGS):
        full = next(solutions((0,) * size**2, generator))
        clues = _dug(list(full), empty, generator)
        if clues.count(0) == empty:
            return Puzzle(tuple(clues))
    raise NothingDrawnError(f"sudoku: {MAX_DIGS} grids had no puzzle with one solution")


def _dug(cells: list[int], empty: int, generator: Random) -> list[int]:
    """The grid after as many of its values are gone as can be, `empty` at most."""
    left = empty
    for cell in generator.sample(range(len(cells)), len(cells)):
        if not left:
            break
        value, cells[cell] = cells[cell], 0
        if _has_another(cells, cell, value):
            cells[cell] = value
        else:
            left -= 1
    return cells


def _has_another(cells: Sequence[int], cell: int, value: int) -> bool:
    """Whether a grid has a solution with another value in this cell."""
    for other in range(1, isqrt(len(cells)) + 1):
        if other == value:
            continue
        tried = (*cells[:cell], other, *cells[cell + 1 :])
        if next(solutions(tried), None) is not None:
            return True
    return False
