"""Grades answers of maths and verdicts of judges."""

from cotrain.assembly.graders.base import Case, field_of
from cotrain.assembly.graders.served import answered
from cotrain.core.episode import CandidateStatus
from cotrain.environments.graders.verdicts import parse_verdict
from cotrain.environments.requests import maths_request

TEXT = "it must be a text"
UNKNOWN = "unknown"


def grade_math(case: Case) -> bool | str:
    """`gold` and `reply` to whether the reply gives the gold answer, or to `"unknown"`."""
    gold, reply = field_of(case, "gold", str, TEXT), field_of(case, "reply", str, TEXT)
    evidence = answered(maths_request(gold, reply))
    return UNKNOWN if evidence.status is CandidateStatus.UNKNOWN else bool(evidence.answer)


def grade_verdict(case: Case) -> bool | None:
    """`reply` to the verdict that it gives, or null."""
    return parse_verdict(field_of(case, "reply", str, TEXT))
