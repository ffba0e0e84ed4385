"""The environment of a run, with the prompts that its configuration replaces."""

from pathlib import Path
from typing import Any

from cotrain.config import TEAM_METHODS, Config, ConfigurationError, Fault
from cotrain.config.keys import nearest
from cotrain.environments.base import Environment
from cotrain.environments.registry import make_environment


def build_environment(config: Config) -> Environment[Any]:
    """The environment in the variant that the method plays.

    Single methods play `options.single = "plain"` unless another single variant is asked for.
    Raises ConfigurationError for unknown options, roles and prompt files.
    """
    options = dict(config.environment.options)
    if config.algorithm.method not in TEAM_METHODS and not options.get("single"):
        options["single"] = "plain"
    environment = make_environment(config.environment.name, options, _prompts(config))
    _refuse_unknown_roles(config, environment)
    return environment


def _prompts(config: Config) -> dict[str, str]:
    prompts: dict[str, str] = {}
    for name, role in config.team.roles.items():
        if role.prompt is None:
            continue
        try:
            prompts[name] = Path(role.prompt).read_text("utf-8")
        except (OSError, UnicodeDecodeError) as error:
            fault = Fault(
                f"team.roles.{name}.prompt", f'"{role.prompt}"', f"must be a text file: {error}"
            )
            raise ConfigurationError([fault]) from error
    return prompts


def _refuse_unknown_roles(config: Config, environment: Environment[Any]) -> None:
    known = [role.name for role in environment.all_roles()]
    allowed = f"{environment.name} has no such role, allowed are {', '.join(known)}"
    faults = [
        Fault(f"team.roles.{name}", "", allowed, nearest(name, known))
        for name in config.team.roles
        if name not in known
    ]
    if faults:
        raise ConfigurationError(faults)
