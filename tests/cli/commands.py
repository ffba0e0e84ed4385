"""Calls the commands in this process, or as a user does."""

import json
import os
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from typer.testing import CliRunner

from cotrain.cli.app import app

SIGNALS = (signal.SIGINT, signal.SIGTERM)


@dataclass(frozen=True)
class Result:
    """How a command ended."""

    code: int
    stdout: str
    stderr: str

    @property
    def document(self) -> Any:
        """The one JSON document on stdout."""
        return json.loads(self.stdout)

    @property
    def lines(self) -> list[str]:
        """The lines on stderr."""
        return self.stderr.splitlines()


def call(*arguments: object) -> Result:
    """How the command ends in this process; an exception that it lets out is raised here."""
    handlers = {number: signal.getsignal(number) for number in SIGNALS}
    try:
        found = CliRunner().invoke(app, [str(argument) for argument in arguments])
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
    if found.exception is not None and not isinstance(found.exception, SystemExit):
        raise found.exception
    return Result(found.exit_code, found.stdout, found.stderr)


def shell(*arguments: object, path: Path | None = None) -> Result:
    """How the command ends in a process of its own; `path` is put on its module path."""
    return program("from cotrain.cli import main; main()", *arguments, path=path)


def program(source: str, *arguments: object, path: Path | None = None) -> Result:
    """How a program ends that finds the modules which this process finds."""
    found = subprocess.run(
        [sys.executable, "-c", source, *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env=environment_of_process(path),
    )
    return Result(found.returncode, found.stdout, found.stderr)


def environment_of_process(path: Path | None = None) -> dict[str, str]:
    """This process's variables, with its module path and one thread."""
    modules = [str(path), *sys.path] if path else sys.path
    own = {"OMP_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join(filter(None, modules))}
    return {**os.environ, **own}
