"""`cotrain train`: trains a team, or goes on with a run."""

import sys
from contextlib import redirect_stdout
from pathlib import Path
from typing import Annotated

import typer

from cotrain.cli.failures import FAILED, explained, stop
from cotrain.cli.interrupts import StopRequest
from cotrain.cli.options import AsJson, Assignments, print_json


def train(
    config: Annotated[
        str | None, typer.Argument(metavar="CONFIG", help="A TOML file or a preset.")
    ] = None,
    assignments: Assignments = None,
    run_dir: Annotated[
        Path | None, typer.Option("--run-dir", help="The run's folder. Default: runs/NAME-TIME.")
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Goes on with the run in --run-dir.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Prints the resolved plan and stops.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Trains a team; without CONFIG the embedded default."""
    from cotrain.assembly import commands

    with explained(str(run_dir or "")):
        if dry_run:
            with redirect_stdout(sys.stderr):  # environments and scripts may print
                plan = commands.plan(config, assignments or [])
            print_json(plan.as_json()) if as_json else print(plan.as_text())
            return
        request = StopRequest()
        request.install()
        try:
            with redirect_stdout(sys.stderr):
                run = commands.train(config, assignments or [], run_dir, resume, request)
        except KeyboardInterrupt:
            stop(commands.how_to_go_on(run_dir), FAILED)
            return
        if as_json:
            print_json(commands.summary(run))
        else:
            print(commands.summary_text(run))
