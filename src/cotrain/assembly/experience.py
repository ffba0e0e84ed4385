"""What a run learns from: replies that it samples, or episodes that it is given."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from cotrain.assembly.casting import training_episodes
from cotrain.assembly.policies import Policies
from cotrain.config import Config
from cotrain.core.advantages import ESTIMATORS
from cotrain.core.episode import Episode
from cotrain.environments.base import Environment
from cotrain.rollouts.base import EpisodeSource
from cotrain.rollouts.engine import Engine
from cotrain.rollouts.methods import Method
from cotrain.training.trainer import Credit, Credited


@dataclass(frozen=True, slots=True)
class Experience:
    """Where a trainer's episodes come from, how they get credit, and what is to be said of it."""

    source: Callable[[Engine], EpisodeSource]
    credit: Callable[[Sequence[Episode]], Credited]
    notes: tuple[str, ...] = ()


class TrainingData(Protocol):
    """What a configuration asks to learn from, found before any model is loaded."""

    def pinned(self, config: Config) -> Config:
        """The configuration, with what was found in its place."""
        ...

    def experience(
        self, config: Config, environment: Environment[Any], policies: Policies
    ) -> Experience:
        """The experience of these policies."""
        ...


@dataclass(frozen=True, slots=True)
class OnPolicyData:
    """Episodes that the run's own policies play."""

    method: Method

    def pinned(self, config: Config) -> Config:
        """The configuration as it is."""
        return config

    def experience(
        self, config: Config, environment: Environment[Any], policies: Policies
    ) -> Experience:
        """The method's episodes and groups, with the configuration's estimator."""
        return Experience(
            source=lambda engine: training_episodes(config, engine, policies, self.method),
            credit=Credit(
                self.method.groups,
                ESTIMATORS[config.algorithm.advantage],
                config.algorithm.cut_replies,
            ),
        )
