"""The processes of this machine: which of them come from which."""

import os
import signal
from contextlib import suppress
from pathlib import Path


def kill_below(top: int) -> None:
    """Kills what this process has started, in sessions of their own too, as far as it is found."""
    for process in descendants(top):
        with suppress(ProcessLookupError, PermissionError):
            os.kill(process, signal.SIGKILL)


def descendants(top: int) -> list[int]:
    """Every process below this one, deepest last; none where the system does not list them."""
    parents: dict[int, int] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError, ValueError, IndexError):
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
            if fields[0] != "Z":
                parents[int(folder.name)] = int(fields[1])
    found, level = [], [top]
    while level := [child for child, parent in parents.items() if parent in level]:
        found += level
    return found
