"""`cotrain grade`: what a grader, parser or estimator decides on a list of cases."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from cotrain.assembly.grading import Graded, grader_of, read_cases
from cotrain.assembly.grading import grade as decide
from cotrain.cli.failures import explained
from cotrain.cli.options import AsJson, print_json

MAX_SHOWN = 100


def grade(
    kind: Annotated[str, typer.Argument(help="advantage or moves.")],
    cases: Annotated[
        Path, typer.Argument(metavar="CASES.json", help="A list of objects with id and fields.")
    ],
    as_json: AsJson = False,
) -> None:
    """Shows what a grader decides on cases. A case that cannot be graded has the value "error"."""
    with explained():
        grader_of(kind)
        graded = decide(kind, read_cases(cases))
        if as_json:
            print_json([case.as_json() for case in graded])
        else:
            print(table(kind, graded))


def table(kind: str, graded: Sequence[Graded]) -> str:
    """One line a case: its id, its value, and the reason of an error; long values are cut.

    >>> print(table("advantage", [Graded("a", [1 / 3, 0.0]), Graded(7, "error", "no rewards")]))
    a  [0.33333, 0.0]
    7  "error": no rewards
    advantage: 2 cases, 1 of them in error
    """
    names = [_name(case.id) for case in graded]
    width = max(map(len, names), default=0)
    lines = [f"{name:{width}}  {_shown(case)}" for name, case in zip(names, graded, strict=True)]
    errors = sum(bool(case.reason) for case in graded)
    return "\n".join([*lines, f"{kind}: {len(graded)} cases, {errors} of them in error"])


def _name(identifier: str | int | None) -> str:
    text = "(no id)" if identifier is None else str(identifier)
    return text if text.isprintable() else json.dumps(text)


def _shown(case: Graded) -> str:
    value = case.value
    if isinstance(value, list):
        value = [round(item, 5) if isinstance(item, float) else item for item in value]
    text = json.dumps(value)
    shown = text if len(text) <= MAX_SHOWN else f"{text[: MAX_SHOWN - 3]}..."
    return f"{shown}: {case.reason}" if case.reason else shown
