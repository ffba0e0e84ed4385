"""What is wrong with a configuration: one line a fault, all of them in one error."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import cast

MAX_SHOWN = 60
MAX_TOLD = 2_000

_BARE_NAME = re.compile(r"[A-Za-z0-9_-]+")


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault: the key (or the file), the value got, what is allowed, the nearest known key.

    `got` is text as `show` writes it; it and `nearest` are empty where there is none.

    >>> print(Fault("run.stps", "5", "unknown key", nearest="run.steps"))
    run.stps = 5: unknown key; nearest known: run.steps
    """

    key: str
    got: str
    allowed: str
    nearest: str = ""

    def __str__(self) -> str:
        subject = f"{self.key} = {self.got}" if self.got else self.key
        hint = f"; nearest known: {self.nearest}" if self.nearest else ""
        return f"{subject}: {self.allowed}{hint}"


class ConfigurationError(ValueError):
    """A configuration that cannot be used; `str()` is one line for each of its `faults`.

    >>> print(ConfigurationError([Fault("run.steps", "0", "must be an integer >= 1")]))
    run.steps = 0: must be an integer >= 1
    """

    def __init__(self, faults: Sequence[Fault]) -> None:
        self.faults = tuple(faults)
        super().__init__("\n".join(str(fault) for fault in self.faults))


def show(value: object) -> str:
    """A value as a configuration file would write it, on one line, cut at 60 characters.

    >>> show({"view": "text", "size": 6}), show(None), show(True)
    ('{view = "text", size = 6}', 'not set', 'true')
    """
    text = _toml(value)
    return text if len(text) <= MAX_SHOWN else f"{text[: MAX_SHOWN - 3]}..."


def told(error: BaseException) -> str:
    """The type and the message of what foreign code raised, as text that any file can hold.

    A message that cannot be had is named so, and a long one is cut.

    >>> told(KeyError("boom"))
    "KeyError: 'boom'"
    >>> class Speechless(Exception):
    ...     __str__ = None
    >>> told(Speechless())
    'Speechless: (its message raises TypeError)'
    """
    try:
        text = str(error)
    except Exception as another:  # noqa: BLE001 - an author's own __str__
        text = f"(its message raises {type(another).__name__})"
    if len(text) > MAX_TOLD:
        text = f"{text[:MAX_TOLD]}... ({len(text)} characters)"
    return f"{type(error).__name__}: {text}".encode(errors="backslashreplace").decode()


def dotted(path: Sequence[str | int]) -> str:
    """The path of a key as it is written.

    >>> dotted(["evaluation", "baselines", 1]), dotted(["team", "roles", "a.b"])
    ('evaluation.baselines[1]', 'team.roles."a.b"')
    """
    parts = [f"[{part}]" if isinstance(part, int) else f".{_name(part)}" for part in path]
    return "".join(parts).removeprefix(".")


def _name(name: str) -> str:
    return name if _BARE_NAME.fullmatch(name) else json.dumps(name, ensure_ascii=False)


def _toml(value: object) -> str:
    if value is None:
        return "not set"
    if isinstance(value, bool | str):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, Mapping):
        table = cast("Mapping[object, object]", value)
        pairs = (f"{_name(str(name))} = {_toml(item)}" for name, item in table.items())
        return f"{{{', '.join(pairs)}}}"
    if isinstance(value, list | tuple):
        items = cast("Sequence[object]", value)
        return f"[{', '.join(_toml(item) for item in items)}]"
    return " ".join(str(value).split())
