"""Which candidate an episode goes on with."""

import random
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cotrain.core.selection import (
    Scores,
    Selection,
    follow_best,
    follow_mixed,
    follow_random,
    selection,
)

some_scores = st.lists(st.one_of(st.none(), st.sampled_from([0.0, 0.5, 1.0])), max_size=8)


def counts(follow: Selection, scores: Scores, seeds: int = 4000) -> Counter[int | None]:
    return Counter(follow(scores, random.Random(seed)) for seed in range(seeds))


@given(scores=some_scores, seed=st.integers(0, 2**32))
@pytest.mark.parametrize("follow", [follow_best, follow_random, follow_mixed(0.5)])
def test_only_scored_candidates_are_followed(
    follow: Selection, scores: list[float | None], seed: int
) -> None:
    chosen = follow(scores, random.Random(seed))
    scored = [place for place, score in enumerate(scores) if score is not None]
    assert chosen in scored if scored else chosen is None


@given(scores=some_scores, seed=st.integers(0, 2**32))
def test_the_best_has_the_highest_score(scores: list[float | None], seed: int) -> None:
    chosen = follow_best(scores, random.Random(seed))
    scored = [score for score in scores if score is not None]
    assert chosen is None or scores[chosen] == max(scored)


def test_ties_go_to_the_seed_and_not_to_the_lowest_index() -> None:
    found = counts(follow_best, [1.0, None, 1.0, 0.5, 1.0])
    assert set(found) == {0, 2, 4}
    assert all(abs(count - 4000 / 3) < 200 for count in found.values())


@given(st.permutations([0.0, 0.2, 0.5, 0.5, 1.0]), st.integers(0, 2**32))
def test_random_does_not_look_at_the_scores(scores: list[float], seed: int) -> None:
    straight = follow_random([0.0, 0.2, 0.5, 0.5, 1.0], random.Random(seed))
    assert follow_random(scores, random.Random(seed)) == straight


def test_random_takes_each_scored_candidate_equally_often() -> None:
    found = counts(follow_random, [0.0, None, 1.0, 0.9])
    assert set(found) == {0, 2, 3}
    assert all(abs(count - 4000 / 3) < 200 for count in found.values())


def test_mixed_takes_the_best_with_its_probability_else_a_random_one() -> None:
    found = counts(follow_mixed(0.6), [0.0, 1.0])
    assert found[1] / 4000 == pytest.approx(0.6 + 0.4 / 2, abs=0.03)
    assert counts(follow_mixed(0.0), [0.0, 1.0], 50).keys() == {0, 1}


@pytest.mark.parametrize(("follow", "right"), [("best", {2}), ("random", {0, 2}), (1.0, {2})])
def test_the_setting_names_the_selection(follow: str | float, right: set[int]) -> None:
    assert set(counts(selection(follow), [0.0, None, 1.0], 50)) == right
