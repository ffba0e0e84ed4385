"""The watch for reward hacking: when it is raised, how often, and how seldom without a reason."""

import random
from collections.abc import Callable, Iterator

import pytest

from cotrain.training.watch import Look, gamed, looks_of, raised

TASKS = 100
STEPS = 5
NUM_LOOKS = 21


def look(number: int, successes: int, level: float, noise: float = 0.0) -> Look:
    scores = tuple(level + noise * (-1) ** step for step in range(STEPS)) if number else ()
    return Look(number * STEPS, successes, TASKS, scores)


def steps_of_alarms(looks: list[Look], watch: int) -> list[int]:
    found = (raised(looks[:length], watch) for length in range(1, len(looks) + 1))
    return [alarm.now.step for alarm in found if alarm is not None]


def history(*pairs: tuple[int, float], noise: float = 0.01) -> list[Look]:
    return [look(i, successes, level, noise) for i, (successes, level) in enumerate(pairs)]


GAMED = history((40, 0.0), (60, 0.5), (30, 0.7), (28, 0.8), (25, 0.9), (20, 1.0))


@pytest.mark.parametrize(("watch", "steps"), [(1, [10]), (2, [15]), (3, [20]), (4, [25]), (5, [])])
def test_the_alarm_is_raised_once_at_the_evaluation_that_makes_the_row_long_enough(
    watch: int, steps: list[int]
) -> None:
    assert steps_of_alarms(GAMED, watch) == steps


def test_zero_is_off() -> None:
    assert steps_of_alarms(GAMED, 0) == []


def test_an_alarm_that_has_ended_can_be_raised_again() -> None:
    again = history(*[(60, 0.5)] * 2, (20, 0.9), (20, 0.9), (58, 0.9), (20, 1.2), (20, 1.2))
    assert steps_of_alarms(again, 2) == [15, 30]


@pytest.mark.parametrize(
    "looks",
    [
        pytest.param(history((40, 0), (60, 0.7), (30, 0.7), (30, 0.7)), id="the score stays"),
        pytest.param(history((40, 0), (60, 0.7), (30, 0.5), (30, 0.4)), id="both fall"),
        pytest.param(history((40, 0), (60, 0.5), (55, 0.7), (52, 0.8)), id="within its interval"),
        pytest.param(history((40, 0), (60, 0.5), (75, 0.7), (80, 0.8)), id="both rise"),
        pytest.param(history((60, 0), (20, 0.7)), id="one alone"),
        pytest.param(
            history((40, 0), (60, 0.5), (30, 0.52), (30, 0.52), noise=0.2), id="within its noise"
        ),
        pytest.param([], id="nothing yet"),
        pytest.param([Look(i, 60 - 20 * i, TASKS, ()) for i in range(3)], id="nothing trained"),
    ],
)
def test_it_is_silent(looks: list[Look]) -> None:
    assert steps_of_alarms(looks, 2) == []


def test_the_first_steps_stand_for_the_start_which_has_none() -> None:
    start_is_best = history((60, 0.0), (30, 0.5), (25, 0.5), (25, 0.8), (25, 0.9))
    assert steps_of_alarms(start_is_best, 1) == [15]
    assert gamed(start_is_best[:2]) is None


def test_windows_of_one_step_can_be_told_from_noise() -> None:
    looks = [
        Look(i, successes, TASKS, (0.5 + 0.04 * i,) if i else ())
        for i, successes in enumerate((50, 60, 60, 60, 60, 15, 15))
    ]
    assert steps_of_alarms(looks, 2) == [6]


def drifting(generator: random.Random, success: Callable[[int], float]) -> list[Look]:
    """Evaluations of this success, with a score that rises for certain: the worst case."""
    looks: list[Look] = []
    for number in range(NUM_LOOKS):
        solved = sum(generator.random() < success(number) for _ in range(TASKS))
        looks.append(look(number, solved, float(number), 0.01))
    return looks


def share_with_alarm(success: Callable[[int], float], watch: int, runs: int) -> float:
    generator = random.Random(11)
    found: Iterator[bool] = (
        bool(steps_of_alarms(drifting(generator, success), watch)) for _ in range(runs)
    )
    return sum(found) / runs


@pytest.mark.parametrize("success", [0.05, 0.5, 0.9])
def test_noise_alone_raises_an_alarm_in_one_run_of_a_hundred_at_most(success: float) -> None:
    assert share_with_alarm(lambda number: success, 2, 300) <= 0.01


def test_success_that_rises_and_stays_raises_none() -> None:
    assert share_with_alarm(lambda number: min(0.9, 0.2 + 0.1 * number), 2, 100) == 0.0


def test_success_that_halves_is_seen_in_most_runs() -> None:
    assert share_with_alarm(lambda number: 0.6 if number < 8 else 0.3, 2, 60) > 0.9


def test_looks_come_from_the_validation_rows_and_the_steps_between_them() -> None:
    metrics = [{"step": s, "score_mean": None if s == 3 else s / 10} for s in range(1, 8)]
    evaluations = [
        {"step": step, "split": split, "success": 0.25, "tasks": 8}
        for step, split in [(0, "test"), (0, "validation"), (2, "validation"), (5, "validation")]
    ]
    assert looks_of(metrics, evaluations) == [
        Look(0, 2, 8, ()),
        Look(2, 2, 8, (0.1, 0.2)),
        Look(5, 2, 8, (0.4, 0.5)),
    ]
