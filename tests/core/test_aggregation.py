"""Token weights: the same loss for every split of the step."""

import random
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cotrain.core.aggregation import (
    AGGREGATIONS,
    Aggregation,
    sequence_mean,
    token_mean,
    token_sum_over_constant,
)

LOSSES = ([1.0], [2.0] * 3, [4.0] * 2, [3.0] * 6)
reply_lengths = st.lists(st.integers(1, 64), min_size=1, max_size=20)


def loss_of(weights: Sequence[float], losses: Sequence[Sequence[float]], split: int) -> float:
    """The loss, summed micro-batch by micro-batch of `split` replies."""
    total = 0.0
    for start in range(0, len(losses), split):
        part = zip(weights[start : start + split], losses[start : start + split], strict=True)
        total += sum(weight * sum(row) for weight, row in part)
    return total


@pytest.mark.parametrize("split", [1, 2, 3, 4])
@pytest.mark.parametrize(
    ("replies", "aggregation", "right"),
    [
        (4, token_mean, 2.75),
        (4, sequence_mean, 2.5),
        (3, token_mean, 2.5),
        (3, sequence_mean, 2.33333),
        (4, token_sum_over_constant, 33 / (4 * 8)),
    ],
)
def test_the_loss_does_not_depend_on_the_micro_batches(
    replies: int, aggregation: Aggregation, right: float, split: int
) -> None:
    # trl#6024, ms-swift#10117, trl#3021, mlx-lm#1413
    losses = LOSSES[:replies]
    weights = aggregation([len(row) for row in losses], 8)
    assert loss_of(weights, losses, split) == pytest.approx(right, abs=1e-5)


@given(lengths=reply_lengths)
def test_sequence_mean_gives_each_reply_the_same_share_of_one(lengths: list[int]) -> None:
    shares = [w * n for w, n in zip(sequence_mean(lengths, 64), lengths, strict=True)]
    assert shares == pytest.approx([1 / len(lengths)] * len(lengths))


@given(lengths=reply_lengths)
def test_token_mean_gives_each_token_the_same_share_of_one(lengths: list[int]) -> None:
    weights = token_mean(lengths, 64)
    assert len(set(weights)) == 1
    assert sum(w * n for w, n in zip(weights, lengths, strict=True)) == pytest.approx(1)


@given(lengths=reply_lengths)
def test_the_constant_form_weighs_a_full_reply_like_one_reply(lengths: list[int]) -> None:
    weights = token_sum_over_constant(lengths, 64)
    assert [w * 64 * len(lengths) for w in weights] == pytest.approx([1] * len(lengths))


@pytest.mark.parametrize("name", sorted(AGGREGATIONS))
@given(lengths=reply_lengths, seed=st.integers(0, 19))
def test_weights_go_with_their_replies_in_any_order(
    name: str, lengths: list[int], seed: int
) -> None:
    order = list(range(len(lengths)))
    random.Random(seed).shuffle(order)
    straight = AGGREGATIONS[name](lengths, 64)
    shuffled = AGGREGATIONS[name]([lengths[place] for place in order], 64)
    assert shuffled == [straight[place] for place in order]
