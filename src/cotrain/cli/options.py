"""Options that several commands share."""

import json
from typing import Annotated, TypeAlias

import typer

Assignments: TypeAlias = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="Sets one key; may be repeated."),
]
AsJson: TypeAlias = Annotated[
    bool, typer.Option("--json", help="Prints one JSON document on stdout and nothing else there.")
]


def print_json(document: object) -> None:
    """Prints one JSON document on stdout."""
    print(json.dumps(document, allow_nan=False))
