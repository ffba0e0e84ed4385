"""`cotrain check`: every broken promise of an environment in one report."""

import sys
from contextlib import redirect_stdout
from typing import Annotated

import typer

from cotrain.assembly.checking import check_environment
from cotrain.cli.failures import FAILED, explained
from cotrain.cli.options import AsJson, Assignments, print_json
from cotrain.config import parse_assignments


def check(
    environment: Annotated[str, typer.Argument(help="A name, file.py:Class or module:Class.")],
    assignments: Assignments = None,
    as_json: AsJson = False,
) -> None:
    """Tries an environment's promises and audits its rewards; exit code 1 if one is broken.

    Options are set as in a configuration: --set environment.options.size=6.
    """
    with explained():
        overrides = parse_assignments(assignments or [])
        with redirect_stdout(sys.stderr):  # the environment may print
            checked = check_environment(environment, overrides)
        print_json(checked.as_json()) if as_json else print(checked.as_text())
        if not checked.passed:
            raise typer.Exit(FAILED)
