"""The names that function-call tests expect a program to find without importing them."""

import bisect
import builtins
import collections
import copy
import datetime
import functools
import heapq
import itertools
import json
import math
import operator
import random
import re
import string
import sys
import typing
from types import ModuleType
from typing import Any

MODULES = (
    bisect, collections, copy, datetime, functools, heapq, itertools, json, math, operator,
    random, re, string, sys, typing,
)  # fmt: skip
NAMES: dict[ModuleType, str] = {
    typing: "Any Callable DefaultDict Deque Dict FrozenSet Generator Generic Iterable Iterator "
    "List Mapping NamedTuple Optional Sequence Set Tuple TypeVar Union",
    collections: "Counter OrderedDict defaultdict deque namedtuple",
    functools: "cache cmp_to_key lru_cache partial reduce",
    itertools: "accumulate chain combinations combinations_with_replacement count cycle groupby "
    "islice pairwise permutations product repeat starmap zip_longest",
    heapq: "heapify heappop heappush heappushpop heapreplace nlargest nsmallest",
    bisect: "bisect_left bisect_right insort insort_left insort_right",
    math: "ceil comb factorial floor gcd inf isqrt lcm log log2 sqrt",
    string: "ascii_lowercase ascii_uppercase",
}


def offer_prelude() -> None:
    """Adds those names to the built-in ones of this process.

    They are no names of the program's own, so that none passes for a function that it defines.
    """
    for name, value in prelude().items():
        setattr(builtins, name, value)


def prelude() -> dict[str, Any]:
    """A fresh mapping of those names.

    >>> sorted(prelude())[:4], prelude()["math"].pi > 3
    (['Any', 'Callable', 'Counter', 'DefaultDict'], True)
    """
    names: dict[str, Any] = {module.__name__: module for module in MODULES}
    for module, wanted in NAMES.items():
        names |= {name: getattr(module, name) for name in wanted.split()}
    return names
