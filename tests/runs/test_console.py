"""What a run shows on the terminal and in a log."""

import io
from itertools import count

import pytest
from rich.console import Console

from cotrain.runs.loggers.console import (
    ConsoleLogger,
    LineLogger,
    Plan,
    comparison_table,
    console_logger,
    seconds_left,
)

ROW = {
    "step": 3,
    "success": 0.25,
    "role.planner.score_mean": 0.5,
    "role.proposer.score_mean": None,
    "groups": 96,
    "groups_without_signal": 12,
    "tokens_sampled": 100,
    "tokens_per_second": 1830.4,
}
EVALUATION = {
    "step": 10,
    "method": "at_grpo",
    "split": "test",
    "tasks": 500,
    "success": 0.9,
    "success_low": 0.87,
    "success_high": 0.92,
    "turns": 4,
    "turns_mean": 2.5,
    "tokens_mean": 60.0,
}


def ticking(seconds: float):
    """A clock that moves on by so many seconds each time it is read."""
    times = count(0.0, seconds)
    return lambda: next(times)


def test_a_log_gets_one_plain_line_a_step_with_figures_and_time_left():
    stream = io.StringIO()
    logger = LineLogger(Plan(steps=5), stream, ticking(30.0))
    logger.step(ROW)
    assert stream.getvalue() == (
        "step 3/5  success 0.250  score planner 0.500 proposer -  no signal 12/96  "
        "1830 tokens/s  left 20 s\n"
    )


def test_a_log_gets_one_line_an_evaluation_and_an_event():
    stream = io.StringIO()
    logger = LineLogger(Plan(steps=5), stream)
    logger.evaluation(EVALUATION)
    logger.event("warning", "step 4 is passed over")
    logger.close()
    first, second = stream.getvalue().splitlines()
    assert "at_grpo on test, success 0.900 (0.870 to 0.920), 500 tasks" in first
    assert second == "warning: step 4 is passed over"


def test_a_stream_that_is_no_terminal_gets_plain_lines():
    assert isinstance(console_logger(Plan(steps=1), io.StringIO()), LineLogger)


def test_a_terminal_shows_progress_and_scrolls_evaluations_above_it():
    stream = io.StringIO()
    console = Console(file=stream, force_terminal=True, width=100)
    logger = ConsoleLogger(Plan(steps=5), console, ticking(30.0))
    logger.step(ROW)
    logger.evaluation(EVALUATION)
    logger.event("warning", "[red]no markup[/red]")
    logger.close()
    logger.close()
    shown = stream.getvalue()
    assert "step 3/5" in shown
    assert "left 20 s" in shown
    assert "success 0.900 (0.870 to 0.920)" in shown
    assert "[red]no markup[/red]" in shown


def test_evaluations_before_the_first_step_do_not_count_as_time_of_steps():
    stream = io.StringIO()
    logger = LineLogger(Plan(steps=5), stream, iter([0.0, 500.0, 530.0]).__next__)
    logger.evaluation(EVALUATION)
    logger.step(ROW)
    assert stream.getvalue().endswith("left 20 s\n")


def test_a_resumed_run_counts_its_speed_from_where_it_resumed():
    plan = Plan(steps=10, steps_done=6)
    assert seconds_left(plan, step=8, tokens=0, elapsed_seconds=10.0) == 10.0


def test_the_time_left_is_that_of_the_limit_that_comes_first():
    plan = Plan(steps=100, max_sampled_tokens=1000, tokens_done=400)
    assert seconds_left(plan, step=1, tokens=700, elapsed_seconds=6.0) == 6.0
    assert seconds_left(plan, step=1, tokens=1200, elapsed_seconds=6.0) == 0.0


def test_the_table_compares_rows_of_one_split_only():
    with pytest.raises(ValueError, match="test, validation"):
        comparison_table([EVALUATION, EVALUATION | {"split": "validation"}])


def test_the_table_aligns_its_columns_and_shows_what_is_missing():
    other = EVALUATION | {"method": "single_grpo", "step": 0, "success": None, "tokens_mean": None}
    lines = comparison_table([EVALUATION, other]).splitlines()
    assert len({len(line) for line in lines}) == 1
    assert lines[2].startswith("single_grpo      4     0    500        -")
    assert lines[2].endswith("-")
