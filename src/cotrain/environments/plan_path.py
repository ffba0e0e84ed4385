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

With `sees = "split"` the proposer sees agent and goal and no blocked cell, the planner agent and
blocked cells and not the goal, of which it learns from the proposal alone: it is told where the
list leads one who does not know the goal, never that it is reached. One policy alone sees all.

`reward = "paper"` has team max(0, d - d') / d_0, 1 at most, and, as the planner's efficiency, the
share of its moves that lie on a shortest path: a walk to and fro then earns without end.
`reward = "outcome"` has 1 at the goal and else 0 in the place of both.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from random import Random
from types import MappingProxyType
from typing import ClassVar, Literal

from cotrain.config.faults import ConfigurationError, Fault, show
from cotrain.core.episode import Evidence, Part, Task
from cotrain.environments.base import Outcome, Role
from cotrain.environments.grid import Grid, draw_grid, shortest_path
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
    SIGHTS,
    VIEWS,
    Proposal,
    Seen,
    State,
    best_guess,
    grid_in_lines,
    proposal_in_words,
    sees_all,
    start_of,
    walk_at_most,
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
PROPOSE_BLIND = f"""\
You are the first of a team of two that leads an agent to a goal. You see the goal and not the \
blocked cells, which are drawn as free ones. Your partner sees the blocked cells and not the goal, \
reads the moves that you propose, and decides.
{RULES}Propose a shortest list of moves from the agent to the goal: it is all that your partner \
learns of the goal.{REPLY}"""
DECIDE_BLIND = f"""\
You are the second of a team of two that leads an agent to a goal. You see the blocked cells and \
not the goal, which is drawn as a free cell. Your partner sees the goal and not the blocked cells, \
and may propose moves towards it; you see where they would lead, and your own moves are the ones \
that are played.
{RULES}Keep the proposal if its moves are legal, else find another way to where it is meant to \
lead: give a shortest list of legal moves.{REPLY}"""
ALONE = f"""\
You lead an agent to a goal.
{RULES}Give a shortest list of legal moves that takes the agent to the goal.{REPLY}"""

ROLES = MappingProxyType(team_roles(PROPOSE, WRITE, DECIDE, ALONE))
ROLES_BY_SIGHT = MappingProxyType(
    {
        "all": ROLES,
        "split": {
            **ROLES,
            "proposer": Role("proposer", PROPOSE_BLIND),
            "planner": Role("planner", DECIDE_BLIND),
        },
    }
)


@dataclass(frozen=True, slots=True)
class PlanPathOptions:
    """The keys of `environment.options`.

    `max_moves` is how many moves a reply may hold: more are not played, and the list is not legal.
    `view` chooses prompts for a language model (`"text"`) or for a small word-level vocabulary
    (`"compact"`). `tools = "code"` has the role tool, which writes a program, in the proposer's
    place. `single` plays one policy instead of the team: `"plain"` (role solo) or `"draft"` (roles
    drafter and answerer), which write moves whatever `tools` is. `only` plays one role alone; its
    moves are then played, also a proposer's. `sees = "split"` shows proposer and planner a part of
    the state each, also where the proposer plays alone, and the roles of `single` all. `reward` is
    the table above (`"audited"`), the paper's, or that of the goal alone (`"outcome"`).
    """

    size: int = 10
    blocked: float = 0.22
    min_distance: int = 4
    max_moves: int | None = None
    view: Literal["text", "compact"] = "text"
    tools: Literal["none", "code"] = "none"
    single: Literal["plain", "draft"] | None = None
    only: Literal["proposer", "tool", "planner", "solo", "drafter", "answerer"] | None = None
    sees: Literal["all", "split"] = "all"
    reward: Literal["audited", "paper", "outcome"] = "audited"

    def __post_init__(self) -> None:
        farthest = 2 * (self.size - 1)
        require("size", self.size, 2 <= self.size <= 64, "must be an integer from 2 to 64")
        require("blocked", self.blocked, 0 <= self.blocked <= 0.6, "must be from 0 to 0.6")
        allowed = f"must be an integer from 1 to {farthest} (2 * size - 2)"
        require("min_distance", self.min_distance, 1 <= self.min_distance <= farthest, allowed)
        if self.max_moves is not None:
            require("max_moves", self.max_moves, self.max_moves >= 1, "must be an integer >= 1")
        require_variant(self, ROLES)
        _require_sight(self)
        require_one_of("reward", self.reward, REWARDS)


def _require_sight(options: PlanPathOptions) -> None:
    require_one_of("sees", options.sees, SIGHTS)
    split = options.sees == "split"
    allowed = (
        'leave it out with tools = "code": a board without blocked cells needs no program, and the '
        "text of a failed one would tell the planner more than a proposal does"
    )
    require("sees", options.sees, not split or options.tools == "none", allowed)
    allowed = 'leave it out with only = "planner": nobody who plays would know of the goal'
    require("sees", options.sees, not split or options.only != "planner", allowed)


class PlanPath(MoveTeam[State]):
    """Two roles lead an agent over a grid to the goal; the module says the rules and rewards."""

    name: ClassVar[str] = "plan_path"
    Options: ClassVar[type] = PlanPathOptions
    options: PlanPathOptions

    views = VIEWS

    def named_roles(self) -> Mapping[str, Role]:
        """The roles, told what they see."""
        return ROLES_BY_SIGHT[self.options.sees]

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

    def seen(self, state: State, agent: str) -> Seen:
        """What the agent sees of a state: all that its prompt is written from."""
        sight = SIGHTS[self.options.sees].get(agent, sees_all)
        return sight(state, self.options.max_moves)

    def act(
        self, state: State, agent: str, reply: str, evidence: Sequence[Evidence]
    ) -> Outcome[State]:
        """Reads the moves, walks them, and plays or records them. No moves: none is played."""
        said = read_reply(agent, reply, evidence)
        own_name = "proposal" if agent in PROPOSERS else "efficiency"
        if said.moves is None:
            parts = parts_of(agent, said, 0.0, Part(own_name, 0.8, 0.0))
            return Outcome(replace(state, proposal=None, fault=said.fault), 0.0, parts)
        walked = walk_at_most(state, said.moves, self.options.max_moves)
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
            limit = self.options.max_moves
            lines.append(proposal_in_words(sees_all(state, limit), limit))
        return "\n".join(lines)

    def solve(self, state: State, agent: str) -> str | None:
        """What one who trusts what it sees would say, where that solves (a proposal: would).

        None elsewhere: where no single reply solves, and where the agent cannot see how to.
        """
        path = best_guess(self.seen(state, agent))
        walked = walk_at_most(state, path, self.options.max_moves)
        solves = path and walked.end == state.grid.goal and not walked.illegal
        return self.view.say(agent, path) if solves else None

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
