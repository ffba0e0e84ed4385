"""The process that scores answers with reasoning-gym, one JSON line an answer."""

import inspect
import json
import math
import re
import sys
from collections.abc import Mapping
from typing import Any

from cotrain.environments.data.maths_records import digest_of
from cotrain.environments.graders.maths import final_answer, literal, plain, without_unit
from cotrain.environments.graders.serving import Answerer, serve

_EVALUATES = re.compile(r"(?<![\w.])(?:sympy\.|sp\.)?(?:parse_expr|sympify|eval|exec)\(")
_FUNCTIONS = "sin|cos|tan|asin|acos|atan|sinh|cosh|tanh|sec|csc|cot|exp|log|ln|sqrt|Abs|abs|erf|pi"
_CALL = re.compile(rf"(?<!\w)(?!(?:{_FUNCTIONS})\s*\()[^\W\d]\w*\s*\(")
_HARMLESS = re.compile(r"[\w\s+\-*/^().,=\[\]'\"]*")
_REACHES = re.compile(r"__|\.\s*[^\W\d]|\b(?:lambda|import|for|if|while|yield|await|in)\b")


def is_harmless(answer: str) -> bool:
    """Whether an answer can be evaluated: numbers, names, lists and functions of maths.

    >>> is_harmless("2*x*sin(x) + 3"), is_harmless("[['Q', '_']]")
    (True, True)
    >>> is_harmless("__import__('os').system('ls')"), is_harmless("open('a', 'w')")
    (False, False)
    """
    if not _HARMLESS.fullmatch(answer):
        return False
    return not _REACHES.search(answer) and not _CALL.search(answer)


def make_answerer() -> Answerer:
    """Imports reasoning-gym and scores `{"dataset", "options", "seed", "digest", "reply"}`."""
    import reasoning_gym  # noqa: PLC0415 - after the memory limit

    def answer(question: Mapping[str, Any]) -> float:
        given = final_answer(question["reply"])
        if given is None:
            return 0.0
        options = json.loads(question["options"])
        dataset: Any = reasoning_gym.create_dataset(
            question["dataset"], seed=question["seed"], size=1, **options
        )
        entry = dataset[0]
        if digest_of(entry["question"]) != question["digest"]:
            raise ValueError(f"{question['dataset']} gives another problem in another process")
        source = inspect.getsource(sys.modules[type(dataset).__module__])
        if _EVALUATES.search(source) and not is_harmless(given):
            return 0.0
        if _is_other_number(given, str(entry["answer"])):
            return 0.0
        return _score(dataset, given, entry)

    return answer


def _is_other_number(answer: str, known: str) -> bool:
    """Whether a number is known to be right, and the answer is not one number near it.

    Some verifiers take any text in which they find the number.
    """
    right = literal(known)
    if right is None:
        return False
    given = literal(without_unit(plain(answer)).core)
    return given is None or abs(given.value - right.value) > abs(right.value) / 1000


def _score(dataset: Any, answer: str, entry: Mapping[str, Any]) -> float:
    try:
        score = float(dataset.score_answer(answer, entry))
    except MemoryError:
        raise
    except Exception:  # noqa: BLE001 - what a verifier cannot take is no right answer
        return 0.0
    return min(1.0, max(0.0, score)) if math.isfinite(score) else 0.0


if __name__ == "__main__":
    serve(make_answerer)
