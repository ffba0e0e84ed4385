"""From a reply, or from what a program printed, to the cells that it fills.

Two forms are read. A whole grid: rows of digits on lines of their own, with `/` between them, as a
list of lists, or all cells in order; cells that are left open are `0`, `.` or `_`, and blanks,
commas, `|` and ruled lines do not matter. Or fills: each a row, a column and a value, counted from
1, in brackets, on lines of their own, in a list, in objects or in words (`row 1, column 2: 3`, or
`r1c2 3`). 81 bare numbers are the cells of a 9 x 9 grid, not 27 fills.
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias, cast

from cotrain.environments.parsing import answers

Fill: TypeAlias = tuple[int, int, int]
"""Row, column and value, counted from 1; they may be out of range."""

_FENCE = re.compile(r"```[\w+-]*")
_LABELLED = re.compile(
    r"\br(?:ow)?[ \t]{0,3}[=:]?[ \t]{0,3}([0-9]{1,3})[ \t]{0,3},?[ \t]{0,3}"
    r"c(?:ol(?:umn)?)?[ \t]{0,3}[=:]?[ \t]{0,3}([0-9]{1,3})[ \t]{0,3},?"
    r"(?:[ \t]{0,3}(?:=|:|->|v(?:al(?:ue)?)?[ \t]{0,3}[=:]?)[ \t]{0,3}|[ \t]{1,3})([0-9]{1,3})\b",
    re.IGNORECASE,
)
_PLACE_AND_VALUE = re.compile(
    r"[(\[][ \t]{0,3}([0-9]{1,3})[ \t]{0,3}[, ][ \t]{0,3}([0-9]{1,3})[ \t]{0,3}[)\]]"
    r"[ \t]{0,3}(?:=|:|->)[ \t]{0,3}([0-9]{1,3})\b"
)
_ROW_LABEL = re.compile(r"^[ \t]{0,8}row[ \t]{0,3}[0-9]{1,2}[ \t]{0,3}[:=]", re.I | re.M)
_LIST_MARK = re.compile(r"^[ \t]{0,8}(?:[0-9]{1,3}[.)]|[-*])[ \t]", re.MULTILINE)
_RULED_LINE = re.compile(r"^[-+=| \t]*$", re.MULTILINE)
_INNERMOST = re.compile(r"[\[({]([^\[\](){}]*)[\])}]")
_AROUND_GROUPS = re.compile(r"(?:[\s,;:/\[\](){}]|and|then)*", re.IGNORECASE)
_GROUP_ENDS = re.compile(r"[\n/;]")
_TOKEN_ENDS = re.compile(r"[\s,|]+")
_WHOLE_NUMBER = re.compile(r"-?[0-9]+")
_CELLS = re.compile(r"[0-9._]+")
_KEYS = (("row", "r"), ("column", "col", "c"), ("value", "val", "v", "digit", "number"))


def parse_fills(reply: str, size: int) -> tuple[Fill, ...] | None:
    """The fills of the last answer tag that holds a grid or fills and nothing else, or None.

    What fills nothing, such as a grid of open cells, is no answer.

    >>> parse_fills("<answer>(1, 2, 3)</answer> no: <answer>1...\\n....\\n...4\\n....</answer>", 4)
    ((1, 1, 1), (3, 4, 4))
    >>> parse_fills("<answer> r1c2 4 r3c1 2 </answer>", 4)
    ((1, 2, 4), (3, 1, 2))
    >>> parse_fills("The first cell is 4.", 4) is None
    True
    """
    read = (fills_in(answer, size) for answer in reversed(answers(reply)))
    return next((fills for fills in read if fills), None)


def parse_printed(output: str, size: int) -> tuple[Fill, ...] | None:
    """The fills that a program printed: in a tag, or alone, or on its last lines, or None.

    >>> parse_printed("Solved in 3 steps:\\n1234\\n3412\\n2143\\n4321\\n", 4)[4:6]
    ((2, 1, 3), (2, 2, 4))
    """
    lines = [line for line in output.splitlines() if line.strip()]
    tails = ("\n".join(lines[-count:]) for count in (len(lines), size, 1))
    read = (fills_in(text, size) for text in tails)
    return parse_fills(output, size) or next((fills for fills in read if fills), None)


def fills_in(text: str, size: int) -> tuple[Fill, ...] | None:
    """The fills of a text that holds a grid or fills and nothing else, or None.

    >>> fills_in("[[1, 2, 4], [2, 1, 3]]", 4)
    ((1, 2, 4), (2, 1, 3))
    >>> fills_in('{"row": 1, "column": 2, "value": 4}', 4), fills_in("r2c1 = 3", 4)
    (((1, 2, 4),), ((2, 1, 3),))
    """
    text = _FENCE.sub("\n", text).strip().strip("\"'`")
    if text.startswith(("[", "{")):
        try:
            return _of_json(json.loads(text), size)
        except (ValueError, RecursionError):
            pass
    text = _LABELLED.sub(r"(\1 \2 \3)", _PLACE_AND_VALUE.sub(r"(\1 \2 \3)", text))
    text = _RULED_LINE.sub("", _ROW_LABEL.sub("", text))
    return _of_text(text, size) or _of_text(_LIST_MARK.sub("", text), size)


def grid_as_fills(cells: Sequence[int], size: int) -> tuple[Fill, ...]:
    """The filled cells of a grid as fills.

    >>> grid_as_fills((0, 3) + (0,) * 14, 4)
    ((1, 2, 3),)
    """
    return tuple(
        (cell // size + 1, cell % size + 1, value) for cell, value in enumerate(cells) if value
    )


def _of_text(text: str, size: int) -> tuple[Fill, ...] | None:
    groups = _groups(text)
    return None if groups is None else _of_groups(groups, size)


def _groups(text: str) -> list[list[str]] | None:
    """The tokens of each innermost bracket, or else of each line; None for words around brackets.

    Commas, `|` and blanks part the tokens.
    """
    parts: Iterable[str] = _INNERMOST.findall(text)
    if parts and not _AROUND_GROUPS.fullmatch(_INNERMOST.sub("", text)):
        return None
    parts = parts or _GROUP_ENDS.split(text)
    tokens = ([token for token in _TOKEN_ENDS.split(part) if token] for part in parts)
    return [group for group in tokens if group]


def _of_groups(groups: Sequence[Sequence[str]], size: int) -> tuple[Fill, ...] | None:
    if grid := _grid_of(groups, size):
        return grid_as_fills(grid, size)
    numbers = [token for group in groups for token in group]
    whole = all(_WHOLE_NUMBER.fullmatch(token) for token in numbers)
    if not whole or any(len(group) % 3 for group in groups):
        return None
    return _triples([int(token[:9]) for token in numbers])


def _grid_of(groups: Sequence[Sequence[str]], size: int) -> list[int] | None:
    """All cells, if there are as many: in `size` groups of `size` cells, or in one group."""
    if not all(_CELLS.fullmatch(token) for group in groups for token in group):
        return None
    rows = ["".join(group) for group in groups]
    if [len(row) for row in rows] not in ([size] * size, [size * size]):
        return None
    return [int(cell) if cell.isdigit() else 0 for cell in "".join(rows)]


def _triples(numbers: Sequence[int]) -> tuple[Fill, ...]:
    return tuple(zip(numbers[::3], numbers[1::3], numbers[2::3], strict=True))


def _of_json(value: Any, size: int) -> tuple[Fill, ...] | None:
    if isinstance(value, dict):
        inside = cast("Mapping[str, Any]", value)
        lists = [item for item in inside.values() if isinstance(item, list)]
        return _of_json(lists[0] if len(lists) == 1 else [value], size) if inside else None
    if not isinstance(value, list):
        return None
    items = cast("list[Any]", value)
    groups = [_tokens(item) for item in items]
    if all(group is not None for group in groups):
        return _of_groups([group for group in groups if group], size)
    flat = [_token(item) for item in items]
    tokens = [token for token in flat if token is not None]
    return _of_groups([tokens], size) if len(tokens) == len(flat) else None


def _tokens(item: Any) -> list[str] | None:
    """The tokens of a row, of a fill, or of an object that is a fill."""
    if isinstance(item, str):
        return [token for token in _TOKEN_ENDS.split(item) if token] if len(item) > 1 else None
    if isinstance(item, dict):
        named = {str(key).lower(): value for key, value in cast("dict[str, Any]", item).items()}
        item = [next((named[key] for key in keys if key in named), None) for keys in _KEYS]
        if None in item:
            return None
    if not isinstance(item, list):
        return None
    tokens = [_token(value) for value in cast("list[Any]", item)]
    return [token or "" for token in tokens] if None not in tokens else None


def _token(value: Any) -> str | None:
    """A number or a cell of a JSON list as a token; null is an open cell."""
    if value is None:
        return "0"
    if isinstance(value, bool) or not isinstance(value, int | str):
        return None
    token = str(value).strip()
    return token or "0"
