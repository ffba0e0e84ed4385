"""What fails becomes a recorded status: of a candidate, of an episode, or of the run."""

import math
import threading
from collections.abc import Callable
from itertools import count

import pytest
from tests.rollouts.rated import RatedAlone, RatedInOrder, RatedOptions, RatedTogether, answer_tie
from tests.rollouts.settings import (
    make_engine,
    make_openings,
    make_player,
    make_rules,
    place_of,
    play,
    rows,
    scores,
)

from cotrain.core.advantages import centered
from cotrain.core.episode import CandidateStatus, EpisodeStatus, Finish, Reply
from cotrain.core.grouping import turn_groups
from cotrain.core.samples import credit, turn_samples
from cotrain.rollouts.base import NoTaskError, PromptTooLongError, any_unscored
from cotrain.rollouts.episodes import tasks_of
from cotrain.rollouts.evidence import HandlerPool
from cotrain.rollouts.referee import LocalReferee

Write = Callable[[int], str | Reply]


def failed_call(status: Finish) -> Write:
    """Candidate 0 is a failed call that wrote a number, candidate 1 a good reply."""
    failed = Reply("1", (49,), (-1.0,), status, "no end within 3 s (limits.reply_seconds)")
    return lambda seed: failed if place_of(seed)[2] == 0 else "0.25"


@pytest.mark.parametrize(
    ("bad", "status", "message"),
    [
        ("boom", CandidateStatus.ERROR, "KeyError: 'boom'"),
        ("odd", CandidateStatus.ERROR, "evidence: KeyError: 'odd'"),
        ("nothing", CandidateStatus.ERROR, "act returned NoneType, not an Outcome"),
        ("nan", CandidateStatus.ERROR, "the score is not a finite number"),
        ("inf", CandidateStatus.ERROR, "the score is not a finite number"),
        ("1e300", CandidateStatus.ERROR, "the score is not a finite number"),
        ("leave", CandidateStatus.ERROR, "SystemExit: 0"),
        ("text", CandidateStatus.ERROR, "act returned 'text' (str) as team; it must be a number"),
        ("object", CandidateStatus.ERROR, "the answer is <object object at"),
        ("wait", CandidateStatus.TIMEOUT, "no answer within 0.05 s (limits.act_seconds)"),
        ("unheard", CandidateStatus.ERROR, "nothing answers requests of kind 'unheard'"),
    ],
)
def test_a_candidate_that_cannot_be_scored_is_masked_with_its_reason(
    bad: str, status: CandidateStatus, message: str
) -> None:
    # prime-rl#2360, camel#2116, SimpleVLA-RL#37: no zero reward, and the others go on
    never = threading.Event()
    pool = HandlerPool(
        {"wait": lambda request: never.wait(), "object": lambda request: object()}, 0.05, retries=0
    )
    player = make_player("solo", rows(["0.25", bad, "0.75"]), 3)
    engine = make_engine(RatedAlone(), pool)
    [episode] = engine.play(make_openings(), {"solo": player}, make_rules())
    never.set()
    [group] = episode.groups()
    candidate = group.candidates[1]
    assert scores(group) == [0.25, None, 0.75]
    assert group.followed == 2
    assert candidate.status is status
    assert message in candidate.message
    credited = credit(turn_groups(turn_samples(episode)), centered, "train")
    assert [c.advantage for c in credited] == [-0.25, 0.25]


@pytest.mark.parametrize(
    ("finish", "status"),
    [(Finish.TIMEOUT, CandidateStatus.TIMEOUT), (Finish.ERROR, CandidateStatus.ERROR)],
)
def test_a_failed_call_is_no_reply_and_is_not_judged(
    finish: Finish, status: CandidateStatus
) -> None:
    [episode] = play(RatedAlone(), [make_player("solo", failed_call(finish))], make_rules())
    [group] = episode.groups()
    assert (group.candidates[0].status, group.candidates[0].score) == (status, None)
    assert "limits.reply_seconds" in group.candidates[0].message
    assert group.followed == 1


def test_a_reply_cut_at_its_limit_is_judged_and_recorded_as_cut() -> None:
    player = make_player("solo", rows(["0.123456", "0.5"]), max_reply_tokens=4)
    [episode] = play(RatedAlone(), [player], make_rules())
    cut, whole = episode.groups()[0].candidates
    assert (cut.reply.finish, cut.reply.text, cut.score) == (Finish.LENGTH, "0.12", 0.12)
    assert whole.reply.finish is Finish.STOP


def test_an_agent_without_a_scored_candidate_keeps_its_last_reply() -> None:
    left = make_player("left", rows(["0.5", "0.25"], ["boom", "nan"]))
    right = make_player("right", rows(["0.1", "0"], ["0.7", "0.6"]))
    [episode] = play(RatedTogether(), [left, right], make_rules(2))
    assert episode.status is EpisodeStatus.TURN_LIMIT
    assert [phase.rendering for turn in episode.turns for phase in turn.phases] == [
        "left=0.5,right=0.1",
        "left=0.5,right=0.1|right=0.7",
    ]
    assert [group.followed for group in episode.groups()] == [0, 0, None, 0]
    credited = credit(turn_groups(turn_samples(episode)), centered, "train")
    assert len(credited) == 6


def test_a_phase_without_any_score_ends_the_episode_and_earlier_groups_stay() -> None:
    left = make_player("left", rows(["0.5", "0.25"], ["boom", "nan"]))
    right = make_player("right", rows(["0.1", "0"], ["odd", "boom"]))
    [episode] = play(RatedTogether(), [left, right], make_rules(4))
    assert (episode.status, episode.success) == (EpisodeStatus.UNSCORED, False)
    assert [len(turn.phases) for turn in episode.turns] == [1, 1]
    assert episode.turns[1].phases[0].joint_evidence == ()
    assert "left: error KeyError: 'boom'" in episode.message
    assert [s.score for s in turn_samples(episode)] == [0.5, 0.25, 0.1, 0.0, *[None] * 4]


def test_where_each_reply_counts_one_unscored_reply_ends_the_episode() -> None:
    players = [make_player("left", rows(["0.5"]), 1), make_player("right", rows(["boom"]), 1)]
    rules = make_rules(3, ends_unscored=any_unscored)
    [episode] = play(RatedTogether(), players, rules)
    assert (episode.status, episode.success) == (EpisodeStatus.UNSCORED, False)
    assert len(episode.turns) == 1


def test_an_unscored_ending_is_never_a_success() -> None:
    left = make_player("left", rows(["0.5"], ["done"]), 1)
    right = make_player("right", rows(["0.5"], ["boom"]), 1)
    rules = make_rules(3, ends_unscored=any_unscored)
    [episode] = play(RatedTogether(), [left, right], rules)
    assert (episode.status, episode.success) == (EpisodeStatus.UNSCORED, False)


@pytest.mark.parametrize(
    ("rule", "kept"),
    [("start", 0), ("observe", 2), ("commit", 4), ("joint_evidence", 4), ("render", 4)],
)
def test_a_fault_of_the_rules_ends_its_episode_and_no_other(rule: str, kept: int) -> None:
    at = {"start": 0, "render": 2}.get(rule, 1)
    faulty = RatedTogether(RatedOptions(fails_in=rule, fails_at=at))
    players = [make_player(hand, rows(["0", "1"], ["0", "1"])) for hand in ("left", "right")]
    [episode] = play(faulty, players, make_rules(2))
    assert (episode.status, episode.success) == (EpisodeStatus.ENVIRONMENT_ERROR, False)
    assert f"KeyError: '{rule} of round" in episode.message
    assert len(episode.groups()) == kept


def test_a_fault_in_judging_success_is_a_fault_of_its_episode() -> None:
    faulty = RatedAlone(RatedOptions(fails_in="success"))
    [episode] = play(faulty, [make_player("solo", rows(["0", "1"]))], make_rules())
    assert (episode.status, episode.success) == (EpisodeStatus.ENVIRONMENT_ERROR, False)
    assert episode.message.startswith("success: KeyError")


def test_joint_evidence_that_cannot_be_had_ends_the_episode_and_is_recorded() -> None:
    players = [make_player(hand, rows(["0", "1"])) for hand in ("left", "right")]
    [episode] = play(RatedTogether(), players, make_rules(2), handlers={"tie": break_down})
    assert episode.status is EpisodeStatus.ENVIRONMENT_ERROR
    assert episode.message == "joint evidence: OSError: no string (after 3 tries)"
    [evidence] = episode.turns[0].phases[0].joint_evidence
    assert evidence.status is CandidateStatus.ERROR
    assert [scores(group) for group in episode.groups()] == [[0.0, 1.0]] * 2


def break_down(request: object) -> None:
    raise OSError("no string")


def words(*counts: int) -> RatedAlone:
    return RatedAlone(RatedOptions(words=counts))


@pytest.mark.parametrize(("prompt", "room"), [(48, 16), (60, 4), (63, 1)])
def test_a_reply_has_the_room_that_the_context_leaves(prompt: int, room: int) -> None:
    # tinker-cookbook#506: computed before the call; context 64, reply limit 16
    write = rows(["0." + "1" * 50, "0." + "2" * 50])
    player = make_player("solo", write, context_tokens=64, max_reply_tokens=16)
    [episode] = play(words(prompt), [player], make_rules())
    assert {len(c.reply.token_ids) for c in episode.groups()[0].candidates} == {room}


@pytest.mark.parametrize("prompt", [64, 70])
def test_an_episode_without_room_ends_and_its_siblings_go_on(prompt: int) -> None:
    # tinker-cookbook#506, verifiers#1625
    environment = words(10, prompt)

    def write(seed: int) -> str:
        episode, _, candidate = place_of(seed)
        return "done" if episode == 1 and candidate == 0 else "0.5"

    player = make_player("solo", write, context_tokens=64, max_reply_tokens=16)
    short, solved = play(environment, [player], make_rules(3), make_openings(2))
    assert (short.status, short.success) == (EpisodeStatus.CONTEXT_LENGTH, False)
    assert "sampling.max_prompt_tokens" in short.message
    assert [len(episode.groups()) for episode in (short, solved)] == [1, 1]
    # verifiers#398: the one that was solved at the turn before keeps its reward
    assert (solved.status, solved.success) == (EpisodeStatus.DONE, True)
    assert 1.0 in scores(solved.groups()[0])


def test_a_prompt_over_its_own_limit_ends_the_episode_too() -> None:
    [episode] = play(
        words(10, 21), [make_player("solo", rows(["0", "1"]))], make_rules(3, max_prompt_tokens=20)
    )
    assert episode.status is EpisodeStatus.CONTEXT_LENGTH
    assert len(turn_samples(episode)) == 2


@pytest.mark.parametrize(("context", "limit"), [(64, 1000), (1000, 64)])
def test_a_first_prompt_that_does_not_fit_stops_the_run_and_names_the_key(
    context: int, limit: int
) -> None:
    player = make_player("solo", rows(["0", "1"]), context_tokens=context)
    said = rf"solo at turn 1 has 70 tokens; allowed are {limit} \(sampling\.max_prompt_tokens\)"
    with pytest.raises(PromptTooLongError, match=said):
        play(words(70), [player], make_rules(max_prompt_tokens=limit))


def test_an_episode_over_its_time_is_ended_and_counted() -> None:
    ticks = count(0.0, 1.0)
    engine = make_engine(RatedInOrder(), HandlerPool({}), clock=lambda: next(ticks))
    cast = {hand: make_player(hand, rows(["0", "1"], ["0", "1"])) for hand in ("left", "right")}
    [episode] = engine.play(make_openings(), cast, make_rules(9, episode_seconds=2.5))
    assert (episode.status, episode.success) == (EpisodeStatus.TIMEOUT, False)
    assert episode.message == "longer than 2.5 s (limits.episode_seconds)"
    assert [len(turn.phases) for turn in episode.turns] == [2]


def test_a_late_environment_is_masked_and_the_others_go_on() -> None:
    # prime-rl#2360: eight episodes, the fourth one's check never answers
    never = threading.Event()
    pool = HandlerPool({"wait": lambda request: never.wait()}, seconds=0.2, workers=8)

    def write(seed: int) -> str:
        return "wait" if place_of(seed)[0] == 3 else "0.5"

    engine = make_engine(RatedAlone(), pool)
    players = {"solo": make_player("solo", write)}
    episodes = engine.play(make_openings(8), players, make_rules())
    never.set()
    statuses = [episode.status for episode in episodes]
    assert statuses.pop(3) is EpisodeStatus.UNSCORED
    assert statuses == [EpisodeStatus.TURN_LIMIT] * 7
    late = episodes[3].groups()[0].candidates
    assert {candidate.status for candidate in late} == {CandidateStatus.TIMEOUT}
    assert [s.score for s in turn_samples(episodes[3])] == [None, None]


def test_no_recorded_score_is_other_than_finite_or_none() -> None:
    player = make_player("solo", rows(["nan", "inf", "-inf", "1"]), 4)
    [episode] = play(RatedAlone(), [player], make_rules(), handlers={"tie": answer_tie})
    found = scores(episode.groups()[0])
    assert found == [None, None, None, 1.0]
    assert all(score is None or math.isfinite(score) for score in found)


@pytest.mark.parametrize("split", ["train", "test"])
def test_a_task_that_cannot_be_made_stops_the_run_and_is_named(split: str) -> None:
    said = rf"rated has no {split} task 5 \(seed 3\): KeyError: 'task of round 5'"
    faulty = LocalReferee(RatedAlone(RatedOptions(fails_in="task", fails_at=5)))
    assert [task.index for task in tasks_of(faulty, split, 3, [3, 4])] == [3, 4]
    with pytest.raises(NoTaskError, match=said):
        tasks_of(faulty, split, 3, [4, 5])
