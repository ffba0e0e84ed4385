"""Who plays each agent, in training and in evaluation, and how a method samples."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from cotrain.assembly.policies import Policies
from cotrain.assembly.policy_plans import trained_roles
from cotrain.config import IMITATION, Config, ConfigurationError, Fault, show
from cotrain.core.selection import selection
from cotrain.environments.base import Environment
from cotrain.policies.base import Decoding, Sampler
from cotrain.rollouts.base import Cast, Player
from cotrain.rollouts.engine import Engine
from cotrain.rollouts.episodes import EvaluationEpisodes, Limits, TrainingEpisodes
from cotrain.rollouts.methods import Method, TreeMethod, WholeEpisodeMethod

TREE_METHODS = ("at_grpo", "single_at_grpo")
WHOLE_EPISODE_METHODS = ("team_grpo", "single_grpo")


def method_of(config: Config, environment: Environment[Any]) -> Method:
    """The method that samples what is trained.

    Raises ConfigurationError for one that trains or samples nothing, and for a tree method with an
    environment that defines `settle`.
    """
    name, candidates = config.algorithm.method, config.sampling.candidates
    if name in TREE_METHODS:
        _refuse_settle(name, environment)
        return TreeMethod(candidates)
    if name in WHOLE_EPISODE_METHODS:
        return WholeEpisodeMethod(candidates, config.team.team_weight, config.team.turns)
    what = "samples nothing" if name == IMITATION else "trains nothing"
    allowed = f"{what}; allowed are {_listed((*TREE_METHODS, *WHOLE_EPISODE_METHODS))}"
    raise ConfigurationError([Fault("algorithm.method", show(name), allowed)])


def _refuse_settle(method: str, environment: Environment[Any]) -> None:
    """The siblings of a tree that were not followed have no later turns."""
    if environment.settle is not None:
        allowed = (
            f"cannot honour settle(episode) of {environment.name}, which gives credit by later "
            f"turns; allowed are {_listed(WHOLE_EPISODE_METHODS)}"
        )
        raise ConfigurationError([Fault("algorithm.method", show(method), allowed)])


def _listed(methods: Sequence[str]) -> str:
    return ", ".join(map(show, methods))


def training_cast(
    config: Config, environment: Environment[Any], policies: Policies, method: Method, step: int
) -> Cast:
    """A player for each agent in this step; a frozen or idle role gives one reply and no group."""
    now = trained_roles(config, environment, step)
    cast: dict[str, Player] = {}
    for role in environment.roles:
        trained = role.name in now
        decoding = Decoding(_temperature(config, role.name), reply_limit(config, role.name))
        sampler = policies.sampler_of(role.name)
        width = method.width if trained else 1
        for agent in role.agents:
            cast[agent] = Player(agent, role.name, sampler, decoding, width, trained)
    return cast


def evaluation_decoding(config: Config) -> Decoding:
    """The decoding of evaluations, with the reply limit of roles that have none of their own."""
    evaluation = config.evaluation
    return Decoding(
        evaluation.temperature,
        config.sampling.max_reply_tokens,
        evaluation.top_p,
        evaluation.top_k,
    )


def evaluation_cast(
    config: Config, environment: Environment[Any], samplers: Mapping[str, Sampler]
) -> Cast:
    """A player for each agent, with one reply a prompt and the evaluation's decoding.

    `samplers` are those of the roles.
    """
    general = evaluation_decoding(config)
    cast: dict[str, Player] = {}
    for role in environment.roles:
        decoding = replace(general, max_reply_tokens=reply_limit(config, role.name))
        sampler = samplers[role.name]
        for agent in role.agents:
            cast[agent] = Player(agent, role.name, sampler, decoding, 1, trained=False)
    return cast


def training_episodes(
    config: Config, engine: Engine, policies: Policies, method: Method
) -> TrainingEpisodes:
    """The episode source of a training run."""
    return TrainingEpisodes(
        engine=engine,
        cast_of=partial(training_cast, config, engine.environment, policies, method),
        method=method,
        limits=limits_of(config),
        selection=selection(config.algorithm.follow),
        tasks_per_step=config.sampling.tasks_per_step,
        seed=config.run.seed,
    )


def evaluation_episodes(
    config: Config, engine: Engine, samplers: Mapping[str, Sampler]
) -> EvaluationEpisodes:
    """The episode source of evaluations, with these samplers in the roles."""
    return EvaluationEpisodes(
        engine=engine,
        cast=evaluation_cast(config, engine.environment, samplers),
        limits=limits_of(config),
        seed=config.evaluation.seed,
    )


def limits_of(config: Config) -> Limits:
    """What bounds an episode."""
    return Limits(
        max_turns=config.team.turns,
        max_prompt_tokens=config.sampling.max_prompt_tokens,
        team_weight=config.team.team_weight,
        episode_seconds=config.limits.episode_seconds,
    )


def reply_limit(config: Config, role: str) -> int:
    """The most tokens of a reply of this role: its own limit, or else the general one."""
    return config.team.role(role).max_reply_tokens or config.sampling.max_reply_tokens


def _temperature(config: Config, role: str) -> float:
    return config.team.role(role).temperature or config.sampling.temperature
