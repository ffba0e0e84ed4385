"""Whole episodes of a team: scores worked by hand, compared by task and agent."""

import pytest
from tests.builders import make_candidate, make_episode, make_group

from cotrain.core.advantages import normalised
from cotrain.core.episode import Episode, EpisodeKey, EpisodeStatus, Group, Part
from cotrain.core.samples import credit
from cotrain.rollouts.methods import WholeEpisodeMethod

TURNS = 4
# episode -> per turn: team value of the planner, own reward of the proposer and of the planner
PLAYED = {
    0: ((0.5, 0.5, 0.5), (1.0, 0.25, 1.0)),
    1: ((0.25, 0.5, 0.25), (0.5, 0.5, 0.25), (0.75, 0.5, 0.25), (0.5, 0.5, 0.25)),
    2: ((0.5, 1.0, 0.0),),
}
ENDED = {
    0: (EpisodeStatus.DONE, True),
    1: (EpisodeStatus.TURN_LIMIT, False),
    2: (EpisodeStatus.DONE, False),
}
# 1 + (.5 + .25 + 2) / 4, .75 + 2 / 4, .5 + 1 / 4; and 1 + (.5 + 1 + 2) / 4, .75 + 1 / 4, .5 + 0
SCORES = {"proposer": (1.6875, 1.25, 0.75), "planner": (1.875, 1.0, 0.5)}


def said(agent: str, turn: int, episode: int, team: float, own: float | None) -> Group:
    """The one reply of an agent; unscored where its own reward is None."""
    if own is None:
        failed = make_candidate(0, None)
        return make_group([failed], agent, turn, episode=episode, followed=None)
    reply = make_candidate(0, team + own, team=team, local=[Part("own", 1.0, own)])
    return make_group([reply], agent, turn, episode=episode)


def attempt(number: int, task: int = 0, place: int | None = None) -> Episode:
    """The episode of PLAYED with this number, which may stand for another task and place."""
    where = number if place is None else place
    turns = [
        # the proposal's own team value is high everywhere: it must never count
        [[said("proposer", turn, where, 0.99, first)], [said("planner", turn, where, team, last)]]
        for turn, (team, first, last) in enumerate(PLAYED[number], start=1)
    ]
    status, success = ENDED[number]
    return make_episode(turns, status, success, number=where, task_number=task)


def unscored(number: int) -> Episode:
    """An episode whose planner had no score at turn 2."""
    turns = [
        [[said("proposer", 1, number, 0.5, 1.0)], [said("planner", 1, number, 0.5, 1.0)]],
        [[said("proposer", 2, number, 0.5, 1.0)], [said("planner", 2, number, 0.0, None)]],
    ]
    return make_episode(turns, EpisodeStatus.UNSCORED, number=number)


def method(candidates: int, team_weight: float = 1.0) -> WholeEpisodeMethod:
    return WholeEpisodeMethod(candidates, team_weight, TURNS)


def scores(found: WholeEpisodeMethod, episodes: list[Episode]) -> dict[str, tuple[object, ...]]:
    return {group.key.agent: group.scores for group in found.groups(episodes)}


def test_every_agent_has_one_score_an_episode_whatever_its_turns() -> None:
    assert scores(method(3), [attempt(n) for n in PLAYED]) == SCORES


def test_alpha_weighs_the_best_team_value_and_not_the_own_rewards() -> None:
    halved = scores(method(3, team_weight=0.5), [attempt(n) for n in PLAYED])
    best = (1.0, 0.75, 0.5)
    assert halved == {
        agent: tuple(score - 0.5 * team for score, team in zip(own, best, strict=True))
        for agent, own in SCORES.items()
    }


def test_the_groups_are_of_a_task_and_an_agent_and_their_members_differ_in_turns() -> None:
    episodes = [attempt(n) for n in PLAYED] + [attempt(n, task=1, place=3 + n) for n in PLAYED]
    groups = method(3).groups(episodes)
    expected = [EpisodeKey(1, task, agent) for task in (0, 1) for agent in ("planner", "proposer")]
    assert [group.key for group in groups] == expected
    for group in groups:
        assert isinstance(group.key, EpisodeKey)
        played = [[(s.key.episode, s.key.turn) for s in member] for member in group.members]
        first = 3 * group.key.task
        assert played == [
            [(first, 1), (first, 2)],
            [(first + 1, turn) for turn in (1, 2, 3, 4)],
            [(first + 2, 1)],
        ]


def test_mean_and_deviation_are_over_the_episodes_of_the_team_never_over_rows() -> None:
    groups = method(3).groups([attempt(n) for n in PLAYED])
    credited = credit(groups, normalised, "train")
    got = {(c.sample.role, c.sample.key.episode, c.sample.key.turn): c.advantage for c in credited}
    # mean 1.229167 and deviation 0.469097 of the proposer, 1.125 and 0.695971 of the planner;
    # over its 7 rows the proposer's mean would be 1.303571
    advantages = {
        "proposer": (0.977055, 0.044411, -1.021466),
        "planner": (1.077632, -0.179605, -0.898027),
    }
    expected = {
        (role, episode, turn): advantage
        for role, own in advantages.items()
        for episode, advantage in enumerate(own)
        for turn in range(1, len(PLAYED[episode]) + 1)
    }
    assert got == pytest.approx(expected, abs=1e-5)


def test_an_unscored_reply_masks_its_episode_for_every_agent_and_nothing_else() -> None:
    episodes = [attempt(n) for n in PLAYED]
    whole, masked = method(3).groups(episodes), method(4).groups([*episodes, unscored(3)])
    assert [group.scores for group in masked] == [(*group.scores, None) for group in whole]
    without = {c.sample.key: c.advantage for c in credit(whole, normalised, "train")}
    beside = {c.sample.key: c.advantage for c in credit(masked, normalised, "train")}
    assert beside == without
