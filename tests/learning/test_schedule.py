"""The learning rate over a run."""

import pytest

from cotrain.learning.schedule import rate_factor


@pytest.mark.parametrize(
    ("schedule", "right"),
    [
        ("constant", [1.0, 1.0, 1.0, 1.0, 1.0]),
        ("linear", [1.0, 0.75, 0.5, 0.25, 0.0]),
        ("cosine", [1.0, 0.853553, 0.5, 0.146447, 0.0]),
    ],
)
def test_a_schedule_follows_the_share_of_the_run_behind(schedule: str, right: list[float]) -> None:
    found = [rate_factor(schedule, 0, 7, progress) for progress in (0.0, 0.25, 0.5, 0.75, 1.0)]
    assert found == pytest.approx(right, abs=1e-6)


def test_warm_up_is_linear_in_steps_and_multiplies_the_schedule() -> None:
    found = [rate_factor("constant", 4, step, 0.0) for step in range(1, 7)]
    assert found == [0.25, 0.5, 0.75, 1.0, 1.0, 1.0]
    assert rate_factor("linear", 4, 2, 0.5) == 0.25


def test_without_warm_up_the_first_step_has_the_whole_rate() -> None:
    assert rate_factor("constant", 0, 1, 0.0) == 1.0
