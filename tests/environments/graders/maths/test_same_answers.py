"""Answers of maths, kind by kind, and in both directions."""

import pytest
from tests.environments.graders.maths.answer_pairs import PAIRS

from cotrain.environments.graders.maths.equality import same_answer
from cotrain.environments.graders.maths.readable import is_readable


@pytest.mark.parametrize("kind", PAIRS)
def test_answers_are_compared_the_same_in_both_directions(kind: str) -> None:
    decided = {(a, b): (same_answer(a, b), same_answer(b, a)) for a, b, _ in PAIRS[kind]}
    assert decided == {(a, b): (right, right) for a, b, right in PAIRS[kind]}


@pytest.mark.parametrize("kind", PAIRS)
def test_an_answer_is_readable_and_the_same_as_itself(kind: str) -> None:
    golds = {gold for gold, _, _ in PAIRS[kind]}
    assert [gold for gold in golds if not (is_readable(gold) and same_answer(gold, gold))] == []


@pytest.mark.parametrize("gold", ["", " ", r"\frac{1}{", "((", "?", "x +"])
def test_what_is_no_answer_is_not_readable(gold: str) -> None:
    assert not is_readable(gold)


WRITTEN_DOWN = [
    r"\sum_{k=1}^{10} k",
    r"\int_0^1 110x\,dx",
    r"\lim_{x\to 0} 55",
    r"\prod_{k=5}^{5} 11",
]


@pytest.mark.parametrize("answer", WRITTEN_DOWN)
def test_a_sum_or_integral_that_is_only_written_down_is_no_answer(answer: str) -> None:
    assert not same_answer("55", answer)
    assert same_answer(answer, answer)
