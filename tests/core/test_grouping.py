"""Groups by key: never by place, and refused where members must not share a mean."""

import random

import pytest
from tests.builders import make_sample

from cotrain.core.advantages import group_advantages, normalised
from cotrain.core.episode import EpisodeKey, TurnKey
from cotrain.core.grouping import GroupingError, episode_groups, turn_groups
from cotrain.core.samples import Sample, credit

ROWS = (  # episode, agent, turn, scores, advantages
    (0, "coder", 1, (1, 0), (0.7071, -0.7071)),
    (0, "coder", 2, (1, 1), (0, 0)),
    (0, "tester", 1, (0.2, 0.8), (-0.7071, 0.7071)),
    (1, "coder", 1, (0, 0), (0, 0)),
)


def two_episodes() -> list[Sample]:
    return [
        make_sample(score, episode=episode, agent=agent, turn=turn, candidate=candidate)
        for episode, agent, turn, scores, _ in ROWS
        for candidate, score in enumerate(scores)
    ]


def advantages(samples: list[Sample]) -> dict[tuple[TurnKey, int], float]:
    credited = credit(turn_groups(samples), normalised, "train")
    return {(c.sample.key, c.sample.candidate): c.advantage for c in credited}


def test_each_prompt_is_a_group_of_its_own() -> None:
    # agent-lightning#489: turns of one question are not one group
    right = {
        (TurnKey(1, episode, agent, turn), candidate): advantage
        for episode, agent, turn, _, row in ROWS
        for candidate, advantage in enumerate(row)
    }
    assert advantages(two_episodes()) == pytest.approx(right, abs=1e-4)


def test_turns_that_were_not_played_make_no_group() -> None:
    # RLHive#205
    assert [group.key for group in turn_groups(two_episodes())] == [
        TurnKey(1, episode, agent, turn) for episode, agent, turn, _, _ in ROWS
    ]
    assert turn_groups([]) == episode_groups([]) == []


@pytest.mark.parametrize("seed", range(20))
def test_the_order_of_the_samples_never_matters(seed: int) -> None:
    # verl#1718, verl#1129
    samples = two_episodes()
    random.Random(seed).shuffle(samples)
    assert advantages(samples) == advantages(two_episodes())
    assert turn_groups(samples) == turn_groups(two_episodes())
    assert episode_groups(whole(samples)) == episode_groups(whole(two_episodes()))


def whole(samples: list[Sample]) -> list[Sample]:
    """The same replies as samples of whole episodes, which have one score each."""
    found = [(s.key.episode, s.key.agent, s.key.turn, s.candidate) for s in samples]
    return [
        make_sample(float(e), episode=e, agent=agent, turn=turn, candidate=candidate)
        for e, agent, turn, candidate in found
        if candidate == 0
    ]


def test_four_episodes_of_four_candidates_are_four_groups() -> None:
    # PettingLLMs at a054fb1: an episode's number is not divided by the number of candidates
    scores = ((1, 1, 1, 0), (0, 0, 0, 1), (1, 1, 1, 1), (0, 0, 0, 0))
    samples = [
        make_sample(score, episode=episode, candidate=candidate, width=4)
        for episode, row in enumerate(scores)
        for candidate, score in enumerate(row)
    ]
    groups = turn_groups(samples)
    assert [len(group.members) for group in groups] == [4, 4, 4, 4]
    got = [group_advantages(group.scores, normalised) for group in groups]
    assert got[0] == pytest.approx([0.5, 0.5, 0.5, -1.5], abs=1e-5)
    assert got[1] == pytest.approx([-0.5, -0.5, -0.5, 1.5], abs=1e-5)
    assert got[2:] == [[0.0] * 4, [0.0] * 4]


def test_equal_prompts_of_two_episodes_stay_two_groups() -> None:
    samples = [make_sample(1.0, episode=e, candidate=c) for e in (0, 1) for c in (0, 1)]
    assert len({sample.prompt_ids for sample in samples}) == 1
    assert len(turn_groups(samples)) == 2


@pytest.mark.parametrize("candidates", [(0,), (0, 0), (0, 1, 1), (0, 2), (0, 1, 2)])
def test_a_group_needs_each_candidate_once(candidates: tuple[int, ...]) -> None:
    samples = [make_sample(candidate=candidate) for candidate in candidates]
    with pytest.raises(GroupingError, match=r"agent='coder'.*candidates 0 to 1 once each, got \["):
        turn_groups(samples)


def test_another_prompt_in_a_group_is_named() -> None:
    samples = [make_sample(candidate=c, width=3, prompt=(1, 4, c // 2)) for c in range(3)]
    with pytest.raises(GroupingError, match=r"turn=1\).*members \[2\] have another prompt"):
        turn_groups(samples)


@pytest.mark.parametrize("other", [{"version": 7}, {"policy": "tester"}])
def test_another_policy_or_version_in_a_group_is_named(other: dict[str, object]) -> None:
    samples = [make_sample(), make_sample(candidate=1, **other)]  # pyright: ignore[reportArgumentType]
    with pytest.raises(GroupingError, match=r"members \[1\].*than shared version 0"):
        turn_groups(samples)


def test_the_members_of_an_episode_group_are_episodes_with_all_their_turns() -> None:
    played = {4: (1.0, 3), 2: (0.25, 1)}  # episode: score, turns
    samples = [
        make_sample(score, episode=episode, turn=turn, prompt=(episode, turn))
        for episode, (score, turns) in played.items()
        for turn in range(turns, 0, -1)
    ]
    [group] = episode_groups(samples)
    assert group.key == EpisodeKey(1, 0, "coder")
    assert group.scores == (0.25, 1.0)
    turns = [[(s.key.episode, s.key.turn) for s in member] for member in group.members]
    assert turns == [[(2, 1)], [(4, 1), (4, 2), (4, 3)]]


def test_mean_and_deviation_are_over_episodes_not_over_their_turns() -> None:
    samples = [make_sample(1.0, turn=turn) for turn in (1, 2, 3)]
    samples += [make_sample(0.0, episode=1)]
    credited = credit(episode_groups(samples), normalised, "train")
    assert [c.advantage for c in credited] == pytest.approx([0.7071] * 3 + [-0.7071], abs=1e-4)


def test_a_group_with_members_of_unequal_length_is_kept_or_dropped_whole() -> None:
    # NeMo-RL#3469: nested members, one decision a group
    def members(first: float, second: float) -> list[Sample]:
        turns = [make_sample(first, turn=turn) for turn in (1, 2)]
        return [*turns, make_sample(second, episode=1)]

    for second, kept in ((0.0, True), (1.0, False)):
        credited = credit(episode_groups(members(1.0, second)), normalised, "train")
        assert [c.has_signal for c in credited] == [kept] * 3


def test_more_episodes_than_the_task_has_are_refused() -> None:
    samples = [make_sample(episode=episode) for episode in (0, 1, 5)]
    with pytest.raises(GroupingError, match=r"needs 2 episodes, got \[0, 1, 5\]"):
        episode_groups(samples)


def test_an_episode_of_another_version_is_named() -> None:
    samples = [make_sample(), make_sample(episode=1), make_sample(episode=1, turn=2, version=1)]
    with pytest.raises(GroupingError, match=r"members \[1\] have another policy or version"):
        episode_groups(samples)


def test_an_episode_with_two_scores_is_named() -> None:
    samples = [make_sample(0.0), make_sample(0.5, turn=2), make_sample(1.0, episode=1)]
    with pytest.raises(GroupingError, match=r"task=0.*members \[0\] have two scores"):
        episode_groups(samples)
