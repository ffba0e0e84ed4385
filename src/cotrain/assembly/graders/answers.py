"""Grades answers of maths and verdicts of judges."""

import atexit
from functools import cache

from cotrain.assembly.graders.base import Case, field_of
from cotrain.environments.base import UndecidedError
from cotrain.environments.graders.maths import MathsGrader
from cotrain.environments.graders.verdicts import parse_verdict

TEXT = "it must be a text"
UNKNOWN = "unknown"


def grade_math(case: Case) -> bool | str:
    """`gold` and `reply` to whether the reply gives the gold answer, or to `"unknown"`."""
    gold, reply = field_of(case, "gold", str, TEXT), field_of(case, "reply", str, TEXT)
    try:
        return _grader().grade(gold, reply)
    except UndecidedError:
        return UNKNOWN


def grade_verdict(case: Case) -> bool | None:
    """`reply` to the verdict that it gives, or null."""
    return parse_verdict(field_of(case, "reply", str, TEXT))


@cache
def _grader() -> MathsGrader:
    """One grader for all cases of this process, ended with it."""
    grader = MathsGrader(num_workers=1)
    atexit.register(grader.close)
    return grader
