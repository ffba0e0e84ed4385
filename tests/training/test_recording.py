from dataclasses import replace

import pytest
from tests.builders import make_candidate, make_episode, make_group

from cotrain.core.advantages import normalised
from cotrain.core.episode import (
    Candidate,
    CandidateStatus,
    Episode,
    EpisodeStatus,
    Evidence,
    Request,
)
from cotrain.core.grouping import turn_groups
from cotrain.core.samples import credit, turn_samples
from cotrain.learning.base import UpdateReport
from cotrain.rollouts.methods import WholeEpisodeMethod
from cotrain.runs.metrics import metric_names
from cotrain.training.recording import (
    StepRecord,
    Stopwatch,
    failure_counts,
    most_frequent_failure,
    retry_counts,
    step_row,
)


def record_of(*scores: float | None) -> StepRecord:
    planner = make_group([make_candidate(i, s) for i, s in enumerate(scores)], followed=1)
    proposer = make_group([make_candidate(0, 0.25), make_candidate(1, 0.75)], "proposer")
    episode = make_episode([[[proposer], [planner]]], EpisodeStatus.DONE, success=True)
    groups = turn_groups(turn_samples(episode))
    report = UpdateReport(
        3, skipped=False, samples=4, tokens_trained=12, loss=0.1, loss_shares={"planner": 0.75}
    )
    return StepRecord(1, [episode], groups, credit(groups, normalised, "train"), {"shared": report})


def row_of(*scores: float | None) -> dict[str, object]:
    watch = Stopwatch({"rollout": 2.0, "credit": 0.5, "update": 1.0})
    return step_row(record_of(*scores), ["proposer", "planner"], watch)


def test_a_row_has_the_names_of_the_contract_and_no_other() -> None:
    assert set(metric_names(["shared"], ["proposer", "planner"])) == set(row_of(0.0, 1.0))


def test_spine_gain_is_followed_minus_mean() -> None:
    # proposer: 0.25 - 0.5, planner: 1.0 - 0.5
    assert row_of(0.0, 1.0)["spine_gain"] == 0.125


def test_groups_and_candidates_are_counted() -> None:
    row = row_of(1.0, 1.0)
    assert (row["groups"], row["groups_without_signal"], row["groups_by_turn"]) == (2, 1, [2])
    assert (row["candidates"], row["candidates_failed"]) == (4, 0)


def test_a_failed_candidate_is_counted_and_no_zero() -> None:
    row = row_of(None, 1.0)
    assert row["candidates_failed"] == 1
    assert row["role.planner.score_mean"] == 1.0


def test_tokens_and_times() -> None:
    row = row_of(0.0, 1.0)
    assert (row["tokens_sampled"], row["tokens_per_second"], row["total_seconds"]) == (12, 6.0, 3.5)


def test_the_loss_share_of_a_role_is_what_the_update_reports() -> None:
    row = row_of(0.0, 1.0)
    assert (row["role.planner.loss_share"], row["role.proposer.loss_share"]) == (0.75, None)


def test_failures_are_counted_by_status() -> None:
    assert failure_counts(record_of(None, 1.0).episodes) == {"candidate error": 1}


def unscored(index: int, status: CandidateStatus, message: str) -> Candidate:
    return replace(make_candidate(index, None), status=status, message=message)


def failure_of(*episodes: Episode) -> str | None:
    groups = turn_groups(s for episode in episodes for s in turn_samples(episode))
    return StepRecord(1, episodes, groups, credit(groups, normalised, "train"), {}).failure


def test_the_most_frequent_status_and_message_are_told() -> None:
    timeout = unscored(0, CandidateStatus.TIMEOUT, "late")
    gone = [unscored(i, CandidateStatus.ERROR, "gone") for i in (1, 2)]
    other = unscored(3, CandidateStatus.ERROR, "other")
    episode = make_episode([[[make_group([timeout, *gone, other], followed=None)]]])
    assert most_frequent_failure([episode]) == "candidate error (3 times), gone"


@pytest.mark.parametrize(
    "status",
    [EpisodeStatus.ENVIRONMENT_ERROR, EpisodeStatus.TIMEOUT],
)
def test_a_step_whose_episodes_all_end_before_a_trained_agent_acts_failed(
    status: EpisodeStatus,
) -> None:
    frozen = make_group([make_candidate(0, 1.0)], "proposer", trained=False)
    ended = [
        replace(make_episode(turns, status), message="KeyError") for turns in ([], [[[frozen]]])
    ]
    failure = f"no reply was scored; most often: episode {status} (2 times), KeyError"
    assert failure_of(*ended) == failure


def test_a_step_that_trains_nobody_and_in_which_nothing_fails_went_well() -> None:
    frozen = make_group([make_candidate(0, 1.0)], trained=False)
    assert failure_of(make_episode([[[frozen]]])) is None


def test_a_step_whose_replies_all_lack_a_score_failed_and_one_score_is_enough() -> None:
    nothing = make_episode([[[make_group([make_candidate(i, None) for i in (0, 1)])]]])
    something = make_episode(
        [[[make_group([make_candidate(0, None), make_candidate(1, 0.0)], episode=1)]]], number=1
    )
    assert failure_of(nothing) == "no reply was scored; most often: candidate error (2 times)"
    assert failure_of(nothing, something) is None


def test_a_step_of_whole_episodes_that_all_end_unscored_failed() -> None:
    # The first turn of each is scored; the episodes are not, and nothing can be compared.
    turn = [[make_group([make_candidate(0, 1.0)])]]
    lost = [[make_group([make_candidate(0, None)], turn=2, followed=None)]]
    episode = make_episode([turn, lost], EpisodeStatus.UNSCORED)
    groups = WholeEpisodeMethod(2, 1.0, 2).groups([episode])
    assert StepRecord(1, [episode], groups, [], {}).failure is not None


def test_a_refused_update_is_named_with_its_policy() -> None:
    report = UpdateReport(3, skipped=True, non_finite=True)
    record = replace(record_of(0.0, 1.0), reports={"planner": report})
    assert record.failure == "the loss of policy planner or its gradient was not finite"


def test_retries_are_counted_by_kind_of_all_candidates_and_of_joint_evidence() -> None:
    verify, tie = (Evidence(Request.of(kind), 1, retries=2) for kind in ("verify", "tie"))
    at_once = Evidence(Request.of("program"), 1)
    candidates = [replace(make_candidate(i), evidence=(verify, at_once)) for i in (0, 1)]
    episode = make_episode([[[make_group(candidates)]]])
    [turn] = episode.turns
    phases = tuple(replace(phase, joint_evidence=(tie,)) for phase in turn.phases)
    assert retry_counts([replace(episode, turns=(replace(turn, phases=phases),))]) == {
        "verify": 4,
        "tie": 2,
    }
