"""Credit that needs later turns: given to whole episodes, and never able to stop a run."""

import math
import random
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from tests.rollouts.rated import RatedInOrder, State
from tests.rollouts.settings import (
    make_engine,
    make_openings,
    make_player,
    make_rules,
    play,
    rows,
    table,
)

from cotrain.core.advantages import normalised
from cotrain.core.episode import Episode, EpisodeStatus, Message, Settled
from cotrain.core.rewards import episode_score
from cotrain.core.samples import credit
from cotrain.core.selection import follow_best
from cotrain.environments.base import Environment
from cotrain.policies.base import Decoding
from cotrain.policies.scripted import ScriptedPolicy
from cotrain.rollouts.base import Player, any_unscored
from cotrain.rollouts.episodes import EvaluationEpisodes, Limits, TrainingEpisodes
from cotrain.rollouts.evidence import HandlerPool
from cotrain.rollouts.methods import WholeEpisodeMethod
from cotrain.rollouts.referee import LocalReferee
from cotrain.rollouts.settling import settled

LIMITS = Limits(max_turns=3, max_prompt_tokens=1000, team_weight=1.0)


class Foresight(RatedInOrder):
    """`left` earns at each turn what `right` is worth one turn later, times 2."""

    def settle(self, episode: Episode) -> Mapping[tuple[str, int], float]:
        right = [g for g in episode.groups() if g.key.agent == "right" and g.key.turn > 1]
        worth = {g.key.turn: g.chosen.team or 0.0 for g in right if g.chosen is not None}
        return {("left", turn - 1): 2.0 * team for turn, team in worth.items()}


class Gives(RatedInOrder):
    """Settles with whatever it was made with, or raises it."""

    def __init__(self, given: object) -> None:
        super().__init__()
        self.given = given

    def settle(self, episode: Episode) -> Any:
        if isinstance(self.given, BaseException):
            raise self.given
        return self.given


def played(environment: Environment[State], *turns: str) -> Episode:
    """One episode in which `left` says 0.5 and `right` these, one a turn."""
    left = make_player("left", table({}), 1)
    right = make_player("right", rows(*([said] for said in turns)), 1)
    rules = make_rules(len(turns), ends_unscored=any_unscored)
    [episode] = play(environment, [left, right], rules, make_openings())
    return episode


def after_settling(environment: Environment[State], episode: Episode) -> Episode:
    [found] = settled(LocalReferee(environment), [episode])
    return found


def test_what_is_settled_is_recorded_in_the_order_of_play() -> None:
    environment = Foresight()
    episode = after_settling(environment, played(environment, "0.1", "0.25", "0.75"))
    assert episode.settled == (Settled("left", 1, 0.5), Settled("left", 2, 1.5))


def test_an_agents_episode_score_grows_by_its_settled_rewards_alone() -> None:
    environment = Foresight()
    before = played(environment, "0.1", "0.25", "0.75")
    after = after_settling(environment, before)
    assert [episode_score(e, "left", 1.0, 3) for e in (before, after)] == [0.75, 0.75 + 2.0]
    assert [episode_score(e, "right", 1.0, 3) for e in (before, after)] == [0.75, 0.75]


def test_rules_without_settle_leave_the_episode_as_it_is() -> None:
    environment = RatedInOrder()
    episode = played(environment, "0.1")
    assert after_settling(environment, episode) is episode


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({("middle", 1): 1.0}, "a reward for ('middle', 1); allowed are the (agent, turn) that"),
        ({("left", 3): 1.0}, "acted: ('left', 1), ('right', 1), ('left', 2), ('right', 2)"),
        ({"left": 1.0}, "a reward for 'left'"),
        ({("left", 1): math.nan}, "settle returned nan for ('left', 1)"),
        ({("left", 1): -math.inf}, "it must be finite in float32"),
        ({("left", 1): 1e39}, "it must be finite in float32"),
        ({("left", 1): "1"}, "settle returned '1' (str) for ('left', 1); it must be a number"),
        (None, "settle returned None (NoneType); it must be a mapping of (agent, turn)"),
        (KeyError("later"), "KeyError: 'later'"),
        (SystemExit(0), "SystemExit: 0"),
    ],
)
def test_a_wrong_settlement_is_an_error_of_that_episode_and_masks_it_for_all(
    given: object, said: str
) -> None:
    environment = Gives(given)
    episode = after_settling(environment, played(environment, "0.1", "done"))
    assert (episode.status, episode.success) == (EpisodeStatus.ENVIRONMENT_ERROR, False)
    assert episode.message.startswith("settle: ")
    assert said in episode.message
    assert episode.settled == ()
    assert [episode_score(episode, agent, 1.0, 2) for agent in ("left", "right")] == [None, None]


def test_rewards_whose_sum_is_not_finite_in_float32_leave_no_score() -> None:
    environment = Gives({("left", 1): 3e38, ("left", 2): 3e38})
    episode = after_settling(environment, played(environment, "0.1", "0.2"))
    assert episode_score(episode, "left", 1.0, 2) is None
    assert episode_score(episode, "right", 1.0, 2) is not None


def test_an_episode_that_a_failure_ended_is_not_settled() -> None:
    environment = Gives(KeyError("never asked"))
    episode = played(environment, "0.1", "boom")
    assert episode.status is EpisodeStatus.UNSCORED
    assert after_settling(environment, episode) is episode


def guess(messages: Sequence[Message], generator: random.Random) -> str:
    return f"{generator.randint(0, 9) / 10}"


def cast(trained: bool) -> dict[str, Player]:
    policy = ScriptedPolicy("shared", guess)
    return {
        agent: Player(agent, agent, policy, Decoding(1.0, 64), 1, trained)
        for agent in ("left", "right")
    }


def test_a_step_of_whole_episodes_compares_scores_with_settled_rewards() -> None:
    method = WholeEpisodeMethod(3, team_weight=1.0, max_turns=3)
    engine = make_engine(Foresight(), HandlerPool({}))
    source = TrainingEpisodes(
        engine, lambda step: cast(True), method, LIMITS, follow_best, 2, seed=5
    )
    episodes = source.play(1)
    assert all(len(episode.settled) == 2 for episode in episodes)
    groups = method.groups(episodes)
    for group in groups:
        numbers = [member[0].key.episode for member in group.members]
        agent = group.key.agent
        by_hand = [
            max(g.chosen.team or 0.0 for g in e.groups() if g.key.agent == "right" and g.chosen)
            + sum(credit.reward for credit in e.settled if credit.agent == agent)
            for e in (episodes[number] for number in numbers)
        ]
        assert group.scores == pytest.approx(by_hand)
    assert len(credit(groups, normalised, "train")) == 2 * 3 * 3 * 2


def test_one_wrong_settlement_does_not_stop_the_step() -> None:
    class Picky(RatedInOrder):
        def settle(self, episode: Episode) -> Mapping[tuple[str, int], float]:
            return {("left", 1): math.nan if episode.number == 1 else 1.0}

    method = WholeEpisodeMethod(3, team_weight=1.0, max_turns=3)
    engine = make_engine(Picky(), HandlerPool({}))
    source = TrainingEpisodes(
        engine, lambda step: cast(True), method, LIMITS, follow_best, 1, seed=5
    )
    episodes = source.play(1)
    assert [e.status is EpisodeStatus.ENVIRONMENT_ERROR for e in episodes] == [False, True, False]
    for group in method.groups(episodes):
        assert [score is None for score in group.scores] == [False, True, False]


def test_an_evaluation_settles_nothing() -> None:
    engine = make_engine(Gives(KeyError("never asked")), HandlerPool({}))
    episodes = list(EvaluationEpisodes(engine, cast(False), LIMITS, 5).play("test", range(2), 0))
    assert {episode.status for episode in episodes} == {EpisodeStatus.TURN_LIMIT}
