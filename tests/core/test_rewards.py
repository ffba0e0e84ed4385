"""Scores of candidates and of whole episodes."""

import math

import pytest
from tests.builders import make_candidate, make_episode, make_group

from cotrain.core.episode import EpisodeStatus, Group, Part
from cotrain.core.rewards import episode_score, local_reward, turn_score

SCORELESS = [EpisodeStatus.UNSCORED, EpisodeStatus.TIMEOUT, EpisodeStatus.ENVIRONMENT_ERROR]


def acted(agent: str, turn: int, team: float, own: float, gate: float = 1.0) -> Group:
    """A followed reply with this team value and own reward, beside a better one not followed."""
    parts = [Part("own", 1.0, own)]
    followed = make_candidate(0, team + own, team=team, local=parts, gate=gate)
    other = make_candidate(1, 2.0, team=1.0, local=[Part("own", 1.0, 1.0)])
    return make_group([followed, other], agent, turn, followed=0)


def test_parts_are_weighed_and_gated() -> None:
    parts = [Part("format", 0.2, 1.0), Part("answer", 0.8, 0.5)]
    assert local_reward(parts) == pytest.approx(0.6)
    assert local_reward(parts, gate=0.5) == pytest.approx(0.3)
    assert local_reward([], gate=1.0) == 0.0


def test_the_turn_score_is_team_times_alpha_plus_local() -> None:
    parts = [Part("own", 1.0, 0.25)]
    assert turn_score(0.5, parts, 1.0, team_weight=2.0) == 1.25
    assert turn_score(0.5, parts, 0.0, team_weight=1.0) == 0.5


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_a_score_that_is_not_finite_is_no_score(value: float) -> None:
    assert turn_score(value, [], 1.0, 1.0) is None
    assert turn_score(0.0, [Part("own", 1.0, value)], 1.0, 1.0) is None


def test_an_episode_that_never_solves_has_its_best_team_value_and_its_mean_own_reward() -> None:
    teams, owns = (0.25, 0.75, 0.5, 0.0), (1.0, 0.5, 0.0, 0.5)
    turns = [
        [[acted("planner", turn, team, own)]]
        for turn, (team, own) in enumerate(zip(teams, owns, strict=True), start=1)
    ]
    episode = make_episode(turns)
    assert episode_score(episode, "planner", team_weight=1.0, max_turns=4) == 0.75 + 0.5
    assert episode_score(episode, "planner", team_weight=0.5, max_turns=4) == 0.375 + 0.5


def test_turns_that_a_success_made_unnecessary_count_one() -> None:
    turns = [[[acted("planner", 1, 0.5, 0.5)]], [[acted("planner", 2, 1.0, 0.75)]]]
    episode = make_episode(turns, EpisodeStatus.DONE, success=True)
    assert episode_score(episode, "planner", 1.0, max_turns=4) == 1.0 + (0.5 + 0.75 + 2) / 4


def test_an_agent_that_a_success_left_no_turn_to_act_in_counts_one_for_it() -> None:
    episode = make_episode([[[acted("drafter", 1, 1.0, 0.5)]]], EpisodeStatus.DONE, success=True)
    assert episode_score(episode, "answerer", 1.0, max_turns=1) == 1.0 + 1.0


@pytest.mark.parametrize("status", [EpisodeStatus.DONE, EpisodeStatus.CONTEXT_LENGTH])
def test_turns_lost_without_success_count_zero(status: EpisodeStatus) -> None:
    episode = make_episode([[[acted("planner", 1, 0.5, 0.5)]]], status, success=False)
    assert episode_score(episode, "planner", 1.0, max_turns=4) == 0.5 + 0.5 / 4


def test_the_team_value_of_a_turn_is_that_of_its_last_phase() -> None:
    turn = [[acted("proposer", 1, 0.9, 0.5)], [acted("planner", 1, 0.25, 1.0)]]
    episode = make_episode([turn])
    assert episode_score(episode, "proposer", 1.0, max_turns=1) == 0.25 + 0.5
    assert episode_score(episode, "planner", 1.0, max_turns=1) == 0.25 + 1.0


def test_a_turn_broken_off_before_its_last_phase_has_no_team_value() -> None:
    whole = [[acted("proposer", 1, 0.5, 1.0)], [acted("planner", 1, 0.25, 1.0)]]
    broken = [[acted("proposer", 2, 0.9, 1.0)]]
    episode = make_episode([whole, broken], EpisodeStatus.CONTEXT_LENGTH)
    assert episode_score(episode, "proposer", 1.0, max_turns=2) == 0.25 + 1.0
    assert episode_score(episode, "planner", 1.0, max_turns=2) == 0.25 + 0.5


def test_a_turn_that_was_done_in_an_early_phase_counts() -> None:
    whole = [[acted("proposer", 1, 0.5, 1.0)], [acted("planner", 1, 0.25, 1.0)]]
    early = [[acted("proposer", 2, 1.0, 1.0)]]
    episode = make_episode([whole, early], EpisodeStatus.DONE, success=True)
    assert episode_score(episode, "proposer", 1.0, max_turns=2) == 1.0 + 1.0


def test_the_gate_holds_in_the_episode_score() -> None:
    episode = make_episode([[[acted("planner", 1, 0.0, 1.0, gate=0.5)]]])
    assert episode_score(episode, "planner", 1.0, max_turns=1) == 0.5


@pytest.mark.parametrize("status", SCORELESS)
def test_an_ending_for_want_of_a_score_has_no_episode_score(status: EpisodeStatus) -> None:
    episode = make_episode([[[acted("planner", 1, 1.0, 1.0)]]], status)
    assert episode_score(episode, "planner", 1.0, max_turns=4) is None


def test_an_agent_that_kept_its_last_reply_adds_nothing_to_its_turn() -> None:
    silent = make_group([make_candidate(0, None)], "planner", followed=None)
    episode = make_episode([[[silent, acted("tester", 1, 0.5, 1.0)]]])
    assert episode_score(episode, "planner", 1.0, max_turns=1) == 0.5
    assert episode_score(make_episode([[[silent]]]), "planner", 1.0, max_turns=1) == 0.0
