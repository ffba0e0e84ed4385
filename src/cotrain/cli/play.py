"""`cotrain play`: one episode in the terminal, turn by turn."""

import sys
from contextlib import redirect_stdout
from typing import Annotated

import typer

from cotrain.cli.failures import explained
from cotrain.cli.options import AsJson, Assignments, print_json


def play(
    target: Annotated[str, typer.Argument(help="A run folder, a checkpoint, a file or a preset.")],
    task: Annotated[int, typer.Option(min=0, help="The task's place in the split, from 0.")] = 0,
    split: Annotated[str, typer.Option(help="train, validation or test.")] = "test",
    seed: Annotated[
        int | None, typer.Option(min=0, help="evaluation.seed: tasks and sampling.")
    ] = None,
    prompts: Annotated[bool, typer.Option("--prompts", help="Shows whole prompts.")] = False,
    assignments: Assignments = None,
    as_json: AsJson = False,
) -> None:
    """Plays one task as an evaluation does and shows every turn. Writes nothing."""
    from cotrain.assembly import playing
    from cotrain.cli.episode_text import print_played

    with explained():
        with redirect_stdout(sys.stderr):  # environments and scripts may print
            played = playing.play(target, assignments or [], task, split, seed)
        print_json(played.as_json()) if as_json else print_played(played, prompts)
