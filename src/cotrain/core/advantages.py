"""From the scores of one group to its advantages.

An estimator takes the scores of the scored members, in group order, and returns as many floats.
`group_advantages` is the one way to it: it keeps masked members in their place.
"""

import math
import statistics
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import TypeAlias

EPSILON = 1e-6

Estimator: TypeAlias = Callable[[Sequence[float]], list[float]]


def normalised(scores: Sequence[float]) -> list[float]:
    """`(r - mean) / (std + 1e-6)`, std with ddof = 1 (GRPO; the paper's Eq. 1).

    >>> [round(a, 4) for a in normalised([1.0, 0.0, 0.0, 0.0])]
    [1.5, -0.5, -0.5, -0.5]
    """
    mean = statistics.fmean(scores)
    scale = statistics.stdev(scores) + EPSILON
    return [(score - mean) / scale for score in scores]


def centered(scores: Sequence[float]) -> list[float]:
    """`r - mean`: no division, so that easy and hard groups keep their scale (Dr. GRPO).

    >>> centered([1.0, 0.0])
    [0.5, -0.5]
    """
    mean = statistics.fmean(scores)
    return [score - mean for score in scores]


def leave_one_out(scores: Sequence[float]) -> list[float]:
    """`r` minus the mean of the other members (RLOO).

    >>> leave_one_out([1.0, 0.0, 0.0])
    [1.0, -0.5, -0.5]
    """
    others = len(scores) - 1
    total = math.fsum(scores)
    return [score - (total - score) / others for score in scores]


ESTIMATORS: Mapping[str, Estimator] = MappingProxyType(
    {"normalised": normalised, "centered": centered, "leave_one_out": leave_one_out}
)


def has_signal(scores: Sequence[float | None]) -> bool:
    """Whether a group teaches anything: two scored members at least, and not all equal.

    >>> has_signal([0.1] * 8), has_signal([None, 0.8, None]), has_signal([0.0, None, 1.0])
    (False, False, True)
    """
    scored = [score for score in scores if score is not None]
    return len(scored) >= 2 and max(scored) != min(scored)


def group_advantages(scores: Sequence[float | None], estimator: Estimator) -> list[float | None]:
    """One advantage a member, None for masked members, exactly 0.0 in a group without signal.

    Equality is that of the Python floats, before any division: a spread that only rounding makes
    cannot become a signal.

    >>> group_advantages([0.3] * 3, normalised)
    [0.0, 0.0, 0.0]
    >>> group_advantages([0.0, None, 1.0], centered)
    [-0.5, None, 0.5]
    """
    scored = [score for score in scores if score is not None]
    values = iter(estimator(scored) if has_signal(scores) else [0.0] * len(scored))
    return [None if score is None else next(values) for score in scores]
