r"""Compares two expressions: exactly where they are rational, else by value to many digits.

Expressions with letters are compared at several places; where they have no value there,
`math-verify` decides. Too large a value is compared by its form alone.
"""

import re
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import sympy
from math_verify import verify

from cotrain.environments.base import UndecidedError
from cotrain.environments.graders.maths.latex_text import compact
from cotrain.environments.graders.maths.numbers import Literal, literal
from cotrain.environments.graders.maths.places import (
    close,
    digits_for,
    equal_everywhere,
    letters_of,
    places,
    value_of,
)
from cotrain.environments.graders.maths.trees import (
    MAX_DIGITS,
    exact_value,
    rational,
    size_of,
    tree_of,
)

ROUNDED_DECIMALS = 6
FLOAT_DIGITS = 15

_BASED = re.compile(r"(\w+)_(?:\{\s*(\d{1,2})\s*\}|(\d))")
_UNFINISHED = re.compile(r"\\(?:sum|prod|i{0,2}int|oint|lim)(?![A-Za-z])")


def readable(text: str) -> bool:
    """Whether this is a number, or an expression that can be read."""
    return _number(text) is not None or tree_of(text) is not None


def equal(one: str, two: str, factor: Fraction = Fraction(1)) -> bool:
    r"""Whether the first expression, times `factor`, equals the second one.

    A sum, product, integral or limit that is only written down equals nothing but itself. Raises
    UndecidedError where both are too large, or have no value anywhere they were tried.

    >>> equal(r"\sqrt{8}", r"2\sqrt{2}"), equal("2^{100}", "2^{100}+1"), equal("(x+1)^2", "x^2+1")
    (True, False, False)
    """
    if factor == 1 and compact(one) == compact(two):
        return True
    if _UNFINISHED.search(one) or _UNFINISHED.search(two):
        return False
    first, second = _number(one), _number(two)
    if first is not None and second is not None:
        return _numbers_equal(first, second, factor)
    left, right = _tree(one, first), _tree(two, second)
    if left is None or right is None:
        return False
    return _compared(first, second, left, right, factor)


def _compared(
    first: Literal | None, second: Literal | None, left: Any, right: Any, factor: Fraction
) -> bool:
    """Compares two trees, of which one may have been written as a decimal."""
    if left.has(sympy.oo, -sympy.oo) or right.has(sympy.oo, -sympy.oo):
        return factor == 1 and left.doit() == right.doit()
    for rounded, other, scale in ((first, right, factor), (second, left, 1 / factor)):
        if rounded is not None and rounded.decimals is not None and _is_small(other):
            return not letters_of(other) and _is_written_by(rounded, other, scale)
    return _trees_equal(left, right, factor)


def equations_equal(one: tuple[str, str], two: tuple[str, str]) -> bool:
    """Whether two equations say the same: their differences are in a constant proportion.

    >>> equations_equal(("y", "2x+3"), ("2x-y", "-3")), equations_equal(("y", "x"), ("y", "2x"))
    (True, False)
    """
    return _proportion(one, two) is not None


def inequalities_equal(
    one: Sequence[str], signs: Sequence[str], two: Sequence[str], other_signs: Sequence[str]
) -> bool:
    """Whether two inequalities with more than one letter say the same."""
    if len(signs) != 1 or len(other_signs) != 1:
        return list(signs) == list(other_signs) and all(map(equal, one, two))
    proportion = _proportion((one[0], one[1]), (two[0], two[1]))
    if proportion is None:
        return False
    turned = {"<": ">", ">": "<", "\\le": "\\ge", "\\ge": "\\le", "\\ne": "\\ne"}
    return (signs[0] if proportion > 0 else turned[signs[0]]) == other_signs[0]


def _proportion(one: tuple[str, str], two: tuple[str, str]) -> Any:
    trees = [tree_of(side) for side in (*one, *two)]
    if any(tree is None or size_of(tree) > MAX_DIGITS for tree in trees):
        return None
    left, right = trees[0] - trees[1], trees[2] - trees[3]
    if letters_of(left) != letters_of(right) or not letters_of(left):
        return None
    digits, quotients = digits_for(left, right), []
    for place in places(letters_of(left)):
        values = value_of(left, place, digits), value_of(right, place, digits)
        if values[0] is not None and values[1] is not None and values[1] != 0:
            quotients.append(values[0] / values[1])
    if len(quotients) < 2 or quotients[0] == 0:
        return None
    return quotients[0] if all(close(q, quotients[0], digits) for q in quotients) else None


def _number(text: str) -> Literal | None:
    return literal(text) or _based(text)


def _based(text: str) -> Literal | None:
    """A number written in another base: 1011_2."""
    match = _BASED.fullmatch(text.replace(" ", ""))
    base = int(match[2] or match[3]) if match else 0
    if match is None or not 2 <= base <= 36 or not (match[1].isdigit() or base > 10):
        return None
    try:
        return Literal(Fraction(int(match[1], base)))
    except ValueError:
        return None


def _tree(text: str, number: Literal | None) -> Any:
    return tree_of(text) if number is None else rational(number.value)


def _numbers_equal(one: Literal, two: Literal, factor: Fraction) -> bool:
    if one.value * factor == two.value:
        return True
    for rounded, other, scale in ((one, two, factor), (two, one, 1 / factor)):
        shorter = other.decimals is None or other.digits < FLOAT_DIGITS <= rounded.digits
        if rounded.decimals is not None and shorter:
            return _stands_for(rounded, other.value, scale)
    return False


def _is_written_by(rounded: Literal, tree: Any, factor: Fraction) -> bool:
    exact = exact_value(tree)
    if exact is not None and rounded.value * factor == exact:
        return True
    near = _near(tree) if exact is None else exact
    if near is not None and abs(rounded.value * factor - near) <= abs(near) / 10**40:
        return True
    return _stands_for(rounded, near, factor)


def _stands_for(rounded: Literal, value: Fraction | None, factor: Fraction) -> bool:
    """Whether a decimal stands for a value that it cannot write out.

    One of six places or more may be cut or rounded; one of 15 digits or more, as programs print
    them, may be off in its last places.
    """
    if value is None or rounded.decimals is None:
        return False
    given, unit = rounded.value * factor, factor / Fraction(10) ** rounded.decimals
    difference = abs(given - value)
    if rounded.digits >= FLOAT_DIGITS and difference <= abs(value) / 10**12:
        return True
    if min(rounded.decimals, rounded.digits) < ROUNDED_DECIMALS or _terminates(value):
        return False
    cut = abs(given) <= abs(value) and difference < abs(unit)
    return cut or difference <= abs(unit) / 2


def _terminates(value: Fraction) -> bool:
    """Whether a few decimals write the value out, so that a rounded one is another number."""
    rest = value.denominator
    for prime in (2, 5):
        while rest % prime == 0:
            rest //= prime
    return rest == 1 and value.denominator < 10**30


def _near(tree: Any) -> Fraction | None:
    """A fraction near the value of a tree without letters, None where that is not real."""
    value = value_of(tree, {}, digits_for(tree))
    if value is None or abs(sympy.im(value)) > abs(value) / 10**30:
        return None
    return Fraction(str(sympy.re(value)))


def _is_small(tree: Any) -> bool:
    return size_of(tree) <= MAX_DIGITS


def _trees_equal(left: Any, right: Any, factor: Fraction) -> bool:
    """Exactly where both are rational, else by value; too large ones by their form."""
    if not (_is_small(left) and _is_small(right)):
        return not _is_small(left) and not _is_small(right) and _forms_equal(left, right, factor)
    exact = exact_value(left), exact_value(right)
    if exact[0] is not None and exact[1] is not None:
        return exact[0] * factor == exact[1]
    return _values_equal(left if factor == 1 else left * rational(factor), right)


def _forms_equal(left: Any, right: Any, factor: Fraction) -> bool:
    if factor == 1 and left == right:
        return True
    raise UndecidedError("both answers are too large to be written out, and have unlike forms")


def _values_equal(left: Any, right: Any) -> bool:
    try:
        return equal_everywhere(left, right)
    except UndecidedError:
        if not (left.atoms(sympy.Function) or right.atoms(sympy.Function)):
            raise
    return bool(verify(left, right, timeout_seconds=0))
