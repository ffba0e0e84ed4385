"""Tasks that are drawn rather than read: problem I of a split follows from the seed alone."""

import hashlib
import random
from collections.abc import Callable
from typing import TypeVar

from cotrain.core.episode import Task
from cotrain.core.seeds import derive_seed
from cotrain.environments.base import split_of

Problem = TypeVar("Problem")

MAX_DRAWS = 20_000
"""One problem in ten belongs to the rarest split, so that only hopeless options use these up."""


class NothingDrawnError(ValueError):
    """No draw gave a problem that fits."""


def whatever(problem: object) -> bool:
    """Every problem fits."""
    return True


def draw_task(
    name: str,
    split: str,
    seed: int,
    index: int,
    draw: Callable[[random.Random], Problem | None],
    fits: Callable[[Problem], bool] = whatever,
) -> Task:
    """The task at this place: the first problem drawn that fits and has its hash in the split.

    `draw` makes one try and returns None where it fails; `fits` is asked of problems of the split
    alone, so that what takes long to find out is not found out of the others. `repr` of a problem
    must be complete and the same on every machine, since its hash is the task's digest. Splits are
    disjoint by construction, whatever their seeds. Raises `NothingDrawnError` after `MAX_DRAWS`
    tries.

    >>> task = draw_task("dice", "test", 5, 0, lambda generator: generator.randrange(10**6))
    >>> task == draw_task("dice", "test", 5, 0, lambda generator: generator.randrange(10**6))
    True
    """
    generator = random.Random(derive_seed(name, split, seed, index))
    for _ in range(MAX_DRAWS):
        problem = draw(generator)
        if problem is None:
            continue
        digest = hashlib.blake2b(f"{name} {problem!r}".encode(), digest_size=16).hexdigest()
        if split_of(digest) == split and fits(problem):
            return Task(split, index, digest, problem)
    raise NothingDrawnError(f"{name}: {MAX_DRAWS} draws gave no {split} task")
