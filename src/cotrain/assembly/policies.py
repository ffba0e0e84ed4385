"""Which weights play which role: policies, their learners, and the map from role to policy."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from cotrain.assembly.networks import Base, Bases, start_tensors
from cotrain.assembly.policy_plans import PolicyPlan, policy_of_role, policy_plans
from cotrain.config import Config, ConfigurationError, Fault, show
from cotrain.config.schema import SCRIPTED_PREFIX
from cotrain.core.aggregation import AGGREGATIONS
from cotrain.core.seeds import derive_seed
from cotrain.environments.base import Environment
from cotrain.learning.base import Learner
from cotrain.learning.frozen import FrozenLearner
from cotrain.learning.probe import choose_form
from cotrain.learning.scripted import ScriptedLearner
from cotrain.learning.update import PolicyLearner, UpdateSettings
from cotrain.policies.adapters import Adapter
from cotrain.policies.base import Sampler
from cotrain.policies.causal_lm import CausalPolicy
from cotrain.policies.loading import COMPUTE_DTYPES
from cotrain.policies.networks import Network, WholeModel
from cotrain.policies.scripted import ScriptedPolicy, load_script
from cotrain.policies.weights import MasterWeights


@dataclass(frozen=True, slots=True)
class Policies:
    """The samplers by policy name, their learners, the policy of each role, and what is to be said.

    `bases` are those that the adapters among the policies need, by policy.
    """

    samplers: Mapping[str, Sampler]
    learners: Mapping[str, Learner]
    of_role: Mapping[str, str]
    bases: Mapping[str, Base]
    notes: tuple[str, ...] = ()

    def sampler_of(self, role: str) -> Sampler:
        """What plays this role."""
        return self.samplers[self.of_role[role]]


@dataclass(frozen=True, slots=True)
class _Built:
    """One policy, with its learner, the base that it needs, and what is to be said of it."""

    sampler: Sampler
    learner: Learner
    base: Base | None = None
    notes: tuple[str, ...] = ()


def build_policies(config: Config, environment: Environment[Any]) -> Policies:
    """Loads models and scripts, and makes adapters and learners. `model.dtype` is resolved.

    Raises ConfigurationError, one line a fault, for models and scripts that are not there.
    """
    plans = policy_plans(config, environment)
    bases = Bases(config)
    built: dict[str, _Built] = {}
    faults: list[Fault] = []
    for plan in plans.values():
        try:
            built[plan.name] = _built(config, plan, bases)
        except ConfigurationError as error:
            faults += error.faults
    if faults:
        raise ConfigurationError(list(dict.fromkeys(faults)))
    return Policies(
        samplers={name: one.sampler for name, one in built.items()},
        learners={name: one.learner for name, one in built.items()},
        of_role=policy_of_role(config, environment),
        bases={name: one.base for name, one in built.items() if one.base is not None},
        notes=tuple(dict.fromkeys(note for one in built.values() for note in one.notes)),
    )


def build_samplers(config: Config, plans: Mapping[str, PolicyPlan]) -> dict[str, Sampler]:
    """The untrained policies of these plans, to be evaluated: no learner, no master weights."""
    bases = Bases(config)
    return {
        name: bases.policy(name, bases.network(replace(plan, trained=False)))
        if plan.script is None
        else scripted_sampler(name, plan.script)
        for name, plan in plans.items()
    }


def scripted_sampler(name: str, script: str) -> ScriptedPolicy:
    """The sampler of a script. Raises ConfigurationError for a file that is none."""
    try:
        return ScriptedPolicy(name, load_script(Path(script)))
    except ValueError as error:
        got = show(f"{SCRIPTED_PREFIX}{script}")
        fault = Fault(f"team.roles.{name}.model", got, str(error))
        raise ConfigurationError([fault]) from error


def _built(config: Config, plan: PolicyPlan, bases: Bases) -> _Built:
    if plan.script is not None:
        return _Built(scripted_sampler(plan.name, plan.script), ScriptedLearner(plan.script))
    network = bases.network(plan)
    policy = bases.policy(plan.name, network)
    dtype = COMPUTE_DTYPES[config.model.dtype]
    if not plan.trained:
        return _Built(policy, FrozenLearner(policy, dtype), bases.base_of(network))
    weights = MasterWeights(network.tensors(), dtype)
    start = start_tensors(plan, network)
    if start is not None:
        weights.load(start)
    reference = _frozen_copy(network) if config.algorithm.kl_coefficient > 0 else None
    learner, notes = _learner(config, plan, policy, weights, reference)
    return _Built(policy, learner, bases.base_of(network), notes)


def _frozen_copy(network: Network) -> Network:
    """The start of a policy, kept: of an adapter its own start, which need not be the bare base."""
    if isinstance(network, Adapter):
        return network.base.copy_of(network)
    assert isinstance(network, WholeModel)
    return network.frozen_copy()


def _learner(
    config: Config,
    plan: PolicyPlan,
    policy: CausalPolicy,
    weights: MasterWeights,
    reference: Network | None,
) -> tuple[PolicyLearner, tuple[str, ...]]:
    policy.seal(weights.checksum())
    with policy.computing() as model:
        form = choose_form(model)
    settings = _update_settings(config, plan)
    learner = PolicyLearner(policy, weights, form, settings, reference)
    if form.name == "packed":
        return learner, ()
    return learner, (
        f"{type(policy.model).__name__} cannot take a tree attention mask: each reply is trained "
        "with its prompt computed again, which is slower and equal",
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
