"""The verifiers of reasoning-gym in their own process."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import reasoning_gym

from cotrain.environments.base import UndecidedError
from cotrain.environments.data.maths_records import digest_of
from cotrain.environments.graders.verifier import SCORES, Verifier
from cotrain.environments.graders.verifier_worker import is_harmless
from cotrain.environments.requests import verify_request


@pytest.fixture(scope="module")
def verifier() -> Iterator[Verifier]:
    made = Verifier(num_workers=1)
    yield made
    made.close()


def score(verifier: Verifier, dataset: str, reply: str) -> float:
    made: Any = reasoning_gym.create_dataset(dataset, seed=7, size=1)
    digest = digest_of(made[0]["question"])
    return verifier(verify_request(dataset, "{}", 7, digest, reply))


def known(dataset: str) -> str:
    made: Any = reasoning_gym.create_dataset(dataset, seed=7, size=1)
    return made[0]["answer"]


DATASETS = ["gcd", "countdown", "n_queens", "simple_equations", "complex_arithmetic", "mini_sudoku"]


@pytest.mark.parametrize("dataset", DATASETS)
def test_the_known_answer_scores_1_and_others_less(verifier: Verifier, dataset: str) -> None:
    assert score(verifier, dataset, f"\\boxed{{{known(dataset)}}}") == 1.0
    for reply in ("\\boxed{77777}", "", "ValueError: 5", "\\boxed{()}"):
        assert score(verifier, dataset, reply) < 1.0


def test_a_text_in_which_the_number_occurs_is_not_the_number(verifier: Verifier) -> None:
    answer = known("gsm_symbolic")
    assert score(verifier, "gsm_symbolic", rf"\boxed{{{answer}}}") == 1.0
    assert score(verifier, "gsm_symbolic", rf"\boxed{{{answer}\text{{ boxes}}}}") == 1.0
    for wrong in (f"-{answer}", f"{answer} or 3", f"{answer}/2", f"not {answer}"):
        assert score(verifier, "gsm_symbolic", rf"\boxed{{{wrong}}}") == 0.0


@pytest.mark.parametrize("dataset", ["countdown", "n_queens", "spiral_matrix", "puzzle24"])
def test_code_in_an_answer_is_never_run(verifier: Verifier, dataset: str, tmp_path: Path) -> None:
    touched = tmp_path / "touched"
    for code in (
        f'__import__("os").system("touch {touched}")',
        f'open("{touched}", "w")',
        f'[open("{touched}", "w") for _ in (1,)]',
        "exec('open(chr(47))')",
    ):
        assert score(verifier, dataset, f"\\boxed{{{code}}}") == 0.0
    assert not touched.exists()


def test_an_answer_that_takes_too_long_is_undecided() -> None:
    made = Verifier(1, replace(SCORES, seconds=1.0))
    with pytest.raises(UndecidedError, match="within 1 seconds"):
        score(made, "countdown", r"\boxed{9**9**9**9}")
    assert score(made, "gcd", rf"\boxed{{{known('gcd')}}}") == 1.0
    made.close()


def test_a_problem_that_differs_in_another_process_is_undecided(verifier: Verifier) -> None:
    with pytest.raises(UndecidedError, match="another problem"):
        verifier(verify_request("gcd", "{}", 7, "00", r"\boxed{5}"))


@pytest.mark.parametrize(
    ("answer", "harmless"),
    [
        ("3*x**2/2 + sin(x) + C", True),
        ("asin(3*x) + sqrt(1 - 9*x**2)", True),
        ("[['Q', '_'], ['_', 'Q']]", True),
        ("(1 + 2) * 3", True),
        ("x.__class__", False),
        ("os.system('ls')", False),
        ("getattr(x, 'y')", False),
        ("[x for x in y]", False),
        ("lambda: 5", False),
        ("5; import os", False),
    ],
)
def test_only_arithmetic_and_lists_reach_a_verifier_that_evaluates(
    answer: str, harmless: bool
) -> None:
    assert is_harmless(answer) is harmless
