"""Contenders for evaluation: the team of a run, saved ones, and the baselines beside it."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cotrain.assembly.casting import evaluation_decoding, evaluation_episodes
from cotrain.assembly.environments import build_environment, environment_fault
from cotrain.assembly.policies import Policies, build_policies
from cotrain.assembly.resolving import resolved
from cotrain.config import (
    Config,
    ConfigurationError,
    Fault,
    config_from_json,
    load_config,
    replaced,
    show,
)
from cotrain.environments.base import SPLITS, Environment
from cotrain.environments.returned import RULE_FAULTS, checked_task
from cotrain.policies.loading import embedded_folder
from cotrain.runs import layout
from cotrain.runs.checkpoint_folder import checkpoint_at, latest_complete
from cotrain.runs.durable import RunFolderRefusedError
from cotrain.runs.store import RunFolder
from cotrain.training.checkpoints import SavedState, read_state
from cotrain.training.evaluation import Contender


def contender_of(
    config: Config, environment: Environment[Any], policies: Policies, run: str | None = None
) -> Contender:
    """The team that these policies form; `run` is where they are from, None for the row's own."""
    return Contender(
        method=config.algorithm.method,
        episodes=evaluation_episodes(config, environment, policies),
        decoding=evaluation_decoding(config),
        runs={role.name: run for role in environment.roles},
    )


def baselines_of(config: Config) -> list[Contender]:
    """The contenders of `evaluation.baselines`, with the seed and decoding of this run.

    Each plays the environment with the options that it was saved with. Raises ConfigurationError
    for a folder that is not a saved team.
    """
    return [_baseline(config, name) for name in config.evaluation.baselines]


@dataclass(frozen=True, slots=True)
class SavedTeam:
    """A team with the configuration it plays under, and the step that it was saved at."""

    config: Config
    contender: Contender
    step: int


def saved_team(target: Path, overrides: Mapping[str, object]) -> SavedTeam:
    """The team of a run folder (its last complete checkpoint) or of a checkpoint.

    Raises RunFolderRefusedError for a folder that is neither, or has no complete checkpoint.
    """
    checkpoint = target
    if (target / layout.CONFIG).is_file():
        latest = latest_complete(RunFolder(target).checkpoints)
        if latest.checkpoint is None:
            raise RunFolderRefusedError(
                f"{target} has no complete checkpoint yet: its team cannot be evaluated"
            )
        checkpoint = latest.checkpoint.path
    state = read_state(checkpoint_at(checkpoint).path)
    config = resolved(replaced(config_from_json(state.config), overrides))
    return SavedTeam(config, _saved_contender(config, checkpoint, state, None), state.progress.step)


def team_of(target: str | Path, overrides: Mapping[str, object]) -> SavedTeam:
    """The team of a run folder or checkpoint, or the untrained one of a file or preset."""
    if Path(target).is_dir():
        return saved_team(Path(target), overrides)
    return fresh_team(resolved(load_config(target, overrides)))


def fresh_team(config: Config) -> SavedTeam:
    """The team of a configuration, untrained."""
    environment = build_environment(config)
    policies = build_policies(config, environment)
    return SavedTeam(config, contender_of(config, environment, policies), 0)


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
    try:
        return [checked_task(environment.task("test", seed, index)).digest for index in range(5)]
    except RULE_FAULTS as error:
        raise environment_fault(config, error) from error


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
    its_own = config_from_json(state.config)
    shared = {
        "evaluation": config.evaluation.model_dump(mode="json"),
        "limits": config.limits.model_dump(mode="json"),
        "model.threads": config.model.threads,
    }
    return _saved_contender(replaced(its_own, shared), folder, state, folder.name)


def _saved_contender(
    config: Config, checkpoint: Path, state: SavedState, run: str | None
) -> Contender:
    environment = build_environment(config)
    policies = build_policies(config, environment, checkpoint / layout.POLICIES, state.versions)
    return contender_of(config, environment, policies, run)
