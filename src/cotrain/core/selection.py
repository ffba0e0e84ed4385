"""Which candidate an episode goes on with. Only scored candidates can be followed.

A selection takes the scores of one group, in candidate order, and a generator seeded with the
group's key; it returns an index, or None when nothing is scored.
"""

import random
from collections.abc import Callable, Sequence
from typing import TypeAlias

Scores: TypeAlias = Sequence[float | None]
Selection: TypeAlias = Callable[[Scores, random.Random], int | None]


def follow_best(scores: Scores, generator: random.Random) -> int | None:
    """The highest score (paper, Algorithm 1), ties broken by the generator.

    >>> follow_best([0.0, None, 1.0], random.Random(0))
    2
    """
    scored = [score for score in scores if score is not None]
    if not scored:
        return None
    best = max(scored)
    return generator.choice([index for index, score in enumerate(scores) if score == best])


def follow_random(scores: Scores, generator: random.Random) -> int | None:
    """The first scored candidate in an order that does not depend on the scores: unbiased.

    >>> follow_random([None, 0.0, None], random.Random(0))
    1
    """
    order = list(range(len(scores)))
    generator.shuffle(order)
    return next((index for index in order if scores[index] is not None), None)


def follow_mixed(probability: float) -> Selection:
    """The best with this probability, else a random one.

    >>> follow_mixed(1.0)([0.0, 1.0], random.Random(0))
    1
    """

    def follow(scores: Scores, generator: random.Random) -> int | None:
        chosen = follow_best if generator.random() < probability else follow_random
        return chosen(scores, generator)

    return follow


def selection(follow: str | float) -> Selection:
    """The selection that `algorithm.follow` names: `"best"`, `"random"` or a probability.

    >>> selection("best") is follow_best
    True
    """
    if isinstance(follow, str):
        return {"best": follow_best, "random": follow_random}[follow]
    return follow_mixed(follow)
