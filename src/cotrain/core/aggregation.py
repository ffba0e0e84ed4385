"""How token losses become one number: a weight for each token, over the whole optimiser step.

The loss of a step is `sum(weight * token loss)` over its trained tokens. The weights are fixed
before the step is cut into micro-batches, so no split, packing, order or number of ranks can change
loss or gradient. An aggregation takes the lengths (tokens) of every scored reply of the step, those
of groups without signal included, and returns one weight a reply, valid for each of its tokens.
"""

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import TypeAlias

Aggregation: TypeAlias = Callable[[Sequence[int], int], list[float]]


def sequence_mean(lengths: Sequence[int], max_reply_tokens: int) -> list[float]:
    """Each reply weighs the same, whatever its length (paper, Eq. 2).

    >>> sequence_mean([1, 4], 8)
    [0.5, 0.125]
    """
    return [1.0 / (len(lengths) * length) for length in lengths]


def token_mean(lengths: Sequence[int], max_reply_tokens: int) -> list[float]:
    """Each token weighs the same (DAPO).

    >>> token_mean([1, 4], 8)
    [0.2, 0.2]
    """
    return [1.0 / sum(lengths)] * len(lengths)


def token_sum_over_constant(lengths: Sequence[int], max_reply_tokens: int) -> list[float]:
    """Token losses over a constant, replies x `max_reply_tokens`: no length bias (Dr. GRPO).

    >>> token_sum_over_constant([1, 4], 8)
    [0.0625, 0.0625]
    """
    return [1.0 / (len(lengths) * max_reply_tokens)] * len(lengths)


AGGREGATIONS: Mapping[str, Aggregation] = MappingProxyType(
    {
        "sequence_mean": sequence_mean,
        "token_mean": token_mean,
        "token_sum_over_constant": token_sum_over_constant,
    }
)
