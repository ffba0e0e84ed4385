"""The state of Sudoku, what a reply would lead to, and how both are written for two readers."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from cotrain.environments.base import Role
from cotrain.environments.sudoku_grid import Cells, Puzzle, layout_of, solutions, values_left
from cotrain.environments.sudoku_prompts import CELLS
from cotrain.environments.sudoku_reply import Fill


@dataclass(frozen=True, slots=True)
class Illegal:
    """The first fill that breaks a rule, and which; `fill` is None where no single one does."""

    fill: Fill | None
    why: str


@dataclass(frozen=True, slots=True)
class Trial:
    """Fills with the grid that they lead to, which is the old one if anything is `illegal`."""

    fills: tuple[Fill, ...]
    cells: Cells
    illegal: Illegal | None = None


@dataclass(frozen=True, slots=True)
class State:
    """The grid as it stands: the puzzle's clues, and the team's own fills, which may be wrong.

    `solution` is the one there is; `best` is the largest number of right fills so far. `proposal`
    is this turn's, or None when there is none that can be read; `unread` then says why, if more can
    be said.
    """

    puzzle: Puzzle
    solution: Cells
    cells: Cells
    best: int = 0
    proposal: Trial | None = None
    unread: str = ""

    @property
    def size(self) -> int:
        """The number of rows."""
        return self.puzzle.size

    def num_right(self, cells: Cells) -> int:
        """How many of the cells that were empty at the start hold the right value in this grid."""
        three = zip(self.puzzle.clues, cells, self.solution, strict=True)
        return sum(not clue and cell == right for clue, cell, right in three)

    def fills_left(self) -> tuple[Fill, ...]:
        """The fills that are left to do: every cell that does not hold its right value yet."""
        return tuple(
            (*place_of(cell, self.size), right)
            for cell, right in enumerate(self.solution)
            if self.cells[cell] != right
        )

    def own_fills(self) -> tuple[Fill, ...]:
        """What the team has filled so far."""
        return tuple(
            (*place_of(cell, self.size), value)
            for cell, value in enumerate(self.cells)
            if value and not self.puzzle.clues[cell]
        )


def start_of(puzzle: Puzzle) -> State:
    """The opening state of a puzzle, which must have a solution.

    >>> start_of(Puzzle.of_text("1000/0040/0100/0002")).fills_left()[0]
    (1, 2, 4)
    """
    return State(puzzle, next(solutions(puzzle.clues)), puzzle.clues)


def place_of(cell: int, size: int) -> tuple[int, int]:
    """Row and column of a cell, counted from 1."""
    return cell // size + 1, cell % size + 1


def try_fills(state: State, fills: Sequence[Fill], max_fills: int | None) -> Trial:
    """What these fills lead to: all of them are applied together, or none.

    Illegal is a place or a value that is not there, two values for one cell, a changed clue, a
    value that then stands twice in a row, column or box, more than `max_fills` cells changed, or
    no cell changed at all. Repeating what already stands in a cell is no change.

    >>> state = start_of(Puzzle.of_text("1000/0040/0100/0002"))
    >>> try_fills(state, [(1, 2, 4), (1, 3, 4)], None).illegal
    Illegal(fill=(1, 2, 4), why='its row, column or box then has two 4s')
    >>> try_fills(state, [(1, 2, 4)], None).cells[:4]
    (1, 4, 0, 0)
    """
    size, changes, first_of = state.size, dict[int, int](), dict[int, Fill]()
    for fill in fills:
        row, column, value = fill
        cell = (row - 1) * size + column - 1
        if not all(1 <= number <= size for number in fill):
            why = f"rows, columns and values go from 1 to {size}"
        elif changes.get(cell, value) != value:
            why = "the cell is given two values"
        elif state.puzzle.clues[cell] not in (0, value):
            why = f"the cell is a clue, {state.puzzle.clues[cell]}"
        else:
            changes[cell] = value
            first_of.setdefault(cell, fill)
            continue
        return Trial(_shown(fills), state.cells, Illegal(fill, why))
    illegal = _broken_together(state, changes, first_of, max_fills)
    cells = state.cells if illegal else _changed(state.cells, changes)
    return Trial(tuple(first_of.values()), cells, illegal)


def _shown(fills: Sequence[Fill]) -> tuple[Fill, ...]:
    """Each fill once, in order, and not more than a grid could take."""
    return tuple(dict.fromkeys(fills))[:81]


def _broken_together(
    state: State, changes: Mapping[int, int], first_of: Mapping[int, Fill], max_fills: int | None
) -> Illegal | None:
    new = [cell for cell, value in changes.items() if state.cells[cell] != value]
    if not new:
        return Illegal(None, "no cell is filled anew")
    if max_fills is not None and len(new) > max_fills:
        return Illegal(first_of[new[max_fills]], f"more than {max_fills} cells are filled anew")
    cells, peers = _changed(state.cells, changes), layout_of(state.size).peers
    for cell in new:
        if any(cells[peer] == cells[cell] for peer in peers[cell]):
            return Illegal(first_of[cell], f"its row, column or box then has two {cells[cell]}s")
    return None


def _changed(cells: Cells, changes: Mapping[int, int]) -> Cells:
    return tuple(changes.get(cell, value) for cell, value in enumerate(cells))


def rows_in_digits(cells: Cells, size: int) -> str:
    """The grid as a program reads it: a line of digits a row, 0 for an empty cell."""
    lines = (cells[start : start + size] for start in range(0, len(cells), size))
    return "\n".join("".join(map(str, line)) for line in lines)


def rows_in_words(cells: Cells, size: int) -> str:
    """The grid with blanks between cells, `|` between boxes and `.` for an empty cell."""
    box = layout_of(size).box
    marks = ["." if value == 0 else str(value) for value in cells]
    lines: list[str] = []
    for start in range(0, len(cells), size):
        row = marks[start : start + size]
        boxes = (" ".join(row[left : left + box]) for left in range(0, size, box))
        lines.append(" | ".join(boxes))
    return "\n".join(lines)


def fills_in_words(fills: Iterable[Fill]) -> str:
    """Fills as a reply writes them: `(1, 2, 4) (2, 1, 3)`."""
    return " ".join(f"({row}, {column}, {value})" for row, column, value in fills)


def state_in_words(state: State, max_fills: int | None) -> str:
    """The grid, then which of its values are the team's own."""
    own = state.own_fills()
    lines = [
        "Grid (. is an empty cell):",
        rows_in_words(state.cells, state.size),
        f"Empty cells: {state.cells.count(0)}",
    ]
    if own:
        lines.append(f"Filled by your team, maybe wrongly: {fills_in_words(own)}")
    lines += [] if max_fills is None else [f"Fill at most {max_fills} cells."]
    return "\n".join(lines)


def state_in_tokens(state: State, max_fills: int | None) -> str:
    """The state as tokens: the filled cells, then the open ones, each with the values it may take.

    For example `fills 2 grid r1c1=4 r1c3:2 ... open r1c2 1 3 r1c4 3 ...`, with `=` for a clue, `:`
    for a value of the team's own, and after an open cell what none of its row, column and box has.
    """
    tokens = [] if max_fills is None else ["fills", str(max_fills)]
    own, grid, empty = set(state.own_fills()), list[str](), list[str]()
    for cell, value in enumerate(state.cells):
        row, column = place_of(cell, state.size)
        if value:
            mark = ":" if (row, column, value) in own else "="
            grid.append(f"r{row}c{column}{mark}{value}")
        else:
            empty += [f"r{row}c{column}", *map(str, values_left(state.cells, cell))]
    return " ".join([*tokens, "grid", *grid, "open", *empty])


def proposal_in_words(state: State) -> str:
    """The proposal with what it would lead to: the grid after it, or its first illegal fill."""
    trial = state.proposal
    if trial is None:
        return f"Proposal: none that can be read. {state.unread}".rstrip()
    proposed = f"Proposal: {fills_in_words(trial.fills)}"
    if trial.illegal is None:
        filled = "" if 0 in trial.cells else " It fills every cell by the rules."
        grid = rows_in_words(trial.cells, state.size)
        return f"{proposed}\nIt is legal.{filled} It would lead to:\n{grid}"
    first = "" if trial.illegal.fill is None else f" {fills_in_words([trial.illegal.fill])}:"
    return f"{proposed}\nIt is illegal and would fill nothing.{first} {trial.illegal.why}."


def proposal_in_tokens(state: State) -> str:
    """The proposal as tokens.

    `proposal none`; `proposal r1c2 4 legal`, which leads to the grid with these fills; or
    `proposal r1c2 4 illegal r1c2 4` with the first illegal fill, `illegal -` where no single one
    is. `-` also stands for a place or a value that is not there.
    """
    trial = state.proposal
    if trial is None:
        return "proposal none"
    tokens = ["proposal", *_fill_tokens(trial.fills, state.size)]
    if trial.illegal is None:
        return " ".join([*tokens, "legal"])
    first = () if trial.illegal.fill is None else (trial.illegal.fill,)
    return " ".join([*tokens, "illegal", *(_fill_tokens(first, state.size) or ["-"])])


def _fill_tokens(fills: Iterable[Fill], size: int) -> list[str]:
    numbers = range(1, size + 1)
    tokens: list[str] = []
    for row, column, value in fills:
        there = row in numbers and column in numbers
        tokens.append(f"r{row}c{column}" if there else "-")
        tokens.append(str(value) if value in numbers else "-")
    return tokens


def fills_in_tokens(fills: Iterable[Fill]) -> str:
    """Fills as a reply of a small model writes them: `r1c2 4 r2c1 3`."""
    return " ".join(f"r{row}c{column} {value}" for row, column, value in fills)


@dataclass(frozen=True, slots=True)
class View:
    """How standing instructions, states, proposals and replies are written.

    `state` takes the state and `max_fills`; `between` stands between state and
    proposal; `closing` stands at the end, since a small language model answers what it read last;
    `reply` takes the fills of a reply.
    """

    prompt: Callable[[Role], str]
    state: Callable[[State, int | None], str]
    proposal: Callable[[State], str]
    fills: Callable[[Iterable[Fill]], str]
    between: str
    closing: str
    reply: str


VIEWS: Mapping[str, View] = MappingProxyType(
    {
        "text": View(
            prompt=lambda role: role.prompt,
            state=state_in_words,
            proposal=proposal_in_words,
            fills=fills_in_words,
            between="\n",
            closing=f"\nReply with your fills, like this: {CELLS}",
            reply="<answer>{}</answer>",
        ),
        "compact": View(
            prompt=lambda role: role.name,
            state=state_in_tokens,
            proposal=proposal_in_tokens,
            fills=fills_in_tokens,
            between=" ",
            closing="",
            reply="<answer> {} </answer>",
        ),
    }
)
