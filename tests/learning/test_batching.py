"""Minibatches, packs and micro-batches: every sample once, groups whole, limits kept."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.builders import make_credited, make_sample

from cotrain.core.samples import CreditedSample
from cotrain.learning.batching import (
    Pack,
    Packing,
    WeightedSample,
    micro_batches,
    minibatches,
    packs_by_prompt,
    packs_of_one,
)


def groups(sizes: list[int]) -> list[CreditedSample]:
    return [
        make_credited(make_sample(episode=episode, candidate=candidate, width=size), 1.0)
        for episode, size in enumerate(sizes)
        for candidate in range(size)
    ]


def weighted(shapes: list[tuple[int, int, int]]) -> list[WeightedSample]:
    """One sample for each (episode, prompt length, reply length)."""
    return [
        WeightedSample(
            place,
            make_credited(
                make_sample(episode=episode, prompt=(1,) * prompt, reply=(5,) * reply), 1.0
            ),
            1.0,
        )
        for place, (episode, prompt, reply) in enumerate(shapes)
    ]


def padded_tokens(batch: list[Pack]) -> int:
    prompt = max(len(pack.prompt_ids) for pack in batch)
    return len(batch) * (prompt + max(pack.reply_tokens for pack in batch))


sizes_of_groups = st.lists(st.integers(1, 5), max_size=12)
shapes_of_samples = st.lists(
    st.tuples(st.integers(0, 3), st.integers(1, 20), st.integers(1, 9)), min_size=1, max_size=15
)


@given(sizes=sizes_of_groups, count=st.integers(1, 5), seed=st.integers(0, 99))
def test_minibatches_hold_every_sample_once_and_whole_groups(
    sizes: list[int], count: int, seed: int
) -> None:
    samples = groups(sizes)
    parts = minibatches(samples, count, seed)
    assert len(parts) == count
    found = [item for part in parts for item in part]
    assert sorted((s.group, s.sample.candidate) for s in found) == sorted(
        (s.group, s.sample.candidate) for s in samples
    )
    homes = [{item.group for item in part} for part in parts]
    assert sum(len(home) for home in homes) == len(sizes)
    assert max(map(len, homes)) - min(map(len, homes)) <= 1


def test_the_order_of_the_minibatches_is_seeded() -> None:
    samples = groups([2] * 12)
    assert minibatches(samples, 3, seed=1) == minibatches(samples, 3, seed=1)
    assert minibatches(samples, 3, seed=1) != minibatches(samples, 3, seed=2)
    assert minibatches(samples, 1, seed=1) == [samples]


def test_groups_found_apart_are_joined() -> None:
    samples = groups([3, 3, 3])
    random.Random(0).shuffle(samples)
    for part in minibatches(samples, 3, seed=0):
        assert len(part) == 3
        assert len({item.group for item in part}) == 1


@pytest.mark.parametrize("packing", [packs_by_prompt, packs_of_one])
@given(shapes=shapes_of_samples, limit=st.integers(1, 200))
def test_micro_batches_hold_every_pack_once_within_the_limit(
    packing: Packing, shapes: list[tuple[int, int, int]], limit: int
) -> None:
    samples = weighted(shapes)
    packs = packing(samples)
    found = list(micro_batches(packs, limit))
    assert sorted(s.place for batch in found for pack in batch for s in pack.samples) == list(
        range(len(samples))
    )
    assert all(len(batch) == 1 or padded_tokens(batch) <= limit for batch in found)


def test_one_pack_holds_the_replies_to_one_prompt_of_one_group() -> None:
    same_prompt_other_group = weighted([(0, 4, 2), (1, 4, 3), (0, 4, 5), (0, 6, 1)])
    packs = packs_by_prompt(same_prompt_other_group)
    assert [[s.place for s in pack.samples] for pack in packs] == [[0, 2], [1], [3]]
    assert [(len(pack.prompt_ids), pack.reply_tokens) for pack in packs] == [(4, 7), (4, 3), (6, 1)]
    assert [len(pack.samples) for pack in packs_of_one(same_prompt_other_group)] == [1] * 4


def test_the_longest_packs_come_first() -> None:
    packs = packs_of_one(weighted([(0, 2, 2), (0, 9, 9), (0, 5, 5)]))
    places = [s.place for batch in micro_batches(packs, 1) for p in batch for s in p.samples]
    assert places == [1, 2, 0]
    assert list(micro_batches([], 10)) == []
