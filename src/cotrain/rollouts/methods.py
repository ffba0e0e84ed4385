"""The two families of training methods: groups by agent and turn, and groups of whole episodes.

A method says how many episodes a task gets, how many replies a prompt, which phase endings it
accepts, and how episodes become groups. Everything else is common.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from cotrain.core.episode import Episode, Group
from cotrain.core.grouping import episode_groups, turn_groups
from cotrain.core.rewards import episode_score
from cotrain.core.samples import SampleGroup, episode_samples, turn_samples
from cotrain.rollouts.base import all_unscored, any_unscored


class Method(Protocol):
    """How a training step samples and groups."""

    @property
    def episodes_per_task(self) -> int:
        """Independent episodes of one task."""
        ...

    @property
    def width(self) -> int:
        """The replies that a trained agent gives to one prompt."""
        ...

    def ends_unscored(self, groups: Sequence[Group]) -> bool:
        """Whether a phase with these groups ends the episode for want of a score."""
        ...

    def groups(self, episodes: Sequence[Episode]) -> list[SampleGroup]:
        """The groups of a step, checked."""
        ...


@dataclass(frozen=True, slots=True)
class TreeMethod:
    """AT-GRPO: K candidates a prompt along one spine, groups by (step, episode, agent, turn)."""

    candidates: int
    episodes_per_task: int = 1

    @property
    def width(self) -> int:
        """K."""
        return self.candidates

    def ends_unscored(self, groups: Sequence[Group]) -> bool:
        """When no agent of the phase has a scored candidate."""
        return all_unscored(groups)

    def groups(self, episodes: Sequence[Episode]) -> list[SampleGroup]:
        """One group a prompt; members are candidates."""
        return turn_groups(sample for episode in episodes for sample in turn_samples(episode))


@dataclass(frozen=True, slots=True)
class WholeEpisodeMethod:
    """GRPO on whole episodes: K independent episodes a task, groups by (step, task, agent)."""

    candidates: int
    team_weight: float
    max_turns: int
    width: int = 1

    @property
    def episodes_per_task(self) -> int:
        """K."""
        return self.candidates

    def ends_unscored(self, groups: Sequence[Group]) -> bool:
        """When any reply of the phase is unscored."""
        return any_unscored(groups)

    def groups(self, episodes: Sequence[Episode]) -> list[SampleGroup]:
        """One group a task and agent; members are episodes."""
        return episode_groups(
            sample
            for episode in episodes
            for sample in episode_samples(episode, self.candidates, self._score_in(episode))
        )

    def _score_in(self, episode: Episode) -> Callable[[str], float | None]:
        return lambda agent: episode_score(episode, agent, self.team_weight, self.max_turns)
