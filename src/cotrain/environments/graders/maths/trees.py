r"""From the LaTeX of an expression to a SymPy tree that is not evaluated, and how large it is.

`math-verify` reads the LaTeX; no text is ever run as Python. A tree is measured before anything
evaluates it, so that a tower of powers costs nothing.
"""

import re
from fractions import Fraction
from functools import lru_cache
from math import inf, log10
from typing import Any

import sympy
from latex2sympy2_extended import latex2sympy
from latex2sympy2_extended.latex2sympy2 import ConversionConfig
from math_verify.parser import should_treat_as_complex

from cotrain.environments.graders.maths.numbers import literal

MAX_CHARACTERS = 1500
MAX_DIGITS = 100_000
"""A value that needs more is not written out."""

_WITH_CAPITALS = ConversionConfig(lowercase_symbols=False)
"""R and r are two letters."""

_DECIMAL = re.compile(r"(?<![\w.])(\d*)\.(\d+)")
_DEGREES = re.compile(r"\^\s*\\circ(?![A-Za-z])")
_NUMBER_OF_DEGREES = re.compile(r"(\d+)\s*\^\s*\\circ(?![A-Za-z])")
_NO_EXPRESSION = re.compile(
    r"[⟦⟧?#@\"']|__|\\[pb]?mod(?![A-Za-z])|\\overline|\\(?:text|begin|end)(?![A-Za-z])"
)
_BIG_CHOICE = re.compile(r"\\binom\s*\{(?:[^{}]*\}\s*\{)?[^{}]*(?:\d{5}|[\^!\\{])")
_DIGITS_TOO_MANY = re.compile(r"\d{4001}")


@lru_cache(maxsize=512)
def tree_of(text: str) -> Any:
    r"""The tree of an expression; None where it is none, or is too long to be read.

    >>> tree_of("x+1"), tree_of(r"\frac{1}{") is None
    (x + 1, True)
    """
    number = literal(text)
    if number is not None:
        return rational(number.value)
    if not text or len(text) > MAX_CHARACTERS or _DIGITS_TOO_MANY.search(text):
        return None
    if _NO_EXPRESSION.search(text) or _BIG_CHOICE.search(text):
        return None
    text = _DECIMAL.sub(_as_fraction, text)
    text = _NUMBER_OF_DEGREES.sub(r"(\\frac{\1 \\pi}{180})", text)
    text = _DEGREES.sub(r"\\cdot\\frac{\\pi}{180}", text)
    tree = _read(text)
    if not isinstance(tree, sympy.Expr) or tree.has(sympy.nan, sympy.zoo):
        return None
    return tree


def _read(text: str) -> Any:
    """What the LaTeX says; None where it cannot be read."""
    try:
        return latex2sympy(
            text,
            is_real=not should_treat_as_complex(text),
            normalization_config=None,
            conversion_config=_WITH_CAPITALS,
        )
    except MemoryError:
        raise
    except Exception:  # noqa: BLE001 - what the reader cannot take is no expression
        return None


def rational(value: Fraction) -> Any:
    """The fraction as a tree."""
    return sympy.Rational(value.numerator, value.denominator)


def _as_fraction(match: re.Match[str]) -> str:
    whole, part = match[1], match[2]
    return f"\\frac{{{int(whole + part)}}}{{{10 ** len(part)}}}"


def size_of(tree: Any) -> float:
    """About how many digits the value, or the inverse of it, needs; infinite for a tower.

    >>> size_of(tree_of("10^{30}")) > 30, size_of(tree_of("7^{7^{7^{7}}}"))
    (True, inf)
    """
    if isinstance(tree, sympy.Rational):
        return max(_digits(tree.p), _digits(tree.q))
    if not tree.args:
        return 1.0
    sizes = [size_of(part) for part in tree.args]
    if isinstance(tree, sympy.Pow):
        return _power_size(sizes[0], tree.args[1], sizes[1])
    if isinstance(tree, sympy.exp):
        return _power_size(0.5, tree.args[0], sizes[0])
    if isinstance(tree, sympy.factorial | sympy.factorial2 | sympy.gamma | sympy.binomial):
        part = tree.args[0]
        is_part = isinstance(part, sympy.Rational) and part.q != 1
        return inf if is_part or sizes[0] > 5 else 10 ** sizes[0] * sizes[0]
    return sum(sizes) if isinstance(tree, sympy.Mul) else max(sizes) + 1


def _digits(number: int) -> float:
    return max(1.0, abs(number).bit_length() * log10(2))


def _power_size(base: float, exponent: Any, exponent_size: float) -> float:
    if isinstance(exponent, sympy.Rational):
        return base * max(1.0, float(min(abs(exponent), sympy.Integer(10) ** 9)))
    return inf if exponent_size > 7 else base * 10**exponent_size


def exact_value(tree: Any) -> Fraction | None:
    """The value of a rational tree, computed in whole numbers; None for any other.

    >>> exact_value(tree_of("2^{10}-\\\\frac{1}{2}"))
    Fraction(2047, 2)
    """
    if isinstance(tree, sympy.Rational):
        return Fraction(tree.p, tree.q)
    if not isinstance(tree, tuple(_EXACT)):
        return None
    values = [exact_value(part) for part in tree.args]
    known = [value for value in values if value is not None]
    if len(known) < len(values):
        return None
    return next(compute for kind, compute in _EXACT.items() if isinstance(tree, kind))(known)


def _product(values: list[Fraction]) -> Fraction:
    product = Fraction(1)
    for value in values:
        product *= value
    return product


def _power(values: list[Fraction]) -> Fraction | None:
    base, exponent = values
    impossible = base == 0 and exponent < 0
    return None if exponent.denominator != 1 or impossible else base ** int(exponent)


def _factorial(values: list[Fraction]) -> Fraction | None:
    whole = values[0].denominator == 1 and values[0] >= 0
    return Fraction(int(sympy.factorial(int(values[0])))) if whole else None


_EXACT: dict[Any, Any] = {
    sympy.Add: lambda values: sum(values, Fraction(0)),
    sympy.Mul: _product,
    sympy.Pow: _power,
    sympy.Abs: lambda values: abs(values[0]),
    sympy.UnevaluatedExpr: lambda values: values[0],
    sympy.factorial: _factorial,
}
