r"""Sets of real numbers: intervals, unions and inequalities, compared as the sets that they are."""

import re
from collections.abc import Callable
from functools import reduce
from typing import Any

import sympy

from cotrain.environments.graders.maths.shapes import (
    Equation,
    Inequality,
    Joined,
    Many,
    Named,
    Nothing,
    Row,
    Shape,
    Value,
)
from cotrain.environments.graders.maths.trees import MAX_DIGITS, size_of, tree_of

_VARIABLE = re.compile(r"[A-Za-z]|\\[A-Za-z]+")
_REALS = re.compile(r"\\mathbb\s*\{?R\}?")
MAX_SOLVED = 40
_RELATIONS: dict[str, Any] = {
    "<": sympy.Lt,
    ">": sympy.Gt,
    "\\le": sympy.Le,
    "\\ge": sympy.Ge,
    "\\ne": sympy.Ne,
}
_FLIPPED = {"<": ">", ">": "<", "\\le": "\\ge", "\\ge": "\\le", "\\ne": "\\ne"}


def is_region(shape: Shape) -> bool:
    """Whether a shape can only be a set of numbers, and no list or tuple."""
    if isinstance(shape, Many):
        return bool(shape.members) and all(isinstance(m, Inequality) for m in shape.members)
    if isinstance(shape, Named):
        return is_region(shape.value)
    return isinstance(shape, Inequality | Joined) or _is_reals(shape)


def as_set(shape: Shape) -> sympy.Set | None:
    r"""The set of real numbers that a shape stands for, None where it stands for none.

    >>> from cotrain.environments.graders.maths.reading import shapes
    >>> as_set(shapes(r"x<6")[0]) == as_set(shapes(r"(-\infty,6)")[0])
    True
    """
    if _is_reals(shape):
        return sympy.S.Reals
    make = _SET_OF.get(type(shape))
    return None if make is None else make(shape)


def variable_of(shape: Shape) -> str:
    """The letter that an inequality or a named set is about; empty where there is none."""
    if isinstance(shape, Named):
        return shape.name
    if isinstance(shape, Inequality):
        return next((side for side in shape.sides if _VARIABLE.fullmatch(side)), "")
    if isinstance(shape, Many):
        names = {variable_of(member) for member in shape.members}
        return names.pop() if len(names) == 1 else ""
    return ""


def _is_reals(shape: Shape) -> bool:
    return isinstance(shape, Value) and bool(_REALS.fullmatch(shape.core))


def _end(text: str) -> Any:
    """A real number without letters, or an infinity."""
    bare = text.replace(" ", "").removeprefix("+")
    if bare in ("\\infty", "-\\infty"):
        return sympy.oo if bare == "\\infty" else -sympy.oo
    tree = tree_of(text)
    if tree is None or tree.free_symbols or size_of(tree) > MAX_DIGITS:
        return None
    tree = tree.doit()
    return tree if tree.is_extended_real else None


def _interval(row: Row) -> sympy.Set | None:
    if len(row.members) != 2 or row.left not in "([" or row.right not in ")]":
        return None
    first, last = row.members
    if not isinstance(first, Value) or not isinstance(last, Value):
        return None
    start, end = _end(first.core), _end(last.core)
    if start is None or end is None:
        return None
    return sympy.Interval(start, end, row.left == "(", row.right == ")")


def _joined(shape: Joined) -> sympy.Set | None:
    sets = [as_set(part) for part in shape.sets]
    known = [one for one in sets if one is not None]
    if len(known) < len(sets):
        return None
    result = known[0]
    for sign, other in zip(shape.signs, known[1:], strict=True):
        if sign == "\\cup":
            result = result.union(other)
        else:
            result = result.intersect(other) if sign == "\\cap" else result - other
    return result


def _solutions(shape: Inequality) -> sympy.Set | None:
    """The numbers that a chain such as 2 < x <= 5 allows."""
    found: list[sympy.Set] = []
    places = [place for place, side in enumerate(shape.sides) if _VARIABLE.fullmatch(side)]
    if len(places) != 1:
        return _solved(shape)
    place = places[0]
    for index, sign in enumerate(shape.signs):
        if index not in (place - 1, place):
            return None
        left = index == place
        end = _end(shape.sides[index + 1] if left else shape.sides[index])
        if end is None:
            return None
        found.append(_half_line(sign if left else _FLIPPED[sign], end))
    return reduce(lambda one, two: one.intersect(two), found)


def _solved(shape: Inequality) -> sympy.Set | None:
    """The numbers that one inequality in one letter allows, where SymPy can solve it."""
    trees = [tree_of(side) for side in shape.sides]
    if len(trees) != 2 or any(tree is None or size_of(tree) > MAX_SOLVED for tree in trees):
        return None
    relation = _RELATIONS[shape.signs[0]](*trees)
    letters = getattr(relation, "free_symbols", set[Any]())
    if len(letters) != 1:
        return None
    try:
        return sympy.solve_univariate_inequality(relation, letters.pop(), relational=False)
    except (RuntimeError, ValueError, TypeError):
        return None


def _half_line(sign: str, end: Any) -> sympy.Set:
    if sign == "\\ne":
        return sympy.S.Reals - sympy.FiniteSet(end)
    if sign in ("<", "\\le"):
        return sympy.Interval(-sympy.oo, end, True, sign == "<")
    return sympy.Interval(end, sympy.oo, sign == ">", True)


def _of_members(shape: Many) -> sympy.Set | None:
    members = [m.value if isinstance(m, Named) else m for m in shape.members]
    if any(isinstance(member, Row | Equation) for member in members):
        return None
    if any(isinstance(member, Inequality) for member in members) and not variable_of(shape):
        return None
    sets = [as_set(member) for member in members]
    known = [one for one in sets if one is not None]
    if len(known) < len(sets) or not known:
        return None
    if not all(isinstance(member, Inequality) for member in members):
        return sympy.Union(*known)
    together = reduce(lambda one, two: one.intersect(two), known)
    apart = shape.joined_by == "or" or together is sympy.S.EmptySet
    return sympy.Union(*known) if apart else together


def _single(value: Value) -> sympy.Set | None:
    end = _end(value.core)
    return None if end is None else sympy.FiniteSet(end)


_SET_OF: dict[type, Callable[[Any], sympy.Set | None]] = {
    Nothing: lambda _: sympy.S.EmptySet,
    Named: lambda named: as_set(named.value),
    Row: _interval,
    Joined: _joined,
    Inequality: _solutions,
    Many: _of_members,
    Value: _single,
}
"""How a shape of each kind becomes a set."""
