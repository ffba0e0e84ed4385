"""Rows of JSONL, JSON and Parquet files, in a folder here or in a data set of the Hub.

Every row knows the file and the line that it came from, so that a fault names file, line and field.
"""

import gzip
import json
import re
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any, cast

from cotrain.config.faults import ConfigurationError, Fault, show

KEY = "environment.options.data"
SUFFIXES = (".jsonl", ".jsonl.gz", ".json", ".parquet")
_HALF = re.compile(r"\\u[dD][89a-fA-F]")
"""An escape that is one of a pair, or half a character: then nothing can be given that text."""


@dataclass(frozen=True, slots=True)
class Row:
    """One record as it was read. `line` counts from 1; in a Parquet file it is the row."""

    file: Path
    line: int
    values: Mapping[str, Any] = field(repr=False)

    def get(self, name: str, kind: type[Any], allowed: str) -> Any:
        """The field of this name. Raises ConfigurationError unless it is there and of this type.

        >>> row = Row(Path("tasks.jsonl"), 3, {"prompt": 5})
        >>> row.get("prompt", str, "it must be a text")
        Traceback (most recent call last):
        cotrain.config.faults.ConfigurationError: environment.options.data = "tasks.jsonl": \
line 3, field prompt is 5: it must be a text
        """
        if name not in self.values:
            raise self.fault(name, "is missing", allowed)
        value = self.values[name]
        if not isinstance(value, kind) or (isinstance(value, bool) and kind is int):
            raise self.fault(name, f"is {show(value)}", allowed)
        return value

    def text(self, name: str) -> str:
        """The field as a text that is not blank."""
        value = self.get(name, str, "it must be a text")
        if not value.strip():
            raise self.fault(name, "is blank", "it must be a text")
        return value

    def optional_text(self, name: str) -> str:
        """The field as a text; empty where it is missing or null."""
        return "" if self.values.get(name) is None else self.get(name, str, "it must be a text")

    def identity(self, name: str) -> str:
        """What the record calls itself in this field; file and line where it does not.

        >>> Row(Path("tasks.jsonl"), 3, {"id": None}).identity("id")
        'tasks 3'
        """
        own = self.values.get(name)
        return f"{self.file.stem} {self.line}" if own is None else str(own)

    def fault(self, name: str, found: str, allowed: str) -> ConfigurationError:
        """The error that names the file, the line and the field."""
        text = f"line {self.line}, field {name} {found}: {allowed}"
        return ConfigurationError([Fault(KEY, f'"{self.file}"', text)])


def find_files(source: str, patterns: Sequence[str]) -> list[Path]:
    """The files of a data source, in the order of their names.

    `source` is a file, a folder, or a data set of the Hub (`owner/name`, with `@REVISION` if a
    certain one is meant); `patterns` choose files of a folder or data set (`data/test-*.parquet`).
    Raises ConfigurationError where there is nothing.
    """
    try:
        path = Path(source).expanduser()
        is_file, is_folder = path.is_file(), path.is_dir()
    except (OSError, RuntimeError, ValueError) as error:
        raise _fault(source, f"must be a file, a folder or a data set: {error}") from error
    if is_file:
        if not path.name.endswith(SUFFIXES):
            raise _fault(source, f"must end in {', '.join(SUFFIXES)}")
        return [path]
    folder = path if is_folder else _downloaded(source, patterns)
    found = sorted({file for pattern in patterns for file in folder.glob(pattern)})
    if not found:
        raise _fault(source, f"has none of the files {', '.join(patterns)}")
    return found


def read_rows(files: Iterable[Path]) -> Iterator[Row]:
    """The rows of these files, one after another.

    Raises ConfigurationError for a file that cannot be read, and for a line that holds no object.
    """
    for file in files:
        reader = _read_parquet if file.name.endswith(".parquet") else _read_json
        try:
            yield from reader(file)
        except (OSError, EOFError, zlib.error) as error:
            raise _fault(str(file), f"must be a readable file: {error}") from error
        except UnicodeDecodeError as error:
            raise _fault(str(file), f"must be text in UTF-8: {error}") from error


def json_value(text: str) -> object:
    """The value of JSON text. Raises ValueError for what is no JSON, or no text in UTF-8.

    >>> json_value('["\\\\u00e9"]')
    ['é']
    >>> json_value('["\\\\ud800"]')
    Traceback (most recent call last):
    ValueError: it holds half a character, \\ud800
    """
    try:
        value: object = json.loads(text)
    except RecursionError as error:
        raise ValueError(str(error)) from error
    if _HALF.search(text):
        try:
            json.dumps(value, ensure_ascii=False).encode()
        except UnicodeEncodeError as error:
            half = ascii(error.object[error.start])[1:-1]
            raise ValueError(f"it holds half a character, {half}") from error
    return value


def _read_json(file: Path) -> Iterator[Row]:
    opened = gzip.open if file.name.endswith(".gz") else open
    with opened(file, "rt", encoding="utf-8-sig") as stream:
        if file.name.endswith(".json"):
            yield from _rows_of_list(file, stream.read())
            return
        for line, text in enumerate(stream, 1):
            if text.strip():
                yield _row(file, line, _parsed(file, line, text))


def _rows_of_list(file: Path, text: str) -> Iterator[Row]:
    values = _parsed(file, 1, text)
    if not isinstance(values, list):
        raise _fault(str(file), "must hold a JSON list of objects")
    for number, value in enumerate(cast("list[object]", values), 1):
        yield _row(file, number, value)


def _read_parquet(file: Path) -> Iterator[Row]:
    try:
        parquet = import_module("pyarrow.parquet")
    except ImportError as error:
        needed = 'needs pyarrow: pip install "cotrain[data]"'
        raise _fault(str(file), needed) from error
    arrow = import_module("pyarrow")
    try:
        with parquet.ParquetFile(file) as opened:
            line = 0
            for batch in opened.iter_batches():
                for values in _values_of(file, batch, line):
                    line += 1
                    yield Row(file, line, values)
    except arrow.ArrowException as error:
        raise _fault(str(file), f"must be a Parquet file: {error}") from error


def _values_of(file: Path, batch: Any, before: int) -> list[dict[str, Any]]:
    """The rows of a batch, of which `before` rows of the file come before.

    A date that Python has no form for is raised as one of several types, by pyarrow's own version.
    """
    try:
        return batch.to_pylist()
    except (ValueError, ArithmeticError, LookupError) as error:
        said = " ".join(str(error).split())
        rows = f"lines {before + 1} to {before + batch.num_rows}"
        raise _fault(str(file), f"{rows} hold a value that cannot be read: {said}") from error


def _parsed(file: Path, line: int, text: str) -> object:
    try:
        return json_value(text)
    except ValueError as error:
        raise _fault(str(file), f"line {line} is no JSON: {error}") from error


def _row(file: Path, line: int, value: object) -> Row:
    if not isinstance(value, dict):
        raise _fault(str(file), f"line {line} must hold an object, got {show(value)}")
    return Row(file, line, cast("dict[str, Any]", value))


def _downloaded(source: str, patterns: Sequence[str]) -> Path:
    name, _, revision = source.partition("@")
    try:
        hub = import_module("huggingface_hub")
    except ImportError as error:
        needed = 'is no file here; a data set of the Hub needs pip install "cotrain[data]"'
        raise _fault(source, needed) from error
    try:
        return Path(
            hub.snapshot_download(
                name, repo_type="dataset", revision=revision or None, allow_patterns=list(patterns)
            )
        )
    except (OSError, ValueError) as error:
        said = " ".join(str(error).split())
        raise _fault(source, f"is no file or folder here, and the Hub says: {said}") from error


def _fault(source: str, allowed: str) -> ConfigurationError:
    return ConfigurationError([Fault(KEY, f'"{source}"', allowed)])
