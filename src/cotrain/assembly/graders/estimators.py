"""Grades advantage estimators: rewards of a group to one number a member."""

import math

from cotrain.assembly.graders.base import Case, CaseError, field_of, shown
from cotrain.core.advantages import ESTIMATORS, group_advantages


def grade_advantage(case: Case) -> list[float]:
    """`rewards` (null is unscored), if need be `estimator` and `ddof`, to one number a member."""
    rewards = _rewards(case)
    name = case.get("estimator", "normalised")
    if not isinstance(name, str) or name not in ESTIMATORS:
        allowed = f"allowed are {', '.join(ESTIMATORS)}"
        raise CaseError(f"estimator is {shown(name)}: {allowed}")
    if case.get("ddof", 1) != 1:
        raise CaseError(f"ddof is {shown(case['ddof'])}: this version divides by n - 1, ddof 1")
    advantages = group_advantages(rewards, ESTIMATORS[name])
    values = [0.0 if advantage is None else advantage for advantage in advantages]
    if not all(map(math.isfinite, values)):
        raise CaseError("the rewards are too large: their advantages are no finite numbers")
    return values


def _rewards(case: Case) -> list[float | None]:
    """The rewards as floats; None for null and for what is not finite, which is unscored."""
    allowed = "it must be a list of numbers and nulls"
    rewards = field_of(case, "rewards", list, allowed)
    for reward in rewards:
        if isinstance(reward, bool) or not isinstance(reward, int | float | None):
            raise CaseError(f"rewards holds {shown(reward)}: {allowed}")
    return [None if r is None or not math.isfinite(r) else float(r) for r in rewards]
