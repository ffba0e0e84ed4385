"""Paired differences: right by hand, blind to what both rows share, and of the stated coverage."""

import random

import pytest

from cotrain.compare.intervals import Difference, paired_difference


def test_the_mean_and_the_seeds_own_means_are_those_of_the_pairs() -> None:
    found = paired_difference(["1100", "0000"], ["1000", "0011"])
    assert found.mean == pytest.approx((1 - 2) / 8)
    assert found.by_seed == (0.25, -0.5)


def test_equal_rows_have_no_difference_and_decide_nothing() -> None:
    found = paired_difference(["101", "110"], ["101", "110"])
    assert (found.mean, found.low, found.high) == (0, 0, 0)
    assert found.verdict == "not decided"


def test_exchanged_rows_have_the_mirrored_interval() -> None:
    first, second = ["1" * 40 + "0" * 20], ["0" * 30 + "1" * 30]
    there, back = paired_difference(first, second), paired_difference(second, first)
    assert there.mean == -back.mean
    assert there.low == pytest.approx(-back.high, abs=0.02)
    assert there.high == pytest.approx(-back.low, abs=0.02)


@pytest.mark.parametrize(
    ("low", "high", "verdict"),
    [
        (0.01, 0.2, "holds"),
        (-0.2, -0.01, "does not hold"),
        (-0.1, 0.1, "not decided"),
        (0.0, 0.1, "not decided"),
        (-0.1, 0.0, "not decided"),
    ],
)
def test_a_claim_holds_above_zero_and_does_not_below(low: float, high: float, verdict: str) -> None:
    assert Difference(0.0, low, high, low, high, (0.0,), 99).verdict == verdict
    assert Difference(0.0, low, high, -0.1, 0.1, (0.0,), 99).verdict == verdict
    assert Difference(0.0, -0.1, 0.1, low, high, (0.0,), 99).verdict_over_tasks == verdict


def test_too_few_pairs_that_differ_decide_nothing() -> None:
    same = "1" * 490
    for number, verdict in [(5, "not decided"), (6, "holds")]:
        rest = 10 - number
        found = paired_difference(
            [same + "1" * number + "0" * rest], [same + "0" * number + "0" * rest]
        )
        assert found.low > 0
        assert (found.discordant, found.verdict) == (number, verdict)


def test_the_interval_over_tasks_takes_all_seeds_of_a_task_together() -> None:
    first, second = "1" * 60 + "0" * 40, "1" * 30 + "0" * 70
    one = paired_difference([first], [second])
    three = paired_difference([first] * 3, [second] * 3)  # nothing new is learnt of the tasks
    assert three.task_high - three.task_low == pytest.approx(one.high - one.low, abs=0.01)
    assert three.high - three.low < 0.7 * (one.high - one.low)


def test_the_same_figures_give_the_same_interval() -> None:
    rows = ["110100" * 30], ["010101" * 30]
    assert paired_difference(*rows) == paired_difference(*rows)


@pytest.mark.parametrize(
    ("better", "than"),
    [([], []), (["1"], ["1", "0"]), (["11"], ["1"]), ([""], [""]), (["1", "11"], ["1", "11"])],
)
def test_rows_that_cannot_be_paired_are_refused(better: list[str], than: list[str]) -> None:
    with pytest.raises(ValueError, match="paired by seed and task"):
        paired_difference(better, than)


def test_over_tasks_seeds_that_share_hard_ones_decide_no_more_often_than_they_should() -> None:
    generator, decided, too_often, trials = random.Random(2), 0, 0, 300
    for trial in range(trials):
        better = [generator.random() for _ in range(200)]  # how easy each task is for each row
        than = [generator.random() for _ in range(200)]
        rows = [
            ["".join("01"[generator.random() < ease] for ease in row) for _ in range(3)]
            for row in (better, than)
        ]
        found = paired_difference(*rows, seed=trial)
        decided += found.verdict_over_tasks != "not decided"
        too_often += found.verdict != "not decided"
    assert decided / trials <= 0.08 < too_often / trials


def test_the_interval_over_tasks_holds_the_true_difference_where_seeds_share_hard_tasks() -> None:
    generator, held, trials = random.Random(1), 0, 300
    for trial in range(trials):
        gains = [generator.random() < 0.3 for _ in range(150)]  # of a task, the same for all seeds
        rows = [
            ["".join("01"[gain and generator.random() < 0.9] for gain in gains) for _ in range(3)],
            ["0" * 150] * 3,
        ]
        found = paired_difference(*rows, seed=trial)
        held += found.task_low <= 0.27 <= found.task_high
    assert 0.91 <= held / trials <= 0.98


def test_the_interval_holds_the_true_difference_about_95_times_in_100() -> None:
    generator, held, trials = random.Random(0), 0, 300
    for trial in range(trials):
        first = "".join("01"[generator.random() < 0.6] for _ in range(200))
        second = "".join("01"[generator.random() < 0.5] for _ in range(200))
        found = paired_difference([first], [second], seed=trial)
        held += found.low <= 0.1 <= found.high
    assert 0.91 <= held / trials <= 0.98
