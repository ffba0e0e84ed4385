"""Answers requests for programs with real processes: for programs of this suite, not isolated."""

import subprocess
import sys
from functools import cache
from typing import cast

from cotrain.core.episode import Evidence, Json, Request
from cotrain.environments.requests import PROGRAM


def run_program(request: Request) -> Evidence:
    """What the program of a request does with each of its inputs."""
    assert request.kind == PROGRAM
    source, inputs = cast("tuple[str, tuple[str, ...]]", (request["source"], request["inputs"]))
    return Evidence(request, tuple(_run(source, stdin) for stdin in inputs))


def printing(request: Request, stdout: str) -> Evidence:
    """A program that ran to its end and printed this."""
    return Evidence(request, ({"status": "finished", "stdout": stdout, "stderr": ""},))


@cache
def _run(source: str, stdin: str) -> Json:
    command = [sys.executable, "-I", "-S", "-c", source]
    done = subprocess.run(
        command, input=stdin, capture_output=True, text=True, timeout=20, check=False
    )
    return {
        "status": "finished" if done.returncode == 0 else "failed",
        "stdout": done.stdout,
        "stderr": done.stderr,
        "exit_code": done.returncode,
    }
