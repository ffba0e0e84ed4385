"""What a grader, parser or estimator decides on given cases, before a run depends on it.

A case is an object with an `id` and the fields of its kind:

    advantage   rewards (null is unscored), and if need be estimator and ddof -> one number a member
    math        gold, reply -> true or false, or "unknown" where that cannot be told
    program     program, and tests or fn_name, inputs and outputs -> "pass" or "fail"
    moves       reply -> the moves read from it, or null
    verdict     reply -> true (correct), false (incorrect), or null
    answer      reply -> the text of the last answer tag, or null
    code        reply -> the program in it, or null
    sokoban     board -> "solvable, shortest N" (moves) or "unsolvable"
    grid        grid -> "shortest N" or "unreachable"; with moves, where they lead
    sudoku      puzzle and reply_grid -> "solved" or "wrong"

No case stops the others: the value of one that cannot be graded is `"error"`, with a reason.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import cast

from cotrain.assembly.graders.answers import grade_math, grade_verdict
from cotrain.assembly.graders.base import Case, CaseError, Grader, shown
from cotrain.assembly.graders.estimators import grade_advantage
from cotrain.assembly.graders.programs import grade_program
from cotrain.assembly.graders.puzzles import grade_sudoku
from cotrain.assembly.graders.replies import grade_answer, grade_code, grade_moves
from cotrain.assembly.graders.rooms import grade_grid, grade_sokoban
from cotrain.config import ConfigurationError, Fault, nearest, show

ERROR = "error"


@dataclass(frozen=True, slots=True)
class Graded:
    """One case with what was decided; `reason` is empty unless the value is `"error"`."""

    id: str | int | None
    value: object
    reason: str = ""

    def as_json(self) -> dict[str, object]:
        """The case as JSON values."""
        document = {"id": self.id, "value": self.value}
        return {**document, "reason": self.reason} if self.reason else document


def grader_of(kind: str) -> Grader:
    """The grader of a kind. Raises ConfigurationError for an unknown kind.

    >>> grader_of("mvoes")
    Traceback (most recent call last):
    cotrain.config.faults.ConfigurationError: KIND = "mvoes": unknown kind, allowed are math, \
program, moves, verdict, answer, code, sudoku, sokoban, grid, advantage; nearest known: moves
    """
    if kind in GRADERS:
        return GRADERS[kind]
    allowed = f"unknown kind, allowed are {', '.join(GRADERS)}"
    raise ConfigurationError([Fault("KIND", show(kind), allowed, nearest(kind, list(GRADERS)))])


def read_cases(path: Path) -> list[object]:
    """The cases of a JSON file. Raises ConfigurationError unless it holds a list."""
    try:
        cases = json.loads(path.read_bytes())
    except OSError as error:
        raise _unreadable(path, f"must be a readable JSON file: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise _unreadable(path, f"must be a JSON file: {error}") from error
    if not isinstance(cases, list):
        raise _unreadable(path, f"must hold a JSON list of cases, got {shown(cases)}")
    return cast("list[object]", cases)


def grade(kind: str, cases: Sequence[object]) -> list[Graded]:
    """What the grader of this kind decides on each case, in order.

    Raises ConfigurationError for a kind that is not there, and nothing for a case.

    >>> [case.as_json() for case in grade("moves", [{"id": 1, "reply": "<answer>up</answer>"}])]
    [{'id': 1, 'value': ['Up']}]
    >>> grade("advantage", [{"id": "a"}])[0].reason
    'rewards is missing: it must be a list of numbers and nulls'
    """
    grader = grader_of(kind)
    return [_graded(kind, grader, case) for case in cases]


def _graded(kind: str, grader: Grader, case: object) -> Graded:
    identifier = cast("Case", case).get("id") if isinstance(case, Mapping) else None
    if isinstance(identifier, bool) or not isinstance(identifier, str | int):
        reason = f"a case must be an object whose id is a text or a whole number: {shown(case)}"
        return Graded(None, ERROR, reason)
    case = cast("Case", case)
    try:
        if case.get("kind", kind) != kind:
            raise CaseError(f"kind is {shown(case['kind'])}, and {kind} is graded")
        return Graded(identifier, grader(case))
    except CaseError as error:
        return Graded(identifier, ERROR, str(error))
    except Exception as error:  # noqa: BLE001 - what a grader cannot take is the case's result
        return Graded(identifier, ERROR, f"{type(error).__name__}: {error}")


def _unreadable(path: Path, allowed: str) -> ConfigurationError:
    return ConfigurationError([Fault("CASES.json", show(str(path)), allowed)])


GRADERS: Mapping[str, Grader] = MappingProxyType(
    {
        "math": grade_math,
        "program": grade_program,
        "moves": grade_moves,
        "verdict": grade_verdict,
        "answer": grade_answer,
        "code": grade_code,
        "sudoku": grade_sudoku,
        "sokoban": grade_sokoban,
        "grid": grade_grid,
        "advantage": grade_advantage,
    }
)
"""Every kind that there is."""
