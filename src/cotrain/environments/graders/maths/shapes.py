r"""The shapes of an answer: a value, words, a list, a tuple, an interval, a matrix, a relation.

The shape says what counts when two answers are compared: whether order does, which ends are open,
which name belongs to which value. `reading.py` finds it; values stay text, which `trees.py` reads.
"""

import re
from dataclasses import dataclass
from typing import TypeAlias

from cotrain.environments.graders.maths.units import Measured


@dataclass(frozen=True, slots=True)
class Value:
    """A number or an expression, without its unit."""

    measured: Measured

    @property
    def core(self) -> str:
        """The text of the value."""
        return self.measured.core


@dataclass(frozen=True, slots=True)
class Words:
    """Words, or the letter of a choice."""

    text: str


@dataclass(frozen=True, slots=True)
class Nothing:
    """The empty set, and "no solution"."""


@dataclass(frozen=True, slots=True)
class Many:
    """Members in any order. In a set, `braces`, a repeated member counts once."""

    members: tuple["Shape", ...]
    braces: bool = False
    joined_by: str = ","


@dataclass(frozen=True, slots=True)
class Row:
    """Members in order, in brackets: a tuple, an interval, a printed list."""

    left: str
    right: str
    members: tuple["Shape", ...]


@dataclass(frozen=True, slots=True)
class Grid:
    """A matrix, row by row."""

    rows: tuple[tuple["Shape", ...], ...]


@dataclass(frozen=True, slots=True)
class Ratio:
    """Numbers parted by colons: a ratio, or a time of day."""

    terms: tuple[str, ...]
    unit: str = ""

    @property
    def is_time(self) -> bool:
        """Whether it can be read as hours and minutes."""
        first, *rest = self.terms
        return bool(re.fullmatch(r"\d{1,2}", first)) and all(
            re.fullmatch(r"[0-5]\d", term) for term in rest
        )


@dataclass(frozen=True, slots=True)
class Named:
    """A value with the name that it is given: `x = 5`."""

    name: str
    value: "Shape"


@dataclass(frozen=True, slots=True)
class Equation:
    """Two sides that are equal, neither of which is just a name."""

    left: str
    right: str


@dataclass(frozen=True, slots=True)
class Inequality:
    """A chain of sides and signs out of `<`, `>`, `\\le`, `\\ge` and `\\ne`."""

    sides: tuple[str, ...]
    signs: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Joined:
    """Sets joined by `\\cup`, `\\cap` or `\\setminus`, from left to right."""

    sets: tuple["Shape", ...]
    signs: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Labelled:
    """A choice with its letter: (C) 30. Letter or content may be the answer asked for."""

    letter: str
    content: "Shape"


Shape: TypeAlias = (
    Value
    | Words
    | Nothing
    | Many
    | Row
    | Grid
    | Ratio
    | Named
    | Equation
    | Inequality
    | Joined
    | Labelled
)
