"""Grades the parsers: a reply to what is read from it, or null."""

from cotrain.assembly.graders.base import Case, field_of
from cotrain.environments.parsing import last_answer, parse_code, parse_moves


def grade_moves(case: Case) -> list[str] | None:
    """`reply` to the moves read from it."""
    moves = parse_moves(_reply(case))
    return None if moves is None else list(moves)


def grade_answer(case: Case) -> str | None:
    """`reply` to the text of its last answer tag."""
    return last_answer(_reply(case))


def grade_code(case: Case) -> str | None:
    """`reply` to the text of its program, without a trailing newline."""
    return parse_code(_reply(case))


def _reply(case: Case) -> str:
    return field_of(case, "reply", str, "it must be a text")
