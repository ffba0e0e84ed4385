"""The contract of an environment: pure rules over an immutable state.

Sampling K candidates from one state needs no copies, because nothing changes a state; what must be
run to judge a reply is returned as requests, and nothing that can hang runs inside the rules. An
environment is one class:

    class Guess(Environment):
        name = "guess"
        roles = (Role("guesser", "Guess the number."),)

        def task(self, split, seed, index): ...
        def start(self, task, purpose): ...
        def observe(self, state, agent): ...
        def act(self, state, agent, reply, evidence): ...
        def success(self, state): ...
        def render(self, state): ...
"""

import random
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, TypeVar

from cotrain.core.episode import Episode, Evidence, Json, Message, Part, Request, Task
from cotrain.core.seeds import derive_seed

State = TypeVar("State")
SPLITS = ("train", "validation", "test")


@dataclass(frozen=True, slots=True)
class Role:
    """A job in the team. Each of its `seats` is one agent.

    `prompt` is the role's standing instruction; `team.roles.NAME.prompt` replaces it by a file.

    >>> Role("reasoner", seats=2).agents
    ('reasoner_1', 'reasoner_2')
    >>> Role("planner").agents
    ('planner',)
    """

    name: str
    prompt: str = ""
    seats: int = 1

    @property
    def agents(self) -> tuple[str, ...]:
        """The agents' names, in seat order."""
        if self.seats == 1:
            return (self.name,)
        return tuple(f"{self.name}_{seat}" for seat in range(1, self.seats + 1))


@dataclass(frozen=True, slots=True)
class Outcome(Generic[State]):
    """What one reply would lead to, judged on the phase's opening state.

    `team` in [0, 1] is the team's value; `local` are the agent's own parts, weights summing to 1;
    `gate` in [0, 1] multiplies the local reward and is the same for all siblings. `done` says that
    the episode would be over, which is not success.
    """

    state: State
    team: float
    local: tuple[Part, ...] = ()
    gate: float = 1.0
    done: bool = False


@dataclass(frozen=True, slots=True)
class Judged:
    """A followed reply with its evidence, as `commit` receives it."""

    reply: str
    evidence: tuple[Evidence, ...] = ()


class UndecidedError(Exception):
    """Raised by what answers a request when it cannot tell: the candidate's status is `unknown`."""


class ServiceLostError(RuntimeError):
    """What answers requests is gone and cannot come back: the run stops, and loses nothing.

    The message says what is missing and what to install or to change.
    """


@dataclass(frozen=True)
class NoOptions:
    """The options of an environment that has none."""


class Environment(ABC, Generic[State]):
    """Rules over an immutable state. Subclasses fill in the abstract methods and hold no state.

    A subclass sets `name` and `roles`, and may set `Options` (a frozen dataclass, whose fields are
    the keys of `environment.options`) and `phases`.
    """

    name: ClassVar[str]
    Options: ClassVar[type] = NoOptions
    roles: tuple[Role, ...]
    handlers: ClassVar[Mapping[str, Callable[[Request], Json]]] = {}
    """What answers this environment's own kinds of request; called in workers, time-limited."""
    services: tuple[str, ...] = ()
    """The kinds of request that the program itself answers for this environment (`requests.py`)."""
    settle: Callable[[Episode], Mapping[tuple[str, int], float]] | None = None
    """Credit that needs later turns, `(agent, turn) -> reward`, of turns in which the agent acted.

    Asked once an episode of a whole-episode method has ended, unless a failure ended it; tree
    methods refuse an environment that defines it. The rewards are added to the agent's episode
    score, so they need no range, only to be finite.
    """

    def __init__(self, options: Any = None, prompts: Mapping[str, str] | None = None) -> None:
        self.options = self.Options() if options is None else options
        self.prompts = dict(prompts or {})

    @property
    def phases(self) -> tuple[tuple[str, ...], ...]:
        """The agents of each phase of a turn; by default one phase a role, in order."""
        return tuple(role.agents for role in self.roles)

    def prompt(self, role: str) -> str:
        """The role's standing instruction, or the text that replaces it."""
        default = next(r.prompt for r in self.all_roles() if r.name == role)
        return self.prompts.get(role, default)

    def all_roles(self) -> tuple[Role, ...]:
        """The roles of every variant of this environment, those not played included."""
        return self.roles

    @abstractmethod
    def task(self, split: str, seed: int, index: int) -> Task:
        """The problem at this place of the split's order; equal arguments, equal task."""

    @abstractmethod
    def start(self, task: Task, purpose: str) -> State:
        """The opening state; `purpose` is `"train"` or `"evaluate"`."""

    @abstractmethod
    def observe(self, state: State, agent: str) -> Sequence[Message]:
        """What the agent reads: always the current state."""

    def evidence(self, state: State, agent: str, reply: str) -> Sequence[Request]:
        """What must be run or checked before `act` can judge this reply."""
        return ()

    @abstractmethod
    def act(
        self, state: State, agent: str, reply: str, evidence: Sequence[Evidence]
    ) -> Outcome[State]:
        """Judges one reply. A garbage reply is an outcome with a low reward, never an exception."""

    def joint_evidence(self, state: State, replies: Mapping[str, str]) -> Sequence[Request]:
        """What must be run on the followed replies of a phase of several agents, together."""
        return ()

    def commit(
        self, state: State, replies: Mapping[str, Judged], joint_evidence: Sequence[Evidence]
    ) -> tuple[State, bool]:
        """The state after a phase of several agents, and whether the episode is over.

        An agent without a followed reply is absent from `replies`. A phase of one agent never
        comes here: its followed outcome is the commit.
        """
        raise TypeError(
            f"{type(self).__name__}.phases has a phase of several agents, so it must define "
            "commit(state, replies, joint_evidence) -> (state, done)"
        )

    @abstractmethod
    def success(self, state: State) -> bool:
        """Whether the task is solved in this state."""

    @abstractmethod
    def render(self, state: State) -> str:
        """The state as text for a person."""


def role_of(roles: Sequence[Role], agent: str) -> Role:
    """The role that this agent has a seat of.

    >>> role_of([Role("judge"), Role("debater", seats=2)], "debater_2").name
    'debater'
    """
    return next(role for role in roles if agent in role.agents)


def split_of(digest: str) -> str:
    """The split a problem belongs to, by its hash, so that splits are disjoint by construction.

    `digest` is a hexadecimal hash; ten buckets: 0 to 7 train, 8 validation, 9 test.

    >>> split_of("0a"), split_of("08"), split_of("09")
    ('train', 'validation', 'test')
    """
    bucket = int(digest, 16) % 10
    return SPLITS[max(0, bucket - 7)]


def epoch_position(size: int, seed: int, index: int) -> int:
    """The record at this place of an endless order over `size` records.

    Each epoch (`index // size`) is a seeded permutation of its own, so that every record comes
    once an epoch, and the place in the data follows from the step alone (a last short batch is
    filled from the next epoch).

    >>> sorted(epoch_position(4, 7, index) for index in range(4))
    [0, 1, 2, 3]
    """
    epoch, place = divmod(index, size)
    order = list(range(size))
    random.Random(derive_seed("epoch", seed, epoch)).shuffle(order)
    return order[place]
