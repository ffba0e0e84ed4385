"""What a run would do, before it does it: the plan that `--dry-run` prints."""

from collections.abc import Collection, Mapping
from dataclasses import asdict, astuple, dataclass
from typing import Any

from cotrain.assembly.casting import method_of, reply_limit
from cotrain.assembly.environments import build_environment
from cotrain.assembly.evaluating import check_baselines
from cotrain.assembly.memory import A_SCRIPT, PlannedPolicy, Sized, memory_bytes, planned, sized
from cotrain.assembly.networks import BaseUnreachableError, load_or_fault, refuse_template
from cotrain.assembly.policies import scripted_sampler
from cotrain.assembly.policy_plans import (
    PolicyPlan,
    policy_of_role,
    policy_plans,
    refuse_nothing_to_train,
    refuse_unfit_starts,
    trainable_roles,
)
from cotrain.assembly.resolving import resolved, threads_resolved
from cotrain.assembly.services import SERVICES
from cotrain.config import Config
from cotrain.environments.base import Environment
from cotrain.policies.loading import load_tokenizer
from cotrain.rollouts.methods import Method


@dataclass(frozen=True, slots=True)
class RunPlan:
    """The resolved plan. Counts a step are upper bounds: episodes may end before the turn limit.

    `memory_bytes` is an estimate of weights, gradients and optimiser moments of all policies, and
    the larger of what one sampling batch and one update batch take; None for a team of scripts, and
    where a base cannot be reached.
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
        elif any(policy.unknown for policy in self.policies.values()):
            lines.append("memory: not known without the model")
        return "\n".join(lines)


def plan_of(config: Config) -> RunPlan:
    """The plan of a configuration, without weights.

    Raises ConfigurationError as training would, except where a base can be had from the Hub alone
    and the Hub cannot be reached: its size is then left open.
    """
    environment = build_environment(config)
    SERVICES.refuse_unfit(config, environment)
    method = method_of(config, environment)
    refuse_nothing_to_train(config, environment)
    refuse_unfit_starts(config, environment)
    check_baselines(config)
    config = _resolved_as_far_as_known(config, environment)
    plans = policy_plans(config, environment)
    found = {name: _looked_at(plan) for name, plan in plans.items()}
    models = [policy for policy in found.values() if isinstance(policy, Sized)]
    all_known = models and len(models) == sum(plan.script is None for plan in plans.values())
    counts = _counts(config, environment, method)
    of_role = policy_of_role(config, environment)
    return RunPlan(
        method=config.algorithm.method,
        environment=environment.name,
        roles={
            role.name: _role(config, environment, role.name, of_role, method.width)
            for role in environment.roles
        },
        roles_not_played=_not_played(environment),
        regime=config.team.policies,
        policies={
            name: planned(policy) if isinstance(policy, Sized) else policy
            for name, policy in found.items()
        },
        steps=config.run.steps,
        max_sampled_tokens=config.run.max_sampled_tokens,
        episodes_a_step=counts.episodes,
        groups_a_step=counts.groups,
        replies_a_step=counts.replies,
        sampled_tokens_a_step=counts.tokens,
        memory_bytes=memory_bytes(config, models, method.width, counts.prompts)
        if all_known
        else None,
        config=config.model_dump(mode="json"),
    )


def _resolved_as_far_as_known(config: Config, environment: Environment[Any]) -> Config:
    try:
        return resolved(config, environment)
    except BaseUnreachableError:
        return threads_resolved(config)


def _looked_at(plan: PolicyPlan) -> Sized | PlannedPolicy:
    """A policy with its sizes, as far as they can be had.

    Raises ConfigurationError for a script or a chat template that cannot be used.
    """
    if plan.script is not None:
        scripted_sampler(plan.name, plan.script)
        return A_SCRIPT
    try:
        found = sized(plan)
    except BaseUnreachableError as error:
        return PlannedPolicy(plan.base, None, None, None, unknown=error.faults[0].allowed)
    tokenizer = load_or_fault(plan.base_key, plan.base, lambda: load_tokenizer(plan.base))
    refuse_template(plan.base_key, plan.base, tokenizer)
    return found


@dataclass(frozen=True, slots=True)
class _Counts:
    """The most that a step can have of each."""

    episodes: int
    prompts: int
    groups: int
    replies: int
    tokens: int


def _counts(config: Config, environment: Environment[Any], method: Method) -> _Counts:
    """Upper bounds, over the roles that take turns where they do."""
    trainable = trainable_roles(config, environment)
    takes_turns = config.team.alternate_every is not None
    rounds = [(role,) for role in trainable] if takes_turns else [trainable]
    found = [_counts_of_round(config, environment, method, trained) for trained in rounds]
    return _Counts(*(max(values) for values in zip(*map(astuple, found), strict=True)))


def _counts_of_round(
    config: Config, environment: Environment[Any], method: Method, trained: Collection[str]
) -> _Counts:
    tasks = config.sampling.tasks_per_step
    episodes = tasks * method.episodes_per_task
    prompts = {role.name: episodes * config.team.turns * role.seats for role in environment.roles}
    replies = {
        name: number * (method.width if name in trained else 1) for name, number in prompts.items()
    }
    tree = method.episodes_per_task == 1
    seats = sum(role.seats for role in environment.roles if role.name in trained)
    return _Counts(
        episodes=episodes,
        prompts=sum(prompts.values()),
        groups=sum(prompts[name] for name in trained) if tree else tasks * seats,
        replies=sum(replies.values()),
        tokens=sum(number * reply_limit(config, name) for name, number in replies.items()),
    )


def _role(
    config: Config,
    environment: Environment[Any],
    name: str,
    of_role: Mapping[str, str],
    width: int,
) -> dict[str, Any]:
    trained = name in trainable_roles(config, environment)
    return {
        "policy": of_role[name],
        "trained": trained,
        "replies": width if trained else 1,
        "max_reply_tokens": reply_limit(config, name),
    }


def _not_played(environment: Environment[Any]) -> tuple[str, ...]:
    played = {role.name for role in environment.roles}
    return tuple(role.name for role in environment.all_roles() if role.name not in played)
