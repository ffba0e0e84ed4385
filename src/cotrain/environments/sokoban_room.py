"""A Sokoban room on bitboards: reading, drawing and the rules of moving, in plain integer steps.

    ######   # wall      @ player    + player on a target
    #@___#   _ floor     $ box       * box on a target
    #_$__#   . target    a blank or - is read as floor; what lies outside is wall
    #__._#
    ######

A cell is one integer, its place in rows of `columns + 1` cells. A spare wall column at the right
and spare rows above and below close the room on all sides.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from cotrain.environments.parsing import MOVES

WALL = "#"
SYMBOLS = MappingProxyType(
    {
        "_": (False, False, False),
        ".": (True, False, False),
        "$": (False, True, False),
        "*": (True, True, False),
        "@": (False, False, True),
        "+": (True, False, True),
    }
)
"""What stands on a floor cell: a target, a box, the player."""
_SYMBOL_OF = {standing: symbol for symbol, standing in SYMBOLS.items()}
_READ = {**SYMBOLS, " ": SYMBOLS["_"], "-": SYMBOLS["_"]}


@dataclass(frozen=True, slots=True)
class Position:
    """Where the player stands, a cell, and where the boxes stand, a bitboard."""

    player: int
    boxes: int


@dataclass(frozen=True, slots=True)
class Room:
    """Floor and targets (`goals`) as bitboards, with the player and the boxes at the opening.

    >>> room = Room.of_rows(["#@$.#"])
    >>> room.rows(room.opening), room.place(room.player), room.solved(room.goals)
    (['#@$.#'], (0, 1), True)
    """

    num_rows: int
    num_columns: int
    floor: int
    goals: int
    player: int
    boxes: int

    @classmethod
    def of_rows(cls, rows: Sequence[str]) -> "Room":
        """Reads a board. Raises ValueError where it is no board.

        A board has rows of one length, known symbols alone, one player and a box or more.
        """
        text = "".join(rows)
        columns = len(rows[0]) if rows else 0
        if any(len(row) != columns for row in rows):
            raise ValueError(f"its rows must have one length, they have {[len(r) for r in rows]}")
        if unknown := sorted(set(text) - {WALL, *_READ}):
            raise ValueError(f"it holds {unknown[0]!r}, allowed are {WALL} {' '.join(SYMBOLS)}")
        cells = cells_of(len(rows), columns)
        floor = {cell: _READ[s] for cell, s in zip(cells, text, strict=True) if s != WALL}
        players = [cell for cell, (_, _, player) in floor.items() if player]
        boxes = sum(1 << cell for cell, (_, box, _) in floor.items() if box)
        if len(players) != 1 or not boxes:
            raise ValueError(f"it needs one player (@ or +) and a box ($ or *), got {list(rows)}")
        goals = sum(1 << cell for cell, (goal, _, _) in floor.items() if goal)
        every = sum(1 << cell for cell in floor)
        return cls(len(rows), columns, every, goals, players[0], boxes)

    @property
    def opening(self) -> Position:
        """Where everything stands before the first move."""
        return Position(self.player, self.boxes)

    @property
    def num_cells(self) -> int:
        """How many integers name a cell, spare ones included."""
        return (self.num_rows + 2) * (self.num_columns + 1)

    def solved(self, boxes: int) -> bool:
        """Whether all boxes stand on targets."""
        return not boxes & ~self.goals

    def place(self, cell: int) -> tuple[int, int]:
        """Row and column of a cell, both from 0."""
        row, column = divmod(cell, self.num_columns + 1)
        return row - 1, column

    def rows(self, position: Position) -> list[str]:
        """The room as text, one string a row, with player and boxes where they stand."""
        text = [self._symbol(cell, position) for cell in cells_of(self.num_rows, self.num_columns)]
        width = self.num_columns
        return ["".join(text[i : i + width]) for i in range(0, len(text), width)]

    def offsets(self) -> dict[str, int]:
        """What each move adds to a cell."""
        width = self.num_columns + 1
        return dict(zip(MOVES, (-width, width, -1, 1), strict=True))

    def legal(self, position: Position) -> tuple[str, ...]:
        """The moves that are not blocked, pushes included, in the order of `MOVES`."""
        here = (position.player, position.boxes)
        return tuple(m for m, offset in self.offsets().items() if step(self, *here, offset) != here)

    def _symbol(self, cell: int, position: Position) -> str:
        if not self.floor >> cell & 1:
            return WALL
        goal, box = bool(self.goals >> cell & 1), bool(position.boxes >> cell & 1)
        return _SYMBOL_OF[goal, box, cell == position.player]


@dataclass(frozen=True, slots=True)
class Played:
    """Where a list of moves leads: how many were played, pushes among them, first blocked one.

    `blocked` is the number of the first blocked move, from 1; 0 if none. `moves` counts blocked
    ones too.
    """

    position: Position
    moves: int
    pushes: int
    blocked: int


def play(room: Room, position: Position, moves: Sequence[str]) -> Played:
    """Plays moves until they end or the last box comes home.

    Walking into a box pushes it if the cell behind is free floor. A blocked move leaves the board,
    counts as a move, and the next one is played.

    >>> room = Room.of_rows(["#@_$.#"])
    >>> played = play(room, room.opening, ["Up", "Right", "Right", "Left"])
    >>> room.rows(played.position), played.moves, played.pushes, played.blocked
    (['#__@*#'], 3, 1, 1)
    """
    offsets = room.offsets()
    player, boxes = position.player, position.boxes
    count = pushes = blocked = 0
    for count, move in enumerate(moves, 1):
        before, stood = player, boxes
        player, boxes = step(room, player, boxes, offsets[move])
        if player == before:
            blocked = blocked or count
        pushes += boxes != stood
        if boxes != stood and room.solved(boxes):
            break
    return Played(Position(player, boxes), count, pushes, blocked)


def step(room: Room, player: int, boxes: int, offset: int) -> tuple[int, int]:
    """Player and boxes after one move; unchanged where it is blocked."""
    cell = player + offset
    if not room.floor >> cell & 1:
        return player, boxes
    if not boxes >> cell & 1:
        return cell, boxes
    beyond = cell + offset
    if not (room.floor & ~boxes) >> beyond & 1:
        return player, boxes
    return cell, boxes ^ (1 << cell | 1 << beyond)


def reach(free: int, cell: int, width: int) -> int:
    """The free cells that can be walked to from a cell, itself included, as a bitboard."""
    seen, grown = 0, 1 << cell
    while grown != seen:
        seen = grown
        grown |= (seen << 1 | seen >> 1 | seen << width | seen >> width) & free
    return seen


def cells_of(num_rows: int, num_columns: int) -> Iterator[int]:
    """The cells of a room, row by row."""
    width = num_columns + 1
    return (row * width + column for row in range(1, num_rows + 1) for column in range(num_columns))


def set_cells(board: int) -> Iterator[int]:
    """The cells whose bit is set, from the lowest."""
    while board:
        lowest = board & -board
        yield lowest.bit_length() - 1
        board ^= lowest
