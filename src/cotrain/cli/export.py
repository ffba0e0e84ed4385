"""`cotrain export`: a trained policy as a folder for other programs."""

import sys
from contextlib import redirect_stdout
from pathlib import Path
from typing import Annotated

import typer

from cotrain.cli.failures import explained
from cotrain.cli.options import AsJson, print_json


def export(
    run_dir: Annotated[str, typer.Argument(help="A run folder or a checkpoint.")],
    policy: Annotated[str, typer.Option("--policy", help="The policy's name in the run.")],
    to: Annotated[Path, typer.Option("--to", help="The folder to write; new or empty.")],
    adapter: Annotated[
        bool, typer.Option("--adapter", help="The adapter alone, not merged into its base.")
    ] = False,
    dtype: Annotated[
        str | None,
        typer.Option(help="float32, bfloat16, float64. Default: as the run computed."),
    ] = None,
    step: Annotated[
        int | None, typer.Option(min=0, help="Of a saved step. Default: the last one.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Writes a policy as a plain Hugging Face folder, with a model card."""
    from cotrain.assembly import exporting

    with explained():
        form = "adapter" if adapter else "merged"
        with redirect_stdout(sys.stderr):  # environments may print
            found = exporting.export(run_dir, policy, to, form, dtype, step)
        print_json(found.as_json()) if as_json else print(found.as_text())
