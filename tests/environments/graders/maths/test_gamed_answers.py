"""Answers of a model that games the reward, and near misses that no comparison may take."""

import pytest

from cotrain.environments.base import UndecidedError
from cotrain.environments.graders.maths import MathsGrader
from cotrain.environments.graders.maths.equality import same_answer

HEDGED = (
    ("B", "(B) or (C)"),
    ("B", "(B), (C)"),
    (r"\text{(B)}", r"\text{(B)} \text{ or } \text{(C)}"),
    ("B", r"\text{(B) and (C)}"),
    ("5", r"5 \text{ (or 6)}"),
    ("5", r"5\text{ but maybe }6"),
    ("5", "5 or 6"),
    ("x<6", "x<6, 1"),
    ("x<6", r"x<6 \text{ or } 1"),
    (r"-2\le x<5", r"\{-2\le x<5,1\}"),
)
OTHER_LETTERS = (
    (r"2\pi r", r"2\pi R"),
    (r"\pi(R^2-r^2)", "0"),
    (r"\pi(R^2-r^2)", r"\pi(r^2-R^2)"),
    (r"\frac{a+b}{2}", r"\frac{A+b}{2}"),
    (r"x<1 \text{ or } x>2", r"x<1 \text{ or } y>2"),
    ("a>1, b<2", "b<2, a>2"),
)
NEAR = (
    (r"\lceil n/3 \rceil", r"\lceil n/4 \rceil"),
    (r"\lceil n/3 \rceil", r"\lceil n/3 \rceil^2"),
    (r"\lfloor \frac{n}{2} \rfloor", r"\sqrt{\lfloor \frac{n}{2} \rfloor}"),
    (r"\lfloor x \rfloor", r"\lceil x \rceil"),
    ("3^{2024}-1", "3^{2024}-1x"),
    ("7^{103}+4", "7^{103}+4i"),
)
WITHOUT_A_VALUE = (
    (r"\frac{3}{7}", r"\frac{3}{0}"),
    (r"\frac{3\pi}{4}", r"\frac{3\pi}{0}"),
    ("5", r"\frac{1}{1-1}"),
    ("x<6", r"x<6\%"),
    ("x<6", "x<i"),
    ("3.14", "3.14!"),
)
THE_SAME = (
    ("a>1, b<2", "b<2, a>1"),
    (r"x=0 \text{ or } x>2", r"\{0\}\cup(2,\infty)"),
    (r"\lceil x \rceil", r"-\lfloor -x \rfloor"),
    (r"(-\infty,3!)", "x<6"),
    (r"\pi", r"\pi \approx 3.14"),
    (r"\cos\frac{\pi}{3}", "0.5"),
    (r"\pi(R^2-r^2)", r"\pi(R-r)(R+r)"),
    ("(C) -3", "C"),
    ("(C) -3", "-3"),
    ("5\\text{ m/s}^2", "5"),
    (r"5\pmod{12}", "5"),
)


@pytest.mark.parametrize("pairs", [HEDGED, OTHER_LETTERS, NEAR, WITHOUT_A_VALUE])
def test_a_wrong_answer_that_is_near_or_hedged_is_wrong_from_both_sides(
    pairs: tuple[tuple[str, str], ...],
) -> None:
    taken = [pair for pair in pairs if same_answer(*pair) or same_answer(*reversed(pair))]
    assert taken == []


@pytest.mark.parametrize(("gold", "answer"), THE_SAME)
def test_the_same_answer_in_another_form_is_right_from_both_sides(gold: str, answer: str) -> None:
    assert same_answer(gold, answer)
    assert same_answer(answer, gold)


def test_letters_beside_a_number_of_a_thousand_digits_are_seen() -> None:
    assert not same_answer("10^{1000}+n", "10^{1000}+n+1")


def test_an_answer_that_sympy_cannot_take_costs_no_worker() -> None:
    grader = MathsGrader(num_workers=1)
    try:
        for reply in (r"\boxed{x<6!}", r"\boxed{x<i}", r"\boxed{x>45\%}", r"\boxed{3.14!}"):
            assert not grader.grade("x<7", reply)
        with pytest.raises(UndecidedError):
            grader.grade("2^{1000000}", r"\boxed{2^{1000001}}")
        assert grader.grade("5", r"\boxed{5}")
    finally:
        grader.close()
