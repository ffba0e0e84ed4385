"""Paired differences between two rows, and what they say of a claim."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy

Verdict: TypeAlias = Literal["holds", "does not hold", "not decided"]

RESAMPLES = 10_000
LEVEL = 0.95


@dataclass(frozen=True, slots=True)
class Difference:
    """A mean paired difference of success with its 95 % interval; `by_seed` are its seeds' own."""

    mean: float
    low: float
    high: float
    by_seed: tuple[float, ...]

    @property
    def verdict(self) -> Verdict:
        """Whether the first row solves more.

        >>> Difference(0.1, 0.02, 0.2, (0.1,)).verdict, Difference(0.0, 0.0, 0.0, (0.0,)).verdict
        ('holds', 'not decided')
        """
        if self.low > 0:
            return "holds"
        return "does not hold" if self.high < 0 else "not decided"


def paired_difference(better: Sequence[str], than: Sequence[str], seed: int = 0) -> Difference:
    """How much more of the same tasks the first row solved, by bootstrap over (seed, task).

    Each row gives a text of digits a seed, `1` for a solved task, the same tasks at the same places
    (`solved` of an evaluation row). The interval is the percentile bootstrap's, over pairs of a
    seed and a task: it says what other tasks would change, and nothing of seeds that were not run;
    `by_seed` shows how much these differ. Raises ValueError for rows that cannot be paired.

    >>> found = paired_difference(["1111", "1110"], ["0000", "0010"])
    >>> found.mean, found.by_seed, found.verdict
    (0.75, (1.0, 0.5), 'holds')
    >>> paired_difference(["11"], ["1"])
    Traceback (most recent call last):
    ValueError: seed 0 has 2 and 1 tasks; rows are paired by seed and task
    """
    if len(better) != len(than) or not better:
        raise ValueError(f"{len(better)} and {len(than)} seeds; rows are paired by seed and task")
    for place, (first, second) in enumerate(zip(better, than, strict=True)):
        if len(first) != len(second) or not first:
            raise ValueError(
                f"seed {place} has {len(first)} and {len(second)} tasks; rows are paired by seed "
                "and task"
            )
    by_seed = [_differences(*pair) for pair in zip(better, than, strict=True)]
    found = numpy.concatenate(by_seed)
    low, high = _bootstrap(found, seed)
    means = tuple(float(one.mean()) for one in by_seed)
    return Difference(float(found.mean()), low, high, means)


def _differences(first: str, second: str) -> "numpy.typing.NDArray[numpy.int64]":
    pairs = zip(first, second, strict=True)
    return numpy.array([int(a) - int(b) for a, b in pairs], dtype=numpy.int64)


def _bootstrap(differences: "numpy.typing.NDArray[numpy.int64]", seed: int) -> tuple[float, float]:
    """Each difference is -1, 0 or 1, so that a resample is one draw of a multinomial."""
    total = len(differences)
    shares = [numpy.count_nonzero(differences == value) / total for value in (-1, 0, 1)]
    counts = numpy.random.default_rng(seed).multinomial(total, shares, size=RESAMPLES)
    means = (counts[:, 2] - counts[:, 0]) / total
    low, high = numpy.quantile(means, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return float(low), float(high)
