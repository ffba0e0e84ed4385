"""The names of the figures, and the figures that are worked out here."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cotrain.runs.metrics import (
    EVALUATIONS,
    METRICS,
    mean,
    metric_names,
    policy_figures,
    role_figures,
    success_figures,
    timeless,
    wilson_interval,
)


def test_a_row_has_a_name_for_each_policy_and_each_role():
    names = metric_names(["planner", "proposer"], ["solo"])
    assert "policy.proposer.clip_fraction" in names
    assert "role.solo.reply_tokens_mean" in names
    assert not [name for name in names if "NAME" in name]
    assert len(names) == len(set(names)) == 18 + 9 * 2 + 3


def test_every_name_is_explained():
    assert all(meaning for meaning in (*METRICS.values(), *EVALUATIONS.values()))


def test_figures_of_policies_and_roles_have_names_of_the_contract():
    row = policy_figures("a", {"loss": 0.1, "skipped": False}) | role_figures(
        "b", {"loss_share": 1}
    )
    assert set(row) <= set(metric_names(["a"], ["b"]))


def test_success_figures_have_names_of_the_contract():
    figures = success_figures(450, 500)
    assert set(figures) <= set(EVALUATIONS)
    assert figures["success"] == 0.9
    assert figures["success_low"] < 0.9 < figures["success_high"]


def test_success_of_no_tasks_is_missing_not_zero():
    assert success_figures(0, 0) == {
        "tasks": 0,
        "success": None,
        "success_low": 0.0,
        "success_high": 1.0,
    }


@settings(deadline=None)
@given(st.integers(0, 400), st.integers(0, 400))
def test_the_interval_holds_its_share_and_mirrors(successes, failures):
    total = successes + failures
    low, high = wilson_interval(successes, total)
    assert 0.0 <= low <= high <= 1.0
    if total:
        assert low <= successes / total <= high
    mirrored = wilson_interval(failures, total)
    assert mirrored == pytest.approx((1 - high, 1 - low), abs=1e-12)


def test_the_interval_of_more_successes_than_trials_is_refused():
    with pytest.raises(ValueError, match="successes is 3"):
        wilson_interval(3, 2)


def test_a_mean_leaves_out_what_is_missing():
    assert mean([None, 2.0, 4.0]) == 3.0
    assert mean([None]) is None


def test_a_timeless_row_keeps_counts_of_tokens():
    row = {"tokens_sampled": 3, "tokens_per_second": 9.0, "total_seconds": 1.0}
    assert timeless(row) == {"tokens_sampled": 3}
