"""Sudoku: a team of two fills a grid that has exactly one solution.

    1 . | . .      each row, column and box holds each digit once
    . . | 4 .      the clues given stay as they are
    ----+----
    . 1 | . .      a reply fills cells, (row, column, value) from 1, or gives the whole grid
    . . | . 2

Each turn the first role proposes fills, which are recorded but not applied: the proposer directly,
or, with `tools = "code"`, the role `tool` by a program that reads the clues and prints them. Then
the reasoner sees the proposal with the grid after it, or its first illegal fill, and writes the
fills that are applied. Illegal is a changed clue, a value that then stands twice in a row, column
or box, two values for one cell, a place or value that is not there, too many fills, or no new one;
of an illegal reply nothing is applied. The team's own fills may be overwritten, and an open cell of
a whole grid is left as it is. The episode is done when the grid is solved.

With e the cells empty at the start, n the number of these that are right after a reply, and b the
largest n so far:

    team              1 if solved, else 0; a proposal earns what it would earn if it were applied
    reasoner's own    0.1 format + 0.1 legal + 0.8 max(0, n - b) / e
    proposer's own    the same, for its proposal
    tool's own        0.1 format + 0.1 ran and printed fills + 0.8 max(0, n - b) / e

`reward = "paper"` pays n / e for a legal reply, whether the cells are newly right or not.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from random import Random
from types import MappingProxyType
from typing import ClassVar, Literal

from cotrain.config.faults import ConfigurationError, Fault, show
from cotrain.core.episode import Evidence, Message, Part, Request, Task
from cotrain.core.seeds import derive_seed
from cotrain.environments.base import Environment, Outcome, Role
from cotrain.environments.options import require, require_one_of
from cotrain.environments.printed import printed, tool_requests
from cotrain.environments.procedural import NothingDrawnError, draw_task
from cotrain.environments.requests import PROGRAM
from cotrain.environments.sudoku_grid import BOX_OF_SIZE, MOST_EMPTY, Cells, Puzzle, draw_puzzle
from cotrain.environments.sudoku_prompts import TEXTS, roles_of
from cotrain.environments.sudoku_reply import Fill, parse_fills, parse_printed
from cotrain.environments.sudoku_state import (
    VIEWS,
    State,
    fills_in_words,
    proposal_in_words,
    rows_in_digits,
    rows_in_words,
    start_of,
    try_fills,
)

DECIDERS = ("reasoner", "answerer")
FEWEST_EMPTY = 4


@dataclass(frozen=True, slots=True)
class SudokuOptions:
    """The keys of `environment.options`.

    `size` is 4 or 9. `empty` is how many cells are to be filled, half of them by default; with
    many, few grids have a single solution. `max_fills` is how many cells a reply may fill anew.
    `view` chooses prompts for a language model (`"text"`) or for a small word-level vocabulary
    (`"compact"`). `tools = "code"` has the first role write programs. `single` plays one policy
    instead of the team: `"plain"` (role solo) or `"draft"` (roles drafter and answerer). `only`
    plays one role alone; its fills are then applied. `reward` is the table above (`"audited"`) or
    the paper's.
    """

    size: int = 4
    empty: int | None = None
    max_fills: int | None = None
    view: Literal["text", "compact"] = "text"
    tools: Literal["none", "code"] = "none"
    single: Literal["plain", "draft"] | None = None
    only: Literal["proposer", "tool", "reasoner", "solo", "drafter", "answerer"] | None = None
    reward: Literal["audited", "paper"] = "audited"

    def __post_init__(self) -> None:
        require("size", self.size, self.size in BOX_OF_SIZE, "must be 4 or 9")
        if self.empty is not None:
            most = MOST_EMPTY[self.size]
            allowed = (
                f"must be an integer from {FEWEST_EMPTY} to {most}: with size = {self.size}, no "
                f"puzzle with more than {most} empty cells has a single solution"
            )
            require("empty", self.empty, FEWEST_EMPTY <= self.empty <= most, allowed)
        if self.max_fills is not None:
            require("max_fills", self.max_fills, self.max_fills >= 1, "must be an integer >= 1")
            allowed = 'leave it out with tools = "code": programs print whole grids'
            require("max_fills", self.max_fills, self.tools == "none", allowed)
        require_one_of("view", self.view, VIEWS)
        require_one_of("tools", self.tools, ("none", "code"))
        if self.single is not None:
            require_one_of("single", self.single, ("plain", "draft"))
        if self.only is not None:
            self._check_only(self.only)
        require_one_of("reward", self.reward, REWARDS)

    def _check_only(self, only: str) -> None:
        require_one_of("only", only, TEXTS)
        allowed = (
            f"leave it out with single = {self.single!r}, which single methods also choose: "
            "one of the two says who plays"
        )
        require("only", only, self.single is None, allowed)
        allowed = 'the tool writes programs: add tools = "code"'
        require("only", only, only != "tool" or self.tools == "code", allowed)

    @property
    def num_empty(self) -> int:
        """How many cells are to be filled."""
        return self.size**2 // 2 if self.empty is None else self.empty

    @property
    def program_roles(self) -> tuple[str, ...]:
        """The roles whose replies are programs."""
        return ("tool", "drafter") if self.tools == "code" else ()

    @property
    def played(self) -> tuple[str, ...]:
        """The roles that play, in order; the last one's fills are applied."""
        if self.only is not None:
            return (self.only,)
        team = ("tool" if self.tools == "code" else "proposer", "reasoner")
        return {None: team, "plain": ("solo",), "draft": ("drafter", "answerer")}[self.single]


def newly_right(state: State, cells: Cells) -> float:
    """Right cells above the largest number so far, as a share of those to be filled."""
    return max(0, state.num_right(cells) - state.best) / state.puzzle.empty


def right(state: State, cells: Cells) -> float:
    """Right cells as a share of those to be filled, whether new or not: the paper's form."""
    return state.num_right(cells) / state.puzzle.empty


REWARDS: Mapping[str, Callable[[State, Cells], float]] = MappingProxyType(
    {"audited": newly_right, "paper": right}
)


@dataclass(frozen=True, slots=True)
class _Reading:
    """What was read from a reply. `written` tells whether it had the form that was asked for."""

    written: bool
    fills: tuple[Fill, ...] | None
    unread: str = ""


class Sudoku(Environment[State]):
    """Two roles fill a grid; the module says the rules and rewards."""

    name: ClassVar[str] = "sudoku"
    Options: ClassVar[type] = SudokuOptions
    options: SudokuOptions

    def __init__(
        self, options: SudokuOptions | None = None, prompts: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(options, prompts)
        chosen = self.options
        self.view = VIEWS[chosen.view]
        self.progress = REWARDS[chosen.reward]
        written = roles_of(chosen.size, chosen.max_fills, chosen.program_roles)
        roles = {n: replace(role, prompt=self.view.prompt(role)) for n, role in written.items()}
        self.roles = tuple(roles[name] for name in chosen.played)
        self._all_roles = tuple(roles.values())
        runs_programs = not set(chosen.played).isdisjoint(chosen.program_roles)
        self.services = (PROGRAM,) if runs_programs else ()

    def all_roles(self) -> tuple[Role, ...]:
        """The team's roles and those of the variants with one policy."""
        return self._all_roles

    def task(self, split: str, seed: int, index: int) -> Task:
        """A puzzle with exactly one solution: one is drawn, and shuffled until its split fits."""
        size, empty = self.options.size, self.options.num_empty
        try:
            drawn = draw_puzzle(size, empty, Random(derive_seed("sudoku", split, seed, index)))
            return draw_task(self.name, split, seed, index, drawn.shuffled)
        except NothingDrawnError as error:
            allowed = f"{error} and so many empty cells, with size = {size}: lower it"
            fault = Fault("environment.options.empty", show(empty), allowed)
            raise ConfigurationError([fault]) from error

    def start(self, task: Task, purpose: str) -> State:
        """The clues alone; training and evaluation begin alike."""
        assert isinstance(task.data, Puzzle)
        return start_of(task.data)

    def observe(self, state: State, agent: str) -> tuple[Message, ...]:
        """The standing instruction and the current state; deciders also read the proposal."""
        user = self.view.state(state, self.options.max_fills)
        if agent in DECIDERS:
            user += self.view.between + self.view.proposal(state)
        if not self._writes_programs(agent):
            user += self.view.closing
        return (Message("system", self.prompt(agent)), Message("user", user))

    def evidence(self, state: State, agent: str, reply: str) -> Sequence[Request]:
        """A program is run with the clues on its standard input; other replies need nothing."""
        if not self._writes_programs(agent):
            return ()
        return tool_requests(reply, rows_in_digits(state.puzzle.clues, state.size) + "\n")

    def act(
        self, state: State, agent: str, reply: str, evidence: Sequence[Evidence]
    ) -> Outcome[State]:
        """Reads the fills, and applies or records them. No fills: nothing changes."""
        plays = agent == self.roles[-1].name
        reading = self._reading(state, agent, reply, evidence)
        if reading.fills is None:
            unread = "" if plays else reading.unread
            parts = self._parts(agent, float(reading.written), 0.0, 0.0)
            return Outcome(replace(state, proposal=None, unread=unread), 0.0, parts)
        trial = try_fills(state, reading.fills, self.options.max_fills)
        legal, progress = trial.illegal is None, 0.0
        if legal:
            progress = self.progress(state, trial.cells)
        team = float(state.puzzle.is_solved_by(trial.cells))
        second = 1.0 if self._writes_programs(agent) else float(legal)
        parts = self._parts(agent, 1.0, second, progress)
        if not plays:
            return Outcome(replace(state, proposal=trial, unread=""), team, parts)
        best = max(state.best, state.num_right(trial.cells))
        after = replace(state, cells=trial.cells, best=best, proposal=None, unread="")
        return Outcome(after, team, parts, done=self.success(after))

    def success(self, state: State) -> bool:
        """Every cell is filled by the rules, and the clues are kept."""
        return state.puzzle.is_solved_by(state.cells)

    def render(self, state: State) -> str:
        """The grid with what the team has filled, and the proposal while there is one."""
        right_now = state.num_right(state.cells)
        lines = [
            rows_in_words(state.cells, state.size),
            f"right {right_now} of {state.puzzle.empty}, best {state.best}",
            f"filled {fills_in_words(state.own_fills())}",
        ]
        if state.proposal is not None or state.unread:
            lines.append(proposal_in_words(state))
        return "\n".join(lines)

    def reply_with(self, agent: str, fills: Sequence[Fill]) -> str:
        """A reply of this agent that says these fills, in the form that it is asked for."""
        text = self.view.fills(fills)
        if self._writes_programs(agent):
            return f"```python\nprint({text!r})\n```"
        return self.view.reply.format(text)

    def solve(self, state: State, agent: str) -> str | None:
        """A reply that solves the task (a proposal: would), None where no single one can."""
        fills = state.fills_left()
        limit = self.options.max_fills
        if not fills or (limit is not None and len(fills) > limit):
            return None
        return self.reply_with(agent, fills)

    def would_solve(self, agent: str, outcome: Outcome[State]) -> bool:
        """Whether this outcome solves the task, or proposes what would."""
        trial = outcome.state.proposal
        proposed = trial is not None and outcome.state.puzzle.is_solved_by(trial.cells)
        return proposed or self.success(outcome.state)

    def attempts(self, state: State, agent: str, generator: Random) -> list[str]:
        """Well-formed replies of all worths: right, wrong, repeated, illegal, and random."""
        size, fills = state.size, state.fills_left()
        lists = [fills[:n] for n in range(1, len(fills) + 1)]
        lists += [(fill,) for fill in generator.sample(fills, min(4, len(fills)))]
        lists += [tuple(_other(fill, size) for fill in fills[:n]) for n in (1, 2, len(fills))]
        lists += [(*fills[:-1], _other(fill, size)) for fill in fills[-1:]]
        lists += [state.own_fills(), tuple(_other(fill, size) for fill in state.own_fills())]
        lists += [fills * 100, ((1, 1, 1),) * 500, ((0, 0, 0),), ((size + 1, 1, 10**9),)]
        anything = partial(generator.randint, 1, size)
        for count in (1, 1, 1, 1, 2, 2, 3, size):
            lists.append(tuple((anything(), anything(), anything()) for _ in range(count)))
        if self._writes_programs(agent):
            # Each of these is run, so there are fewer.
            lists = generator.sample(lists, min(8, len(lists)))
        return [self.reply_with(agent, fills) for fills in lists if fills]

    def _writes_programs(self, agent: str) -> bool:
        return agent in self.options.program_roles

    def _reading(
        self, state: State, agent: str, reply: str, evidence: Sequence[Evidence]
    ) -> _Reading:
        if not self._writes_programs(agent):
            fills = parse_fills(reply, state.size)
            return _Reading(fills is not None, fills)
        run = printed(evidence)
        fills = parse_printed(run.text, state.size) if run.ran else None
        unread = run.error or "It printed no grid and no fills."
        return _Reading(run.written, fills, unread)

    def _parts(
        self, agent: str, written: float, second: float, progress: float
    ) -> tuple[Part, ...]:
        name = "ran" if self._writes_programs(agent) else "legal"
        return (
            Part("format", 0.1, written),
            Part(name, 0.1, second),
            Part("progress", 0.8, progress),
        )


def _other(fill: Fill, size: int) -> Fill:
    """The same cell with another value."""
    row, column, value = fill
    return (row, column, value % size + 1)
