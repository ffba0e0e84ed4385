"""From a judge's reply to its verdict."""

import pytest

from cotrain.environments.graders.verdicts import parse_verdict


@pytest.mark.parametrize(
    ("reply", "verdict"),
    [
        ("CORRECT", True),
        ("Verdict: CORRECT", True),
        ("The answer is **correct**.", True),
        ("correct", True),
        ("<think>incorrect?</think>Verdict: correct", True),
        ("INCORRECT", False),
        ("Verdict: incorrect.", False),
        ("Verdict: not correct", False),
        ("It is not entirely correct", False),
        ("It isn't correct.", False),
        ("The answer is *not* **correct**.", False),
        ("The sum is correct, the answer is incorrect", False),
        ("incorrect, then correct", False),
        ("It is not incorrect.", False),
        ("It isn\u2019t correct.", False),
        ("", None),
        ("The steps look fine and the result agrees.", None),
        ("correctness matters", None),
        ("incorrectly", None),
        ("uncorrect", None),
        ("<think>correct</think>", None),
    ],
)
def test_a_verdict_is_a_whole_word_and_the_negative_one_comes_first(
    reply: str, verdict: bool | None
) -> None:
    assert parse_verdict(reply) is verdict


def test_a_long_reply_is_read_in_linear_time() -> None:
    assert parse_verdict("not " * 100_000) is None
    assert parse_verdict("not at all " * 50_000 + "correct") is False
