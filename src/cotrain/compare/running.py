"""Runs the cells of a comparison, some at once, each as a command in a process of its own."""

import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from cotrain.compare.base import Cell, is_evaluated, needs
from cotrain.compare.cells import CellFolder
from cotrain.runs.durable import reported
from cotrain.runs.lock import is_being_written
from cotrain.runs.manifest import available_cpus

POLL_SECONDS = 0.2
INTERRUPTED = (-signal.SIGINT, 128 + signal.SIGINT)
"""The exit codes of a command that SIGINT ends."""


@dataclass(frozen=True, slots=True)
class Ended:
    """How a cell's command ended. `code` is its exit code; `done` says that it has its figures.

    `stopped` says that it ended because a stop was asked for: saved, or a played cell interrupted.
    """

    cell: Cell
    code: int
    seconds: float
    done: bool
    stopped: bool = False


def run_cells(
    folder: CellFolder,
    jobs: int,
    stop: Callable[[], bool],
    show: Callable[[Ended], None],
) -> list[Ended]:
    """Runs every cell that is not done, `jobs` at once, and returns those that failed.

    A cell waits for those it needs, and is left out where one of these failed. After a stop request
    no cell is begun, and those that run save at their next step boundary.
    """
    waiting = [cell for cell in folder.comparison.cells() if not folder.is_done(cell)]
    running: set[Future[Ended]] = set()
    failed: list[Ended] = []
    children = Children(stop, max(1, available_cpus() // jobs))
    with ThreadPoolExecutor(jobs) as threads:
        while True:
            try:
                ready = [] if stop() else [cell for cell in waiting if _is_ready(folder, cell)]
                for cell in ready[: jobs - len(running)]:
                    waiting.remove(cell)
                    running.add(threads.submit(_run_cell, folder, cell, children))
                if not running:
                    return failed
                found = wait(running, None, FIRST_COMPLETED)
                running = found.not_done
                ended = [future.result() for future in found.done]
            except BaseException:  # what runs saves, and a second time stops
                children.interrupt()
                raise
            for one in ended:
                show(one)
            failed += [one for one in ended if not (one.done or one.stopped)]


class Children:
    """The processes that run now, with so many threads each, unless OMP_NUM_THREADS says other.

    A stop request, asked for in `stop`, reaches each process once.
    """

    def __init__(self, stop: Callable[[], bool], num_threads: int) -> None:
        self._stop = stop
        self._environment = {"OMP_NUM_THREADS": str(num_threads), **os.environ}
        self._processes: set[subprocess.Popen[bytes]] = set()

    def run(self, words: Sequence[str], printed: BinaryIO, errors: BinaryIO) -> int:
        """Runs one command of cotrain and returns its exit code."""
        process = subprocess.Popen(
            [sys.executable, "-m", "cotrain.compare.child", str(os.getpid()), *words],
            stdin=subprocess.DEVNULL,
            stdout=printed,
            stderr=errors,
            env=self._environment,
            start_new_session=True,  # a terminal's Ctrl-C comes through this process alone
        )
        self._processes.add(process)
        asked = False
        while process.poll() is None:
            if self._stop() and not asked:
                asked = True
                process.send_signal(signal.SIGINT)
            time.sleep(POLL_SECONDS)
        self._processes.discard(process)
        return process.returncode

    def wait_for_writer(self, run_dir: Path) -> None:
        """Waits while a process writes this run: one whose comparison was killed still saves."""
        while is_being_written(run_dir) and not self._stop():
            time.sleep(POLL_SECONDS)

    def were_stopped(self) -> bool:
        """Whether a stop was asked for."""
        return self._stop()

    def interrupt(self) -> None:
        """Asks every process once more, which stops it at once."""
        for process in list(self._processes):
            process.send_signal(signal.SIGINT)


def _run_cell(folder: CellFolder, cell: Cell, children: Children) -> Ended:
    """Runs the command of one cell to its end; what it prints is its result or nothing."""
    words, log, began = folder.command(cell), folder.log(cell), time.monotonic()
    assert words is not None
    partial = log.with_suffix(".partial")
    with reported(log):
        log.parent.mkdir(parents=True, exist_ok=True)
        partial.touch()
    with log.open("ab") as errors, partial.open("wb") as printed:
        errors.write(f"$ cotrain {shlex.join(words)}\n".encode())
        errors.flush()
        children.wait_for_writer(folder.run_dir(cell.row.name, cell.seed))
        code = children.run(words, printed, errors)
    if code == 0 and is_evaluated(cell.row):
        partial.replace(folder.result(cell))
    else:
        partial.unlink()
    done = code == 0 and folder.is_done(cell)
    stopped = not done and code in (0, *INTERRUPTED) and children.were_stopped()
    return Ended(cell, code, time.monotonic() - began, done, stopped)


def _is_ready(folder: CellFolder, cell: Cell) -> bool:
    if folder.command(cell) is None:
        return False
    rows = (folder.comparison.row(name) for name in needs(cell.row))
    return all(folder.is_done(Cell(row, cell.seed)) for row in rows)
