"""Plan-Path: a team of two leads an agent over a grid of blocked cells to the goal.

    A . . #      the agent A may move Up, Down, Left, Right over free cells
    # . # .      G is the goal, # is blocked
    . . . G      here Right, Down, Down, Right, Right solves the task

Each turn the proposer writes a list of moves, which is recorded but not played. Then the planner
sees the list with the cell where it ends and its first illegal move, and writes the list that is
played: in order, until the goal is reached or a move is illegal. The episode is done at the goal.
With `tools = "code"` the role tool takes the proposer's place: it writes a Python program, which
finds the drawing on its standard input and prints the list.

With d the shortest distance to the goal (d_0 at the start, d before a list and d' after it), b the
smallest distance reached so far, and n the number of moves given:

    team              1 at the goal, else 0.9 max(0, b - d') / d_0; a proposal earns the team value
                      that it would earn if it were played
    planner's own     0.1 format + 0.1 all moves legal + 0.8 efficiency, with m = max(d, n):
                      0.5 max(0, d - d') / m short of the goal, 0.5 + 0.5 d / m at the goal
    proposer's own    0.1 format + 0.1 all moves legal + 0.8 team value
    tool's own        0.1 format + 0.1 ran and printed a list + 0.8 team value

`reward = "paper"` has team max(0, d - d') / d_0, 1 at most, and, as the planner's efficiency, the
share of its moves that lie on a shortest path: a walk to and fro then earns without end.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product
from random import Random
from types import MappingProxyType
from typing import ClassVar, Literal

from cotrain.config.faults import ConfigurationError, Fault, show
from cotrain.core.episode import Evidence, Part, Task
from cotrain.environments.base import Outcome
from cotrain.environments.grid import Grid, Walk, draw_grid, shortest_path, walk
from cotrain.environments.move_team import (
    PROGRAM,
    PROPOSERS,
    REPLY,
    MoveTeam,
    attempts_of,
    parts_of,
    read_reply,
    require_variant,
    team_roles,
)
from cotrain.environments.options import require, require_one_of
from cotrain.environments.parsing import MOVES
from cotrain.environments.plan_path_rewards import REWARDS, Reward
from cotrain.environments.plan_path_state import (
    VIEWS,
    Proposal,
    State,
    grid_in_lines,
    proposal_in_words,
    start_of,
)
from cotrain.environments.procedural import NothingDrawnError, draw_task

RULES = """\
A grid has free cells (.), blocked cells (#), an agent (A) and a goal (G). Rows are counted from 0 \
at the top, columns from 0 at the left. A move takes the agent one cell Up, Down, Left or Right. A \
move into a blocked cell or off the grid is illegal and ends the list.
"""
PROPOSE = f"""\
You are the first of a team of two that leads an agent to a goal. You propose the moves, your \
partner checks them and decides.
{RULES}Propose a shortest list of legal moves that takes the agent to the goal.{REPLY}"""
WRITE = f"""\
You are the first of a team of two that leads an agent to a goal. You write a program that finds \
the moves, your partner checks them and decides.
{RULES}Your program prints a shortest list of legal moves that takes the agent to the goal.\
{PROGRAM.format(board="grid")}"""
DECIDE = f"""\
You are the second of a team of two that leads an agent to a goal. Your partner may propose moves; \
you see where they would lead, and your own moves are the ones that are played.
{RULES}Keep the proposal if it is right, mend or replace it if not: give a shortest list of legal \
moves that takes the agent to the goal.{REPLY}"""
ALONE = f"""\
You lead an agent to a goal.
{RULES}Give a shortest list of legal moves that takes the agent to the goal.{REPLY}"""

ROLES = MappingProxyType(team_roles(PROPOSE, WRITE, DECIDE, ALONE))


@dataclass(frozen=True, slots=True)
class PlanPathOptions:
    """The keys of `environment.options`.

    `max_moves` is how many moves a reply may hold: more are not played, and the list is not legal.
    `view` chooses prompts for a language model (`"text"`) or for a small word-level vocabulary
    (`"compact"`). `tools = "code"` has the role tool, which writes a program, in the proposer's
    place. `single` plays one policy instead of the team: `"plain"` (role solo) or `"draft"` (roles
    drafter and answerer), which write moves whatever `tools` is. `only` plays one role alone; its
    moves are then played, also a proposer's. `reward` is the table above (`"audited"`) or the
    paper's.
    """

    size: int = 10
    blocked: float = 0.22
    min_distance: int = 4
    max_moves: int | None = None
    view: Literal["text", "compact"] = "text"
    tools: Literal["none", "code"] = "none"
    single: Literal["plain", "draft"] | None = None
    only: Literal["proposer", "tool", "planner", "solo", "drafter", "answerer"] | None = None
    reward: Literal["audited", "paper"] = "audited"

    def __post_init__(self) -> None:
        farthest = 2 * (self.size - 1)
        require("size", self.size, 2 <= self.size <= 64, "must be an integer from 2 to 64")
        require("blocked", self.blocked, 0 <= self.blocked <= 0.6, "must be from 0 to 0.6")
        allowed = f"must be an integer from 1 to {farthest} (2 * size - 2)"
        require("min_distance", self.min_distance, 1 <= self.min_distance <= farthest, allowed)
        if self.max_moves is not None:
            require("max_moves", self.max_moves, self.max_moves >= 1, "must be an integer >= 1")
        require_variant(self, ROLES)
        require_one_of("reward", self.reward, REWARDS)


class PlanPath(MoveTeam[State]):
    """Two roles lead an agent over a grid to the goal; the module says the rules and rewards."""

    name: ClassVar[str] = "plan_path"
    Options: ClassVar[type] = PlanPathOptions
    options: PlanPathOptions

    named_roles = ROLES
    views = VIEWS

    @property
    def reward(self) -> Reward:
        """The table of rewards that is played for."""
        return REWARDS[self.options.reward]

    def limit(self, state: State) -> int | None:
        """How many moves a reply may hold."""
        return self.options.max_moves

    def board(self, state: State) -> Sequence[str]:
        """The drawing of the grid."""
        return grid_in_lines(state)

    def solution(self, state: State) -> tuple[str, ...]:
        """A shortest list of moves to the goal."""
        return shortest_path(state.grid, state.position, state.distances)

    def task(self, split: str, seed: int, index: int) -> Task:
        """A grid whose start and goal are joined and `min_distance` apart or more."""
        size, blocked = self.options.size, self.options.blocked
        min_distance = self.options.min_distance

        def draw(generator: Random) -> Grid | None:
            return draw_grid(size, blocked, min_distance, generator)

        try:
            return draw_task(self.name, split, seed, index, draw)
        except NothingDrawnError as error:
            given = f"size = {size} and blocked = {blocked}"
            allowed = f"{error} with {given}: lower it or blocked, or raise size"
            fault = Fault("environment.options.min_distance", show(min_distance), allowed)
            raise ConfigurationError([fault]) from error

    def start(self, task: Task, purpose: str) -> State:
        """The agent on the start cell; training and evaluation begin alike."""
        assert isinstance(task.data, Grid)
        return start_of(task.data)

    def act(
        self, state: State, agent: str, reply: str, evidence: Sequence[Evidence]
    ) -> Outcome[State]:
        """Reads the moves, walks them, and plays or records them. No moves: none is played."""
        said = read_reply(agent, reply, evidence)
        own_name = "proposal" if agent in PROPOSERS else "efficiency"
        if said.moves is None:
            parts = parts_of(agent, said, 0.0, Part(own_name, 0.8, 0.0))
            return Outcome(replace(state, proposal=None, fault=said.fault), 0.0, parts)
        walked = self._walk(state, said.moves)
        team = self.reward.team(state, walked.end)
        own = team
        if agent not in PROPOSERS:
            own = self.reward.efficiency(state, said.moves, walked)
        parts = parts_of(agent, said, float(walked.illegal == 0), Part(own_name, 0.8, own))
        if agent != self.roles[-1].name:
            proposal = Proposal(said.moves, walked)
            return Outcome(replace(state, proposal=proposal, fault=""), team, parts)
        best = min(state.best, state.distances[walked.end])
        after = replace(state, position=walked.end, best=best, proposal=None, fault="")
        return Outcome(after, team, parts, done=self.success(after))

    def success(self, state: State) -> bool:
        """The agent stands on the goal."""
        return state.position == state.grid.goal

    def render(self, state: State) -> str:
        """The drawing of the grid with the distance left, and the proposal while there is one."""
        lines = state.grid.rows(state.position)
        lines.append(f"distance {state.distance}, best {state.best}, first {state.first_distance}")
        if state.proposal is not None:
            lines.append(proposal_in_words(state, self.options.max_moves))
        return "\n".join(lines)

    def would_solve(self, agent: str, outcome: Outcome[State]) -> bool:
        """Whether this outcome solves the task, or proposes moves that would."""
        proposal = outcome.state.proposal
        proposed = proposal is not None and proposal.preview.end == outcome.state.grid.goal
        return proposed or self.success(outcome.state)

    def attempts(self, state: State, agent: str, generator: Random) -> list[str]:
        """Well-formed replies of all worths: short and long, straight, to and fro, and random."""
        path = self.solution(state)
        lists = [list(moves) for n in (1, 2, 3) for moves in product(MOVES, repeat=n)]
        lists += [list(path[:n]) for n in range(1, len(path) + 1)]
        for move, back in zip(MOVES, ("Down", "Up", "Right", "Left"), strict=True):
            lists += [[move, back] * n + list(path) for n in (1, 3, 20)]
            lists += [[move, back] * 20, [move] * 500, [*path, move], [*path, *[move] * 500]]
        lists += [generator.choices(MOVES, k=generator.randint(4, 30)) for _ in range(40)]
        return attempts_of(agent, lists, self.view, generator)

    def _walk(self, state: State, moves: Sequence[str]) -> Walk:
        limit = self.options.max_moves
        walked = walk(state.grid, state.position, moves[:limit], state.distances)
        if limit is None or len(moves) <= limit or walked.illegal:
            return walked
        return replace(walked, illegal=limit + 1)
