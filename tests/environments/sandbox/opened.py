"""Sandboxes for tests, and the mark of tests that need bubblewrap."""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from functools import cache
from pathlib import Path
from warnings import catch_warnings, simplefilter

import pytest

from cotrain.environments.sandbox import (
    Limits,
    Sandbox,
    SandboxUnavailableError,
    open_sandbox,
)
from cotrain.environments.sandbox.opening import Kind
from cotrain.environments.sandbox.pool import BubblewrapSandbox


@cache
def why_not() -> str:
    """Why there is no isolation on this machine, empty where there is."""
    try:
        open_sandbox("bubblewrap", 1, Limits()).close()
    except SandboxUnavailableError as error:
        return str(error)
    return ""


needs_bubblewrap = pytest.mark.skipif(
    bool(why_not()), reason=f"sandbox tests left out: {why_not()}"
)

KINDS = [pytest.param("bubblewrap", marks=needs_bubblewrap), "unsafe-subprocess"]


@contextmanager
def opened(kind: Kind, limits: Limits, workers: int = 1) -> Iterator[Sandbox]:
    """A sandbox for the length of a test, without the warning of the unsafe kind."""
    with catch_warnings():
        simplefilter("ignore", UserWarning)
        sandbox = open_sandbox(kind, workers, limits)
    with closing(sandbox):
        yield sandbox


@contextmanager
def isolated(limits: Limits, workers: int = 1) -> Iterator[BubblewrapSandbox]:
    """A sandbox of bubblewrap, with what it has beyond the contract."""
    with closing(BubblewrapSandbox(workers, limits)) as sandbox:
        yield sandbox


def processes_with(word: str) -> list[str]:
    """The command lines on this machine that hold the word."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            line = path.read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")
        except OSError:
            continue
        found += [line] if word in line else []
    return found


def zombies() -> list[str]:
    """The children of this process that have ended and were not waited for."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            name, _, rest = path.read_text().rpartition(")")
        except OSError:
            continue
        state, parent = rest.split()[:2]
        found += [name] if state == "Z" and int(parent) == _own_process() else []
    return found


def _own_process() -> int:
    return int(Path("/proc/self").readlink().name)
