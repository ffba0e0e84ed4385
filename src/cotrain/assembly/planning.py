"""What a run would do, before it does it: the plan that `--dry-run` prints."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from transformers import PreTrainedModel

from cotrain.assembly.casting import method_of, reply_limit, trained_roles
from cotrain.assembly.environments import build_environment
from cotrain.assembly.evaluating import check_baselines
from cotrain.assembly.networks import named_by
from cotrain.assembly.policy_plans import (
    PolicyPlan,
    policy_of_role,
    policy_plans,
    refuse_nothing_to_train,
)
from cotrain.assembly.resolving import resolved
from cotrain.config import Config
from cotrain.environments.base import Environment
from cotrain.policies.adapters import AdapterSettings, num_adapter_parameters
from cotrain.policies.loading import architecture

WIDTHS = {"float32": 4, "bfloat16": 2, "float64": 8}


@dataclass(frozen=True, slots=True)
class PlannedPolicy:
    """A policy: the parameters of its model, those that are its own, and those that are trained.

    `base` is None for a script, whose counts are 0. `rank` is None without an adapter.
    """

    base: str | None
    parameters: int
    own_parameters: int
    trained_parameters: int
    rank: int | None = None

    def as_text(self) -> str:
        """The policy for a person."""
        if self.base is None:
            return "a script"
        if self.rank is not None:
            kept = "" if self.trained_parameters else ", frozen"
            return (
                f"adapter of rank {self.rank} on {self.base}, {self.own_parameters:,} of "
                f"{self.parameters:,} parameters{kept}"
            )
        kept = "" if self.trained_parameters else ", frozen"
        return f"{self.base}, {self.parameters:,} parameters{kept}"


@dataclass(frozen=True, slots=True)
class RunPlan:
    """The resolved plan. Counts a step are upper bounds: episodes may end before the turn limit.

    `memory_bytes` is an estimate of weights, gradients and optimiser moments of all policies, and
    the larger of what one sampling batch and one update batch take.
    """

    method: str
    environment: str
    roles: Mapping[str, Mapping[str, Any]]
    roles_not_played: tuple[str, ...]
    regime: str
    policies: Mapping[str, PlannedPolicy]
    steps: int
    max_sampled_tokens: int | None
    episodes_a_step: int
    groups_a_step: int
    replies_a_step: int
    sampled_tokens_a_step: int
    memory_bytes: int | None
    config: Mapping[str, Any]

    def as_json(self) -> dict[str, Any]:
        """The plan as one document."""
        return asdict(self)

    def as_text(self) -> str:
        """The plan for a person."""
        budget = (
            ""
            if self.max_sampled_tokens is None
            else f", at most {self.max_sampled_tokens:,} tokens"
        )
        lines = [f"{self.method} on {self.environment}, {self.steps} steps{budget}"]
        for name, role in self.roles.items():
            trained = "trained" if role["trained"] else "frozen"
            lines.append(
                f"  role {name}: policy {role['policy']} ({trained}), {role['replies']} replies a "
                f"prompt, at most {role['max_reply_tokens']} tokens each"
            )
        if self.roles_not_played:
            lines.append(f"  not played: {', '.join(self.roles_not_played)}")
        lines += [f"  policy {name}: {policy.as_text()}" for name, policy in self.policies.items()]
        lines.append(
            f"at most, a step: {self.episodes_a_step:,} episodes, {self.groups_a_step:,} groups, "
            f"{self.replies_a_step:,} replies, {self.sampled_tokens_a_step:,} sampled tokens"
        )
        if self.memory_bytes is not None:
            lines.append(f"memory, estimated: {self.memory_bytes / 2**30:.2f} GiB")
        return "\n".join(lines)


def plan_of(config: Config) -> RunPlan:
    """The plan of a configuration, without weights. Raises ConfigurationError as training would."""
    environment = build_environment(config)
    method = method_of(config, environment)
    refuse_nothing_to_train(config, environment)
    check_baselines(config)
    plans = policy_plans(config, environment)
    sized = {plan.name: _sized(plan) for plan in plans.values() if plan.script is None}
    roles = {
        role.name: _role(config, role.name, policy_of_role(config, environment), method.width)
        for role in environment.roles
    }
    seats = {role.name: role.seats for role in environment.roles}
    episodes = config.sampling.tasks_per_step * method.episodes_per_task
    prompts = {name: episodes * config.team.turns * seats[name] for name in roles}
    replies = {name: prompts[name] * roles[name]["replies"] for name in roles}
    trained = trained_roles(config, environment, 1)
    tree = method.episodes_per_task == 1
    tasks_and_agents = config.sampling.tasks_per_step * sum(seats[name] for name in trained)
    config = resolved(config, environment)
    return RunPlan(
        method=config.algorithm.method,
        environment=environment.name,
        roles=roles,
        roles_not_played=_not_played(environment),
        regime=config.team.policies,
        policies={name: _planned(sized.get(name)) for name in plans},
        steps=config.run.steps,
        max_sampled_tokens=config.run.max_sampled_tokens,
        episodes_a_step=episodes,
        groups_a_step=sum(prompts[n] for n in trained) if tree else tasks_and_agents,
        replies_a_step=sum(replies.values()),
        sampled_tokens_a_step=sum(replies[n] * roles[n]["max_reply_tokens"] for n in roles),
        memory_bytes=_memory(config, list(sized.values()), sum(prompts.values()))
        if sized
        else None,
        config=config.model_dump(mode="json"),
    )


def _role(config: Config, name: str, of_role: Mapping[str, str], width: int) -> dict[str, Any]:
    trained = config.team.role(name).trainable
    return {
        "policy": of_role[name],
        "trained": trained,
        "replies": width if trained else 1,
        "max_reply_tokens": reply_limit(config, name),
    }


def _not_played(environment: Environment[Any]) -> tuple[str, ...]:
    played = {role.name for role in environment.roles}
    return tuple(role.name for role in environment.all_roles() if role.name not in played)


@dataclass(frozen=True, slots=True)
class _Sized:
    """A policy that is a model, the model without memory, and the parameters that are its own."""

    plan: PolicyPlan
    model: PreTrainedModel
    parameters: int
    own_parameters: int


def _sized(plan: PolicyPlan) -> _Sized:
    model = named_by(plan.base_key, plan.base, lambda: architecture(plan.base))
    parameters = own = model.num_parameters()
    if plan.adapter is not None:
        settings = AdapterSettings(plan.adapter.rank, plan.adapter.alpha, seed=0)
        own = num_adapter_parameters(model, settings)
    return _Sized(plan, model, parameters, own)


def _planned(sized: _Sized | None) -> PlannedPolicy:
    if sized is None:
        return PlannedPolicy(None, 0, 0, 0)
    plan, own = sized.plan, sized.own_parameters
    rank = None if plan.adapter is None else plan.adapter.rank
    return PlannedPolicy(plan.base, sized.parameters, own, own if plan.trained else 0, rank)


def _memory(config: Config, policies: Sequence[_Sized], prompts: int) -> int:
    """All weights, and the larger batch of the policy whose batches are the largest."""
    width = WIDTHS[config.model.dtype]
    bases = {p.plan.base: p.parameters for p in policies if p.plan.adapter is not None}
    own = sum(_weight_bytes(config, policy) for policy in policies)
    batch = max(_batch_bytes(config, policy.model, prompts) for policy in policies)
    return width * sum(bases.values()) + own + batch


def _weight_bytes(config: Config, policy: _Sized) -> int:
    """A policy's own weights: what computes, masters, gradients, two moments, and a reference."""
    width = WIDTHS[config.model.dtype]
    if not policy.plan.trained:
        return width * policy.own_parameters
    wide = max(width, 4)
    copy = 0 if width == wide else width
    reference = width if config.algorithm.kl_coefficient > 0 else 0
    return (4 * wide + copy + reference) * policy.own_parameters


def _batch_bytes(config: Config, model: PreTrainedModel, prompts: int) -> int:
    """`prompts` is the number of prompts of a step: a batch is no larger than the step."""
    sampling, width = config.sampling, WIDTHS[config.model.dtype]
    replies = sampling.candidates * sampling.max_reply_tokens
    pack = sampling.max_prompt_tokens + replies
    sampled = min(
        sampling.max_batch_tokens,
        prompts * (sampling.candidates * sampling.max_prompt_tokens + replies),
    )
    trained = min(max(config.algorithm.microbatch_tokens, pack), prompts * pack)
    text = model.config.get_text_config()
    heads = getattr(text, "num_key_value_heads", None) or text.num_attention_heads
    head = getattr(text, "head_dim", None) or text.hidden_size // text.num_attention_heads
    cache = 2 * text.num_hidden_layers * heads * head * width * sampled
    activations = 16 * text.num_hidden_layers * text.hidden_size * width
    logits = 3 * 4 * text.vocab_size
    return max(cache, (activations + logits) * trained)
