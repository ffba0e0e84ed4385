"""The first tasks of each split: what a run was begun on, and whether two runs play the same.

They are asked where the run's rules are asked, so that a time limit of the rules holds here too.
"""

import hashlib
from collections.abc import Mapping
from contextlib import closing
from typing import Any

from cotrain.assembly.engines import engine_of
from cotrain.assembly.environments import environment_fault
from cotrain.config import Config, ConfigurationError, Fault, show
from cotrain.core.episode import Task
from cotrain.environments import rules as ask
from cotrain.environments.base import Environment, ServiceLostError
from cotrain.environments.returned import RULE_FAULTS
from cotrain.rollouts.base import NoTaskError
from cotrain.rollouts.episodes import tasks_of
from cotrain.rollouts.referee import LocalReferee, Referee

HASHED_TASKS = 100


def task_hashes(config: Config, environment: Environment[Any]) -> dict[str, str]:
    """One hash a split over its first hundred tasks: equal hashes, equal tasks."""
    seeds = {
        "train": config.run.seed,
        "validation": config.evaluation.seed,
        "test": config.evaluation.seed,
    }
    found = first_digests(config, environment, seeds, HASHED_TASKS)
    return {
        split: hashlib.sha256("\n".join(digests).encode()).hexdigest()
        for split, digests in found.items()
    }


def first_digests(
    config: Config, environment: Environment[Any], seeds: Mapping[str, int], number: int
) -> dict[str, list[str]]:
    """The digests of the first tasks of these splits, each with its seed.

    Raises ConfigurationError for an environment that does not give them.
    """
    try:
        with closing(engine_of(config, environment)) as engine:
            return {
                split: [task.digest for task in _tasks(engine.referee, split, seed, number)]
                for split, seed in seeds.items()
            }
    except (ConfigurationError, ServiceLostError):
        raise
    except NoTaskError as error:
        fault = Fault("environment.name", show(config.environment.name), str(error))
        raise ConfigurationError([fault]) from error
    except RULE_FAULTS as error:
        raise environment_fault(config, error) from error


def _tasks(referee: Referee, split: str, seed: int, number: int) -> list[Task]:
    if isinstance(referee, LocalReferee):  # what it raises names the author's own line
        return [ask.task(referee.environment, split, seed, index) for index in range(number)]
    return tasks_of(referee, split, seed, range(number))
