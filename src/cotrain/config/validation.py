"""From plain values to a `Config`, or to every fault in them."""

from collections.abc import Mapping, Sequence
from typing import cast

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from cotrain.config.availability import unavailable
from cotrain.config.conflicts import conflicts
from cotrain.config.faults import ConfigurationError, Fault, dotted, show
from cotrain.config.keys import key_at, names_in, nearest_key
from cotrain.config.schema import Config
from cotrain.config.values import table_of


def validated(values: Mapping[str, object]) -> Config:
    """The configuration that these nested values make, defaults filled in.

    Raises ConfigurationError with all faults, one a key: of the schema, of this version, and,
    where the schema finds none, between keys.

    >>> validated({"run": {"steps": 3}}).run.steps
    3
    """
    try:
        config = Config.model_validate(dict(values))
    except ValidationError as error:
        of_schema = [_fault(detail, values) for detail in error.errors()]
        raise ConfigurationError(_one_a_key([*of_schema, *unavailable(values)])) from None
    faults = _one_a_key([*unavailable(values), *conflicts(config)])
    if faults:
        raise ConfigurationError(faults)
    return config


def _one_a_key(faults: Sequence[Fault]) -> list[Fault]:
    """The first fault of each key: a union reports one for each of its members."""
    return list({fault.key: fault for fault in reversed(faults)}.values())[::-1]


def _fault(detail: ErrorDetails, values: Mapping[str, object]) -> Fault:
    path, got = _follow(detail["loc"], values)
    if detail["type"] == "extra_forbidden":
        return _unknown(tuple(str(part) for part in path), got)
    if detail["loc"][-1] == "[key]":
        allowed = "the name must consist of letters, digits, _ and -, and not start with -"
        return Fault(dotted(path), show(got), allowed)
    return Fault(dotted(path), show(got), _allowed(path))


def _allowed(path: Sequence[str | int]) -> str:
    key = key_at(path)
    if key is None:
        return "must be a table of sections"
    inside = len(path) > len(key.path)
    return f"{dotted(key.path)} must be {key.allowed}" if inside else f"must be {key.allowed}"


def _unknown(path: tuple[str, ...], got: object) -> Fault:
    *parent, _ = path
    where = f"[{dotted(parent)}] has" if parent else "the sections are"
    allowed = f"unknown key; {where} {', '.join(names_in(parent))}"
    return Fault(dotted(path), show(got), allowed, nearest=nearest_key(path))


def _follow(
    location: Sequence[str | int], values: Mapping[str, object]
) -> tuple[list[str | int], object]:
    """The part of a location that leads through the values, and the value at its end.

    What follows it names the member of a union that did not fit.
    """
    path: list[str | int] = []
    node: object = values
    for part in location:
        table, items = table_of(node), _items_of(node)
        if isinstance(part, str) and part in table:
            node = table[part]
        elif isinstance(part, int) and part < len(items):
            node = items[part]
        else:
            break
        path.append(part)
    return path, node


def _items_of(value: object) -> Sequence[object]:
    return cast("Sequence[object]", value) if isinstance(value, list | tuple) else ()
