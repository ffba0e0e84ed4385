"""Contenders for evaluation: the team of a run, saved ones, and the baselines beside it."""

import re
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from cotrain.assembly.casting import evaluation_decoding, evaluation_episodes
from cotrain.assembly.engines import engine_of
from cotrain.assembly.environments import build_environment
from cotrain.assembly.lineup import AS_SAVED, Lineup, apply_lineup
from cotrain.assembly.policies import build_samplers
from cotrain.assembly.policy_plans import (
    policy_of_role,
    policy_plans,
    refuse_unfit_starts,
)
from cotrain.assembly.resolving import resolved
from cotrain.assembly.saved import SavedSamplers, checkpoint_of, config_here, saved_roles
from cotrain.assembly.services import SERVICES
from cotrain.assembly.task_sets import first_digests
from cotrain.config import (
    Config,
    ConfigurationError,
    Fault,
    config_from_json,
    load_config,
    replaced,
    show,
)
from cotrain.config.schema import SCRIPTED_PREFIX
from cotrain.environments.base import SPLITS
from cotrain.policies.base import Sampler
from cotrain.policies.loading import embedded_folder
from cotrain.rollouts.engine import Engine
from cotrain.runs.durable import RunFolderRefusedError
from cotrain.training.checkpoints import SavedState, read_state
from cotrain.training.evaluation import Contender


def contender_of(
    config: Config,
    engine: Engine,
    samplers: Mapping[str, Sampler],
    runs: Mapping[str, str | None] = MappingProxyType({}),
) -> Contender:
    """The team that these samplers form, by role; `runs` says where each is from."""
    return Contender(
        method=config.algorithm.method,
        episodes=evaluation_episodes(config, engine, samplers),
        decoding=evaluation_decoding(config),
        runs={role.name: runs.get(role.name) for role in engine.environment.roles},
    )


def baselines_of(config: Config) -> Iterator[Contender]:
    """The contenders of `evaluation.baselines`, one after the other, decoded as in this run.

    Each plays the environment with the options that it was saved with, and can be played until the
    next one is asked for. Raises ConfigurationError for a folder that is not a saved team.
    """
    for name in config.evaluation.baselines:
        contender = _baseline(config, name)
        with closing(contender.episodes.engine):
            yield contender


@dataclass(frozen=True, slots=True)
class EvaluatedTeam:
    """A team with the configuration it plays under, and the step that it was saved at.

    Whoever asked for it closes it, which ends what its environment's rules run in.
    """

    config: Config
    contender: Contender
    step: int

    def close(self) -> None:
        """Ends it; it cannot be played after this."""
        self.contender.episodes.engine.close()


def team_of(
    target: str | Path, overrides: Mapping[str, object], lineup: Lineup = AS_SAVED
) -> EvaluatedTeam:
    """The team of a run folder or checkpoint, or the untrained one of a file or preset.

    Raises RunFolderRefusedError for a folder that is neither, or has no complete checkpoint, and
    ConfigurationError for a lineup that names what is not there.
    """
    if Path(target).is_dir():
        return _saved_team(checkpoint_of(Path(target)), overrides, lineup)
    return _fresh_team(load_config(target, overrides), lineup)


def _saved_team(checkpoint: Path, overrides: Mapping[str, object], lineup: Lineup) -> EvaluatedTeam:
    state = read_state(checkpoint)
    _refuse_without_effect(state.config, overrides)
    config = replaced(config_from_json(state.config), overrides)
    environment = build_environment(config)
    SERVICES.refuse_unfit(config, environment)
    config = resolved(config, environment)
    own = saved_roles(checkpoint, state, config, environment)
    swapped, others = apply_lineup(lineup, environment, own, config)
    loader = SavedSamplers()
    chosen = {**swapped, **others}
    samplers = {role: loader.sampler(saved) for role, saved in chosen.items()}
    runs = {role: saved.run for role, saved in chosen.items()}
    contender = contender_of(config, engine_of(config, environment), samplers, runs)
    return EvaluatedTeam(config, contender, state.progress.step)


ADJUSTABLE = re.compile(
    r"(environment|evaluation|limits|logging|sampling|sandbox)\..+"
    r"|team\.(turns|team_weight|policies)|algorithm\.method"
    r"|model\.(name|dtype|threads|chat_template_options.*)"
    r"|team\.roles\.[^.]+\.(prompt|max_reply_tokens)"
)
"""The keys that say how a saved team is evaluated. A base that was moved may be named anew.

An evaluation shares the limits of `sampling`; how training samples changes nothing of it.
"""


def _refuse_without_effect(config: Mapping[str, Any], overrides: Mapping[str, object]) -> None:
    """Raises ConfigurationError for keys that cannot change a saved team, one line each."""
    own_base = config["team"]["policies"] == "model_per_role"
    allowed = (
        "has no effect: a saved team keeps the weights it has; --policy puts others into a role"
    )
    faults = [
        Fault(key, show(value), allowed)
        for key, value in overrides.items()
        if not ADJUSTABLE.fullmatch(key) and not (own_base and _names_a_base(key, value))
    ]
    if faults:
        raise ConfigurationError(faults)


def _names_a_base(key: str, value: object) -> bool:
    is_base = key.startswith("team.roles.") and key.endswith(".model")
    return is_base and not str(value).startswith(SCRIPTED_PREFIX)


def _fresh_team(config: Config, lineup: Lineup) -> EvaluatedTeam:
    environment = build_environment(config)
    SERVICES.refuse_unfit(config, environment)
    refuse_unfit_starts(config, environment)
    config = resolved(config, environment)
    plans = policy_plans(config, environment)
    own = policy_of_role(config, environment)
    swapped, others = apply_lineup(lineup, environment, own, config)
    fresh = build_samplers(config, {name: plans[name] for name in swapped.values()})
    loader = SavedSamplers()
    samplers = {role: fresh[name] for role, name in swapped.items()}
    samplers |= {role: loader.sampler(saved) for role, saved in others.items()}
    runs = {role: saved.run for role, saved in others.items()}
    contender = contender_of(config, engine_of(config, environment), samplers, runs)
    return EvaluatedTeam(config, contender, 0)


def refuse_unknown_split(split: str) -> None:
    """Raises ConfigurationError, which names the splits, for any other word."""
    if split not in SPLITS:
        raise ConfigurationError([Fault("--split", show(split), f"must be {', '.join(SPLITS)}")])


def check_baselines(config: Config) -> None:
    """Raises ConfigurationError unless every baseline is a saved team; loads no weights.

    Each must play the tasks of this run, and differ from the run and from the others in method or
    turn limit, which are what tells their rows apart.
    """
    taken = {_row_name(config): "this run"}
    for name in config.evaluation.baselines:
        its_own = config_from_json(_baseline_state(name).config)
        seed = config.evaluation.seed
        if _first_tasks(its_own, seed) != _first_tasks(config, seed):
            allowed = "was trained on other tasks than this environment's; leave it out"
            raise ConfigurationError([Fault("evaluation.baselines", show(name), allowed)])
        method, turns = row_name = _row_name(its_own)
        if row_name in taken:
            allowed = f"plays {method} with {turns} turns, as {taken[row_name]} does; leave one out"
            raise ConfigurationError([Fault("evaluation.baselines", show(name), allowed)])
        taken[row_name] = name


def _first_tasks(config: Config, seed: int) -> list[str]:
    environment = build_environment(config)
    SERVICES.refuse_unfit(config, environment)
    return first_digests(config, environment, {"test": seed}, 5)["test"]


def _row_name(config: Config) -> tuple[str, int]:
    return config.algorithm.method, config.team.turns


def _baseline_state(name: str) -> SavedState:
    try:
        return read_state(embedded_folder(name) or Path(name))
    except RunFolderRefusedError as error:
        fault = Fault("evaluation.baselines", show(name), f"must be a checkpoint folder: {error}")
        raise ConfigurationError([fault]) from error


def _baseline(config: Config, name: str) -> Contender:
    folder, state = embedded_folder(name) or Path(name), _baseline_state(name)
    its_own = config_here(state, config)
    environment = build_environment(its_own)
    loader = SavedSamplers()
    saved = saved_roles(folder, state, its_own, environment)
    samplers = {role: loader.sampler(policy) for role, policy in saved.items()}
    runs = dict.fromkeys(samplers, folder.name)
    return contender_of(its_own, engine_of(its_own, environment), samplers, runs)
