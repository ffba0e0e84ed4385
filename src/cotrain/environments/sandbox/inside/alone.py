"""A program without isolation: the same job in a process of its own, with the limits that hold.

For `unsafe-subprocess` alone. This process waits for the program and reports how it ended; where
the system has it, orphans of the program become its children, so that they can be found and ended.
"""

import json
import os
import resource
from contextlib import suppress

from . import kernel
from .jobs import perform
from .zygote import ENDED, forget_this_package, place


def main(job: int, report: int, extra: list[int], bounds: dict[str, int]) -> None:
    """Reads the job, then is the overseer; returns, in the program's process, when that is done.

    `extra` become the program's descriptors 3 and up.
    """
    with os.fdopen(job, "rb") as file:
        work = json.loads(file.read())
    with suppress(OSError, AttributeError):  # Linux alone has it
        kernel.adopt_orphans()
    program = os.fork()
    if program:
        oversee(program, report)
    os.setsid()
    place([0, 1, 2, *extra])
    set_bounds(bounds)
    forget_this_package()
    perform(work)


def oversee(program: int, report: int) -> None:
    """Reports the program's end, then collects orphans until this process is ended."""
    os.closerange(0, report)
    os.closerange(report + 1, 1 << 20)
    with suppress(ChildProcessError):
        while True:
            ended, status = os.wait()
            if ended == program:
                os.write(report, ENDED.pack(b"D", status, 0))
    os._exit(0)


def set_bounds(bounds: dict[str, int]) -> None:
    """Sets what the system lets this process set."""
    for name, amount in bounds.items():
        with suppress(OSError, ValueError):  # a system may know a limit and not honour it
            kernel.limit(getattr(resource, name), amount)
