"""Which policies a configuration has, and what each of them is: before anything is loaded."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cotrain.config import Config, ConfigurationError, Fault, show
from cotrain.config.schema import SCRIPTED_PREFIX, RoleSettings
from cotrain.environments.base import Environment
from cotrain.policies.adapters import DEFAULT_RANK, is_adapter_folder, read_adapter_config

SHARED = "shared"
GENERAL_KEY = "model.name"


@dataclass(frozen=True, slots=True)
class AdapterPlan:
    """An adapter of this size, with A drawn and B zero, or with the values of a `start` folder."""

    rank: int
    alpha: float
    start: Path | None = None


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
    adapter: AdapterPlan | None
    trained: bool
    learning_rate: float
    max_reply_tokens: int
    script: str | None = None


def policy_plans(config: Config, environment: Environment[Any]) -> dict[str, PolicyPlan]:
    """The policies that play the environment's roles, by name, in the order of the roles.

    Raises ConfigurationError, one line a fault, for adapters to start from that cannot be used.
    """
    of_role = policy_of_role(config, environment)
    _refuse_unfit_starts(config, of_role)
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


def refuse_nothing_to_train(config: Config, environment: Environment[Any]) -> None:
    """Raises ConfigurationError for a team of frozen roles, and for one role that takes turns."""
    played = [role.name for role in environment.roles]
    trainable = [role for role in played if config.team.role(role).trainable]
    if not trainable:
        allowed = f"must be true for one role at least: {', '.join(played)} are frozen"
        raise ConfigurationError([Fault(f"team.roles.{played[0]}.trainable", "false", allowed)])
    every = config.team.alternate_every
    if every is not None and len(trainable) == 1:
        allowed = f"needs two roles that are trained; here {trainable[0]} alone is"
        raise ConfigurationError([Fault("team.alternate_every", show(every), allowed)])


def _policy_name(config: Config, role: str) -> str:
    shared = config.team.policies == "shared" and _script_of(config.team.role(role)) is None
    return SHARED if shared else role


def _plan(config: Config, name: str, roles: tuple[str, ...]) -> PolicyPlan:
    own = config.team.role(name) if (name,) == roles else RoleSettings()
    script = _script_of(own)
    base, key = _base(config, name, own)
    return PolicyPlan(
        name=name,
        roles=roles,
        base="" if script is not None else base,
        base_key=key,
        adapter=None if script is not None else _adapter(config, own),
        trained=any(config.team.role(role).trainable for role in roles),
        learning_rate=_first(own.learning_rate, config.optimizer.learning_rate),
        max_reply_tokens=_first(own.max_reply_tokens, config.sampling.max_reply_tokens),
        script=script,
    )


def _base(config: Config, name: str, own: RoleSettings) -> tuple[str, str]:
    if config.team.policies == "model_per_role" and own.model is not None:
        return own.model, f"team.roles.{name}.model"
    return config.model.name, GENERAL_KEY


def _adapter(config: Config, own: RoleSettings) -> AdapterPlan | None:
    start = _start_of(config, own)
    if start is not None:
        saved = read_adapter_config(start)
        return AdapterPlan(saved.r, float(saved.lora_alpha), start)
    default = DEFAULT_RANK if config.team.policies == "lora_per_role" else None
    rank = own.lora_rank or config.model.lora_rank or default
    if rank is None:
        return None
    return AdapterPlan(rank, _first(config.model.lora_alpha, 2.0 * rank))


def _start_of(config: Config, own: RoleSettings) -> Path | None:
    """The folder that an adapter starts from."""
    if config.team.policies != "lora_per_role" or own.model in (None, config.model.name):
        return None
    return None if _script_of(own) is not None else Path(str(own.model))


def _refuse_unfit_starts(config: Config, played: Iterable[str]) -> None:
    faults = [fault for role in played for fault in _faults_of_start(config, role)]
    if faults:
        raise ConfigurationError(faults)


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


def _first(own: Any, general: Any) -> Any:
    return general if own is None else own
