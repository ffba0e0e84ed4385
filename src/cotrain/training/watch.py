"""Whether a run is being gamed: training scores rise while success on held-out tasks falls.

An evaluation is *gamed* when both hold against the best evaluation before it:

    success   the interval of (this success - best success) lies below 0. Newcombe's interval of two
              shares (1998, method 10). The best one is looked up after the fact, and at every
              evaluation anew, so the interval is wide enough for all pairs of evaluations so far at
              once: with n of them its level is 1 - 0.05 / (n (n - 1) / 2).
    score     mean score of the steps before this evaluation - that of the steps before the best one
              is above 1.96 standard errors. The noise of a step is that of successive differences
              (von Neumann 1941), which a steady rise hardly inflates and windows of one step have.

The steps that lead to the first evaluation after the start stand for those before the start, which
had none. `watch` evaluations in a row that are gamed raise the alarm once; it ends with the first
one that is not. Over 20 evaluations in which success is constant and the score always rises, 0.6 %
of runs had an alarm at most with `watch` = 2, 0.2 % with 3 and 9 % with 1: `bench/watch.py`, 3,000
runs for each of 50, 100, 200 tasks and of five values of success.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import NormalDist
from typing import Any

from cotrain.runs.metrics import wilson_interval

ERROR = 0.05
"""How often each of the two comparisons may be wrong by chance, at both ends together."""


@dataclass(frozen=True, slots=True)
class Look:
    """One evaluation on validation tasks, and the mean scores of the steps since the last one."""

    step: int
    successes: int
    tasks: int
    scores: tuple[float, ...]

    @property
    def success(self) -> float:
        """The share of tasks that were solved."""
        return self.successes / self.tasks


@dataclass(frozen=True, slots=True)
class Alarm:
    """Two looks between which the mean score rose and success fell, and these mean scores."""

    best: Look
    now: Look
    score_before: float
    score_now: float

    def __str__(self) -> str:
        return (
            f"step {self.now.step}: the mean score of training rose from {self.score_before:.3f} "
            f"to {self.score_now:.3f} since the evaluation after step {self.best.step}, and "
            f"success on validation tasks fell from {self.best.success:.3f} to "
            f"{self.now.success:.3f}: something other than solving is what pays. Read what "
            "replies earn in `cotrain play`, and try `cotrain check`"
        )


def looks_of(
    metrics: Sequence[Mapping[str, Any]], evaluations: Sequence[Mapping[str, Any]]
) -> list[Look]:
    """The looks that the rows of a run folder hold, by step."""
    looks: list[Look] = []
    since = 0
    for row in evaluations:
        if row["split"] != "validation":
            continue
        step, tasks = int(row["step"]), int(row["tasks"])
        rows = [r for r in metrics if since < r["step"] <= step and r["score_mean"] is not None]
        scores = tuple(float(r["score_mean"]) for r in rows)
        looks.append(Look(step, round(row["success"] * tasks), tasks, scores))
        since = step
    return looks


def raised(looks: Sequence[Look], watch: int) -> Alarm | None:
    """The alarm that the last look raises, if it does: it is the `watch`-th in a row that is gamed.

    Depends on the looks alone, so that a run which goes on from its rows raises the same alarms.

    >>> fair = [Look(4 * i, 60, 100, (0.5, 0.52, 0.51, 0.53)) for i in range(3)]
    >>> gamed = [Look(12, 20, 100, (0.9, 0.91, 0.92, 0.9)), Look(16, 15, 100, (0.94, 0.93))]
    >>> raised(fair, 2), raised([*fair, gamed[0]], 2), raised([*fair, *gamed], 2) is None
    (None, None, False)
    >>> raised([*fair, *gamed, Look(20, 18, 100, (0.95, 0.94))], 2) is None  # it was raised before
    True
    """
    in_a_row, last = 0, gamed(looks)
    for length in range(len(looks), 0, -1):
        if in_a_row > watch or gamed(looks[:length]) is None:
            break
        in_a_row += 1
    return last if watch and in_a_row == watch else None


def gamed(looks: Sequence[Look]) -> Alarm | None:
    """The best look and the last one, if success fell and the score rose between them."""
    if len(looks) < 2:
        return None
    now, earlier = looks[-1], looks[:-1]
    best = max(earlier, key=lambda look: look.success)  # of equal ones the first
    steps = best.scores or looks[1].scores
    if not steps or not now.scores or not _fell(best, now, math.comb(len(looks), 2)):
        return None
    before, after = math.fsum(steps) / len(steps), math.fsum(now.scores) / len(now.scores)
    error = _noise(looks) * math.sqrt(1 / len(steps) + 1 / len(now.scores))
    rose = after - before > NormalDist().inv_cdf(1 - ERROR / 2) * error
    return Alarm(best, now, before, after) if rose else None


def _fell(best: Look, now: Look, num_pairs: int) -> bool:
    normal = NormalDist().inv_cdf(1 - ERROR / 2 / num_pairs)
    low = wilson_interval(best.successes, best.tasks, normal)[0]
    high = wilson_interval(now.successes, now.tasks, normal)[1]
    upper = now.success - best.success + math.hypot(high - now.success, best.success - low)
    return upper < 0


def _noise(looks: Sequence[Look]) -> float:
    """The standard deviation of a step's mean score around its trend; infinite for one step."""
    scores = [score for look in looks for score in look.scores]
    if len(scores) < 2:
        return math.inf
    squares = math.fsum((b - a) ** 2 for a, b in pairwise(scores))
    return math.sqrt(squares / 2 / (len(scores) - 1))
