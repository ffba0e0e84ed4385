"""The state of Sokoban, and how it is written for a language model and for a small one."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from cotrain.environments.move_team import View, compact_view, no_proposal_in_words, text_view
from cotrain.environments.parsing import MOVES
from cotrain.environments.sokoban_room import Played, Position, Room, set_cells
from cotrain.environments.sokoban_search import Pushes, least_pushes, pushes_in


@dataclass(frozen=True, slots=True)
class Proposal:
    """A recorded list of moves, with what it would lead to."""

    moves: tuple[str, ...]
    preview: Played


@dataclass(frozen=True, slots=True)
class State:
    """Where player and boxes stand, and the best that was reached at the end of a turn.

    `pushes` is the room's table. `first_pushes` are needed from the opening, `best_pushes` are the
    fewest so far, `best_home` the most boxes at home. `moves_played` counts blocked moves too.
    `proposal` is this turn's, or None when there is none that can be read; `fault` then says what a
    tool's program did instead.
    """

    room: Room
    pushes: Pushes
    position: Position
    first_pushes: int
    best_pushes: int
    best_home: int
    moves_played: int = 0
    proposal: Proposal | None = None
    fault: str = ""

    @property
    def num_boxes(self) -> int:
        """How many boxes there are."""
        return self.room.boxes.bit_count()

    @property
    def solved(self) -> bool:
        """Whether all boxes are home."""
        return self.room.solved(self.position.boxes)


def start_of(room: Room) -> State:
    """The opening state of a room that can be solved.

    Raises ValueError where a box cannot come home.

    >>> start_of(Room.of_rows(["######", "#@___#", "#_$__#", "#__._#", "######"])).first_pushes
    2
    """
    pushes = pushes_in(room)
    needed = least_pushes(room, pushes, room.opening)
    if needed is None:
        raise ValueError(f"{room.rows(room.opening)}: a box in it cannot come home")
    home = (room.boxes & room.goals).bit_count()
    return State(room, pushes, room.opening, needed, needed, home)


def board_in_lines(state: State, position: Position) -> list[str]:
    """The board with blanks between the cells, as prompts and a tool's program have it."""
    return [" ".join(row) for row in state.room.rows(position)]


def state_in_words(state: State, max_moves: int | None) -> str:
    """The state in lines: what may be done first, then where everything is."""
    room, position = state.room, state.position
    lines = [
        f"Legal moves now: {', '.join(room.legal(position)) or 'none'}",
        f"Player: {_in_words(room, 1 << position.player)}",
        f"Boxes: {_in_words(room, position.boxes)}",
        f"Targets: {_in_words(room, room.goals)}",
    ]
    lines += [] if max_moves is None else [f"Give at most {max_moves} moves."]
    return "\n".join([*lines, "Room:", *board_in_lines(state, position)])


def state_in_tokens(state: State, max_moves: int | None) -> str:
    """The state as tokens with one blank between them: four slots for the moves, then the cells.

    For example `legal Up - Left - at 2 3 box 3 3 goal 4 1 moves 4 room # # ...`.
    """
    room, position = state.room, state.position
    legal = room.legal(position)
    tokens = ["legal", *(move if move in legal else "-" for move in MOVES)]
    named = (("at", 1 << position.player), ("box", position.boxes), ("goal", room.goals))
    for name, board in named:
        for cell in set_cells(board):
            tokens += [name, *map(str, room.place(cell))]
    tokens += [] if max_moves is None else ["moves", str(max_moves)]
    return " ".join([*tokens, "room", *"".join(room.rows(position))])


def proposal_in_words(state: State, max_moves: int | None) -> str:
    """The proposal with the board it would lead to; long lists are cut."""
    if state.proposal is None:
        return no_proposal_in_words(state.fault)
    shown, preview = _shown_moves(state, state.proposal, max_moves), state.proposal.preview
    more = f" ... ({len(state.proposal.moves)} moves)" * (len(shown) < len(state.proposal.moves))
    verdict = f"Move {preview.blocked} is blocked." if preview.blocked else "No move is blocked."
    home = " All boxes are home." * state.room.solved(preview.position.boxes)
    board = "\n".join(board_in_lines(state, preview.position))
    return f"Proposal: {' '.join(shown)}{more}\nIt leads to:\n{board}\n{verdict}{home}"


def proposal_in_tokens(state: State, max_moves: int | None) -> str:
    """The proposal as tokens: `proposal Up Left leads # # ... blocked 0`, or `proposal none`."""
    if state.proposal is None:
        return "proposal none"
    preview = state.proposal.preview
    tokens = ["proposal", *_shown_moves(state, state.proposal, max_moves)]
    tokens += ["leads", *"".join(state.room.rows(preview.position))]
    return " ".join([*tokens, "blocked", str(preview.blocked)])


def _shown_moves(state: State, proposal: Proposal, max_moves: int | None) -> tuple[str, ...]:
    return proposal.moves[: max_moves or 6 * state.room.num_rows]


def _in_words(room: Room, board: int) -> str:
    places = (room.place(cell) for cell in set_cells(board))
    return "; ".join(f"row {row}, column {column}" for row, column in places)


VIEWS: Mapping[str, View[State]] = MappingProxyType(
    {
        "text": text_view(state_in_words, proposal_in_words),
        "compact": compact_view(state_in_tokens, proposal_in_tokens),
    }
)
