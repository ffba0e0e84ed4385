"""Whether the final answer of a reply equals the gold answer. Importing this imports no SymPy."""

from cotrain.environments.graders.maths.final_answer import final_answer, has_box
from cotrain.environments.graders.maths.grader import MathsGrader
from cotrain.environments.graders.maths.latex_text import compact, plain
from cotrain.environments.graders.maths.numbers import literal
from cotrain.environments.graders.maths.units import without_unit

__all__ = [
    "MathsGrader",
    "compact",
    "final_answer",
    "has_box",
    "literal",
    "plain",
    "without_unit",
]
