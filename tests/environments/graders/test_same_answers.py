"""Answers of maths, kind by kind, and in both directions."""

import pytest
from tests.environments.graders.answer_pairs import PAIRS

from cotrain.environments.graders.equality import is_readable, same_answer

EACH = [(kind, *pair) for kind, pairs in PAIRS.items() for pair in pairs]


@pytest.mark.parametrize(("kind", "gold", "answer", "right"), EACH)
def test_answers_are_compared_the_same_in_both_directions(
    kind: str, gold: str, answer: str, right: bool
) -> None:
    assert same_answer(gold, answer) is right
    assert same_answer(answer, gold) is right


@pytest.mark.parametrize(("kind", "gold"), sorted({(kind, gold) for kind, gold, _, _ in EACH}))
def test_an_answer_is_readable_and_the_same_as_itself(kind: str, gold: str) -> None:
    assert is_readable(gold)
    assert same_answer(gold, gold)


@pytest.mark.parametrize("gold", ["", " ", r"\frac{1}{", "((", "?", r"5 \pmod 7 = ?", "x +"])
def test_what_is_no_answer_is_not_readable(gold: str) -> None:
    assert not is_readable(gold)


@pytest.mark.parametrize(
    "answer", [r"\sum_{k=1}^{10} k", r"\int_0^1 110x\,dx", r"\lim_{x\to 0} 55", r"\prod_{k=5}^{5} 11"]
)
def test_a_sum_or_integral_that_is_only_written_down_is_no_answer(answer: str) -> None:
    assert not same_answer("55", answer)
    assert same_answer(answer, answer)
