"""What the schema knows and this version cannot do yet: refused, never ignored."""

from collections.abc import Mapping
from typing import NamedTuple

from cotrain.config.faults import Fault, show
from cotrain.config.values import table_of


class Limit(NamedTuple):
    """A key and the values of it that work in this version; any other is refused."""

    key: str
    works: tuple[object, ...]


LIMITS = (
    Limit("model.gradient_checkpointing", (False,)),
    Limit("sampling.engine", ("local",)),
    Limit("algorithm.ratio_cap", (2.0,)),
    Limit("cluster", (None,)),
    Limit("logging.tensorboard", (False,)),
    Limit("logging.wandb", (False,)),
    Limit("logging.trackio", (False,)),
)


def unavailable(values: Mapping[str, object]) -> list[Fault]:
    """A fault for every value that this version cannot honour.

    >>> print(unavailable({"sampling": {"engine": "vllm"}})[0])
    sampling.engine = "vllm": not available in this version; allowed: "local"
    """
    given = ((limit, _value_at(values, limit)) for limit in LIMITS)
    return [
        Fault(limit.key, show(value), f"not available in this version; allowed: {works(limit)}")
        for limit, value in given
        if value not in limit.works
    ]


def works(limit: Limit) -> str:
    """The values that work, as text.

    >>> works(Limit("cluster", (None,)))
    'not set'
    """
    return " or ".join(show(value) for value in limit.works)


def _value_at(values: Mapping[str, object], limit: Limit) -> object:
    """The value given for the key, else one that works."""
    node: object = values
    for part in limit.key.split("."):
        table = table_of(node)
        if part not in table:
            return limit.works[0]
        node = table[part]
    return node
