"""`cotrain train`: trains a team, or goes on with a run."""

import sys
from collections.abc import Callable
from contextlib import redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cotrain.cli.failures import FAILED, explained, stop
from cotrain.cli.interrupts import StopRequest
from cotrain.cli.options import AsJson, Assignments, Configuration, Resume, RunDirectory, print_json

if TYPE_CHECKING:
    from cotrain.assembly.training import Run


def train(
    config: Configuration = None,
    assignments: Assignments = None,
    run_dir: RunDirectory = None,
    resume: Resume = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Prints the resolved plan and stops.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Trains a team; without CONFIG the embedded default."""
    from cotrain.assembly import commands

    if dry_run:
        with explained(), redirect_stdout(sys.stderr):  # environments and scripts may print
            plan = commands.plan(config, assignments or [])
        print_json(plan.as_json()) if as_json else print(plan.as_text())
        return
    report(
        lambda asked: commands.train(config, assignments or [], run_dir, resume, asked),
        run_dir,
        as_json,
    )


def report(start: Callable[[StopRequest], "Run"], run_dir: Path | None, as_json: bool) -> None:
    """Trains, until Ctrl-C at the most, and prints what came of it."""
    from cotrain.assembly import commands

    with explained(str(run_dir or "")):
        request = StopRequest()
        request.install()
        try:
            with redirect_stdout(sys.stderr):  # environments and scripts may print
                run = start(request)
        except KeyboardInterrupt:
            stop(commands.how_to_go_on(run_dir), FAILED)
            return
        if as_json:
            print_json(commands.summary(run))
        else:
            print(commands.summary_text(run))
