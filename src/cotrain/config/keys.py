"""The known keys, read from the schema: what each allows, and which is nearest to a wrong one."""

import difflib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeAlias

from cotrain.config.faults import dotted, show
from cotrain.config.schema import Config

Path: TypeAlias = tuple[str, ...]
_Node: TypeAlias = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Key:
    """One key. A capital part of the path (`ROLE`, `POLICY`) stands for a name.

    `keys` are the names below it where it is a table of known keys; then `allowed` says so.
    """

    path: Path
    allowed: str
    default: object
    meaning: str
    keys: Path = ()

    def matches(self, path: Sequence[str | int]) -> bool:
        """Whether this key, or one inside its value, is at that path."""
        pairs = zip(self.path, path, strict=False)
        return len(self.path) <= len(path) and all(own == p or own.isupper() for own, p in pairs)


@cache
def known_keys() -> tuple[Key, ...]:
    """Every key in the order of the schema, a table before its keys.

    >>> next(key for key in known_keys() if key.path == ("run", "steps")).allowed
    'an integer >= 1'
    """
    schema = Config.model_json_schema()
    return tuple(_walk(schema, (), schema["$defs"]))


def key_at(path: Sequence[str | int]) -> Key | None:
    """The key at this path, or the one whose value it lies in; None where nothing is known.

    >>> key = key_at(["team", "roles", "planner", "temperature"])
    >>> dotted(key.path), key.allowed
    ('team.roles.ROLE.temperature', 'a number > 0 or not set')
    """
    found = [key for key in known_keys() if key.matches(path)]
    return max(found, key=lambda key: len(key.path), default=None)


def is_table(path: Sequence[str]) -> bool:
    """Whether the key at this path is a table of known keys or of names, and so no value.

    >>> is_table(["team", "roles"]), is_table(["environment", "options"])
    (True, False)
    """
    key = key_at(path)
    return key is not None and len(key.path) == len(path) and bool(key.keys)


def nearest(name: str, known: Iterable[str]) -> str:
    """The known name that is most like this one; empty when none is known.

    >>> nearest("plan_pth", ["sokoban", "plan_path"])
    'plan_path'
    """
    return next(iter(difflib.get_close_matches(name, list(known), n=1, cutoff=0.0)), "")


def nearest_key(path: Path) -> str:
    """The known key nearest to an unknown one: a sibling, else the same name elsewhere, else any.

    >>> nearest_key(("sampling", "candidate")), nearest_key(("sampling", "learning_rate"))
    ('sampling.candidates', 'optimizer.learning_rate')
    """
    *parent, name = path
    siblings = difflib.get_close_matches(name, names_in(parent), n=1)
    if siblings:
        return dotted([*parent, siblings[0]])
    elsewhere = [key.path for key in known_keys() if key.path[-1] == name]
    if elsewhere:
        return dotted(min(elsewhere, key=len))
    return nearest(dotted(path), (dotted(key.path) for key in known_keys()))


def names_in(parent: Sequence[str]) -> Path:
    """The names of the keys of one table, the sections for the empty path.

    >>> names_in(["optimizer"])[:2]
    ('learning_rate', 'weight_decay')
    """
    if not parent:
        return tuple(Config.model_fields)
    key = key_at(parent)
    return () if key is None or len(key.path) != len(parent) else key.keys


def _walk(table: _Node, path: Path, definitions: _Node) -> Iterator[Key]:
    for name, node in table["properties"].items():
        inner = _table_in(node, definitions)
        if inner is None:
            yield _value_key((*path, name), node, definitions)
        else:
            yield from _table_keys((*path, name), node, inner, definitions)


def _value_key(path: Path, node: _Node, definitions: _Node) -> Key:
    return Key(path, _allowed(node), node["default"], node["description"])


def _table_keys(path: Path, node: _Node, inner: _Node, definitions: _Node) -> Iterator[Key]:
    names = tuple(inner["properties"])
    allowed = f"a table with the keys {', '.join(names)}"
    meaning = inner["description"].split("\n\n>>>")[0]
    default = node.get("default")
    if "one_per" in node:
        of_names = f"a table of tables, one a {node['one_per'].lower()}"
        yield Key(path, of_names, default, node["description"], keys=(node["one_per"],))
        path, default = (*path, node["one_per"]), None
    yield Key(path, allowed, default, meaning, keys=names)
    yield from _walk(inner, path, definitions)


def _table_in(node: _Node, definitions: _Node) -> _Node | None:
    """The table of known keys that a node refers to, itself or one a name."""
    patterns = list(node.get("patternProperties", {}).values())
    for option in [node, *node.get("anyOf", ()), *patterns]:
        target = definitions.get(str(option.get("$ref")).rpartition("/")[2], {})
        if "properties" in target:
            return target
    return None


def _allowed(node: _Node) -> str:
    if "anyOf" in node:
        return " or ".join(_allowed(option) for option in node["anyOf"])
    if "enum" in node:
        return " or ".join(show(value) for value in node["enum"])
    if "const" in node:
        return show(node["const"])
    bounds = [f"{sign} {node[name]}" for name, sign in _BOUNDS.items() if name in node]
    return f"{_word(node)} {' and '.join(bounds)}".rstrip()


def _word(node: _Node) -> str:
    if "pattern" in node:
        return "a name of letters, digits, _ and -"
    if node.get("minLength"):
        return "a non-empty text"
    return _WORDS[node["type"]]


_BOUNDS = {"minimum": ">=", "exclusiveMinimum": ">", "maximum": "<=", "exclusiveMaximum": "<"}
_WORDS = {
    "integer": "an integer",
    "number": "a number",
    "boolean": "true or false",
    "null": "not set",
    "array": "a list of non-empty texts",
    "object": "a table of texts, finite numbers, true or false, lists and tables",
}
