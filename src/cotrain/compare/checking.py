"""What can be found wrong with a comparison's rows before any of them runs."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from cotrain.compare.base import (
    Comparison,
    Imitating,
    Played,
    Row,
    Settings,
    Trained,
    Untrained,
    fixed_settings,
    settings_of,
)
from cotrain.config import (
    IMITATION,
    SCRIPTED_PREFIX,
    TEAM_METHODS,
    Config,
    ConfigurationError,
    Fault,
    load_config,
    nearest,
    replaced,
    show,
)
from cotrain.environments.base import Environment
from cotrain.environments.registry import make_environment
from cotrain.environments.returned import RULE_FAULTS


def refuse_unfit_rows(comparison: Comparison) -> None:
    """Every row must be a valid configuration, a trained one with a budget of tokens.

    Raises ConfigurationError with the faults of all rows, each with the row's name.
    """
    faults = list(_set_elsewhere(comparison.settings))
    for row in comparison.rows:
        try:
            found = list(_faults(comparison, row))
        except ConfigurationError as error:
            found = list(error.faults)
        faults += [replace(fault, key=f"row {row.name}: {fault.key}") for fault in found]
    if faults:
        raise ConfigurationError(faults)


def _faults(comparison: Comparison, row: Row) -> Iterator[Fault]:
    yield from _set_elsewhere(row.settings)
    config = _config_of(comparison, row)
    environment = _environment_of(config)
    match row:
        case Trained():
            if config.run.max_sampled_tokens is None:
                allowed = "must be set: the budget of every cell"
                yield Fault("run.max_sampled_tokens", "not set", allowed)
        case Imitating():
            teacher = _config_of(comparison, comparison.row(row.teacher))
            if teacher.logging.episodes == "none":
                allowed = f'"none" keeps no episodes of {row.teacher}, which this row imitates'
                yield Fault("logging.episodes", show("none"), allowed)
        case Untrained():
            pass
        case Played():
            yield from _faults_of_lineup(config, environment, row)


def _config_of(comparison: Comparison, row: Row) -> Config:
    """The configuration that a row's command will make. Raises ConfigurationError."""
    match row:
        case Trained():
            return load_config(comparison.base, settings_of(comparison, row))
        case Imitating():
            imitation = {"algorithm.method": IMITATION, "imitation.episodes": [row.teacher]}
            unlimited = {"run.max_sampled_tokens": None, **imitation}
            return load_config(comparison.base, {**unlimited, **settings_of(comparison, row)})
        case Untrained():
            return load_config(comparison.base, settings_of(comparison, row))
        case Played():
            return replaced(_config_of(comparison, comparison.row(row.team)), row.settings)


def _set_elsewhere(settings: Settings) -> Iterator[Fault]:
    for key, value in fixed_settings(None, None).items():
        if settings.get(key, value) != value:
            yield Fault(key, show(settings[key]), "must be left out: the comparison sets it")


def _environment_of(config: Config) -> Environment[Any]:
    """The environment that a row's command will make. Raises ConfigurationError."""
    try:
        return make_environment(config.environment.name, config.environment.options)
    except ConfigurationError:
        raise
    except RULE_FAULTS as error:
        stopped = Fault("environment.name", show(config.environment.name), f"stopped by {error}")
        raise ConfigurationError([stopped]) from error


def _faults_of_lineup(
    config: Config, environment: Environment[Any], row: Played
) -> Iterator[Fault]:
    """Roles of `swap` and `policies` that are not there or named twice; swaps in one policy."""
    named = [*(role for pair in row.swaps for role in pair), *row.policies]
    if not named or config.algorithm.method not in TEAM_METHODS:
        return
    played = [role.name for role in environment.roles]
    for name in dict.fromkeys(named):
        if name not in played:
            allowed = f"no role that is played, allowed are {', '.join(played)}"
            yield Fault("swap or policies", show(name), allowed, nearest(name, played))
        elif named.count(name) > 1:
            yield Fault("swap or policies", show(name), "must be named once")
    for pair in row.swaps:
        scripts = [str(config.team.role(role).model).startswith(SCRIPTED_PREFIX) for role in pair]
        if config.team.policies == "shared" and not any(scripts):
            allowed = 'changes nothing with team.policies = "shared": one policy plays both roles'
            yield Fault("swap", show("=".join(pair)), allowed)
