"""The state of Plan-Path, and how it is written for a language model and for a small one."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from cotrain.environments.base import Role
from cotrain.environments.grid import Grid, Walk, distances_to
from cotrain.environments.parsing import MOVES


@dataclass(frozen=True, slots=True)
class Proposal:
    """A recorded list of moves, with what it would lead to."""

    moves: tuple[str, ...]
    preview: Walk


@dataclass(frozen=True, slots=True)
class State:
    """Where the agent stands. `distances` are the shortest ones to the goal, by cell.

    `best` is the smallest distance reached so far. `proposal` is this turn's, or None when there is
    none that can be read.
    """

    grid: Grid
    distances: tuple[int, ...]
    position: int
    best: int
    proposal: Proposal | None = None

    @property
    def distance(self) -> int:
        """The shortest distance from the agent to the goal."""
        return self.distances[self.position]

    @property
    def first_distance(self) -> int:
        """The shortest distance from the start to the goal."""
        return self.distances[self.grid.start]


def start_of(grid: Grid) -> State:
    """The opening state on a grid.

    >>> start_of(Grid.of_rows(["A#G", "...", "..#"])).distance
    4
    """
    distances = distances_to(grid, grid.goal)
    return State(grid, distances, grid.start, distances[grid.start])


def state_in_words(state: State, max_moves: int | None) -> str:
    """The state in lines: what may be done first, then where everything is."""
    grid = state.grid
    lines = [
        f"Legal moves now: {', '.join(grid.legal(state.position)) or 'none'}",
        f"Agent: row {grid.place(state.position)[0]}, column {grid.place(state.position)[1]}",
        f"Goal: row {grid.place(grid.goal)[0]}, column {grid.place(grid.goal)[1]}",
    ]
    lines += [] if max_moves is None else [f"Give at most {max_moves} moves."]
    return "\n".join([*lines, "Grid:", *(" ".join(row) for row in grid.rows(state.position))])


def state_in_tokens(state: State, max_moves: int | None) -> str:
    """The state as tokens with one blank between them: four slots for the moves, then the cells.

    For example `legal Up - Left - at 2 3 goal 5 1 moves 4 grid . # ...`.
    """
    grid, legal = state.grid, state.grid.legal(state.position)
    tokens = ["legal", *(move if move in legal else "-" for move in MOVES)]
    tokens += ["at", *map(str, grid.place(state.position))]
    tokens += ["goal", *map(str, grid.place(grid.goal))]
    tokens += [] if max_moves is None else ["moves", str(max_moves)]
    return " ".join([*tokens, "grid", *"".join(grid.rows(state.position))])


def proposal_in_words(state: State, max_moves: int | None) -> str:
    """The proposal with what it would lead to, in two lines; long lists are cut."""
    if state.proposal is None:
        return "Proposal: none that can be read."
    shown, preview = _shown_moves(state, state.proposal, max_moves), state.proposal.preview
    more = f" ... ({len(state.proposal.moves)} moves)" * (len(shown) < len(state.proposal.moves))
    row, column = state.grid.place(preview.end)
    verdict = "All its moves are legal."
    if preview.illegal:
        verdict = f"Move {preview.illegal} is illegal."
    reached = " It reaches the goal." * (preview.end == state.grid.goal)
    return (
        f"Proposal: {' '.join(shown)}{more}\n"
        f"It ends at row {row}, column {column}. {verdict}{reached}"
    )


def proposal_in_tokens(state: State, max_moves: int | None) -> str:
    """The proposal as tokens: `proposal Up Left ends 3 2 illegal 0`, or `proposal none`."""
    if state.proposal is None:
        return "proposal none"
    preview = state.proposal.preview
    tokens = ["proposal", *_shown_moves(state, state.proposal, max_moves)]
    tokens += ["ends", *map(str, state.grid.place(preview.end)), "illegal", str(preview.illegal)]
    return " ".join(tokens)


def _shown_moves(state: State, proposal: Proposal, max_moves: int | None) -> tuple[str, ...]:
    return proposal.moves[: max_moves or 4 * state.grid.size]


@dataclass(frozen=True, slots=True)
class View:
    """How standing instructions, states, proposals and replies are written.

    `state` and `proposal` take the state and `max_moves`; `between` stands between the two, and
    `closing` at the end, since a small language model answers what it read last.
    """

    prompt: Callable[[Role], str]
    state: Callable[[State, int | None], str]
    proposal: Callable[[State, int | None], str]
    between: str
    closing: str
    reply: str


VIEWS: Mapping[str, View] = MappingProxyType(
    {
        "text": View(
            prompt=lambda role: role.prompt,
            state=state_in_words,
            proposal=proposal_in_words,
            between="\n",
            closing="\nReply with your moves, like this: <answer>Up Right Right</answer>",
            reply="<answer>{}</answer>",
        ),
        "compact": View(
            prompt=lambda role: role.name,
            state=state_in_tokens,
            proposal=proposal_in_tokens,
            between=" ",
            closing="",
            reply="<answer> {} </answer>",
        ),
    }
)
