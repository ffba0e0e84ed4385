"""The state of Plan-Path, and how it is written for a language model and for a small one."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from cotrain.environments.grid import Grid, Walk, distances_to
from cotrain.environments.move_team import View, compact_view, no_proposal_in_words, text_view
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
    none that can be read; `fault` then says what a tool's program did instead.
    """

    grid: Grid
    distances: tuple[int, ...]
    position: int
    best: int
    proposal: Proposal | None = None
    fault: str = ""

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
    return "\n".join([*lines, "Grid:", *grid_in_lines(state)])


def grid_in_lines(state: State) -> list[str]:
    """The drawing with blanks between the cells, as prompts and a tool's program have it."""
    return [" ".join(row) for row in state.grid.rows(state.position)]


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
        return no_proposal_in_words(state.fault)
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


VIEWS: Mapping[str, View[State]] = MappingProxyType(
    {
        "text": text_view(state_in_words, proposal_in_words),
        "compact": compact_view(state_in_tokens, proposal_in_tokens),
    }
)
