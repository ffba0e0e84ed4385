"""The process that compares answers of maths, one JSON line a pair."""

from collections.abc import Mapping
from typing import Any

from cotrain.environments.graders.serving import Answerer, serve

_CANNOT_TAKE = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)
"""What SymPy raises about an expression; the next answer can be compared after it."""


def make_answerer() -> Answerer:
    """Imports what compares, and answers questions about one gold answer each.

    `{"gold", "reply"}`: true, false, or null with a reason where it cannot be told.
    `{"gold"}` alone: whether every value in it can be read.
    """
    from cotrain.environments.base import UndecidedError  # noqa: PLC0415 - after the memory limit
    from cotrain.environments.graders.maths.equality import same_answer  # noqa: PLC0415
    from cotrain.environments.graders.maths.final_answer import final_answer  # noqa: PLC0415
    from cotrain.environments.graders.maths.readable import is_readable  # noqa: PLC0415

    def answer(question: Mapping[str, Any]) -> dict[str, object]:
        if "reply" not in question:
            return {"value": is_readable(question["gold"]), "reason": ""}
        given = final_answer(question["reply"])
        try:
            value = given is not None and same_answer(question["gold"], given)
        except UndecidedError as error:
            return {"value": None, "reason": str(error)}
        except _CANNOT_TAKE as error:
            return {"value": None, "reason": f"{type(error).__name__}: {error}"[:500]}
        return {"value": value, "reason": ""}

    return answer


if __name__ == "__main__":
    serve(make_answerer)
