"""Values as plain data: what crosses from a program's process into another one.

Only values of exactly the built-in types cross, and the containers of `collections` as those they
stand for, so that no object of the program ever meets a comparison outside its process.
"""

import json
import sys
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

SCALARS = (bool, int, float, str, type(None))
MAPPINGS = (dict, defaultdict, OrderedDict, Counter)


class NotPlainError(TypeError):
    """A value, or a part of it, is of a type that does not cross."""


@contextmanager
def numbers_of_any_size() -> Iterator[None]:
    """Whole numbers of any length can be read and written here; elsewhere Python limits them."""
    before = sys.get_int_max_str_digits()
    sys.set_int_max_str_digits(0)
    try:
        yield
    finally:
        sys.set_int_max_str_digits(before)


def json_text(value: object) -> str:
    """The value as JSON: tuples as lists, sets as sorted lists, keys as text.

    >>> json_text((1, {3, 2}, {4: "four"}))
    '[1, [2, 3], {"4": "four"}]'
    >>> json_text(object())
    Traceback (most recent call last):
    NotPlainError: a value of type object
    """
    with numbers_of_any_size():
        return json.dumps(_as_json(value))


def tagged_text(value: object) -> str:
    """The value as JSON that keeps tuples, sets, bytes and keys of any type apart.

    >>> tagged_text((1, [2]))
    '{"tuple": [1, [2]]}'
    """
    with numbers_of_any_size():
        return json.dumps(_tagged(value))


def untagged(text: str) -> Any:
    """The value that `tagged_text` wrote; any other text raises an exception.

    >>> untagged(tagged_text({(1, 2): {3}, "b": b"x"}))
    {(1, 2): {3}, 'b': b'x'}
    """
    with numbers_of_any_size():
        return _untagged(json.loads(text))


def _as_json(value: Any) -> Any:
    kind = type(value)
    if kind in SCALARS:
        return value
    if kind in (list, tuple, deque):
        return [_as_json(item) for item in value]
    if kind in (set, frozenset):
        return _in_order([_as_json(item) for item in value])
    if kind in MAPPINGS and len({_key_text(key) for key in value}) == len(value):
        return {key: _as_json(item) for key, item in value.items()}
    raise NotPlainError(f"a value of type {kind.__name__}")


def _key_text(key: Any) -> str:
    """A key as JSON spells it: one text for two keys would lose a value."""
    if type(key) not in SCALARS:
        raise NotPlainError(f"a key of type {type(key).__name__}")
    return key if type(key) is str else json.dumps(key)


def _in_order(values: list[Any]) -> list[Any]:
    try:
        return sorted(values)
    except TypeError:
        return sorted(values, key=repr)


def _tagged(value: Any) -> Any:
    kind = type(value)
    if kind in SCALARS:
        return value
    if kind is list:
        return [_tagged(item) for item in value]
    if kind in MAPPINGS:
        return {"dict": [[_tagged(key), _tagged(item)] for key, item in value.items()]}
    if kind in (tuple, set, frozenset, deque):
        return {kind.__name__: [_tagged(item) for item in value]}
    if kind is bytes:
        return {"bytes": value.hex()}
    if kind is complex:
        return {"complex": [value.real, value.imag]}
    raise NotPlainError(f"a value of type {kind.__name__}")


CONTAINERS: dict[str, Callable[..., Any]] = {
    "tuple": tuple,
    "set": set,
    "frozenset": frozenset,
    "deque": deque,
    "dict": dict,
}


def _untagged(value: Any) -> Any:
    if isinstance(value, list):
        return [_untagged(item) for item in value]
    if not isinstance(value, dict):
        return value
    ((tag, content),) = value.items()
    if tag == "bytes":
        return bytes.fromhex(content)
    if tag == "complex":
        return complex(*content)
    return CONTAINERS[tag](_untagged(item) for item in content)
