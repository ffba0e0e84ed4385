"""The records of what a team did: replies, candidates, groups, phases, turns, episodes.

Every record is frozen and complete: identity, policy version and status travel with the data.

    Episode            one attempt at a task
      Turn             one round of all agents
        Phase          the agents that act at once, from one opening state
          Group        the candidates of one agent: one prompt, K replies
            Candidate  one reply with its status, reward parts and score
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypeAlias

Json: TypeAlias = "bool | int | float | str | tuple[Json, ...] | Mapping[str, Json] | None"


class CandidateStatus(StrEnum):
    """Why a candidate has a score, or has none. Only `scored` ones are followed or trained."""

    SCORED = "scored"
    TIMEOUT = "timeout"
    ERROR = "error"
    UNKNOWN = "unknown"
    CONTEXT_LENGTH = "context_length"


class EpisodeStatus(StrEnum):
    """Why an episode ended. `done` is the rules' word and does not mean success."""

    DONE = "done"
    TURN_LIMIT = "turn_limit"
    CONTEXT_LENGTH = "context_length"
    TIMEOUT = "timeout"
    ENVIRONMENT_ERROR = "environment_error"
    UNSCORED = "unscored"


class Finish(StrEnum):
    """Why a reply ended: the end token, the length limit, the time limit, or a failed call."""

    STOP = "stop"
    LENGTH = "length"
    TIMEOUT = "timeout"
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class Message:
    """One chat message. `role` is the chat template's: `system`, `user` or `assistant`."""

    role: str
    content: str


@dataclass(frozen=True, slots=True)
class Part:
    """One named part of an agent's local reward: `weight * value`, value in [0, 1]."""

    name: str
    weight: float
    value: float


@dataclass(frozen=True, slots=True)
class Request:
    """What must be run or checked to judge a reply, as frozen data.

    >>> request = Request.of("program", source="print(1)", stdin="")
    >>> request["source"]
    'print(1)'
    """

    kind: str
    arguments: tuple[tuple[str, Json], ...] = ()

    @classmethod
    def of(cls, kind: str, **arguments: Json) -> "Request":
        """A request with these arguments, in the order of their names."""
        return cls(kind, tuple(sorted(arguments.items())))

    def __getitem__(self, name: str) -> Json:
        return dict(self.arguments)[name]


@dataclass(frozen=True, slots=True)
class Evidence:
    """A request with its answer.

    `status` is `scored` when the request was answered, whatever the program under test did. Any
    other status says that the machinery failed, and masks the candidate. `retries` counts the tries
    after the first one.
    """

    request: Request
    answer: Json
    status: CandidateStatus = CandidateStatus.SCORED
    message: str = ""
    retries: int = 0


@dataclass(frozen=True, slots=True)
class Reply:
    """What a policy wrote. The token ids are the sampled ones and are never made from the text.

    `logprobs` are the sampler's own, one a token, at the sampling temperature.
    """

    text: str
    token_ids: tuple[int, ...]
    logprobs: tuple[float, ...]
    finish: Finish
    message: str = ""


@dataclass(frozen=True, slots=True)
class Candidate:
    """One of the K replies to one prompt, judged on the phase's opening state."""

    index: int
    reply: Reply
    status: CandidateStatus
    score: float | None
    team: float | None = None
    local: tuple[Part, ...] = ()
    gate: float = 1.0
    evidence: tuple[Evidence, ...] = ()
    message: str = ""


@dataclass(frozen=True, slots=True, order=True)
class TurnKey:
    """The key of a group in tree sampling: one agent at one turn of one episode of one step."""

    step: int
    episode: int
    agent: str
    turn: int


@dataclass(frozen=True, slots=True, order=True)
class EpisodeKey:
    """The key of a group of whole episodes: one agent on one task of one step."""

    step: int
    task: int
    agent: str


@dataclass(frozen=True, slots=True)
class Group:
    """The candidates of one (episode, agent, turn): one prompt, `width` replies of one policy.

    `trained` is false where the role gives one reply that no loss sees (frozen, idle, evaluation).
    `followed` is the index of the candidate the episode went on with, or None.
    """

    key: TurnKey
    role: str
    policy: str
    version: int
    messages: tuple[Message, ...]
    prompt_ids: tuple[int, ...]
    temperature: float
    width: int
    candidates: tuple[Candidate, ...]
    followed: int | None = None
    trained: bool = True

    @property
    def chosen(self) -> Candidate | None:
        """The followed candidate."""
        return None if self.followed is None else self.candidates[self.followed]


@dataclass(frozen=True, slots=True)
class Phase:
    """The groups of the agents that acted at once, and the state they led to, as text."""

    groups: tuple[Group, ...]
    joint_evidence: tuple[Evidence, ...] = ()
    rendering: str = ""


@dataclass(frozen=True, slots=True)
class Turn:
    """One round; `number` counts from 1."""

    number: int
    phases: tuple[Phase, ...]


@dataclass(frozen=True, slots=True)
class Task:
    """One problem. `data` belongs to the environment; `digest` identifies the problem.

    `index` is the place in the split's order, so that a step's tasks follow from its number.
    """

    split: str
    index: int
    digest: str
    data: object = field(repr=False)


@dataclass(frozen=True, slots=True)
class Settled:
    """What an agent's turn turned out to be worth, once the whole episode was known."""

    agent: str
    turn: int
    reward: float


@dataclass(frozen=True, slots=True)
class Episode:
    """The team's one attempt at a task.

    `number` tells the episodes of a step apart; `task_number` the tasks of a step. They differ
    where a method plays several whole episodes a task. `settled` is empty for an environment
    without `settle`.
    """

    step: int
    number: int
    task_number: int
    task: Task
    status: EpisodeStatus
    success: bool
    turns: tuple[Turn, ...]
    opening: str = ""
    message: str = ""
    settled: tuple[Settled, ...] = ()

    def groups(self) -> list[Group]:
        """Every group in the order of play."""
        return [group for turn in self.turns for phase in turn.phases for group in phase.groups]
