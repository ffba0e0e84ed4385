from tests.builders import make_candidate, make_episode, make_group

from cotrain.core.advantages import normalised
from cotrain.core.episode import EpisodeStatus
from cotrain.core.grouping import turn_groups
from cotrain.core.samples import credit, turn_samples
from cotrain.learning.base import UpdateReport
from cotrain.runs.metrics import metric_names
from cotrain.training.recording import StepRecord, Stopwatch, failure_counts, step_row


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
