"""Options that several commands share."""

import json
from pathlib import Path
from typing import Annotated, TypeAlias

import typer

Assignments: TypeAlias = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="Sets one key; may be repeated."),
]
Configuration: TypeAlias = Annotated[
    str | None, typer.Argument(metavar="CONFIG", help="A TOML file or a preset.")
]
RunDirectory: TypeAlias = Annotated[
    Path | None, typer.Option("--run-dir", help="The run's folder. Default: runs/NAME-TIME.")
]
Resume: TypeAlias = Annotated[
    bool, typer.Option("--resume", help="Goes on with the run in --run-dir.")
]
AsJson: TypeAlias = Annotated[
    bool, typer.Option("--json", help="Prints one JSON document on stdout and nothing else there.")
]


def print_json(document: object) -> None:
    """Prints one JSON document on stdout."""
    print(json.dumps(document, allow_nan=False))
