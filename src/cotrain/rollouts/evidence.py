"""Fulfilling requests: pooled, time-limited, tried again when the machinery fails."""

import queue
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from types import MappingProxyType
from typing import TypeAlias

from cotrain.config.faults import told
from cotrain.core.episode import CandidateStatus, Evidence, Json, Request
from cotrain.environments.base import ServiceLostError, UndecidedError
from cotrain.environments.returned import check_json

Handler: TypeAlias = Callable[[Request], Json]
Try: TypeAlias = Callable[[Request], Evidence]
"""One try of a request. It raises ServiceLostError, and nothing else."""


def tried(handler: Handler, request: Request) -> Evidence:
    """One try: an answer; `unknown` for UndecidedError; `error` for anything else that is raised.

    Raises ServiceLostError, which is no fault of the request.

    >>> tried(lambda request: {1}, Request.of("hits")).status.value
    'error'
    """
    try:
        answer = handler(request)
        check_json("the answer", answer)
    except ServiceLostError:
        raise
    except UndecidedError as error:
        return Evidence(request, None, CandidateStatus.UNKNOWN, f"undecided: {error}")
    except BaseException as error:  # noqa: BLE001 - SystemExit too becomes a status
        return Evidence(request, None, CandidateStatus.ERROR, told(error))
    return Evidence(request, answer)


@dataclass(frozen=True, slots=True)
class _Answer:
    place: int
    evidence: Evidence | ServiceLostError


class HandlerPool:
    """Answers requests with one function a kind, in threads.

    One of `handlers` that outlives `seconds` is recorded as `timeout` and left to itself, since a
    thread cannot be killed. `timed` are kinds whose tries keep time limits of their own. A try that
    ends in `error` is made again `retries` times; the evidence says how often. A ServiceLostError
    comes out of `fulfil`: without the service no further request could be answered.
    """

    def __init__(
        self,
        handlers: Mapping[str, Handler],
        seconds: float | None = None,
        retries: int = 2,
        workers: int = 2,
        timed: Mapping[str, Try] = MappingProxyType({}),
    ) -> None:
        own = {kind: partial(tried, handler) for kind, handler in handlers.items()}
        self._tries: Mapping[str, Try] = {**own, **timed}
        self._timed = frozenset(timed)
        self._seconds = seconds
        self._retries = retries
        self._workers = workers

    def fulfil(self, requests: Sequence[Request]) -> list[Evidence]:
        """The evidence for each request, in order."""
        answers: queue.SimpleQueue[_Answer] = queue.SimpleQueue()
        waiting = list(reversed(list(enumerate(requests))))
        deadlines: dict[int, float | None] = {}
        found: dict[int, Evidence] = {}
        retries = [0] * len(requests)
        while waiting or deadlines:
            while waiting and len(deadlines) < self._workers:
                place, request = waiting.pop()
                deadlines[place] = self._deadline(request)
                self._start(place, request, answers, retries)
            for place in self._collect(answers, deadlines, found):
                found[place] = self._late(requests[place], retries[place])
        return [found[place] for place in range(len(requests))]

    def _start(
        self,
        place: int,
        request: Request,
        answers: "queue.SimpleQueue[_Answer]",
        retries: list[int],
    ) -> None:
        def count(number: int) -> None:
            retries[place] = number

        def work() -> None:
            try:
                answers.put(_Answer(place, self._answer(request, count)))
            except ServiceLostError as error:
                answers.put(_Answer(place, error))

        threading.Thread(target=work, daemon=True).start()

    def _collect(
        self,
        answers: "queue.SimpleQueue[_Answer]",
        deadlines: dict[int, float | None],
        found: dict[int, Evidence],
    ) -> list[int]:
        """Waits for one answer or for the first deadline; records the one, returns who is late."""
        limits = [deadline for deadline in deadlines.values() if deadline is not None]
        wait = max(0.0, min(limits) - time.monotonic()) if limits else None
        wait = None if wait is None else min(wait, threading.TIMEOUT_MAX)
        try:
            answer = answers.get(timeout=wait)
        except queue.Empty:
            now = time.monotonic()
            late = [
                p for p, deadline in deadlines.items() if deadline is not None and deadline <= now
            ]
            for place in late:
                del deadlines[place]
            return late
        if isinstance(answer.evidence, ServiceLostError):
            raise answer.evidence
        if answer.place in deadlines:
            del deadlines[answer.place]
            found[answer.place] = answer.evidence
        return []

    def _answer(self, request: Request, count: Callable[[int], None]) -> Evidence:
        """Tries while there is an error; `count` is told of each retry when it begins."""
        once = self._tries.get(request.kind)
        if once is None:
            known = ", ".join(sorted(self._tries)) or "none"
            message = f"nothing answers requests of kind {request.kind!r}; known kinds: {known}"
            return Evidence(request, None, CandidateStatus.ERROR, message)
        evidence = once(request)
        retry = 0
        while evidence.status is CandidateStatus.ERROR and retry < self._retries:
            retry += 1
            count(retry)
            evidence = once(request)
        if evidence.status is not CandidateStatus.ERROR:
            return replace(evidence, retries=retry)
        said = f"{evidence.message} (after {retry + 1} tries)"
        return replace(evidence, message=said, retries=retry)

    def _late(self, request: Request, retries: int) -> Evidence:
        return Evidence(
            request, None, CandidateStatus.TIMEOUT, said_late(self._seconds or 0.0), retries
        )

    def _deadline(self, request: Request) -> float | None:
        if self._seconds is None or request.kind in self._timed:
            return None
        return time.monotonic() + self._seconds


def said_late(seconds: float) -> str:
    """The message of what took longer than this.

    >>> said_late(2.0)
    'no answer within 2.0 s (limits.act_seconds)'
    """
    return f"no answer within {seconds} s (limits.act_seconds)"
