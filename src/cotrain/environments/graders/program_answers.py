"""Answers `program_answer` requests: runs a program, then grades what it printed.

Two other services do the work, and what grades sits in another process than what runs.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias, cast

from cotrain.core.episode import Json, Request
from cotrain.environments.requests import PROGRAM, program_request

Answer: TypeAlias = Callable[[Request], Any]
Find: TypeAlias = Callable[[str], Answer]
"""What answers requests of a kind."""


class ProgramAnswers:
    """Made of `find`, which gives what answers the kinds `program`, `maths` and `verify`.

    Raises what these raise: UndecidedError where the comparison cannot be told.

    >>> from cotrain.environments.requests import maths_request, program_answer_request
    >>> runs = lambda request: [{"status": "finished", "stdout": "5"}]
    >>> grades = lambda request: request["gold"] == request["reply"]
    >>> answers = ProgramAnswers({"program": runs, "maths": grades}.__getitem__)
    >>> answers(program_answer_request("print(5)", maths_request("5", "")))["answer"]
    True
    """

    def __init__(self, find: Find) -> None:
        self._find = find

    def __call__(self, request: Request) -> Json:
        """The run of the program, with what the question answers about its output."""
        run = self._run(str(request["source"]))
        if run["status"] != "finished":
            return {**run, "answer": None}
        kind = str(request["asks"])
        asked = dict(cast("Sequence[tuple[str, Json]]", request["about"]))
        question = Request.of(kind, **{**asked, "reply": run["stdout"]})
        return {**run, "answer": self._find(kind)(question)}

    def _run(self, source: str) -> Mapping[str, Any]:
        runs = self._find(PROGRAM)(program_request(source, [""]))
        return cast("Sequence[Mapping[str, Any]]", runs)[0]
