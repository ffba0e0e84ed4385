"""Rows as lines of JSON: one object a line, no NaN, nothing that only Python can read."""

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias, cast

from cotrain.runs.durable import RunFolderError, reported, whole_lines

Row: TypeAlias = dict[str, Any]


def encode_row(row: Mapping[str, object]) -> bytes:
    """One line of ASCII JSON with its newline; None is null.

    Raises ValueError for NaN and infinity, and TypeError for what JSON has no form for; both name
    the key.

    >>> encode_row({"step": 1, "success": None})
    b'{"step": 1, "success": null}\\n'
    >>> encode_row({"policy": {"loss": float("nan")}})
    Traceback (most recent call last):
    ValueError: policy.loss is nan; a run folder holds finite numbers, and null for a missing one
    """
    check_json(row)
    return json.dumps(row, allow_nan=False).encode() + b"\n"


def check_json(values: Mapping[str, object]) -> None:
    """Raises as `encode_row` does; `values` may be nested."""
    _check("", values)


def read_rows(path: Path) -> list[Row]:
    """The rows of a file, without a torn last line. A missing file has none.

    Raises `RunFolderError` naming the line when a whole line is not an object.
    """
    lines = enumerate(whole_lines(path), start=1)
    return [decode_row(path, number, line) for number, line in lines]


def decode_row(path: Path, number: int, line: bytes) -> Row:
    """One row; `path` and `number` (from 1) are for the error."""
    try:
        row = json.loads(line)
    except ValueError as error:
        raise _bad_line(path, number, str(error)) from error
    if not isinstance(row, dict):
        raise _bad_line(path, number, f"it is a {type(row).__name__}, not an object")
    return cast(Row, row)


def read_document(path: Path) -> Row:
    """The one object that a file holds.

    Raises `RunFolderError` naming the file when it cannot be read or holds something else.
    """
    with reported(path):
        text = path.read_bytes()
    try:
        return dict[str, Any](json.loads(text))
    except (ValueError, TypeError) as error:
        raise RunFolderError(
            f"{path} is no JSON object ({error}): restore it, or begin a new run with --run-dir"
        ) from error


def _bad_line(path: Path, number: int, reason: str) -> RunFolderError:
    return RunFolderError(
        f"{path}: line {number} cannot be read ({reason}). The program writes whole lines only, so "
        "something else changed the file: restore it, or remove that line"
    )


def _check(key: str, value: object) -> None:
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError(
            f"{key} is {value}; a run folder holds finite numbers, and null for a missing one"
        )
    for name, item in _items(key, value):
        _check(f"{key}.{name}".lstrip("."), item)


def _items(key: str, value: object) -> Iterable[tuple[object, object]]:
    if value is None or isinstance(value, bool | int | float | str):
        return ()
    if isinstance(value, Mapping):
        return cast(Mapping[object, object], value).items()
    if isinstance(value, list | tuple):
        return enumerate(cast(Sequence[object], value))
    raise TypeError(
        f"{key} is a {type(value).__name__}; a run folder holds numbers, text, lists and mappings "
        "(for a tensor or an array element, pass .item())"
    )
