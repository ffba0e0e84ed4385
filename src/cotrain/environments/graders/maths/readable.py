"""Whether a gold answer can be read, so that replies can be compared with it."""

from collections.abc import Callable, Iterator
from typing import Any

from cotrain.environments.graders.maths import expressions
from cotrain.environments.graders.maths.reading import shapes
from cotrain.environments.graders.maths.sets import as_set
from cotrain.environments.graders.maths.shapes import (
    Equation,
    Grid,
    Inequality,
    Joined,
    Labelled,
    Many,
    Named,
    Nothing,
    Ratio,
    Row,
    Shape,
    Value,
    Words,
)
from cotrain.environments.graders.maths.splitting import MAX_DEPTH, depth_of


def is_readable(answer: str) -> bool:
    r"""Whether every value of this answer can be read.

    >>> is_readable(r"\frac{1}{2}"), is_readable("Tuesday"), is_readable(r"\frac{1}{")
    (True, True, False)
    """
    if not answer.strip() or depth_of(answer) > MAX_DEPTH:
        return False
    return any(_readable(shape) for shape in shapes(answer))


def _readable(shape: Shape) -> bool:
    parts = list(_PARTS[type(shape)](shape))
    return bool(parts) and all(map(_part_is_readable, parts))


def _part_is_readable(part: "Shape | str | bool") -> bool:
    if isinstance(part, bool):
        return part
    return expressions.readable(part) if isinstance(part, str) else _readable(part)


def _of_value(shape: Value) -> Iterator[bool]:
    yield as_set(shape) is not None or expressions.readable(shape.core)


_PARTS: dict[type, Callable[[Any], Any]] = {
    Value: _of_value,
    Words: lambda words: [bool(words.text)],
    Nothing: lambda _: [True],
    Many: lambda many: many.members,
    Row: lambda row: row.members,
    Grid: lambda grid: [cell for row in grid.rows for cell in row],
    Ratio: lambda ratio: ratio.terms,
    Named: lambda named: [named.value],
    Equation: lambda equation: [equation.left, equation.right],
    Inequality: lambda inequality: inequality.sides,
    Joined: lambda joined: joined.sets,
    Labelled: lambda choice: [choice.content],
}
"""What must be readable in a shape of each kind: shapes, texts of expressions, or a decision."""
