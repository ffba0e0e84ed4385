"""The engine that plays an environment: where its rules run, and what answers its requests."""

from typing import Any

from cotrain.assembly.environments import recipe_of
from cotrain.assembly.services import SERVICES, Services, sandbox_settings
from cotrain.config import Config
from cotrain.environments.base import Environment
from cotrain.environments.registry import ENVIRONMENTS
from cotrain.rollouts.engine import Engine
from cotrain.rollouts.evidence import HandlerPool
from cotrain.rollouts.referee import LocalReferee
from cotrain.rollouts.workers import WorkerReferee
from cotrain.runs.manifest import available_cpus

MAX_WORKERS = 8
HANDLER_THREADS = 2


def engine_of(
    config: Config, environment: Environment[Any], services: Services = SERVICES
) -> Engine:
    """The engine of a configuration, to be closed by whoever asked for it.

    The rules of an environment that is not shipped run in workers where `limits.act_seconds` is
    set: one worker a CPU of this process, 8 at most. All others run in this process.
    """
    limits = config.limits
    threads = _service_threads(config, environment)
    answered = services.tries(environment.services, sandbox_settings(config))
    if limits.act_seconds is None or config.environment.name in ENVIRONMENTS:
        pool = HandlerPool(
            environment.handlers, limits.act_seconds, limits.retries, threads, answered
        )
        return Engine(LocalReferee(environment), pool)
    workers = min(available_cpus(), MAX_WORKERS)
    referee = WorkerReferee(environment, recipe_of(config), limits.act_seconds, workers)
    own = dict.fromkeys(environment.handlers, referee.handle)
    pool = HandlerPool({}, None, limits.retries, max(threads, workers), own | answered)
    return Engine(referee, pool)


def _service_threads(config: Config, environment: Environment[Any]) -> int:
    """As many requests at once as the sandbox has places, where services are asked."""
    places = sandbox_settings(config).workers if environment.services else 0
    return max(HANDLER_THREADS, places)
