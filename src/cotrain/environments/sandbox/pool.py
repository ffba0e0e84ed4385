"""The sandbox of bubblewrap: worker slots with warm sandboxes, used from any thread.

A slot has a sandbox for programs and, once a check has been asked for, a second one for test code.
Sandboxes are started by one thread that stays, because the kernel ties their life to the thread
that starts them. In a forked child of this process everything is started anew.
"""

import os
import queue
import socket
import subprocess
import time
import weakref
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from cotrain.environments.sandbox.base import Limits, Run, check_arguments
from cotrain.environments.sandbox.bubblewrap import launch
from cotrain.environments.sandbox.results import run_of, with_value, with_verdict
from cotrain.environments.sandbox.streams import RESULTS, Streams
from cotrain.environments.sandbox.worker import KilledError, Worker, WorkerLostError

Answer = TypeVar("Answer")
PURPOSES = PROGRAM, TEST = "program", "test"
Launch = Callable[[int, socket.socket, Limits], "subprocess.Popen[bytes]"]
LOST_TWICE = "the process that runs programs ended twice"


class Slot:
    """A place where one program runs at a time, with its sandboxes by what they are for."""

    def __init__(self, start: Callable[[str], Worker]) -> None:
        self._start = start
        self._workers: dict[str, Worker] = {}

    def worker(self, purpose: str) -> Worker:
        """The warm sandbox for this, started if there is none."""
        if purpose not in self._workers:
            self._workers[purpose] = self._start(purpose)
        return self._workers[purpose]

    def discard(self) -> None:
        """Ends the sandboxes; others are started when they are wanted."""
        while self._workers:
            self._workers.popitem()[1].close()

    def tidy(self) -> None:
        """Ends those that have served and serve once only."""
        for purpose in [p for p, worker in self._workers.items() if worker.spent]:
            self._workers.pop(purpose).close()

    def forget(self) -> None:
        """Lets go of what belongs to the process that this one was forked from."""
        while self._workers:
            self._workers.popitem()[1].forget()


class BubblewrapSandbox:
    """Runs each program in a fresh process, in namespaces of its own (`base.Sandbox`).

    Raises SandboxUnavailableError where bubblewrap cannot do that here, at once or later. `launch`
    starts a sandbox of a slot.
    `nested_refusal` is the kernel's reason where a whole sandbox must be started for each program.
    """

    kind = "bubblewrap"

    def __init__(self, workers: int, limits: Limits, launch: Launch = launch) -> None:
        self._num_workers = workers
        self._limits = limits
        self._launch = launch
        self._closed = False
        self._furnish()
        _OPEN.add(self)
        self.nested_refusal = self._on_a_slot(lambda slot: slot.worker(PROGRAM).refusal)

    def run(self, source: str, stdin: str) -> Run:
        """The program as `__main__`, with this standard input."""
        job = {"kind": "program", "source": source}
        return self._tried(lambda slot: self._conduct(slot, job, stdin)[0])

    def call(self, source: str, function: str, arguments: str) -> Run:
        """One call; the value is what came over a pipe that only the caller reads."""
        check_arguments(arguments)
        job = {"kind": "call", "source": source, "function": function, "arguments": arguments}
        return self._tried(lambda slot: with_value(*self._conduct(slot, job, "")))

    def check(self, source: str, function: str, preamble: str, check: str) -> Run:
        """Test code against a function that runs in another sandbox and sees arguments alone."""
        candidate = {"kind": "candidate", "source": source, "function": function}
        test = {"kind": "test", "function": function, "preamble": preamble, "check": check}
        return self._tried(lambda slot: self._check(slot, candidate, test))

    def close(self) -> None:
        """Waits for the programs that are running, then ends every sandbox."""
        self._closed = True
        for slot in [self._free.get() for _ in range(self._num_workers)]:
            slot.discard()
            self._free.put(slot)
        self._launcher.shutdown()

    def restart_in_child(self) -> None:
        """Called in a forked child: the sandboxes stay the parent's."""
        for slot in self._slots:
            slot.forget()
        self._furnish()

    def _furnish(self) -> None:
        self._launcher = ThreadPoolExecutor(1, "sandbox-launcher")
        self._slots = [Slot(self._starter(number)) for number in range(self._num_workers)]
        self._free: queue.LifoQueue[Slot] = queue.LifoQueue()
        for slot in reversed(self._slots):
            self._free.put(slot)

    def _starter(self, number: int) -> Callable[[str], Worker]:
        def start(purpose: str) -> Worker:
            place = 2 * number + PURPOSES.index(purpose)
            submit, launch, limits = self._launcher.submit, self._launch, self._limits

            def begin() -> Worker:
                return Worker(lambda line: submit(launch, place, line, limits).result())

            try:
                return begin()
            except KilledError:
                return begin()

        return start

    def _tried(self, work: Callable[[Slot], Run]) -> Run:
        """Once more on a fresh sandbox where one was lost; a program that costs two has failed."""

        def twice(slot: Slot) -> Run:
            try:
                return work(slot)
            except WorkerLostError:
                slot.discard()
            try:
                return work(slot)
            except WorkerLostError:
                slot.discard()
                return Run("failed", stderr=LOST_TWICE)

        return self._on_a_slot(twice)

    def _on_a_slot(self, work: Callable[[Slot], Answer]) -> Answer:
        slot = self._free.get()
        try:
            if self._closed:
                raise RuntimeError("the sandbox is closed")
            return work(slot)
        finally:
            slot.tidy()
            self._free.put(slot)

    def _conduct(
        self, slot: Slot, job: dict[str, str], stdin: str, line: socket.socket | None = None
    ) -> tuple[Run, bytes]:
        """Runs a job to its end; the run, and what came over the private pipe.

        `line`, where given, becomes the job's descriptor after those, and is closed here.
        """
        worker = slot.worker(TEST if job["kind"] == "test" else PROGRAM)
        streams = Streams(stdin, self._limits.output_bytes, RESULTS[job["kind"]])
        try:
            if line is not None:
                streams.theirs.append(line.detach())
            deadline = time.monotonic() + self._limits.seconds
            worker.start(job, streams.theirs, self._limits)
            streams.hand_over()
            outcome = streams.follow(worker.line.fileno(), deadline)
            if outcome != "ended":
                worker.stop()
            exit_code, excessive = worker.ended()
            run = run_of(outcome, exit_code, excessive, streams)
            return run, streams.result()
        finally:
            streams.close()

    def _check(self, slot: Slot, candidate: dict[str, str], test: dict[str, str]) -> Run:
        ours, theirs = socket.socketpair()
        worker = slot.worker(PROGRAM)
        with ours, open(os.devnull, "r+b") as nothing:
            with theirs:
                descriptors = [nothing.fileno()] * 3 + [theirs.fileno()]
                worker.start(candidate, descriptors, self._limits)
            run = with_verdict(*self._conduct(slot, test, "", ours))
        worker.stop()
        worker.ended()
        return run


_OPEN: "weakref.WeakSet[BubblewrapSandbox]" = weakref.WeakSet()


def _restart_in_child() -> None:
    for sandbox in list(_OPEN):
        sandbox.restart_in_child()


os.register_at_fork(after_in_child=_restart_in_child)
