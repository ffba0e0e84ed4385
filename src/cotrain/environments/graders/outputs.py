"""Whether what a program printed, or a function returned, is what was expected.

Nothing here runs anything: outputs are texts, returned values are JSON texts that were written
outside the program's process. The rules for texts: line by line and token by token; blanks at line
ends and blank lines at the end do not count, nor does CRLF; whole numbers and words are equal as
they are written; other numbers within 1e-6, absolute or relative; NaN equals nothing.
"""

import json
import math
import re
from collections.abc import Mapping, Sequence
from decimal import Context, Decimal
from typing import Any, cast

from cotrain.core.episode import Json

TOLERANCE = 1e-6
MAX_INT_DIGITS = 4_000

_WHOLE = re.compile(r"[+-]?[0-9]+")
_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
_NAN = re.compile(r"[+-]?nan", re.IGNORECASE)
_EXACT = Context(prec=400, traps=[])
_JSON = json.JSONDecoder()
_BLANKS = re.compile(r"\s*")


def same_output(printed: str, expected: str) -> bool:
    """Whether a program printed what was expected: all of it, and nothing else.

    >>> same_output("1 2 3 \\r\\n0.333333\\n\\n", "1 2 3\\n0.33333333")
    True
    >>> same_output("10000000000000001", "10000000000000002"), same_output("0.1", "0.1 0.2")
    (False, False)
    >>> same_output("nan", "nan"), same_output("None", "")
    (False, False)
    """
    lines, wanted = _lines(printed), _lines(expected)
    return len(lines) == len(wanted) and all(map(_same_line, lines, wanted))


def normalised(text: str) -> str:
    """A text without what does not count when outputs are compared.

    >>> normalised("1  2 \\r\\n3\\n\\n")
    '1 2\\n3'
    """
    return "\n".join(" ".join(line) for line in _lines(text))


def same_token(printed: str, expected: str) -> bool:
    """Whether two words or numbers are equal.

    A whole number and another number are equal within 1e-6, absolute only, so that nothing large
    passes by being near.

    >>> same_token("0011", "11"), same_token("2.0", "2"), same_token("5.5", "-5.5")
    (False, True, False)
    """
    if _NAN.fullmatch(printed) or _NAN.fullmatch(expected):
        return False
    if printed == expected:
        return True
    whole = [bool(_WHOLE.fullmatch(token)) for token in (printed, expected)]
    if all(whole) or not (_is_finite(printed) and _is_finite(expected)):
        return False
    if any(whole):
        apart = _EXACT.subtract(_decimal(printed), _decimal(expected))
        return abs(apart) <= Decimal(str(TOLERANCE))
    return math.isclose(float(printed), float(expected), rel_tol=TOLERANCE, abs_tol=TOLERANCE)


def same_value(returned: Json, expected: Json) -> bool:
    """Whether a returned value is the expected one, both as JSON values.

    As in Python, and as published graders have it, true equals 1 and 2.0 equals 2. Numbers that are
    not both whole are equal within 1e-6, in lists and objects too; NaN equals nothing. Order and
    length of a list count; keys of objects are texts, as JSON has them.

    >>> same_value((0.1 + 0.2, "a"), (0.3, "a")), same_value((1, 2), (2, 1))
    (True, False)
    >>> same_value(None, ""), same_value(float("nan"), float("nan"))
    (False, False)
    """
    if isinstance(returned, Mapping) and isinstance(expected, Mapping):
        return returned.keys() == expected.keys() and all(
            same_value(returned[key], expected[key]) for key in expected
        )
    if isinstance(returned, list | tuple) and isinstance(expected, list | tuple):
        pairs = zip(returned, expected, strict=False)
        return len(returned) == len(expected) and all(same_value(*pair) for pair in pairs)
    if isinstance(returned, float) or isinstance(expected, float):
        return _same_number(returned, expected)
    return returned == expected


def value_matches(returned: str | None, allowed: Sequence[str]) -> bool:
    """Whether a returned value, as JSON text, is one of the expected ones, as JSON texts.

    None, which says that there is no value, matches nothing.

    >>> value_matches("[8, 9]", ["[8, 9]"]), value_matches(None, ["null"])
    (True, False)
    """
    if returned is None:
        return False
    try:
        value = json.loads(returned, parse_int=_whole)
        return any(same_value(value, json.loads(text, parse_int=_whole)) for text in allowed)
    except (ValueError, RecursionError):
        return False


def arguments_of(text: str) -> list[Json]:
    """The arguments of a call from text: JSON values one after another, usually one a line.

    Raises ValueError for anything else.

    >>> arguments_of("[1, 2, 3]\\n1")
    [[1, 2, 3], 1]
    """
    found: list[Json] = []
    place = _after_blanks(text, 0)
    while place < len(text):
        try:
            value, end = _JSON.raw_decode(text, place)
        except RecursionError as error:
            raise ValueError("nested too deeply") from error
        found.append(cast("Json", value))
        place = _after_blanks(text, end)
        if place == end < len(text):
            after = text[end : end + 20]
            raise ValueError(f"{after!r} follows a value: allowed is one JSON value a line")
    return found


def expected_values(outputs: Sequence[Any]) -> list[tuple[str, ...]]:
    """For each expected value of a problem the JSON texts that are right.

    Where every one of them is a list of one item, the item alone is right as well: a published
    form (APPS) wraps each output so.

    >>> expected_values([[1], [0]])
    [('[1]', '1'), ('[0]', '0')]
    >>> expected_values([[1], [0, 2]])
    [('[1]',), ('[0, 2]',)]
    """
    lists = [output for output in outputs if isinstance(output, list | tuple)]
    wrapped = len(lists) == len(outputs) and all(len(output) == 1 for output in lists)
    if wrapped:
        return [(json.dumps(output), json.dumps(output[0])) for output in lists]
    return [(json.dumps(output),) for output in outputs]


def _after_blanks(text: str, place: int) -> int:
    blanks = _BLANKS.match(text, place)
    assert blanks is not None
    return blanks.end()


def _lines(text: str) -> list[list[str]]:
    lines = [line.split() for line in text.replace("\r\n", "\n").split("\n")]
    while lines and not lines[-1]:
        lines.pop()
    return lines


def _is_finite(token: str) -> bool:
    """Whether a token is a number, and one that a float can hold."""
    return _NUMBER.fullmatch(token) is not None and math.isfinite(float(token))


def _decimal(token: str) -> Decimal:
    """A finite number, exactly; 0 for one too small for a float, whatever its exponent."""
    return Decimal(token) if float(token) else Decimal(0)


def _whole(digits: str) -> int | Decimal:
    """A whole number of any length: Python refuses to read very long ones as an int."""
    return int(digits) if len(digits) <= MAX_INT_DIGITS else Decimal(digits)


def _same_line(printed: Sequence[str], expected: Sequence[str]) -> bool:
    return len(printed) == len(expected) and all(map(same_token, printed, expected))


def _same_number(returned: Json, expected: Json) -> bool:
    if not isinstance(returned, int | float) or not isinstance(expected, int | float):
        return False
    try:
        return returned == expected or (
            math.isfinite(returned)
            and math.isfinite(expected)
            and math.isclose(returned, expected, rel_tol=TOLERANCE, abs_tol=TOLERANCE)
        )
    except OverflowError:
        return False
