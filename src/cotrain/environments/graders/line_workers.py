"""Processes that answer one JSON line with another, and are killed when they take too long.

A worker is a module that calls `serving.serve`. It lives for many questions; one that is
late or dies is replaced, so that no question spoils the next. It ends when its input does, and a
question that outlives the asking process ends it too.
"""

import contextlib
import json
import os
import queue
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from cotrain.config.faults import ConfigurationError, Fault
from cotrain.environments.base import ServiceLostError

NUM_WORKERS = 2
START_SECONDS = 120.0
_PACKAGE_FOLDER = str(Path(__file__).resolve().parents[3])


class LateError(Exception):
    """The worker took longer than the limit, and was ended."""


class WorkerLostError(Exception):
    """The worker ended before it answered; the message says how."""


@dataclass(frozen=True, slots=True)
class WorkerKind:
    """What the workers of one service are.

    `module` calls `serving.serve` and needs `package`, without which there is the fault `lacking`.
    `seconds` is the limit of one question, `memory_bytes` that of a worker's address space.

    >>> WorkerKind("a", "no_such", Fault("name", "", "pip install no_such"), 1.0, 1).workers()
    Traceback (most recent call last):
    cotrain.config.faults.ConfigurationError: name: pip install no_such
    """

    module: str
    package: str
    lacking: Fault
    seconds: float
    memory_bytes: int

    def workers(self, num_workers: int = NUM_WORKERS) -> "LineWorkers":
        """So many workers; raises ConfigurationError where the package is not installed."""
        if find_spec(self.package) is None:
            raise ConfigurationError([self.lacking])
        return LineWorkers(self.module, num_workers, self.seconds, self.memory_bytes)


class LineWorkers:
    """A few worker processes of one module, started when they are needed; safe to share by threads.

    `seconds` is the limit of one question, `memory_bytes` that of a worker's address space.
    """

    def __init__(self, module: str, num_workers: int, seconds: float, memory_bytes: int) -> None:
        self._command = [sys.executable, "-m", module, str(memory_bytes), str(seconds)]
        self._seconds = seconds
        self._idle: queue.LifoQueue[_Worker | None] = queue.LifoQueue()
        self._closed = False
        for _ in range(num_workers):
            self._idle.put(None)

    def ask(self, question: Mapping[str, Any]) -> Any:
        """The answer of an idle worker, waiting for one if need be.

        Raises LateError at the time limit, WorkerLostError where the worker ended, and
        ServiceLostError where none starts.
        """
        worker = self._idle.get()
        try:
            if self._closed:
                raise WorkerLostError("the workers are closed")
            if worker is None:
                worker = _Worker(self._command)
            return worker.ask(question, self._seconds)
        except BaseException:
            if worker is not None:
                worker.end()
            worker = None
            raise
        finally:
            self._idle.put(worker)

    def close(self) -> None:
        """Ends every idle worker; a busy one is ended by its own question's end or limit."""
        self._closed = True
        waiting: list[_Worker | None] = []
        with contextlib.suppress(queue.Empty):
            while True:
                waiting.append(self._idle.get_nowait())
        for worker in waiting:
            if worker is not None:
                worker.end()
            self._idle.put(None)


class _Worker:
    """One process, ready for questions. Raises ServiceLostError where it cannot start."""

    def __init__(self, command: list[str]) -> None:
        path = os.pathsep.join(filter(None, [_PACKAGE_FOLDER, os.environ.get("PYTHONPATH")]))
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1"},
            start_new_session=True,
        )
        self._buffer = b""
        try:
            self._read(START_SECONDS)
        except (LateError, WorkerLostError) as error:
            self.end()
            raise ServiceLostError(f"{' '.join(command[1:3])} does not start: {error}") from error

    def ask(self, question: Mapping[str, Any], seconds: float) -> Any:
        """The answer to this question."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps(question).encode() + b"\n")
            self._process.stdin.flush()
        except OSError as error:
            raise WorkerLostError(self._ending()) from error
        return self._read(seconds)

    def end(self) -> None:
        """Kills the process and what it started, and waits for its end."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()

    def _read(self, seconds: float) -> Any:
        line = self._line(time.monotonic() + seconds, seconds)
        answer = json.loads(line)
        if "failed" in answer:
            raise WorkerLostError(answer["failed"])
        return answer["answer"]

    def _line(self, deadline: float, seconds: float) -> bytes:
        assert self._process.stdout is not None
        source = self._process.stdout.fileno()
        with selectors.DefaultSelector() as selector:
            selector.register(source, selectors.EVENT_READ)
            while b"\n" not in self._buffer:
                left = deadline - time.monotonic()
                if left <= 0 or not selector.select(left):
                    raise LateError(f"no answer within {seconds:g} seconds")
                piece = os.read(source, 65536)
                if not piece:
                    raise WorkerLostError(self._ending())
                self._buffer += piece
        line, _, self._buffer = self._buffer.partition(b"\n")
        return line

    def _ending(self) -> str:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(1.0)
        return f"the worker ended with code {self._process.poll()}"
