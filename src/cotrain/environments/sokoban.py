"""Sokoban: a team of two pushes every box of a room onto a target.

    ######   # wall, _ floor, . target, $ box, * box on a target,
    #@___#   @ player, + player on a target
    #_$__#   Up, Down, Left, Right walk, and push a box that stands in the way
    #__._#   if the cell behind it is free; nothing is ever pulled
    #____#   here Down, Right, Up, Right, Down solves the task
    ######

Each turn the proposer writes a list of moves, which is recorded but not played. Then the planner
sees the list with the board it would lead to and its first blocked move, and writes the list that
is played. A blocked move leaves the board, counts as a move, and the next one is played; moves
after the last box is home are not. With `tools = "code"` the role tool takes the proposer's place:
it writes a Python program, which finds the board on its standard input and prints the list. The
episode is done when all boxes are home, or without success after `max_episode_moves`.

With p the least pushes that bring the boxes home (p_0 from the opening), b the fewest at the end of
a turn so far, p' those left after a list, and h the boxes home after it:

    team              1 with all boxes home, else 0.9 (h - most so far, 0 at least) / boxes; a
                      proposal earns the team value that it would earn if it were played
    planner's own     0.1 format + 0.1 no move blocked + 0.4 safe + 0.4 max(0, b - p') / p_0; safe:
                      a box was pushed, and none stands where no push brings it home
    proposer's own    0.1 format + 0.1 no move blocked + 0.8 team value and progress, 1 at most
    tool's own        0.1 format + 0.1 ran and printed a list + 0.8 as the proposer's

`reward = "paper"` counts boxes and pushes of the turn, whether they are new or not.
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
from cotrain.environments.procedural import NothingDrawnError, draw_task
from cotrain.environments.sokoban_generator import TakesMoves, TooLargeError, draw_room
from cotrain.environments.sokoban_rewards import REWARDS, Result, Reward, after, result_of
from cotrain.environments.sokoban_room import Played, Room, play
from cotrain.environments.sokoban_search import SearchLimitError, shortest_solution
from cotrain.environments.sokoban_state import (
    VIEWS,
    Proposal,
    State,
    board_in_lines,
    proposal_in_words,
    start_of,
)

MAX_POSITIONS = 200_000
"""Positions that the search for a solution may look at; what needs more counts as unsolved."""

RULES = """\
A room has walls (#), floor (_), targets (.), boxes ($) and a player (@); a box on a target is *, \
the player on a target is +. Rows are counted from 0 at the top, columns from 0 at the left. A \
move takes the player one cell Up, Down, Left or Right. A box in the way is pushed one cell on, if \
the cell behind it is free; boxes are never pulled, and only one is pushed at a time. A move that \
is blocked changes nothing. The task is solved when every box stands on a target.
"""
PROPOSE = f"""\
You are the first of a team of two that pushes boxes onto targets. You propose the moves, your \
partner checks them and decides.
{RULES}Propose a shortest list of moves that solves the task, none of them blocked.{REPLY}"""
WRITE = f"""\
You are the first of a team of two that pushes boxes onto targets. You write a program that finds \
the moves, your partner checks them and decides.
{RULES}Your program prints a shortest list of moves that solves the task, none of them blocked.\
{PROGRAM.format(board="room")}"""
DECIDE = f"""\
You are the second of a team of two that pushes boxes onto targets. Your partner may propose \
moves; you see what they would lead to, and your own moves are the ones that are played.
{RULES}Keep the proposal if it is right, mend or replace it if not: give a shortest list of moves \
that solves the task, none of them blocked.{REPLY}"""
ALONE = f"""\
You push boxes onto targets.
{RULES}Give a shortest list of moves that solves the task, none of them blocked.{REPLY}"""

ROLES = MappingProxyType(team_roles(PROPOSE, WRITE, DECIDE, ALONE))


@dataclass(frozen=True, slots=True)
class SokobanOptions:
    """The keys of `environment.options`.

    `size` is the side of the room, its outer wall included; an inner cell is a wall with
    probability `walls`; a shortest solution has `min_moves` moves or more. `max_moves` is how many
    moves a reply may hold: more are not played, and the list is not legal. `max_episode_moves` is
    the same for the whole episode, which ends there. `view`, `tools`, `single` and `only` choose
    who plays and what they read, as in Plan-Path. `reward` is the table above (`"audited"`) or the
    paper's.
    """

    size: int = 6
    boxes: int = 1
    walls: float = 0.1
    min_moves: int = 5
    max_moves: int | None = None
    max_episode_moves: int | None = None
    view: Literal["text", "compact"] = "text"
    tools: Literal["none", "code"] = "none"
    single: Literal["plain", "draft"] | None = None
    only: Literal["proposer", "tool", "planner", "solo", "drafter", "answerer"] | None = None
    reward: Literal["audited", "paper"] = "audited"

    def __post_init__(self) -> None:
        require("size", self.size, 5 <= self.size <= 12, "must be an integer from 5 to 12")
        require("boxes", self.boxes, 1 <= self.boxes <= 3, "must be an integer from 1 to 3")
        require("walls", self.walls, 0 <= self.walls <= 0.4, "must be from 0 to 0.4")
        allowed = "must be an integer from 1 to 40"
        require("min_moves", self.min_moves, 1 <= self.min_moves <= 40, allowed)
        for key in ("max_moves", "max_episode_moves"):
            limit = getattr(self, key)
            require(key, limit, limit is None or limit >= 1, "must be an integer >= 1")
        require_variant(self, ROLES)
        require_one_of("reward", self.reward, REWARDS)


class Sokoban(MoveTeam[State]):
    """Two roles push boxes onto targets; the module says the rules and rewards."""

    name: ClassVar[str] = "sokoban"
    Options: ClassVar[type] = SokobanOptions
    options: SokobanOptions

    views = VIEWS

    def named_roles(self) -> Mapping[str, Role]:
        """The roles of all variants."""
        return ROLES

    @property
    def reward(self) -> Reward:
        """The table of rewards that is played for."""
        return REWARDS[self.options.reward]

    def limit(self, state: State) -> int | None:
        """How many moves the next reply may hold."""
        limits = [] if self.options.max_moves is None else [self.options.max_moves]
        if self.options.max_episode_moves is not None:
            limits.append(max(0, self.options.max_episode_moves - state.moves_played))
        return min(limits, default=None)

    def board(self, state: State) -> Sequence[str]:
        """The board as it is drawn."""
        return board_in_lines(state, state.position)

    def solution(self, state: State) -> tuple[str, ...]:
        """A shortest solution; empty where there is none, or none within `MAX_POSITIONS`."""
        try:
            found = shortest_solution(state.room, state.pushes, state.position, MAX_POSITIONS)
        except SearchLimitError:
            return ()
        return found or ()

    def task(self, split: str, seed: int, index: int) -> Task:
        """A room whose shortest solution, found by search, has `min_moves` moves or more."""
        options = self.options

        def draw(generator: Random) -> Room | None:
            return draw_room(options.size, options.boxes, options.walls, generator)

        given = f"size = {options.size}, boxes = {options.boxes} and walls = {options.walls}"
        try:
            fits = TakesMoves(options.min_moves)
            return draw_task(self.name, split, seed, index, draw, fits)
        except TooLargeError as error:
            allowed = f"{error} with {given}: lower it, boxes or min_moves"
            fault = Fault("environment.options.size", show(options.size), allowed)
            raise ConfigurationError([fault]) from error
        except NothingDrawnError as error:
            allowed = f"{error} with {given}: lower it or walls, or raise size or boxes"
            fault = Fault("environment.options.min_moves", show(options.min_moves), allowed)
            raise ConfigurationError([fault]) from error

    def start(self, task: Task, purpose: str) -> State:
        """Player and boxes as drawn; training and evaluation begin alike."""
        assert isinstance(task.data, Room)
        return start_of(task.data)

    def act(
        self, state: State, agent: str, reply: str, evidence: Sequence[Evidence]
    ) -> Outcome[State]:
        """Reads the moves, and plays or records them. No moves: none is played."""
        said = read_reply(agent, reply, evidence)
        if said.moves is None:
            parts = parts_of(agent, said, 0.0, *_unearned(agent))
            return Outcome(replace(state, proposal=None, fault=said.fault), 0.0, parts)
        played = self._play(state, said.moves)
        result = result_of(state, played)
        team = self.reward.team(state, result)
        parts = parts_of(agent, said, float(played.blocked == 0), *self._own(agent, state, result))
        if agent != self.roles[-1].name:
            proposal = Proposal(said.moves, played)
            return Outcome(replace(state, proposal=proposal, fault=""), team, parts)
        ended = after(state, result)
        return Outcome(ended, team, parts, done=ended.solved or self.limit(ended) == 0)

    def success(self, state: State) -> bool:
        """All boxes stand on targets."""
        return state.solved

    def render(self, state: State) -> str:
        """The board with the pushes needed, and the proposal while there is one."""
        lines = state.room.rows(state.position)
        counts = f"moves {state.moves_played}, boxes home at best {state.best_home}"
        lines.append(f"pushes at best {state.best_pushes}, first {state.first_pushes}, {counts}")
        if state.proposal is not None:
            lines.append(proposal_in_words(state, self.limit(state)))
        return "\n".join(lines)

    def would_solve(self, agent: str, outcome: Outcome[State]) -> bool:
        """Whether this outcome solves the task, or proposes moves that would."""
        state = outcome.state
        proposal = state.proposal
        return state.solved or (
            proposal is not None and state.room.solved(proposal.preview.position.boxes)
        )

    def attempts(self, state: State, agent: str, generator: Random) -> list[str]:
        """Well-formed replies of all worths: short and long, to and fro, blocked, and random."""
        solution = self.solution(state)
        lists = [list(moves) for n in (1, 2) for moves in product(MOVES, repeat=n)]
        lists += [list(solution[:n]) for n in range(1, len(solution) + 1)]
        for move, back in zip(MOVES, ("Down", "Up", "Right", "Left"), strict=True):
            lists += [[move, back] * n + list(solution) for n in (1, 20)]
            lists += [[*solution[:-1], *[move, back] * 3], [move] * 500]
            lists += [[*solution, *[move] * 500], [*[move] * 9, *solution]]
        lists += [generator.choices(MOVES, k=generator.randint(3, 30)) for _ in range(30)]
        return attempts_of(agent, lists, self.view, generator)

    def _own(self, agent: str, state: State, result: Result) -> tuple[Part, ...]:
        proposes = agent in PROPOSERS
        own = self.reward.of_proposal if proposes else self.reward.of_plan
        return own(state, result)

    def _play(self, state: State, moves: Sequence[str]) -> Played:
        limit = self.limit(state)
        played = play(state.room, state.position, moves[:limit])
        if limit is None or len(moves) <= limit or played.blocked:
            return played
        return replace(played, blocked=limit + 1)


def _unearned(agent: str) -> tuple[Part, ...]:
    if agent in PROPOSERS:
        return (Part("proposal", 0.8, 0.0),)
    return (Part("safe", 0.4, 0.0), Part("progress", 0.4, 0.0))
