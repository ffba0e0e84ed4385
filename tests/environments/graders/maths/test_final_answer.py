"""Where the answer stands in a reply."""

import time

import pytest

from cotrain.environments.graders.maths.final_answer import MAX_ANSWER_CHARACTERS, final_answer

FOUND = [
    (r"So $\boxed{\frac{3}{7}}$.", r"\frac{3}{7}"),
    (r"Try \boxed{5}. No, hence \boxed{7}.", "7"),
    (r"\boxed{5}, no wait, \boxed{7}", "7"),
    (r"\boxed{5} or rather \boxed{7}", "7"),
    ("we get \\boxed{615}.\n\n**Final Answer**\n\\boxed{615}", "615"),
    (r"\boxed{2} and \boxed{3}", "2, 3"),
    (r"The roots are $\boxed{2}$, $\boxed{3}$ and $\boxed{4}$.", "2, 3, 4"),
    (r"$x=\boxed{2}$, $y=\boxed{3}$", "x=2, y=3"),
    (r"\boxed{5} and \boxed{5}", "5"),
    (r"Try \boxed{1}. Then \boxed{2} or \boxed{3}.", "2, 3"),
    (r"\boxed{x^{2}+\frac{1}{x^{2}}}", r"x^{2}+\frac{1}{x^{2}}"),
    (r"\boxed{\boxed{5}}", r"\boxed{5}"),
    (r"\boxed{\{1,2\}}", r"\{1,2\}"),
    (r"\boxed 5", "5"),
    (r"\fbox{7}", "7"),
    (r"First \boxed{5}, but then \boxed{7", "5"),
    ("<think>\\boxed{3}</think>\\boxed{4}", "4"),
    ("<answer>24</answer>", "24"),
    ("Total so far: $x + 3(58) = 198$.\n\nFinal Answer: **24**", "24"),
    ("The answer is 24.", "24"),
    ("The answer is 3.14. I am sure.", "3.14"),
    ("The final answer is $x = 5$.", "x = 5"),
    ("The answer is 5. Wait, the answer is 7.", "7"),
    ("It takes long.\n#### 24", "24"),
    ("So we have $3 + 4 = 7$.", "3 + 4 = 7"),
    ("Hence there are 12 ways.", "12"),
    ("1\n2\n3\n", "3"),
    ("sqrt(2)/2\n", "sqrt(2)/2"),
    ("[2, 3]", "[2, 3]"),
    ("The answer: (1, 2)", "(1, 2)"),
]
NOT_FOUND = [
    "",
    " \n ",
    "I could not finish, maybe \\boxed{",
    "\\boxed{}",
    "I do not know.",
    "<think>\\boxed{5}",
    "Traceback (most recent call last):\n  File 'x.py', line 5\nValueError: 24",
    "ValueError: 24",
    "24\nZeroDivisionError: division by 5",
    "sympy.SympifyError: 7",
    "\\boxed{" * 20_000,
    "\\boxed{" + "1" * (MAX_ANSWER_CHARACTERS + 1) + "}",
]


@pytest.mark.parametrize(("reply", "answer"), FOUND)
def test_the_last_answer_of_a_reply_counts(reply: str, answer: str) -> None:
    assert final_answer(reply) == answer


@pytest.mark.parametrize("reply", NOT_FOUND)
def test_a_reply_without_an_answer_has_none(reply: str) -> None:
    assert final_answer(reply) is None


@pytest.mark.parametrize(
    "piece", ["\\(", "$", "**", "answer is ", "\\boxed{5} and ", "answer\n", "{"]
)
def test_a_long_reply_is_read_in_linear_time(piece: str) -> None:
    began = time.process_time()
    final_answer(piece * 50_000)
    assert time.process_time() - began < 10
