"""Problems that reasoning-gym makes: any of its data sets, without a download.

A problem is the first one of the data set with a seed of its own, so that making it is cheap. It
belongs to the split that the hash of its text says.
"""

import json
from collections.abc import Mapping
from functools import cache
from importlib import import_module
from random import Random
from typing import Any

from cotrain.config.faults import ConfigurationError, Fault, show
from cotrain.config.keys import nearest
from cotrain.core.episode import Task
from cotrain.environments.data.maths_records import Generated, Problem, digest_of
from cotrain.environments.procedural import NothingDrawnError, draw_task

PREFIX = "reasoning_gym:"
DATA = "environment.options.data"
MAX_SEED = 2**31
NOT_THE_SAME = frozenset({"isomorphic_strings", "polynomial_multiplication", "ransom_note"})
"""Data sets that give another problem for the same seed in another process."""


def generated_task(
    source: str, options: Mapping[str, Any], split: str, seed: int, index: int
) -> Task:
    """The task at this place of the split, made by the data set that the source names.

    Raises ConfigurationError for a data set that is unknown, or cannot be made with these options.
    """
    name = source.removeprefix(PREFIX)
    text = json.dumps(dict(options), sort_keys=True)
    make = _maker(name, text)

    def draw(generator: Random) -> Problem:
        seed_of_problem = generator.randrange(MAX_SEED)
        entry = make(seed_of_problem)
        made = Generated(name, text, seed_of_problem, digest_of(entry["question"]))
        answer = entry["answer"]
        return Problem("", entry["question"], "" if answer is None else str(answer), name, "", made)

    try:
        return draw_task(f"maths {source}", split, seed, index, draw)
    except NothingDrawnError as error:
        raise ConfigurationError([Fault(DATA, show(source), str(error))]) from error


@cache
def _maker(name: str, options: str) -> Any:
    """What makes the entry of a seed."""
    gym = _package()
    known = sorted(import_module("reasoning_gym.factory").DATASETS)
    if name not in known:
        allowed = 'reasoning-gym has no such data set; its names are those of its "GALLERY.md"'
        raise ConfigurationError([Fault(DATA, show(PREFIX + name), allowed, nearest(name, known))])
    if name in NOT_THE_SAME:
        allowed = "cannot be used: it gives another problem for the same seed in another process"
        raise ConfigurationError([Fault(DATA, show(PREFIX + name), allowed)])

    def make(seed: int) -> Any:
        return gym.create_dataset(name, seed=seed, size=1, **json.loads(options))[0]

    try:
        make(0)
    except (TypeError, ValueError, AssertionError) as error:
        said = " ".join(str(error).split())
        key = "environment.options.data_options"
        raise ConfigurationError([Fault(key, show(json.loads(options)), said)]) from error
    return make


def _package() -> Any:
    try:
        return import_module("reasoning_gym")
    except ImportError as error:
        needed = 'needs reasoning-gym: pip install "cotrain[maths]"'
        raise ConfigurationError([Fault(DATA, show(PREFIX), needed)]) from error
