"""Phases of several agents, requests and joint requests, statuses, drawn tasks."""

from random import Random
from typing import Any

import pytest
from tests.environments.two_hands import State, TwoHands, measure

from cotrain.core.episode import CandidateStatus, EpisodeStatus, Request
from cotrain.environments.base import Judged, split_of
from cotrain.environments.playing import UnansweredError, judge, play
from cotrain.environments.procedural import NothingDrawnError, draw_task

HANDS = TwoHands()
TASK = HANDS.task("train", 1, 0)
OPENING = State(shelf=7, left=4, right=5)


def play_hands(*turns: tuple[str, str]) -> Any:
    """An episode with the left and right hand's replies, one pair a turn."""

    def write(state: State, agent: str, turn: int) -> str:
        return turns[turn - 1][agent == "right"]

    return play(HANDS, TASK, write, len(turns), measure)


def test_agents_of_a_phase_act_at_once_on_the_opening_state() -> None:
    episode = play_hands(("1", "2"))
    left, right = episode.turns[0].phases[0].groups
    assert [group.key.agent for group in (left, right)] == ["left", "right"]
    opening = HANDS.render(HANDS.start(TASK, "train")).removesuffix(" held")
    assert right.messages[1].content == f"{opening} hand right"
    assert "left 1 right 2" in episode.turns[0].phases[0].rendering


def test_both_hands_at_the_shelf_solve_and_end_the_episode() -> None:
    shelf = str(HANDS.start(TASK, "train").shelf)
    episode = play_hands(("1", "2"), (shelf, shelf), ("1", "1"))
    assert (episode.status, episode.success, len(episode.turns)) == (EpisodeStatus.DONE, True, 2)


def test_a_dropped_tray_is_done_and_no_success() -> None:
    episode = play_hands(("0", "9"), ("1", "1"))
    assert (episode.status, episode.success, len(episode.turns)) == (EpisodeStatus.DONE, False, 1)


def test_a_failed_request_masks_the_reply_and_the_other_agent_goes_on() -> None:
    episode = play_hands(("13", "5"))
    left, right = (group.candidates[0] for group in episode.groups())
    assert (left.status, left.score) == (CandidateStatus.TIMEOUT, None)
    assert right.status is CandidateStatus.SCORED
    assert [group.followed for group in episode.groups()] == [None, 0]
    assert "right 5" in episode.turns[0].phases[0].rendering


def test_an_episode_in_which_no_reply_could_be_judged_ends_unscored() -> None:
    episode = play_hands(("13", "20"), ("1", "1"))
    assert (episode.status, len(episode.turns)) == (EpisodeStatus.UNSCORED, 1)
    statuses = [group.candidates[0].status for group in episode.groups()]
    assert statuses == [CandidateStatus.TIMEOUT, CandidateStatus.ERROR]


@pytest.mark.parametrize(
    ("left", "right", "team", "aim"),
    [("7", "5", 0.0, 1.0), ("6", "5", 0.0, 0.5), ("up", "5", 0.0, 0.0), ("7", "7", 0.0, 1.0)],
)
def test_a_hand_is_judged_with_the_other_where_it_last_stood(
    left: str, right: str, team: float, aim: float
) -> None:
    outcome, _ = judge(HANDS, OPENING, "left", left, measure)
    assert outcome is not None
    assert (outcome.team, outcome.local[1].value) == (team, aim)
    beside = State(7, 4, 7)
    solved, _ = judge(HANDS, beside, "left", "7", measure)
    assert solved is not None
    assert solved.team == 1.0


def test_an_absent_hand_stays_where_it_was() -> None:
    evidence = (measure(Request.of("measure", hand="left", height=6)),)
    joint = tuple(measure(r) for r in HANDS.joint_evidence(OPENING, {"left": "6"}))
    after, done = HANDS.commit(OPENING, {"left": Judged("6", evidence)}, joint)
    assert (after, done) == (State(7, 6, 5), False)


def test_a_request_that_nothing_fulfils_names_its_kind() -> None:
    with pytest.raises(UnansweredError, match="evidence of kind 'measure'"):
        play(HANDS, TASK, lambda state, agent, turn: "1", 1)


@pytest.mark.parametrize("split", ["train", "validation", "test"])
def test_a_drawn_task_belongs_to_its_split(split: str) -> None:
    tasks = [draw_task("dice", split, 2, i, lambda drawn: drawn.random()) for i in range(50)]
    assert {split_of(task.digest) for task in tasks} == {split}
    assert len({task.digest for task in tasks}) == 50


def test_what_fits_is_asked_of_problems_of_the_split_alone() -> None:
    asked: list[int] = []

    def fits(value: int) -> bool:
        asked.append(value)
        return value > 900

    found = draw_task("dice", "test", 1, 0, lambda drawn: drawn.randrange(1000), fits)
    assert found.data == asked[-1] > 900
    assert len(asked) > 1
    for value in asked:
        assert draw_task("dice", "test", 1, 0, lambda _, value=value: value).data == value


def test_failed_draws_are_drawn_again_and_hopeless_ones_are_told() -> None:
    def sometimes(drawn: Random) -> int | None:
        value = drawn.randrange(100)
        return value if value > 90 else None

    assert draw_task("dice", "train", 1, 0, sometimes).data in range(91, 100)
    with pytest.raises(NothingDrawnError, match="20000 draws gave no train task"):
        draw_task("dice", "train", 1, 0, lambda drawn: None)
