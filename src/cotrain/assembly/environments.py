"""The environment of a run, with the prompts that its configuration replaces."""

import traceback
from pathlib import Path
from typing import Any

from cotrain.config import TEAM_METHODS, Config, ConfigurationError, Fault, show, told
from cotrain.environments.base import Environment
from cotrain.environments.registry import refuse_unknown_roles, refuse_wrong_phases
from cotrain.environments.returned import RULE_FAULTS
from cotrain.rollouts.worker import Recipe

PACKAGE = Path(__file__).resolve().parent.parent


def build_environment(config: Config) -> Environment[Any]:
    """The environment in the variant that the method plays, ready to be played.

    Raises ConfigurationError for what `environment_to_check` refuses, and for phases in which an
    agent that no role has acts, or one does not act exactly once.
    """
    environment = environment_to_check(config)
    try:
        refuse_wrong_phases(environment)
    except ConfigurationError:
        raise
    except RULE_FAULTS as error:
        raise environment_fault(config, error) from error
    return environment


def environment_to_check(config: Config) -> Environment[Any]:
    """The environment in the variant that the method plays; its promises may be broken.

    Single methods play `options.single = "plain"` unless another single variant is asked for.
    Raises ConfigurationError for unknown options, roles and prompt files.
    """
    recipe = recipe_of(config)
    try:
        environment = recipe.make()
    except ConfigurationError:
        raise
    except RULE_FAULTS as error:
        raise environment_fault(config, error) from error
    refuse_unknown_roles(environment, config.team.roles)
    return environment


def recipe_of(config: Config) -> Recipe:
    """What the environment is made from. Raises ConfigurationError for a prompt file."""
    options = dict(config.environment.options)
    if config.algorithm.method not in TEAM_METHODS and not options.get("single"):
        options["single"] = "plain"
    return Recipe(config.environment.name, options, _prompts(config))


def environment_fault(config: Config, error: BaseException) -> ConfigurationError:
    """The one-line error for an environment whose own code raised this."""
    name = show(config.environment.name)
    return ConfigurationError([Fault("environment.name", name, f"stopped by {said(error)}")])


def said(error: BaseException) -> str:
    """The error on one line, with the place in the author's own code that raised it."""
    text = " ".join(told(error).split())
    frames = traceback.extract_tb(error.__traceback__)
    own = [f for f in frames if Path(f.filename).is_file() and not _is_ours(f.filename)]
    return f"{text} ({own[-1].filename}, line {own[-1].lineno})" if own else text


def _is_ours(filename: str) -> bool:
    return PACKAGE in Path(filename).resolve().parents


def _prompts(config: Config) -> dict[str, str]:
    prompts: dict[str, str] = {}
    for name, role in config.team.roles.items():
        if role.prompt is None:
            continue
        try:
            prompts[name] = Path(role.prompt).read_text("utf-8")
        except (OSError, ValueError) as error:
            fault = Fault(
                f"team.roles.{name}.prompt", f'"{role.prompt}"', f"must be a text file: {error}"
            )
            raise ConfigurationError([fault]) from error
    return prompts
