r"""The grader of maths: whether the final answer of a reply equals the gold answer.

`math-verify` reads the expressions, in processes of its own with a limit of time and of memory.
What is compared is written in `equality.py`, and where the answer stands in `final_answer.py`.
"""

from functools import lru_cache
from typing import Any

from cotrain.config.faults import Fault
from cotrain.core.episode import Request
from cotrain.environments.base import UndecidedError
from cotrain.environments.graders.line_workers import (
    NUM_WORKERS,
    LateError,
    WorkerKind,
    WorkerLostError,
)

COMPARES = WorkerKind(
    module="cotrain.environments.graders.maths.worker",
    package="math_verify",
    lacking=Fault(
        "environment.name",
        "",
        'comparing answers of maths needs math-verify: pip install "cotrain[maths]"',
    ),
    seconds=8.0,
    memory_bytes=1 << 30,
)
MAX_REMEMBERED = 4096
MAX_REMEMBERED_CHARACTERS = 10_000
"""Siblings often give the same short reply, which is compared once."""


class MathsGrader:
    """Answers `maths` requests; safe to share by threads, with few processes of its own.

    Raises ConfigurationError where math-verify is not installed.
    """

    def __init__(self, num_workers: int = NUM_WORKERS, kind: WorkerKind = COMPARES) -> None:
        self._workers = kind.workers(num_workers)
        self._remembered = lru_cache(MAX_REMEMBERED)(self._decide)

    def __call__(self, request: Request) -> bool:
        """Whether the reply of a `maths` request gives its gold answer.

        Raises UndecidedError where that cannot be told, within the time or at all, and where the
        pair ends two workers one after the other.
        """
        return self.grade(str(request["gold"]), str(request["reply"]))

    def grade(self, gold: str, reply: str) -> bool:
        r"""Whether this reply gives this gold answer; raises UndecidedError as a call does.

        >>> grader = MathsGrader(num_workers=1)
        >>> grader.grade("5", r"It is \boxed{5}."), grader.grade("5", r"\boxed{10^{10^{10}}}")
        (True, False)
        >>> grader.close()
        """
        if len(reply) > MAX_REMEMBERED_CHARACTERS:
            return self._decide(gold, reply)
        return self._remembered(gold, reply)

    def readable(self, gold: str) -> bool:
        """Whether a gold answer can be read, so that replies can be compared with it."""
        try:
            return self._remembered(gold, None)
        except UndecidedError:
            return False

    def close(self) -> None:
        """Ends the processes."""
        self._workers.close()

    def _decide(self, gold: str, reply: str | None) -> bool:
        answer = self._asked({"gold": gold} if reply is None else {"gold": gold, "reply": reply})
        if answer["value"] is None:
            raise UndecidedError(answer["reason"])
        return bool(answer["value"])

    def _asked(self, question: dict[str, str]) -> Any:
        try:
            return self._workers.ask(question)
        except LateError as error:
            raise UndecidedError(str(error)) from error
        except WorkerLostError:
            pass
        try:
            return self._workers.ask(question)
        except (LateError, WorkerLostError) as error:
            raise UndecidedError(str(error)) from error
