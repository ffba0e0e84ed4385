"""Which policies a configuration has, and what each of them is: before anything is loaded."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from cotrain.config import Config, ConfigurationError, Fault, show
from cotrain.config.schema import SCRIPTED_PREFIX, RoleSettings
from cotrain.environments.base import Environment
from cotrain.policies.adapters import DEFAULT_RANK, is_adapter_folder, read_adapter_config

SHARED = "shared"
GENERAL_KEY = "model.name"

Value = TypeVar("Value")


@dataclass(frozen=True, slots=True)
class AdapterPlan:
    """A new adapter of this size, with A drawn and B zero."""

    rank: int
    alpha: float


@dataclass(frozen=True, slots=True)
class AdapterStart:
    """An adapter that begins with the values, rank and scale of this folder."""

    folder: Path


@dataclass(frozen=True, slots=True)
class PolicyPlan:
    """One policy: the roles that it plays, and its weights.

    `base` is a model's name, and `base_key` the key that gives it. Without an `adapter` the whole
    model is the policy's own. A policy with a `script` has no weights, and `base` is empty.
    """

    name: str
    roles: tuple[str, ...]
    base: str
    base_key: str
    adapter: AdapterPlan | AdapterStart | None
    trained: bool
    learning_rate: float
    max_reply_tokens: int
    script: str | None = None


def policy_plans(config: Config, environment: Environment[Any]) -> dict[str, PolicyPlan]:
    """The policies that play the environment's roles, by name, in the order of the roles."""
    of_role = policy_of_role(config, environment)
    roles_of = {
        policy: tuple(role for role, its_own in of_role.items() if its_own == policy)
        for policy in dict.fromkeys(of_role.values())
    }
    return {policy: _plan(config, policy, roles) for policy, roles in roles_of.items()}


def policy_of_role(config: Config, environment: Environment[Any]) -> dict[str, str]:
    """The name of the policy of each played role: `shared`, or the role's own.

    A role that a script plays has a policy of its own in every regime.
    """
    return {role.name: _policy_name(config, role.name) for role in environment.roles}


def trainable_roles(config: Config, environment: Environment[Any]) -> tuple[str, ...]:
    """The roles that training changes: those that are not frozen, and no script plays.

    Where scripts play all of them the run is a trial, and each counts.
    """
    played = {role.name: config.team.role(role.name) for role in environment.roles}
    free = [role for role, own in played.items() if own.trainable]
    trained = [role for role in free if _script_of(played[role]) is None]
    trial = all(_script_of(own) is not None for own in played.values())
    return tuple(free if trial else trained)


def trained_roles(config: Config, environment: Environment[Any], step: int) -> tuple[str, ...]:
    """The roles that this step trains, steps counted from 1.

    With `team.alternate_every` they take turns, in the order of the environment.
    """
    trainable = trainable_roles(config, environment)
    every = config.team.alternate_every
    return trainable if every is None else (trainable[(step - 1) // every % len(trainable)],)


def refuse_nothing_to_train(config: Config, environment: Environment[Any]) -> None:
    """Raises ConfigurationError unless a role is trained, and unless two are that take turns."""
    played = [role.name for role in environment.roles]
    trained = trainable_roles(config, environment)
    if not trained:
        frozen = next(role for role in played if not config.team.role(role).trainable)
        allowed = f"leaves nothing to train: {', '.join(played)} are frozen or scripts"
        raise ConfigurationError([Fault(f"team.roles.{frozen}.trainable", "false", allowed)])
    every = config.team.alternate_every
    if every is not None and len(trained) == 1:
        allowed = f"needs two roles that are trained; here {trained[0]} alone is"
        raise ConfigurationError([Fault("team.alternate_every", show(every), allowed)])


def refuse_unfit_starts(config: Config, environment: Environment[Any]) -> None:
    """Raises ConfigurationError, one line a fault, for adapters that no role can start from."""
    faults = [f for role in environment.roles for f in _faults_of_start(config, role.name)]
    if faults:
        raise ConfigurationError(faults)


def unfit_start(policy: str, folder: Path, error: Exception) -> ConfigurationError:
    """The one-line error for an adapter that a policy cannot start from."""
    fault = Fault(f"team.roles.{policy}.model", f'"{folder}"', f"does not fit: {error}")
    return ConfigurationError([fault])


def base_of(config: Config, policy: str) -> tuple[str, str]:
    """The name of the base that this policy is on, and the key that gives it."""
    own = config.team.role(policy).model
    if config.team.policies == "model_per_role" and own is not None:
        return own, f"team.roles.{policy}.model"
    return config.model.name, GENERAL_KEY


def own_or_general(own: Value | None, general: Value) -> Value:
    """A role's own setting where it has one.

    >>> own_or_general(None, 4), own_or_general(0, 4)
    (4, 0)
    """
    return general if own is None else own


def _policy_name(config: Config, role: str) -> str:
    shared = config.team.policies == "shared" and _script_of(config.team.role(role)) is None
    return SHARED if shared else role


def _plan(config: Config, name: str, roles: tuple[str, ...]) -> PolicyPlan:
    own = config.team.role(name) if (name,) == roles else RoleSettings()
    script = _script_of(own)
    base, key = base_of(config, name)
    return PolicyPlan(
        name=name,
        roles=roles,
        base="" if script is not None else base,
        base_key=key,
        adapter=None if script is not None else _adapter(config, own),
        trained=any(config.team.role(role).trainable for role in roles),
        learning_rate=own_or_general(own.learning_rate, config.optimizer.learning_rate),
        max_reply_tokens=own_or_general(own.max_reply_tokens, config.sampling.max_reply_tokens),
        script=script,
    )


def _adapter(config: Config, own: RoleSettings) -> AdapterPlan | AdapterStart | None:
    start = _start_of(config, own)
    if start is not None:
        return AdapterStart(start)
    default = DEFAULT_RANK if config.team.policies == "lora_per_role" else None
    rank = own.lora_rank or config.model.lora_rank or default
    if rank is None:
        return None
    return AdapterPlan(rank, own_or_general(config.model.lora_alpha, 2.0 * rank))


def _start_of(config: Config, own: RoleSettings) -> Path | None:
    """The folder that an adapter starts from."""
    if config.team.policies != "lora_per_role" or own.model in (None, config.model.name):
        return None
    return None if _script_of(own) is not None else Path(str(own.model))


def _faults_of_start(config: Config, role: str) -> Iterator[Fault]:
    own = config.team.role(role)
    start = _start_of(config, own)
    if start is None:
        return
    key = f"team.roles.{role}.model"
    if not is_adapter_folder(start):
        allowed = (
            'must be a folder with an adapter: with team.policies = "lora_per_role" all roles '
            "share the base model.name"
        )
        yield Fault(key, f'"{start}"', allowed)
        return
    try:
        rank = read_adapter_config(start).r
    except ValueError as error:
        yield Fault(key, f'"{start}"', str(error))
        return
    if own.lora_rank not in (None, rank):
        allowed = f"must be {rank}, the rank of the adapter that {key} starts from"
        yield Fault(f"team.roles.{role}.lora_rank", show(own.lora_rank), allowed)


def _script_of(role: RoleSettings) -> str | None:
    if role.model is None or not role.model.startswith(SCRIPTED_PREFIX):
        return None
    return role.model.removeprefix(SCRIPTED_PREFIX)
