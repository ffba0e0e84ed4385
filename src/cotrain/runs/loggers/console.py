"""A run on the terminal: live progress on stderr, or plain lines where that is no terminal."""

import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TextIO, TypeAlias

from rich.console import Console, Group
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from cotrain.runs.loggers.base import Logger

Clock: TypeAlias = Callable[[], float]


@dataclass(frozen=True, slots=True)
class Plan:
    """How far a run goes, and how far it has come where it resumes."""

    steps: int
    max_sampled_tokens: int | None = None
    steps_done: int = 0
    tokens_done: int = 0


def seconds_left(plan: Plan, step: int, tokens: int, elapsed_seconds: float) -> float:
    """The time to the end of the run, at the speed since it began or resumed.

    `step` is the last finished one, `tokens` are all sampled so far. The run ends by its steps or
    by its tokens, whichever comes first.

    >>> seconds_left(Plan(steps=50), step=10, tokens=900, elapsed_seconds=20.0)
    80.0
    >>> seconds_left(Plan(50, max_sampled_tokens=1800), 10, 900, 20.0)
    20.0
    """
    left = [_left(plan.steps_done, step, plan.steps, elapsed_seconds)]
    if plan.max_sampled_tokens is not None:
        left.append(_left(plan.tokens_done, tokens, plan.max_sampled_tokens, elapsed_seconds))
    return min(left)


def duration(seconds: float) -> str:
    """A time for a person.

    >>> duration(9.4), duration(185), duration(7260)
    ('9 s', '3 min 05 s', '2 h 01 min')
    """
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"


def step_line(row: Mapping[str, object]) -> str:
    """The figures of a step in one line.

    >>> step_line({"success": 0.25, "role.planner.score_mean": 0.5, "groups": 12,
    ...            "groups_without_signal": 3, "tokens_per_second": 1830.2})
    'success 0.250  score planner 0.500  no signal 3/12  1830 tokens/s'
    """
    ending = ".score_mean"
    scores = [
        f"{name.removeprefix('role.').removesuffix(ending)} {_number(value, 3)}"
        for name, value in row.items()
        if name.startswith("role.") and name.endswith(ending)
    ]
    parts = [
        f"success {_number(row.get('success'), 3)}",
        f"score {' '.join(scores)}" if scores else f"score {_number(row.get('score_mean'), 3)}",
        f"no signal {_number(row.get('groups_without_signal'))}/{_number(row.get('groups'))}",
        f"{_number(row.get('tokens_per_second'))} tokens/s",
    ]
    return "  ".join(parts)


def evaluation_line(row: Mapping[str, object]) -> str:
    """An evaluation in one line.

    >>> evaluation_line({"step": 10, "split": "test", "method": "at_grpo", "success": 0.5,
    ...     "success_low": 0.4, "success_high": 0.6, "tasks": 100, "turns_mean": 3.25,
    ...     "tokens_mean": 80.0})
    'evaluation after step 10: at_grpo on test, success 0.500 (0.400 to 0.600), 100 tasks, \
3.2 turns, 80 tokens a task'
    """
    return (
        f"evaluation after step {row.get('step')}: {row.get('method')} on {row.get('split')}, "
        f"success {_number(row.get('success'), 3)} ({_interval(row)}), "
        f"{_number(row.get('tasks'))} tasks, {_number(row.get('turns_mean'), 1)} turns, "
        f"{_number(row.get('tokens_mean'))} tokens a task"
    )


def comparison_table(rows: Sequence[Mapping[str, object]]) -> str:
    """Evaluations one below the other, as aligned text: before and after, and the baselines.

    Raises ValueError for rows of several splits, which must not be compared.

    >>> print(comparison_table([{"method": "at_grpo", "turns": 4, "step": 0, "split": "test",
    ...     "tasks": 500, "success": 0.25, "success_low": 0.2, "success_high": 0.3,
    ...     "turns_mean": 3.5, "tokens_mean": 90.0}]))
    method   turns  step  tasks  success   95 % interval  turns used  tokens a task
    at_grpo      4     0    500    0.250  0.200 to 0.300         3.5             90
    """
    splits = sorted({str(row.get("split")) for row in rows})
    if len(splits) > 1:
        raise ValueError(f"the rows are of the splits {', '.join(splits)}; a table shows one split")
    cells = [_HEADINGS, *(_cells(row) for row in rows)]
    widths = [max(len(line[place]) for line in cells) for place in range(len(_HEADINGS))]
    return "\n".join(_aligned(line, widths) for line in cells)


class LineLogger:
    """One plain line a step, an evaluation and an event: for the log of a machine."""

    def __init__(self, plan: Plan, stream: TextIO, clock: Clock = time.monotonic) -> None:
        self._pace = _Pace(plan, clock)
        self._stream = stream

    def step(self, row: Mapping[str, object]) -> None:
        """Prints the step's figures and the time left."""
        left = duration(self._pace.after(row))
        self._print(f"step {row['step']}/{self._pace.plan.steps}  {step_line(row)}  left {left}")

    def evaluation(self, row: Mapping[str, object]) -> None:
        """Prints the evaluation."""
        self._pace.leave_out_the_opening()
        self._print(evaluation_line(row))

    def event(self, kind: str, message: str) -> None:
        """Prints the event."""
        self._print(f"{kind}: {message}")

    def close(self) -> None:
        """Every line is already out."""

    def _print(self, line: str) -> None:
        print(line, file=self._stream, flush=True)


class ConsoleLogger:
    """A bar with the figures of the last step below it; evaluations and events scroll above."""

    def __init__(self, plan: Plan, console: Console, clock: Clock = time.monotonic) -> None:
        self._pace = _Pace(plan, clock)
        self._live = Live(console=console, refresh_per_second=4, redirect_stdout=False)
        self._live.start()
        self._show(plan.steps_done, "the first step is being played", "")

    def step(self, row: Mapping[str, object]) -> None:
        """Moves the bar and shows the step's figures and the time left."""
        left = duration(self._pace.after(row))
        self._show(self._pace.step, step_line(row), f"left {left}")

    def evaluation(self, row: Mapping[str, object]) -> None:
        """Prints the evaluation above the bar."""
        self._pace.leave_out_the_opening()
        self._live.console.print(Text(evaluation_line(row)))

    def event(self, kind: str, message: str) -> None:
        """Prints the event above the bar."""
        self._live.console.print(Text(f"{kind}: {message}"))

    def close(self) -> None:
        """Stops the display and leaves its last state on the screen."""
        self._live.stop()

    def _show(self, step: int, figures: str, left: str) -> None:
        steps = self._pace.plan.steps
        bar = Table.grid(padding=(0, 1))
        bar.add_row(f"step {step}/{steps}", ProgressBar(steps, step, width=40), left)
        self._live.update(Group(bar, Text(figures)), refresh=True)


def console_logger(plan: Plan, stream: TextIO | None = None) -> Logger:
    """The logger that suits the stream, stderr by default: live on a terminal, lines elsewhere."""
    target = sys.stderr if stream is None else stream
    console = Console(file=target)
    return ConsoleLogger(plan, console) if console.is_terminal else LineLogger(plan, target)


class _Pace:
    """Counts steps and tokens against the clock."""

    def __init__(self, plan: Plan, clock: Clock) -> None:
        self.plan = plan
        self.step = plan.steps_done
        self._tokens = plan.tokens_done
        self._clock = clock
        self._began = clock()

    def leave_out_the_opening(self) -> None:
        """What happens once, before the first step, says nothing about the speed of steps."""
        if self.step == self.plan.steps_done:
            self._began = self._clock()

    def after(self, row: Mapping[str, Any]) -> float:
        """Takes in the row of a step and returns the seconds left."""
        self.step = int(row["step"])
        self._tokens += int(row.get("tokens_sampled") or 0)
        return seconds_left(self.plan, self.step, self._tokens, self._clock() - self._began)


_HEADINGS = (
    "method",
    "turns",
    "step",
    "tasks",
    "success",
    "95 % interval",
    "turns used",
    "tokens a task",
)


def _cells(row: Mapping[str, object]) -> tuple[str, ...]:
    return (
        str(row.get("method")),
        _number(row.get("turns")),
        _number(row.get("step")),
        _number(row.get("tasks")),
        _number(row.get("success"), 3),
        _interval(row),
        _number(row.get("turns_mean"), 1),
        _number(row.get("tokens_mean")),
    )


def _aligned(line: Sequence[str], widths: Sequence[int]) -> str:
    first, *others = (
        cell.rjust(width) if place else cell.ljust(width)
        for place, (cell, width) in enumerate(zip(line, widths, strict=True))
    )
    return "  ".join([first, *others])


def _interval(row: Mapping[str, object]) -> str:
    return f"{_number(row.get('success_low'), 3)} to {_number(row.get('success_high'), 3)}"


def _number(value: object, digits: int = 0) -> str:
    return f"{value:.{digits}f}" if isinstance(value, int | float) else "-"


def _left(start: int, now: int, end: int, elapsed_seconds: float) -> float:
    return elapsed_seconds * max(0, end - now) / max(1, now - start)
