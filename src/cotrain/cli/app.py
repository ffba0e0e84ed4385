"""The command line: one function a command, in modules that are imported with them."""

import os
import warnings

import typer

from cotrain.cli.check import check
from cotrain.cli.compare import compare
from cotrain.cli.doctor import doctor
from cotrain.cli.environments import environments
from cotrain.cli.evaluate import evaluate
from cotrain.cli.export import export
from cotrain.cli.grade import grade
from cotrain.cli.play import play
from cotrain.cli.presets import presets
from cotrain.cli.sft import sft
from cotrain.cli.train import train

app = typer.Typer(
    name="cotrain",
    help="Trains teams of LLM agents on-policy, with groups formed by agent and turn (AT-GRPO).",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
COMMANDS = (
    *(train, sft, evaluate, compare, play, check),
    *(environments, presets, doctor, grade, export),
)
for command in COMMANDS:
    app.command()(command)


def _as_a_line(message: Warning | str, *where: object, **line: object) -> str:
    return f"warning: {message}\n"


def main() -> None:
    """Runs the command line.

    Threads that wait for each other sleep instead of spinning: on a machine that does something
    else too, a step took 4 times less processor time so (`docs/performance.md`).
    """
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    warnings.formatwarning = _as_a_line
    app()
