"""`cotrain evaluate`: the success of a team on held-out tasks."""

import sys
from contextlib import redirect_stdout
from typing import Annotated

import typer

from cotrain.cli.failures import explained
from cotrain.cli.options import AsJson, Assignments, print_json


def evaluate(
    target: Annotated[str, typer.Argument(help="A run folder, a checkpoint, a file or a preset.")],
    tasks: Annotated[
        int | None, typer.Option(min=1, help="Tasks. Default: evaluation.tasks.")
    ] = None,
    split: Annotated[str, typer.Option(help="train, validation or test.")] = "test",
    seed: Annotated[
        int | None, typer.Option(min=0, help="evaluation.seed: tasks and sampling.")
    ] = None,
    policies: Annotated[
        list[str] | None,
        typer.Option(
            "--policy",
            metavar="ROLE=RUN[:POLICY][@STEP]",
            help="Puts a policy of any run into a role; may be repeated.",
        ),
    ] = None,
    swaps: Annotated[
        list[str] | None,
        typer.Option(
            "--swap", metavar="ROLE=ROLE", help="Two roles play with each other's policies."
        ),
    ] = None,
    assignments: Assignments = None,
    as_json: AsJson = False,
) -> None:
    """Evaluates a team: one reply an agent and turn, with a 95 % interval. Writes nothing."""
    from cotrain.assembly import commands
    from cotrain.assembly.lineup import parse_pairs
    from cotrain.runs.loggers.console import comparison_table

    with explained():
        others = parse_pairs("--policy", policies or [])
        pairs = parse_pairs("--swap", swaps or [])
        with redirect_stdout(sys.stderr):  # environments and scripts may print
            row = commands.evaluate(target, assignments or [], tasks, split, seed, others, pairs)
        if as_json:
            print_json(row)
        else:
            print(comparison_table([row]))
