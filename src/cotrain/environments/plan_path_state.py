"""The state of Plan-Path, what a role sees of it, and how that is written for a language model.

Prompts are written from a `Seen` and never from a `State`: what is hidden from a role is not in
the value that its prompt is made of.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TypeAlias

from cotrain.environments.grid import Grid, Walk, distances_to, shortest_path, walk
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


def walk_at_most(state: State, moves: Sequence[str], max_moves: int | None) -> Walk:
    """Where moves lead from the agent; those beyond `max_moves` are not played, and not legal."""
    walked = walk(state.grid, state.position, moves[:max_moves], state.distances)
    if max_moves is None or len(moves) <= max_moves or walked.illegal:
        return walked
    return replace(walked, illegal=max_moves + 1)


@dataclass(frozen=True, slots=True)
class Seen:
    """What one agent sees of a state.

    Without `walls` every cell of the grid is free. Without `goal` the grid's goal is `NOWHERE`, and
    the proposal's preview is the walk of one who does not know when to stop.
    """

    grid: Grid
    position: int
    proposal: Proposal | None
    fault: str
    walls: bool = True
    goal: bool = True


NOWHERE = 0
"""A cell of the spare row above the board: no drawing shows it, and no walk ends there."""

Sight: TypeAlias = Callable[[State, int | None], Seen]
"""What a role sees of a state, with the most moves of a reply."""


def sees_all(state: State, max_moves: int | None) -> Seen:
    """The whole state."""
    return Seen(state.grid, state.position, state.proposal, state.fault)


def sees_no_walls(state: State, max_moves: int | None) -> Seen:
    """Agent and goal on a board of free cells, and no proposal, whose preview tells of walls."""
    board = _without_walls(state.grid)
    return Seen(board, state.position, None, "", walls=False)


def sees_no_goal(state: State, max_moves: int | None) -> Seen:
    """Agent, blocked cells and the proposal; where it leads is walked without the goal."""
    nowhere = (0,) * len(state.distances)
    blind = replace(state, grid=replace(state.grid, goal=NOWHERE), distances=nowhere)
    proposal = state.proposal
    if proposal is not None:
        proposal = replace(proposal, preview=walk_at_most(blind, proposal.moves, max_moves))
    return Seen(blind.grid, state.position, proposal, state.fault, goal=False)


SIGHTS: Mapping[str, Mapping[str, Sight]] = MappingProxyType(
    {"all": {}, "split": {"proposer": sees_no_walls, "planner": sees_no_goal}}
)
"""By `sees`: the roles that do not see all, and what they see."""


def best_guess(seen: Seen) -> tuple[str, ...]:
    """The moves of one who trusts what it sees; none where it cannot tell where to go.

    One who does not see the goal makes for the cell at which the proposal aims: where its moves
    would lead if no cell were blocked.
    """
    aim = seen.grid.goal if seen.goal else _aim(seen)
    if aim is None:
        return ()
    distances = distances_to(seen.grid, aim)
    return shortest_path(seen.grid, seen.position, distances)


def _aim(seen: Seen) -> int | None:
    if seen.proposal is None:
        return None
    board = _without_walls(seen.grid)
    flat = (0,) * ((board.size + 1) * (board.size + 2))
    aim = walk(board, seen.position, seen.proposal.moves, flat).end
    return aim if seen.grid.free >> aim & 1 else None


def _without_walls(grid: Grid) -> Grid:
    return Grid.of_free_cells(grid.size, grid.start, grid.goal)


def state_in_words(seen: Seen, max_moves: int | None) -> str:
    """What is seen in lines: what may be done first, then where everything is."""
    grid = seen.grid
    legal = f"Legal moves now: {', '.join(grid.legal(seen.position)) or 'none'}"
    goal = f"Goal: row {grid.place(grid.goal)[0]}, column {grid.place(grid.goal)[1]}"
    lines = [
        legal if seen.walls else "Blocked cells: not shown to you",
        f"Agent: row {grid.place(seen.position)[0]}, column {grid.place(seen.position)[1]}",
        goal if seen.goal else "Goal: not shown to you",
    ]
    lines += [] if max_moves is None else [f"Give at most {max_moves} moves."]
    return "\n".join([*lines, "Grid:", *grid_in_lines(seen)])


def grid_in_lines(seen: Seen | State) -> list[str]:
    """The drawing with blanks between the cells, as prompts and a tool's program have it."""
    return [" ".join(row) for row in seen.grid.rows(seen.position)]


def state_in_tokens(seen: Seen, max_moves: int | None) -> str:
    """What is seen as tokens with one blank between them: four slots for the moves, then the cells.

    For example `legal Up - Left - at 2 3 goal 5 1 moves 4 grid . # ...`. Without walls the slots
    hold the moves that stay on the board; an unseen goal is `goal - -`.
    """
    grid, legal = seen.grid, seen.grid.legal(seen.position)
    goal = map(str, grid.place(grid.goal)) if seen.goal else ("-", "-")
    tokens = ["legal", *(move if move in legal else "-" for move in MOVES)]
    tokens += ["at", *map(str, grid.place(seen.position)), "goal", *goal]
    tokens += [] if max_moves is None else ["moves", str(max_moves)]
    return " ".join([*tokens, "grid", *"".join(grid.rows(seen.position))])


def proposal_in_words(seen: Seen, max_moves: int | None) -> str:
    """The proposal with what it would lead to, in two lines; long lists are cut."""
    if seen.proposal is None:
        return no_proposal_in_words(seen.fault)
    shown, preview = _shown_moves(seen, seen.proposal, max_moves), seen.proposal.preview
    more = f" ... ({len(seen.proposal.moves)} moves)" * (len(shown) < len(seen.proposal.moves))
    row, column = seen.grid.place(preview.end)
    verdict = "All its moves are legal."
    if preview.illegal:
        verdict = f"Move {preview.illegal} is illegal."
    reached = " It reaches the goal." * (preview.end == seen.grid.goal)
    return (
        f"Proposal: {' '.join(shown)}{more}\n"
        f"It ends at row {row}, column {column}. {verdict}{reached}"
    )


def proposal_in_tokens(seen: Seen, max_moves: int | None) -> str:
    """The proposal as tokens: `proposal Up Left ends 3 2 illegal 0`, or `proposal none`."""
    if seen.proposal is None:
        return "proposal none"
    preview = seen.proposal.preview
    tokens = ["proposal", *_shown_moves(seen, seen.proposal, max_moves)]
    tokens += ["ends", *map(str, seen.grid.place(preview.end)), "illegal", str(preview.illegal)]
    return " ".join(tokens)


def _shown_moves(seen: Seen, proposal: Proposal, max_moves: int | None) -> tuple[str, ...]:
    return proposal.moves[: max_moves or 4 * seen.grid.size]


VIEWS: Mapping[str, View[Seen]] = MappingProxyType(
    {
        "text": text_view(state_in_words, proposal_in_words),
        "compact": compact_view(state_in_tokens, proposal_in_tokens),
    }
)
