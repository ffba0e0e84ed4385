"""From scores to advantages: the numbers of public faults, and what holds for all scores."""

import math
import random
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cotrain.core.advantages import (
    ESTIMATORS,
    centered,
    group_advantages,
    has_signal,
    leave_one_out,
    normalised,
)

every_estimator = pytest.mark.parametrize("name", sorted(ESTIMATORS))
scores_of_a_group = st.lists(st.floats(-10, 10), min_size=2, max_size=12)
spread_scores = scores_of_a_group.filter(lambda scores: max(scores) - min(scores) > 0.01)


def as_float32(value: float) -> float:
    return struct.unpack("f", struct.pack("f", value))[0]


@every_estimator
@pytest.mark.parametrize(
    "scores",
    [
        [1.0] * 8,
        [0.0] * 4,
        [as_float32(0.1)] * 8,
        [as_float32(0.3)] * 6,
        [as_float32(0.7)] * 12,
        [0.1 + 0.2] * 3,
    ],
)
def test_equal_scores_give_exact_zeros(name: str, scores: list[float]) -> None:
    # NeMo-RL#4161, verl#6348, trl#7068: rounding must not become a signal
    assert group_advantages(scores, ESTIMATORS[name]) == [0.0] * len(scores)
    assert not has_signal(scores)


@pytest.mark.parametrize(
    ("scores", "right", "tolerance"),
    [
        ([0.4] * 7 + [1.0], [-0.35355] * 7 + [2.47487], 1e-5),
        ([1, 1.00001, 1.00002, 1.00003], [-1.0784, -0.3595, 0.3595, 1.0784], 2e-3),
        ([1, 0], [0.7071, -0.7071], 1e-4),
        ([0.2, 0.8], [-0.7071, 0.7071], 1e-4),
        ([1, 1, 1, 0], [0.5, 0.5, 0.5, -1.5], 1e-5),
        ([1, 0, 0, 0], [1.5, -0.5, -0.5, -0.5], 1e-5),
        ([1, 1, 0, 0], [0.866, 0.866, -0.866, -0.866], 1e-4),
    ],
)
def test_normalised_scores_use_the_sample_deviation_and_one_epsilon(
    scores: list[float], right: list[float], tolerance: float
) -> None:
    assert group_advantages(scores, normalised) == pytest.approx(right, abs=tolerance)


@every_estimator
@pytest.mark.parametrize("score", [1.0, 0.0, -3.5])
def test_a_group_of_one_has_no_signal(name: str, score: float) -> None:
    # rllm#776: not the raw reward; OpenRLHF#980: not NaN
    assert group_advantages([score], ESTIMATORS[name]) == [0.0]


@every_estimator
def test_one_scored_member_among_masked_ones_has_no_signal(name: str) -> None:
    # rllm#776
    scores = [None, None, 0.8, None]
    assert group_advantages(scores, ESTIMATORS[name]) == [None, None, 0.0, None]


def test_masked_members_keep_their_place_and_enter_no_mean() -> None:
    got = group_advantages([1.0, None, 0.0, None, 0.0, 0.0], normalised)
    assert got == pytest.approx([1.5, None, -0.5, None, -0.5, -0.5], abs=1e-5)


def test_a_group_without_any_score_has_no_advantage() -> None:
    assert group_advantages([None, None], centered) == [None, None]
    assert not has_signal([])


def test_centered_and_leave_one_out_are_those_of_their_papers() -> None:
    assert centered([1.0, 0.0, 0.0, 0.0]) == [0.75, -0.25, -0.25, -0.25]
    assert leave_one_out([1.0, 0.0, 0.5]) == [0.75, -0.75, 0.0]


@every_estimator
@given(scores=spread_scores)
def test_advantages_sum_to_zero(name: str, scores: list[float]) -> None:
    advantages = group_advantages(scores, ESTIMATORS[name])
    assert math.fsum(a for a in advantages if a is not None) == pytest.approx(0, abs=1e-9)


@every_estimator
@given(scores=spread_scores, seed=st.integers(0, 19))
def test_the_order_of_the_scores_changes_nothing(name: str, scores: list[float], seed: int) -> None:
    order = list(range(len(scores)))
    random.Random(seed).shuffle(order)
    straight = group_advantages(scores, ESTIMATORS[name])
    shuffled = group_advantages([scores[place] for place in order], ESTIMATORS[name])
    assert shuffled == [straight[place] for place in order]


@given(scores=spread_scores, scale=st.floats(1, 1000), shift=st.floats(-10, 10))
def test_normalised_advantages_do_not_depend_on_scale_or_shift(
    scores: list[float], scale: float, shift: float
) -> None:
    moved = [scale * score + shift for score in scores]
    assert normalised(moved) == pytest.approx(normalised(scores), abs=2e-3)


@every_estimator
@given(scores=st.lists(st.one_of(st.none(), st.floats(-10, 10)), max_size=8))
def test_exactly_the_scored_members_get_a_finite_advantage(
    name: str, scores: list[float | None]
) -> None:
    advantages = group_advantages(scores, ESTIMATORS[name])
    assert [a is None for a in advantages] == [score is None for score in scores]
    assert all(math.isfinite(a) for a in advantages if a is not None)
