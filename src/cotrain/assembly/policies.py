"""Which weights play which role: policies, their learners, and the map from role to policy."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from cotrain.assembly.networks import Bases, policy_on
from cotrain.assembly.policy_plans import (
    AdapterStart,
    PolicyPlan,
    policy_of_role,
    policy_plans,
)
from cotrain.config import IMITATION, Config, ConfigurationError, Fault, show
from cotrain.config.schema import SCRIPTED_PREFIX
from cotrain.core.aggregation import AGGREGATIONS
from cotrain.core.seeds import derive_seed
from cotrain.environments.base import Environment
from cotrain.learning.base import Learner
from cotrain.learning.forward import Form
from cotrain.learning.frozen import FrozenLearner
from cotrain.learning.probe import choose_form
from cotrain.learning.scripted import ScriptedLearner
from cotrain.learning.steps import UpdateSettings
from cotrain.learning.supervised import SupervisedLearner
from cotrain.learning.update import PolicyLearner
from cotrain.policies.adapters import read_adapter_config
from cotrain.policies.base import Sampler
from cotrain.policies.causal_lm import CausalPolicy
from cotrain.policies.loading import COMPUTE_DTYPES, folder_identity
from cotrain.policies.scripted import ScriptedPolicy, load_script
from cotrain.policies.weights import MasterWeights


@dataclass(frozen=True, slots=True)
class Policies:
    """The samplers by policy name, their learners, the policy of each role, and what is to be said.

    `bases` say what each policy began as: the name and identity of its base and, where the start is
    a reference too, the identity of an adapter that it started from.
    """

    samplers: Mapping[str, Sampler]
    learners: Mapping[str, Learner]
    of_role: Mapping[str, str]
    bases: Mapping[str, Mapping[str, str]]
    notes: tuple[str, ...] = ()

    def sampler_of(self, role: str) -> Sampler:
        """What plays this role."""
        return self.samplers[self.of_role[role]]


@dataclass(frozen=True, slots=True)
class SavedWeights:
    """A checkpoint whose weights take the place of what a run began with."""

    policies: Path
    bases: Mapping[str, Mapping[str, str]]


FRESH = SavedWeights(Path(), MappingProxyType({}))
"""No checkpoint: the run begins."""


def build_policies(
    config: Config, environment: Environment[Any], saved: SavedWeights = FRESH
) -> Policies:
    """Loads models and scripts, and makes adapters and learners. `model.dtype` is resolved.

    `saved` is a checkpoint that will be restored: Hub models are loaded at its commits, and
    adapters to start from are read only where they are references. Raises ConfigurationError, one
    line a fault, for models and scripts that are not there.
    """
    plans = policy_plans(config, environment)
    bases = Bases(COMPUTE_DTYPES[config.model.dtype])
    members: dict[str, _Member] = {}
    faults: list[Fault] = []
    for plan in plans.values():
        try:
            members[plan.name] = _member(config, _as_saved(config, plan, saved), bases, saved)
        except ConfigurationError as error:
            faults += error.faults
    if faults:
        raise ConfigurationError(list(dict.fromkeys(faults)))
    return Policies(
        samplers={name: member.sampler for name, member in members.items()},
        learners={name: member.learner for name, member in members.items()},
        of_role=policy_of_role(config, environment),
        bases={name: member.base for name, member in members.items() if member.base},
        notes=tuple(dict.fromkeys(note for member in members.values() for note in member.notes)),
    )


def build_samplers(config: Config, plans: Mapping[str, PolicyPlan]) -> dict[str, Sampler]:
    """The untrained policies of these plans, to be evaluated: no learner, no master weights."""
    bases = Bases(COMPUTE_DTYPES[config.model.dtype])
    samplers: dict[str, Sampler] = {}
    for name, plan in plans.items():
        if plan.script is not None:
            samplers[name] = scripted_sampler(name, plan.script)
            continue
        network, _ = bases.network(replace(plan, trained=False), _seed(config, name))
        samplers[name] = policy_on(network, name, config)
    return samplers


def scripted_sampler(name: str, script: str) -> ScriptedPolicy:
    """The sampler of a script. Raises ConfigurationError for a file that is none."""
    try:
        return ScriptedPolicy(name, load_script(Path(script)))
    except ValueError as error:
        got = show(f"{SCRIPTED_PREFIX}{script}")
        fault = Fault(f"team.roles.{name}.model", got, str(error))
        raise ConfigurationError([fault]) from error


@dataclass(frozen=True, slots=True)
class _Member:
    """One policy of the team: who samples, who learns, its base, and what is to be said of it."""

    sampler: Sampler
    learner: Learner
    base: Mapping[str, str] = field(default_factory=dict[str, str])
    notes: tuple[str, ...] = ()


def _member(config: Config, plan: PolicyPlan, bases: Bases, saved: SavedWeights) -> _Member:
    if plan.script is not None:
        return _Member(scripted_sampler(plan.name, plan.script), ScriptedLearner(plan.script))
    identity = saved.bases.get(plan.name, {}).get("identity")
    network, identity = bases.network(plan, _seed(config, plan.name), identity)
    base = {"name": plan.base, "identity": identity, **_start_identity(config, plan)}
    dtype = COMPUTE_DTYPES[config.model.dtype]
    if not plan.trained:
        policy = policy_on(network, plan.name, config)
        return _Member(policy, FrozenLearner(policy, dtype), base)
    weights = MasterWeights(network.tensors(), dtype)
    if isinstance(plan.adapter, AdapterStart):
        # What was loaded has been cast; the masters take the values as they are on disk.
        weights.load(network.read(plan.adapter.folder))
    policy = policy_on(network, plan.name, config)
    reference = network.frozen_copy() if config.algorithm.kl_coefficient > 0 else None
    with policy.computing() as model:
        form = choose_form(model)
    settings = _update_settings(config, plan)
    if config.algorithm.method == IMITATION:
        learner: Learner = SupervisedLearner(policy, weights, form, settings)
    else:
        learner = PolicyLearner(policy, weights, form, settings, reference)
    return _Member(policy, learner, base, tuple(_notes(plan, policy, form)))


def _as_saved(config: Config, plan: PolicyPlan, saved: SavedWeights) -> PolicyPlan:
    """The plan with the checkpoint's adapter in the place of one that is needed no more."""
    is_reference = config.algorithm.kl_coefficient > 0
    if saved is FRESH or is_reference or not isinstance(plan.adapter, AdapterStart):
        return plan
    return replace(plan, adapter=AdapterStart(saved.policies / plan.name))


def _start_identity(config: Config, plan: PolicyPlan) -> dict[str, str]:
    if config.algorithm.kl_coefficient == 0 or not isinstance(plan.adapter, AdapterStart):
        return {}
    return {"start": folder_identity(plan.adapter.folder)}


def _seed(config: Config, policy: str) -> int:
    return derive_seed("adapter", config.run.seed, policy)


def _notes(plan: PolicyPlan, policy: CausalPolicy, form: Form) -> Iterator[str]:
    if isinstance(plan.adapter, AdapterStart):
        trained_on = read_adapter_config(plan.adapter.folder).base_model_name_or_path
        if trained_on != plan.base:
            yield (
                f"policy {plan.name} starts from an adapter that names {trained_on} as its base; "
                f"here it is on {plan.base}"
            )
    if form.name != "packed":
        yield (
            f"{type(policy.model).__name__} cannot take a tree attention mask: each reply is "
            "trained with its prompt computed again, which is slower and equal"
        )


def _update_settings(config: Config, plan: PolicyPlan) -> UpdateSettings:
    algorithm, optimizer = config.algorithm, config.optimizer
    return UpdateSettings(
        aggregation=AGGREGATIONS[algorithm.loss_aggregation],
        max_reply_tokens=plan.max_reply_tokens,
        learning_rate=plan.learning_rate,
        weight_decay=optimizer.weight_decay,
        max_grad_norm=optimizer.max_grad_norm,
        clip_low=algorithm.clip_low,
        clip_high=algorithm.clip_high,
        num_minibatches=algorithm.minibatches,
        microbatch_tokens=algorithm.microbatch_tokens,
        max_logprob_gap=algorithm.max_logprob_gap,
        kl_coefficient=algorithm.kl_coefficient,
        seed=derive_seed("update", config.run.seed),
    )
