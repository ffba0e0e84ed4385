"""The seams of play: who plays an agent, what is asked of the engine, where episodes come from."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from cotrain.core.episode import Episode, Evidence, Group, Request, Task
from cotrain.core.selection import Selection
from cotrain.policies.base import Decoding, Sampler


class EpisodeSource(Protocol):
    """Where the episodes of a training step come from: the tree over an environment, say."""

    def play(self, step: int) -> list[Episode]:
        """The episodes of this step, the same for the same step and weights."""
        ...


class Fulfiller(Protocol):
    """What runs and checks: programs, answers, verifiers."""

    def fulfil(self, requests: Sequence[Request]) -> list[Evidence]:
        """The evidence for each request, in order; a failure of the machinery is a status."""
        ...


@dataclass(frozen=True, slots=True)
class Player:
    """What plays an agent: a sampler, how it decodes, and how many replies it gives a prompt.

    `trained` is false for a role that gives replies and no groups: frozen, idle, or evaluated.
    """

    agent: str
    role: str
    sampler: Sampler
    decoding: Decoding
    width: int
    trained: bool


Cast: TypeAlias = Mapping[str, Player]
"""The player of each agent."""


@dataclass(frozen=True, slots=True)
class Opening:
    """One episode to be played. `purpose` is `"train"` or `"evaluate"`."""

    step: int
    number: int
    task_number: int
    task: Task
    purpose: str


class NoTaskError(RuntimeError):
    """The environment gave no task for a place of a split: there is nothing to play."""


class PromptTooLongError(RuntimeError):
    """A prompt of turn 1 does not fit: no setting of the run can play this task."""


@dataclass(frozen=True, slots=True)
class PlayRules:
    """The settings of play.

    `seed(opening, agent, turn, candidate)` gives every reply its own seed; candidate -1 is the seed
    of the choice between the candidates. `ends_unscored(groups)` says whether a phase with these
    groups ends the episode for want of a score.
    """

    max_turns: int
    team_weight: float
    max_prompt_tokens: int
    selection: Selection
    seed: Callable[[Opening, str, int, int], int]
    ends_unscored: Callable[[Sequence[Group]], bool]
    episode_seconds: float | None = None


def all_unscored(groups: Sequence[Group]) -> bool:
    """The tree's rule: an agent without a scored candidate keeps its last reply."""
    return all(group.followed is None for group in groups)


def any_unscored(groups: Sequence[Group]) -> bool:
    """The rule of whole episodes and of evaluation: each reply counts."""
    return any(group.followed is None for group in groups)
