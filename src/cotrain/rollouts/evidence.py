"""Fulfilling requests: pooled, time-limited, tried again when the machinery fails."""

import queue
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from cotrain.core.episode import CandidateStatus, Evidence, Json, Request
from cotrain.environments.returned import check_json

Handler: TypeAlias = Callable[[Request], Json]


@dataclass(frozen=True, slots=True)
class _Answer:
    place: int
    evidence: Evidence


class HandlerPool:
    """Answers requests with one function a kind, in threads, each within a time limit.

    A handler that raises is tried again `retries` times and then recorded as `error`; one that
    outlives `seconds` is recorded as `timeout` and left to itself, since a thread cannot be killed.
    The evidence says how often its request was tried again.
    """

    def __init__(
        self,
        handlers: Mapping[str, Handler],
        seconds: float | None = None,
        retries: int = 2,
        workers: int = 2,
    ) -> None:
        self._handlers = dict(handlers)
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
                deadlines[place] = self._deadline()
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
            answers.put(_Answer(place, self._answer(request, count)))

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
        try:
            answer = answers.get(timeout=wait)
            if answer.place in deadlines:
                del deadlines[answer.place]
                found[answer.place] = answer.evidence
            return []
        except queue.Empty:
            now = time.monotonic()
            late = [
                p for p, deadline in deadlines.items() if deadline is not None and deadline <= now
            ]
            for place in late:
                del deadlines[place]
            return late

    def _answer(self, request: Request, count: Callable[[int], None]) -> Evidence:
        """Tries until there is an answer; `count` is told of each retry when it begins."""
        handler = self._handlers.get(request.kind)
        if handler is None:
            known = ", ".join(sorted(self._handlers)) or "none"
            message = f"nothing answers requests of kind {request.kind!r}; known kinds: {known}"
            return Evidence(request, None, CandidateStatus.ERROR, message)
        message = ""
        for retry in range(self._retries + 1):
            count(retry)
            try:
                answer = handler(request)
                check_json("the answer", answer)
                return Evidence(request, answer, retries=retry)
            except BaseException as error:  # noqa: BLE001 - SystemExit too becomes a status
                message = f"{type(error).__name__}: {error}"
        said = f"{message} (after {self._retries + 1} tries)"
        return Evidence(request, None, CandidateStatus.ERROR, said, self._retries)

    def _late(self, request: Request, retries: int) -> Evidence:
        message = f"no answer within {self._seconds} s (limits.act_seconds)"
        return Evidence(request, None, CandidateStatus.TIMEOUT, message, retries)

    def _deadline(self) -> float | None:
        return None if self._seconds is None else time.monotonic() + self._seconds
