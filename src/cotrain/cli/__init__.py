"""The commands. Typer lives here and nowhere else."""

from cotrain.cli.app import main

__all__ = ["main"]
