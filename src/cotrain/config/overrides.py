"""Values that replace those of a configuration file: `key=value` strings, or a mapping."""

import re
import tomllib
from collections.abc import Mapping, Sequence
from datetime import date, datetime, time
from typing import cast

from cotrain.config.faults import ConfigurationError, Fault
from cotrain.config.keys import is_table
from cotrain.config.values import table_of

_DATES = (date, datetime, time)
_ASSIGNMENT = re.compile(r"\s*[^=.\s]+(\.[^=.\s]+)*\s*=")


def parse_assignments(assignments: Sequence[str]) -> dict[str, object]:
    """The values of `key=value` strings by dotted key, of equal keys the last.

    The value is TOML, else the text as it stands. Raises ConfigurationError for a string without
    a key or an equals sign.

    >>> parse_assignments(["run.steps=5", "algorithm.follow=best", "environment.options={}"])
    {'run.steps': 5, 'algorithm.follow': 'best', 'environment.options': {}}
    """
    faults = [_no_assignment(text) for text in assignments if not _ASSIGNMENT.match(text)]
    if faults:
        raise ConfigurationError(faults)
    values: dict[str, object] = {}
    for text in assignments:
        key, _, value = text.partition("=")
        # Taken out first, so that the last assignment also comes last.
        values.pop(key.strip(), None)
        values[key.strip()] = _value(value.strip())
    return values


def by_key(overrides: Mapping[str, object] | Sequence[str]) -> Mapping[str, object]:
    """Overrides in either form as a mapping.

    Raises ConfigurationError as `parse_assignments` does.

    >>> by_key("run.steps=5"), by_key({"run.steps": 5})
    ({'run.steps': 5}, {'run.steps': 5})
    """
    if isinstance(overrides, Mapping):
        return overrides
    return parse_assignments([overrides] if isinstance(overrides, str) else overrides)


def overridden(values: Mapping[str, object], overrides: Mapping[str, object]) -> dict[str, object]:
    """The nested values with the overrides in their place; the arguments stay as they are.

    A key of the overrides is dotted or nested. Tables of known keys are merged; any other value
    is replaced as a whole, also one that is a table, such as `environment.options`.

    >>> overridden({"run": {"seed": 1, "steps": 9}}, {"run.steps": 3, "run": {"name": "a"}})
    {'run': {'seed': 1, 'steps': 3, 'name': 'a'}}
    """
    result = dict(values)
    for key, value in overrides.items():
        result = _placed(result, (), tuple(str(key).split(".")), value)
    return result


def _no_assignment(text: str) -> Fault:
    return Fault(" ".join(text.split()), "", "must be key=value, as in run.steps=50")


def _placed(
    table: Mapping[str, object], above: tuple[str, ...], path: tuple[str, ...], value: object
) -> dict[str, object]:
    """A copy of the table, found at `above`, with the value at a path inside it."""
    name, *rest = path
    here = (*above, name)
    if rest:
        return {**table, name: _placed(table_of(table.get(name)), here, tuple(rest), value)}
    if isinstance(value, Mapping) and is_table(here):
        inner = cast("Mapping[str, object]", value)
        return {**table, name: _merged(table_of(table.get(name)), here, inner)}
    return {**table, name: value}


def _merged(
    table: Mapping[str, object], above: tuple[str, ...], values: Mapping[str, object]
) -> dict[str, object]:
    merged = dict(table)
    for name, value in values.items():
        merged = _placed(merged, above, (name,), value)
    return merged


def _value(text: str) -> object:
    try:
        parsed = tomllib.loads(f"value = {text}")
    except tomllib.TOMLDecodeError:
        return text
    value = parsed["value"]
    # No key takes a date, but a name or a folder may look like one; a line break ends the value.
    return text if len(parsed) > 1 or isinstance(value, _DATES) else value
