"""A resolved configuration: read back from its run folder, changed, and compared."""

import json
from collections.abc import Iterator, Mapping
from typing import NamedTuple, cast

from cotrain.config.faults import dotted
from cotrain.config.overrides import overridden
from cotrain.config.schema import Config
from cotrain.config.validation import validated


class Change(NamedTuple):
    """A key whose value differs; None where a side has none."""

    key: str
    old: object
    new: object


def config_from_json(values: Mapping[str, object]) -> Config:
    """The configuration that `config.json` holds, as `model_dump(mode="json")` wrote it.

    Raises ConfigurationError as `load_config` does.

    >>> config_from_json(Config().model_dump(mode="json")) == Config()
    True
    """
    return validated(values)


def replaced(config: Config, overrides: Mapping[str, object]) -> Config:
    """A copy with other values, checked like any configuration.

    >>> replaced(Config(), {"model.dtype": "float32"}).model.dtype
    'float32'
    """
    return validated(overridden(config.model_dump(mode="json"), overrides))


def difference(old: Config, new: Config) -> list[Change]:
    """The keys whose values differ, in the order of the schema.

    >>> difference(Config(), replaced(Config(), {"run.steps": 80}))
    [Change(key='run.steps', old=50, new=80)]
    """
    before, after = _leaves(old), _leaves(new)
    keys = dict.fromkeys([*before, *after])
    changes = [Change(key, before.get(key), after.get(key)) for key in keys]
    # As JSON text, because True == 1 in Python.
    return [c for c in changes if json.dumps(c.old) != json.dumps(c.new)]


def _leaves(config: Config) -> dict[str, object]:
    return dict(_flat(config.model_dump(mode="json"), ()))


def _flat(values: Mapping[str, object], above: tuple[str, ...]) -> Iterator[tuple[str, object]]:
    for name, value in values.items():
        path = (*above, name)
        if isinstance(value, Mapping):
            yield from _flat(cast("Mapping[str, object]", value), path)
        else:
            yield dotted(path), value
