"""The names of the figures a run writes, what each means, and how they are worked out.

`NAME` in a name stands for a policy's or a role's name. Figures that depend on the clock or the
machine end in `_seconds`, `_per_second` or `_bytes`; all others are the same for the same seed.
"""

import math
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TypeVar

Value = TypeVar("Value")

METRICS: Mapping[str, str] = MappingProxyType(
    {
        "step": "the step, from 1",
        "success": "share of the step's episodes that ended solved; optimistic where the best of "
        "several candidates is followed, so never shown beside an evaluation's",
        "spine_gain": "mean of followed score minus mean score of its group",
        "turns_mean": "turns played, a mean over episodes",
        "score_mean": "mean score over all scored candidates",
        "groups": "groups formed",
        "groups_without_signal": "groups whose advantages are all zero",
        "groups_by_turn": "groups formed at turn 1, 2, ...; only open episodes form any",
        "candidates": "candidates sampled, those of roles that are not trained included",
        "candidates_failed": "candidates without a score",
        "tokens_sampled": "tokens sampled in this step, failed candidates included",
        "tokens_trained": "reply tokens that entered the backward pass",
        "rollout_seconds": "time to play the episodes",
        "update_seconds": "time to update the policies",
        "sync_seconds": "time to publish the new weights to the samplers",
        "total_seconds": "time of the whole step, but for writing it down",
        "tokens_per_second": "tokens sampled over the time to play the episodes",
        "peak_memory_bytes": "largest memory of the process so far",
        "policy.NAME.version": "version after the step's update, 0 before step 1",
        "policy.NAME.loss": "mean loss over the minibatches",
        "policy.NAME.grad_norm": "norm of the gradient before clipping, mean over minibatches",
        "policy.NAME.clip_fraction": "share of trained tokens whose ratio the clip cut off",
        "policy.NAME.optimizer_steps": "optimiser steps taken; one a minibatch with signal",
        "policy.NAME.samples": "samples that the update got, those without signal included",
        "policy.NAME.skipped": "true when no optimiser step was taken",
        "policy.NAME.logprob_gap": "mean distance of the sampler's log-probs to the trainer's, "
        "over trained tokens",
        "policy.NAME.kl": "mean KL divergence from the reference over trained tokens (k3); null "
        "without a KL coefficient",
        "role.NAME.score_mean": "mean score over the role's scored candidates",
        "role.NAME.reply_tokens_mean": "tokens of a reply of the role, a mean",
        "role.NAME.loss_share": "the role's share of its policy's loss weight",
    }
)
"""The names of a row of `metrics.jsonl`."""

EVALUATIONS: Mapping[str, str] = MappingProxyType(
    {
        "step": "the step after which the evaluation was made, 0 before the first",
        "method": "the method whose policies played",
        "policies": "role -> {policy, version, run}; `run` is null for the row's own run",
        "split": "the split the tasks are from",
        "tasks": "number of tasks",
        "success": "share of tasks solved",
        "success_low": "lower end of the 95 % interval of `success`",
        "success_high": "upper end of the 95 % interval of `success`",
        "turns": "the turn limit",
        "turns_mean": "turns played, a mean over tasks",
        "tokens_mean": "tokens sampled a task",
        "decoding": "temperature, top_p and top_k",
        "seed": "the seed of tasks and sampling",
        "roles": "role -> its figures, among them `score_mean`",
        "endings": "status -> number of episodes that ended so",
        "solved": "a digit a task, in order: 1 solved, 0 not",
        "task_hash": "SHA-256 of the tasks in order; rows of one hash can be paired",
    }
)
"""The names of a row of `evaluations.jsonl`."""

_CLOCK_ENDINGS = ("_seconds", "_per_second", "_bytes")
_NORMAL_95 = 1.959963984540054


def metric_names(policies: Sequence[str], roles: Sequence[str]) -> list[str]:
    """Every name that a metrics row of these policies and roles has.

    >>> metric_names(["shared"], ["planner"])[-1]
    'role.planner.loss_share'
    """
    names: list[str] = []
    for name in METRICS:
        owners = {"policy": policies, "role": roles}.get(name.partition(".")[0])
        spelled = [name.replace("NAME", owner) for owner in owners or ()]
        names += [name] if owners is None else spelled
    return names


def policy_figures(name: str, figures: Mapping[str, object]) -> dict[str, object]:
    """The figures of one policy under the names that they have in a row.

    >>> policy_figures("shared", {"version": 3})
    {'policy.shared.version': 3}
    """
    return {f"policy.{name}.{figure}": value for figure, value in figures.items()}


def role_figures(name: str, figures: Mapping[str, object]) -> dict[str, object]:
    """The figures of one role under the names that they have in a row.

    >>> role_figures("planner", {"score_mean": 0.5})
    {'role.planner.score_mean': 0.5}
    """
    return {f"role.{name}.{figure}": value for figure, value in figures.items()}


def success_figures(successes: float, tasks: int) -> dict[str, int | float | None]:
    """The part of an evaluation row that says how many tasks were solved, a mean over seeds too.

    >>> success_figures(1, 2)["success"]
    0.5
    """
    low, high = wilson_interval(successes, tasks)
    return {
        "tasks": tasks,
        "success": ratio(successes, tasks),
        "success_low": low,
        "success_high": high,
    }


def mean(values: Sequence[float | None]) -> float | None:
    """The mean of those that are not None; None for nothing.

    >>> mean([1.0, None, 0.0]), mean([])
    (0.5, None)
    """
    present = [value for value in values if value is not None]
    return math.fsum(present) / len(present) if present else None


def ratio(part: float, whole: float) -> float | None:
    """`part / whole`, or None for nothing: a share, or a speed.

    >>> ratio(1, 4), ratio(0, 0)
    (0.25, None)
    """
    return part / whole if whole else None


def wilson_interval(
    successes: float, total: int, normal: float = _NORMAL_95
) -> tuple[float, float]:
    """The interval of a share by Wilson's score (1927); all of [0, 1] for no trial.

    `normal` is the quantile of the normal distribution that its level has: 95 % by default.

    >>> tuple(round(end, 3) for end in wilson_interval(8, 10))
    (0.49, 0.943)
    >>> wilson_interval(0, 10)[0], wilson_interval(10, 10)[1]
    (0.0, 1.0)
    """
    if not 0 <= successes <= total:
        raise ValueError(f"successes is {successes}; it must be from 0 to total, {total}")
    if total == 0:
        return 0.0, 1.0
    share, square = successes / total, normal**2
    scale = 1 + square / total
    centre = share + square / (2 * total)
    margin = normal * math.sqrt(share * (1 - share) / total + square / (4 * total**2))
    low = 0.0 if successes == 0 else (centre - margin) / scale
    high = 1.0 if successes == total else (centre + margin) / scale
    return low, high


def timeless(row: Mapping[str, Value]) -> dict[str, Value]:
    """A row without what depends on the clock or the machine: equal for equal seeds.

    >>> timeless({"step": 1, "update_seconds": 0.2, "peak_memory_bytes": 9})
    {'step': 1}
    """
    return {name: value for name, value in row.items() if not name.endswith(_CLOCK_ENDINGS)}
