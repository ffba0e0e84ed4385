"""A judge who negates "correct" at some distance gives no pass."""

import pytest

from cotrain.environments.graders.verdicts import parse_verdict

NEGATED = (
    "It is not in any way correct",
    "I would not say it is correct",
    "This is neither complete nor correct",
    "not-correct",
    "That can't be correct.",
    "It doesn\u2019t look correct",
    "The answer is *not* correct",
)


@pytest.mark.parametrize("reply", NEGATED)
def test_a_negated_correct_is_no_pass(reply: str) -> None:
    assert parse_verdict(reply) is False


def test_a_negation_in_another_clause_negates_nothing() -> None:
    assert parse_verdict("I did not find a mistake: correct.") is True
    assert parse_verdict("It does not skip a step, and the sum holds. Verdict: CORRECT") is True
