"""The options of an environment: checked values, and a mapping turned into the dataclass."""

import dataclasses
from collections.abc import Iterable, Mapping
from typing import Any, TypeVar, cast, get_type_hints

from pydantic import TypeAdapter, ValidationError

from cotrain.config.faults import ConfigurationError, Fault, show
from cotrain.config.keys import nearest

Built = TypeVar("Built")


def require(key: str, value: object, holds: bool, allowed: str) -> None:
    """Raises a ConfigurationError with the key, the value and what is allowed, unless it holds.

    >>> require("size", 1, 1 >= 2, "must be an integer from 2 to 64")
    Traceback (most recent call last):
    cotrain.config.faults.ConfigurationError: environment.options.size = 1: \
must be an integer from 2 to 64
    """
    if not holds:
        raise ConfigurationError([Fault(f"environment.options.{key}", show(value), allowed)])


def require_one_of(key: str, value: object, allowed: Iterable[str]) -> None:
    """The same for a value out of a few.

    >>> require_one_of("view", "txt", ("text", "compact"))
    Traceback (most recent call last):
    cotrain.config.faults.ConfigurationError: environment.options.view = "txt": \
must be "text" or "compact"
    """
    values = list(allowed)
    require(key, value, value in values, f"must be {' or '.join(map(show, values))}")


def build_options(options_class: type[Built], values: Mapping[str, Any]) -> Built:
    """The frozen options from a configuration's mapping; lists become tuples.

    Raises ConfigurationError, one line a fault: an unknown key with the allowed and the nearest
    one, a value of another type, or else what the options themselves refuse.

    >>> @dataclasses.dataclass(frozen=True)
    ... class Options:
    ...     size: int = 10
    >>> build_options(Options, {"size": 4})
    Options(size=4)
    >>> build_options(Options, {"sise": 4})
    Traceback (most recent call last):
    cotrain.config.faults.ConfigurationError: environment.options.sise = 4: \
unknown option, allowed are size; nearest known: size
    """
    names = [field.name for field in dataclasses.fields(cast("Any", options_class))]
    hints = get_type_hints(options_class)
    frozen = {key: _frozen(value) for key, value in values.items()}
    faults = [_unknown(key, value, names) for key, value in frozen.items() if key not in names]
    for key in names:
        faults += _mistyped(key, frozen[key], hints[key]) if key in frozen else []
    if faults:
        raise ConfigurationError(faults)
    return options_class(**frozen)


def _unknown(key: str, value: object, names: list[str]) -> Fault:
    allowed = f"unknown option, allowed are {', '.join(names)}"
    if not names:
        allowed = "this environment has no options"
    return Fault(f"environment.options.{key}", show(value), allowed, nearest(key, names))


def _mistyped(key: str, value: object, hint: Any) -> list[Fault]:
    try:
        TypeAdapter(hint).validate_python(value, strict=True)
    except ValidationError as error:
        said = dict.fromkeys(detail["msg"].lower() for detail in error.errors())
        return [Fault(f"environment.options.{key}", show(value), ", or ".join(said))]
    return []


def _frozen(value: Any) -> Any:
    if isinstance(value, list):
        return tuple(_frozen(item) for item in cast("list[Any]", value))
    return value
