r"""Plain numbers as exact fractions: `1,234.5`, `09`, `3\frac{1}{2}`, `1.2\times10^{-5}`."""

import re
from dataclasses import dataclass
from fractions import Fraction

MAX_DIGITS = 4000
MAX_TENS = 4000
"""Longer literals and powers of ten are no plain numbers."""

_DIGITS = r"(?:\d{1,3}(?:(?:,\d{3})+|(?: \d{3})+)(?!\d)|\d+)"
_DECIMAL = rf"(?:{_DIGITS}(?:\.\d*)?|\.\d+)"
_DECIMAL_ONLY = re.compile(rf"(?P<whole>{_DIGITS})?(?:\.(?P<part>\d*))?(?:[eE](?P<tens>[-+]?\d+))?")
_SCIENTIFIC = re.compile(
    rf"(?P<number>{_DECIMAL})\s*\\(?:times|cdot)\s*10\s*\^\s*(?:\{{\s*(-?\d+)\s*\}}|(\d))"
)
_QUOTIENT = re.compile(
    rf"\\frac\s*\{{\s*(-?{_DECIMAL})\s*\}}\s*\{{\s*(-?{_DECIMAL})\s*\}}"
    rf"|({_DECIMAL})\s*/\s*(-?{_DECIMAL})"
)
_MIXED = re.compile(
    r"(?P<whole>\d+)\s*(?:\\frac\s*\{\s*(\d+)\s*\}\s*\{\s*(\d+)\s*\}|(?<=\s)(\d+)\s*/\s*(\d+))"
)
_REPEATING = re.compile(
    r"(?P<whole>\d*)\.(?P<once>\d*)\\(?:overline|bar|dot)\s*\{\s*(?P<again>\d+)\s*\}"
)


@dataclass(frozen=True, slots=True)
class Literal:
    """A plain number. `decimals` counts the digits after its point, None where it has none."""

    value: Fraction
    decimals: int | None = None
    digits: int = 0


def literal(text: str) -> Literal | None:
    r"""The number that this plain text writes out, or None.

    >>> literal("1,234.50")
    Literal(value=Fraction(2469, 2), decimals=2, digits=6)
    >>> literal(r"-3\frac{1}{2}").value, literal(r"0.\overline{36}").value
    (Fraction(-7, 2), Fraction(4, 11))
    >>> literal("1,23") is None, literal("x") is None
    (True, True)
    """
    sign, text = _signed(text)
    if len(text) > MAX_DIGITS or not text:
        return None
    found = _decimal(text) or _composed(text)
    if found is None or sign > 0:
        return found
    return Literal(-found.value, found.decimals, found.digits)


def _signed(text: str) -> tuple[int, str]:
    text, sign = text.strip(), 1
    while True:
        if text.startswith(("-", "+")):
            sign = -sign if text[0] == "-" else sign
            text = text[1:].strip()
        elif text.startswith("{") and text.endswith("}") and text.count("{") == 1:
            text = text[1:-1].strip()
        else:
            return sign, text


def _decimal(text: str) -> Literal | None:
    match = _DECIMAL_ONLY.fullmatch(text)
    if match is None or not (match["whole"] or match["part"]):
        return None
    whole, part = re.sub(r"\D", "", match["whole"] or ""), match["part"]
    tens = int(match["tens"] or 0)
    if abs(tens) > MAX_TENS:
        return None
    digits = (whole + (part or "")) or "0"
    value = Fraction(int(digits)) * Fraction(10) ** (tens - len(part or ""))
    if part is None and match["tens"] is None:
        return Literal(value)
    return Literal(value, len(part or "") - tens, len(digits.lstrip("0")))


def _composed(text: str) -> Literal | None:
    """Numbers made of several plain ones."""
    for pattern, value_of in _COMPOSED:
        match = pattern.fullmatch(text)
        if match is not None:
            value = value_of(match)
            return None if value is None else Literal(value)
    return None


def _scientific(match: re.Match[str]) -> Fraction | None:
    number, tens = _decimal(match["number"]), int(match[2] or match[3])
    if number is None or abs(tens) > MAX_TENS:
        return None
    return number.value * Fraction(10) ** tens


def _quotient(match: re.Match[str]) -> Fraction | None:
    over, under = (literal(text) for text in match.groups() if text is not None)
    if over is None or under is None or under.value == 0:
        return None
    return over.value / under.value


def _mixed(match: re.Match[str]) -> Fraction | None:
    over, under = (int(text) for text in match.groups()[1:] if text is not None)
    return None if under == 0 else int(match["whole"]) + Fraction(over, under)


def _repeating(match: re.Match[str]) -> Fraction:
    once, again = match["once"], match["again"]
    first = Fraction(int((match["whole"] + once) or "0"), 10 ** len(once))
    return first + Fraction(int(again), (10 ** len(again) - 1) * 10 ** len(once))


_COMPOSED = (
    (_MIXED, _mixed),
    (_QUOTIENT, _quotient),
    (_SCIENTIFIC, _scientific),
    (_REPEATING, _repeating),
)
