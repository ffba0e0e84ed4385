"""Finds what could be changed inside a value."""

import dataclasses
from collections.abc import Iterator, Mapping
from enum import Enum
from pathlib import PurePath
from types import FunctionType, MappingProxyType, ModuleType
from typing import Any, cast

_ATOMS = (
    type(None),
    bool,
    int,
    float,
    complex,
    str,
    bytes,
    range,
    Enum,
    type,
    PurePath,
    FunctionType,
    ModuleType,
)


def mutable_parts(value: object) -> dict[int, str]:
    """The mutable objects that a value holds, itself included: identity -> name of the type.

    Frozen dataclasses, tuples, frozen sets and read-only mappings are searched; any other object
    that is no atom counts as mutable.

    >>> list(mutable_parts((1, ("a", [2]))).values())
    ['list']
    """
    found: dict[int, str] = {}
    seen: set[int] = set()
    waiting: list[object] = [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, _ATOMS) or id(item) in seen:
            continue
        seen.add(id(item))
        if not _is_frozen(item):
            found[id(item)] = type(item).__name__
        waiting.extend(_inside(item))
    return found


def is_frozen_dataclass(kind: type) -> bool:
    """Whether a type is a dataclass whose fields cannot be set."""
    parameters: Any = getattr(kind, "__dataclass_params__", None)
    return parameters is not None and bool(parameters.frozen)


def _is_frozen(item: object) -> bool:
    return is_frozen_dataclass(type(item)) or isinstance(item, (tuple, frozenset, MappingProxyType))


def _inside(item: object) -> Iterator[object]:
    if isinstance(item, Mapping):
        mapping = cast("Mapping[object, object]", item)
        yield from [*mapping.keys(), *mapping.values()]
    elif isinstance(item, (tuple, list, set, frozenset)):
        yield from cast("tuple[object, ...]", item)
    elif dataclasses.is_dataclass(item):
        yield from [getattr(item, field.name) for field in dataclasses.fields(item)]
    else:
        yield from vars(item).values() if hasattr(item, "__dict__") else ()
