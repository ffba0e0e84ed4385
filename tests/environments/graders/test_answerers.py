"""What the grading processes answer, asked in this process: one table a process."""

import json

import pytest
import reasoning_gym

from cotrain.environments.data.maths_records import digest_of
from cotrain.environments.graders import verifier_worker
from cotrain.environments.graders.maths import worker as maths_worker

SEED = 7


@pytest.mark.parametrize(
    ("gold", "reply", "value"),
    [
        ("5", "It is \\boxed{5}.", True),
        ("\\frac{1}{2}", "It is \\boxed{0.5}.", True),
        ("5", "It is \\boxed{6}.", False),
        ("5", "It is 5.", True),
        ("5", "I cannot tell.", False),
    ],
)
def test_a_reply_is_compared_with_its_gold_answer(gold: str, reply: str, value: bool) -> None:
    answer = maths_worker.make_answerer()
    assert answer({"gold": gold, "reply": reply}) == {"value": value, "reason": ""}


@pytest.mark.parametrize(("gold", "value"), [("5", True), ("\\frac{", False), ("", False)])
def test_a_gold_answer_alone_is_asked_whether_it_can_be_read(gold: str, value: bool) -> None:
    assert maths_worker.make_answerer()({"gold": gold}) == {"value": value, "reason": ""}


def question(dataset: str, reply: str, digest: str | None = None) -> dict[str, object]:
    """What the verifier's process is asked about the reply to the first problem of a data set."""
    problem = reasoning_gym.create_dataset(dataset, seed=SEED, size=1)[0]
    return {
        "dataset": dataset,
        "options": json.dumps({}),
        "seed": SEED,
        "digest": digest or digest_of(problem["question"]),
        "reply": reply.replace("ANSWER", str(problem["answer"])),
    }


@pytest.mark.parametrize(
    ("dataset", "reply", "score"),
    [
        ("gcd", "\\boxed{ANSWER}", 1.0),
        ("gcd", "\\boxed{ANSWER000}", 0.0),
        ("gcd", "It is ANSWER.", 1.0),
        ("gcd", "I cannot tell.", 0.0),
        ("gcd", "\\boxed{the number ANSWER, I think}", 0.0),
        ("countdown", "\\boxed{__import__('os').getpid()}", 0.0),
    ],
)
def test_a_verifier_scores_the_answer_of_a_reply(dataset: str, reply: str, score: float) -> None:
    assert verifier_worker.make_answerer()(question(dataset, reply)) == score


def test_another_problem_than_the_one_that_was_asked_is_no_answer() -> None:
    with pytest.raises(ValueError, match="gives another problem"):
        verifier_worker.make_answerer()(question("gcd", "\\boxed{1}", digest="0f"))
