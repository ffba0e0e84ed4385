"""The values of SymPy trees to many digits, with numbers in place of letters."""

from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

import sympy

from cotrain.environments.base import UndecidedError
from cotrain.environments.graders.maths.trees import size_of

DIGITS = 60
MAX_DIGITS = 2_000
NUM_PLACES = 8
NUM_WHOLE = 12
WHOLE_LETTERS = frozenset("nkm")
"""Letters that mostly stand for whole numbers."""
_STEPS = (sympy.floor, sympy.ceiling)

Place: TypeAlias = Mapping[str, Any]
_FAILURES = (ArithmeticError, ValueError, TypeError, AttributeError, RuntimeError)


def value_of(tree: Any, place: Place, digits: int = DIGITS) -> Any:
    """The number that a tree is at a place; None where it is none, or is outside its domain."""
    known = {symbol: place.get(str(symbol)) for symbol in tree.free_symbols}
    known = {s: sympy.I if str(s) == "i" else value for s, value in known.items()}
    if any(value is None for value in known.values()):
        return None
    try:
        placed = _with_real_roots(tree).xreplace(known)
        if place and sympy.I not in known.values() and not _in_domain(tree, known):
            return None
        value = placed.evalf(digits)
    except _FAILURES:
        return None
    is_number = value.is_number and value.is_finite and not value.atoms(sympy.Function)
    return value if is_number else None


def letters_of(*trees: Any) -> list[str]:
    """The letters in these trees that stand for numbers; `i` is the imaginary unit."""
    return sorted({str(s) for tree in trees for s in tree.free_symbols} - {"i"})


def equal_everywhere(left: Any, right: Any) -> bool:
    """Whether two trees have equal values wherever both were tried and have one.

    Letters that stand for whole numbers may make trees equal that differ between them. Raises
    UndecidedError where they have no value at enough places.
    """
    names = letters_of(left, right)
    if not names:
        return not _one_is_undefined(left, right) and _equal_at([{}], left, right, 1)
    if left.has(*_STEPS) or right.has(*_STEPS):
        return _equal_at([*whole_places(names), *wide_places(names)], left, right, 6)
    whole = set(names) <= WHOLE_LETTERS
    try:
        equal = _equal_at(places(names), left, right, 2)
        if equal or not whole:
            return equal
    except UndecidedError:
        if not whole:
            raise
    return _equal_at(whole_places(names), left, right, 6)


def places(names: list[str]) -> list[Place]:
    """Fractions for the letters: positive in the first half of the places, then of both signs."""
    found: list[Place] = []
    for place in range(NUM_PLACES):
        values = [sympy.Rational(31 + 17 * place + 23 * j, 59 + 7 * j) for j in range(len(names))]
        if place >= NUM_PLACES // 2:
            values = [value * (-1) ** (place // (j + 1)) for j, value in enumerate(values)]
        found.append(dict(zip(names, values, strict=True)))
    return found


def wide_places(names: list[str]) -> list[Place]:
    """Fractions up to some hundreds, so that steps of a third and of a quarter differ."""
    near = places(names)
    return [
        {name: value * 37 * (number + 1) for name, value in place.items()}
        for number, place in enumerate(near)
    ]


def whole_places(names: list[str]) -> list[Place]:
    """Whole numbers for the letters."""
    return [
        {name: sympy.Integer(number + 3 * j) for j, name in enumerate(names)}
        for number in range(1, NUM_WHOLE + 1)
    ]


def digits_for(*trees: Any) -> int:
    """How many digits tell values of this size apart."""
    return min(DIGITS + 2 * int(max(map(size_of, trees))), MAX_DIGITS)


def close(one: Any, two: Any, digits: int) -> bool:
    """Whether two numbers agree to 30 digits, or both are nothing but rounding."""
    largest = max(abs(one), abs(two))
    floor = sympy.Float(10) ** (20 - digits)
    share = sympy.Float(10) ** (DIGITS // 2 - digits)
    return bool(abs(one - two) <= max(largest * share, floor))


def _one_is_undefined(left: Any, right: Any) -> bool:
    """Whether just one of two numbers divides by zero."""
    undefined = [tree.doit().has(sympy.zoo, sympy.nan) for tree in (left, right)]
    return undefined[0] != undefined[1]


def _equal_at(tried: Iterable[Place], left: Any, right: Any, needed: int) -> bool:
    compared, digits = 0, digits_for(left, right)
    for place in tried:
        one, two = value_of(left, place, digits), value_of(right, place, digits)
        if one is None or two is None:
            continue
        compared += 1
        if not close(one, two, digits):
            return False
    if compared < needed:
        raise UndecidedError("the answers have no value where they were compared")
    return True


def _with_real_roots(tree: Any) -> Any:
    """The tree with the real value of each odd root of a negative number."""
    roots = {
        power: -sympy.Pow(-power.base, power.exp)
        for power in tree.atoms(sympy.Pow)
        if isinstance(power.base, sympy.Rational)
        and power.base < 0
        and isinstance(power.exp, sympy.Rational)
        and power.exp.p == 1
        and power.exp.q % 2 == 1
        and power.exp.q > 1
    }
    return tree.xreplace(roots) if roots else tree


def _in_domain(tree: Any, known: Mapping[Any, Any]) -> bool:
    """Whether no root and no logarithm of letters in it is that of a negative number."""
    powers = [power for power in tree.atoms(sympy.Pow) if power.exp.is_integer is not True]
    inner = [p.base for p in powers if p.exp.xreplace(known).is_integer is not True]
    inner += [logarithm.args[0] for logarithm in tree.atoms(sympy.log)]
    inner = [part.xreplace(known) for part in inner if part.free_symbols]
    return all(part.evalf(15).is_negative is not True for part in inner)
