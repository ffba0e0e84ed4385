"""The rules of an environment in worker processes that are killed when they are late.

For an environment that is not trusted to return: each call has a time limit, a worker that is late
or dies is replaced, and what a call returns never depends on how many workers there are.
"""

import os
import pickle
import queue
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any, TypeVar

from cotrain.config.faults import told
from cotrain.core.episode import CandidateStatus, Evidence, Request
from cotrain.environments.base import Environment, ServiceLostError
from cotrain.environments.returned import RULE_FAULTS
from cotrain.environments.sandbox.processes import kill_below
from cotrain.rollouts.channel import Channel, GoneError, LateError
from cotrain.rollouts.evidence import said_late
from cotrain.rollouts.referee import Call, Failure
from cotrain.rollouts.worker import COMMAND, Lost, Recipe, UnsendableError, handler, packed

Value = TypeVar("Value")
START_SECONDS = 600.0


class Worker:
    """One running process. What it starts ends with it, in its session or in another."""

    def __init__(self, recipe: Recipe) -> None:
        self._process = _started()
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None
        assert stdout is not None
        self._pipes = (stdin, stdout)
        self._channel = Channel(reads=stdout.fileno(), writes=stdin.fileno())
        self._introduce(recipe)

    def _introduce(self, recipe: Recipe) -> None:
        """Raises ServiceLostError where the environment cannot be made in the worker."""
        try:
            failed = self.exchange(pickle.dumps(recipe), START_SECONDS).decode()
        except LateError:
            failed = f"it was not made within {START_SECONDS:.0f} s"
        except GoneError:
            failed = f"its process ended {self.end()}"
        if failed:
            self.end()
            raise ServiceLostError(
                f"the environment {recipe.name} was made in this process and cannot be made in a "
                f"worker: {failed}. Without limits.act_seconds its rules run in this process"
            )

    def exchange(self, message: bytes, seconds: float) -> bytes:
        """The answer to a message. Raises LateError or GoneError, and must then be ended."""
        deadline = time.monotonic() + seconds
        self._channel.send(message, deadline)
        return self._channel.receive(deadline)

    def is_ready(self) -> bool:
        """Whether it waits for a message."""
        return self._channel.is_quiet()

    def kill(self) -> int:
        """Kills it with all that it started; its exit code, or minus the signal."""
        if self._process.returncode is None:
            kill_below(self._process.pid)
            # The group lasts until its leader is waited for, so no other group can be hit.
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signal.SIGKILL)
        return self._process.wait()

    def end(self) -> str:
        """Kills it and gives its pipes back, which nobody may be waiting on; says how it ended."""
        code = self.kill()
        for pipe in self._pipes:
            with suppress(BrokenPipeError):
                pipe.close()
        return f"by signal {-code}" if code < 0 else f"with exit code {code}"


def _started() -> "subprocess.Popen[bytes]":
    try:
        return subprocess.Popen(
            [sys.executable, "-c", COMMAND, *sys.path],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONHASHSEED": _hash_seed()},
            start_new_session=True,
        )
    except OSError as error:
        raise ServiceLostError(f"no worker for the rules could be started: {error}") from error


def _hash_seed() -> str:
    """The same order of sets of text in every worker."""
    given = os.environ.get("PYTHONHASHSEED", "")
    return given if given.isdecimal() else "0"


class _Seat:
    """A place for one worker, which is started when it is first needed."""

    def __init__(self, recipe: Recipe) -> None:
        self._recipe = recipe
        self._worker: Worker | None = None
        self._closed = False
        self._changing = threading.Lock()

    def ask(self, call: Call[Value], seconds: float) -> Value | Failure:
        rule = call.rule.__name__
        try:
            message = packed(f"{rule} is given", call)
            found = self._ready().exchange(message, seconds)
        except UnsendableError as error:
            return Failure(CandidateStatus.ERROR, str(error))
        except LateError:
            self.clear()
            return Failure(CandidateStatus.TIMEOUT, f"{rule}: {said_late(seconds)}")
        except GoneError:
            said = f"{rule}: the worker that ran it ended {self.clear()}"
            return Failure(CandidateStatus.ERROR, said)
        return _unpacked(rule, found)

    def clear(self) -> str:
        """Ends the worker, which nobody may be asking; says how it ended."""
        worker, self._worker = self._worker, None
        return "" if worker is None else worker.end()

    def close(self) -> None:
        """Kills the worker, even while it is asked, and starts no other."""
        with self._changing:
            self._closed = True
            if self._worker is not None:
                self._worker.kill()

    def _ready(self) -> Worker:
        with self._changing:
            if self._closed:
                raise ServiceLostError("the workers that ran the rules were closed")
            if self._worker is not None and not self._worker.is_ready():
                self.clear()  # it died between two calls, which is no fault of the next one
            if self._worker is None:
                self._worker = Worker(self._recipe)
            return self._worker


def _unpacked(rule: str, message: bytes) -> Any:
    """The answer of a worker; an author's class may fail to be made anew from its parts."""
    try:
        answer = pickle.loads(message)
    except RULE_FAULTS as error:
        said = f"{rule}: its answer cannot be read: {told(error)}"
        return Failure(CandidateStatus.ERROR, said)
    if isinstance(answer, Lost):
        raise ServiceLostError(answer.message)
    return answer


class WorkerReferee:
    """Applies the rules in workers, each call within `seconds`; threads may share it.

    `environment` describes the rules; `recipe` is what every worker makes its own from. A late
    call is a `timeout` and a worker that ends an `error` with its exit code; both are killed,
    waited for and replaced. Workers are started when they are first needed.
    """

    def __init__(
        self, environment: Environment[Any], recipe: Recipe, seconds: float, workers: int
    ) -> None:
        self.environment = environment
        self._seconds = seconds
        self._seats = [_Seat(recipe) for _ in range(workers)]
        # The seat that was left last is taken first: one caller needs one worker.
        self._free: queue.LifoQueue[_Seat] = queue.LifoQueue()
        for seat in self._seats:
            self._free.put(seat)
        self._threads = ThreadPoolExecutor(workers, thread_name_prefix="rules")

    def ask(self, calls: Sequence[Call[Value]]) -> list[Value | Failure]:
        """The answer to each call, in order, as many at once as there are workers."""
        futures = [self._threads.submit(self._ask, call) for call in calls]
        return [future.result() for future in futures]

    def handle(self, request: Request) -> Evidence:
        """One try of a request by the environment's own handler, as a pool of handlers asks it."""
        answer = self._ask(Call(handler, (request,)))
        if isinstance(answer, Failure):
            return Evidence(request, None, answer.status, answer.message)
        return answer

    def close(self) -> None:
        """Ends every worker."""
        self._threads.shutdown(wait=False, cancel_futures=True)
        for seat in self._seats:
            seat.close()
        for seat in [self._free.get() for _ in self._seats]:  # when nobody asks it any more
            seat.clear()
            self._free.put(seat)

    def _ask(self, call: Call[Value]) -> Value | Failure:
        seat = self._free.get()
        try:
            return seat.ask(call, self._seconds)
        finally:
            self._free.put(seat)
