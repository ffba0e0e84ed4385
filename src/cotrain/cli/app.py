"""The command line: one function a command, in modules that are imported with them."""

import typer

from cotrain.cli.evaluate import evaluate
from cotrain.cli.train import train

app = typer.Typer(
    name="cotrain",
    help="Trains teams of LLM agents on-policy, with groups formed by agent and turn (AT-GRPO).",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
app.command()(train)
app.command()(evaluate)


def main() -> None:
    """Runs the command line."""
    app()
