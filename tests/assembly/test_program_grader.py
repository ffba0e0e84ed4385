"""`cotrain grade program`: what passes, what fails, and what is no case."""

from typing import Any

import pytest

from cotrain.assembly.grading import grade
from cotrain.environments.base import ServiceLostError
from cotrain.environments.sandbox import refuse_unavailable

ADDS_ONE = "print(int(input()) + 1)\n"
FOUR = [{"stdin": "4\n", "expected": "5\n"}]


@pytest.fixture(autouse=True)
def _isolation() -> None:
    try:
        refuse_unavailable("bubblewrap")
    except ServiceLostError as error:
        pytest.skip(str(error))


def value_of(**case: Any) -> object:
    [graded] = grade("program", [{"id": 1, "kind": "program", **case}])
    return graded.value


@pytest.mark.parametrize(
    ("program", "value"),
    [
        (ADDS_ONE, "pass"),
        (f"{ADDS_ONE}import sys\nsys.exit()\n", "pass"),
        (f"{ADDS_ONE}raise SystemExit(3)\n", "fail"),
        ("import sys\nsys.exit(0)\n", "fail"),
        ("import os\nos._exit(0)\n", "fail"),
        ("import sys\nsys.modules['builtins'].all = lambda *_: True\nprint('no')\n", "fail"),
        ("if __name__ == '__main__':\n    print(sum(map(int, open(0))) + 1)\n", "pass"),
        ("import sys\nsys.stdout.buffer.write(b'5\\r\\n\\r\\n')\n", "pass"),
        ("def f(:", "fail"),
        ("", "fail"),
    ],
)
def test_a_program_passes_with_the_right_output_and_exit_code_0(program: str, value: str) -> None:
    assert value_of(program=program, tests=FOUR) == value


@pytest.mark.parametrize(
    ("program", "inputs", "outputs", "value"),
    [
        ("def f(a, b):\n    return abs(a - b)\n", [[3, 10]], [7], "pass"),
        ("def f(xs):\n    return sum(xs)\n", [[[1, 2, 3]]], [6], "pass"),
        ("def f(n):\n    return int(n % 2 == 0)\n", [[4], [7]], [[1], [0]], "pass"),
        (
            "class Solution:\n    def f(self, x: List[int]):\n        return 1, 2",
            [[[]]],
            [[1, 2]],
            "pass",
        ),
        ("def f(x):\n    raise ValueError\n", [[1]], [None], "fail"),
        ("def f(x):\n    raise ValueError\n", [[1]], [""], "fail"),
        ("def g(x):\n    return x\n", [[1]], [1], "fail"),
        ("def f(xs, k):\n    return xs[-k:] + xs[:-k]\n", ["[1, 2, 3]\n1"], ["[3, 1, 2]"], "pass"),
        ("def f(xs):\n    xs.append(1)\n", [[[]]], [None], "pass"),
        (
            "class A:\n    __eq__ = lambda s, o: True\ndef f(x):\n    return A()\n",
            [[1]],
            [2],
            "fail",
        ),
    ],
)
def test_a_function_passes_with_the_right_values(
    program: str, inputs: list[Any], outputs: list[Any], value: str
) -> None:
    assert value_of(program=program, tests=[], fn_name="f", inputs=inputs, outputs=outputs) == value


@pytest.mark.parametrize(
    ("case", "reason"),
    [
        ({"tests": FOUR}, "program is missing"),
        ({"program": ADDS_ONE}, "tests is missing"),
        ({"program": ADDS_ONE, "tests": []}, "tests is empty"),
        ({"program": ADDS_ONE, "tests": [{"stdin": "4"}]}, "tests holds"),
        ({"program": ADDS_ONE, "tests": [{"stdin": 4, "expected": "5"}]}, "tests: 4 is no text"),
        ({"program": ADDS_ONE, "fn_name": "f", "inputs": [], "outputs": []}, "inputs is empty"),
        ({"program": ADDS_ONE, "fn_name": "f", "inputs": [[1]], "outputs": []}, "1 inputs and 0"),
        ({"program": ADDS_ONE, "fn_name": "f", "inputs": [[1]]}, "outputs is missing"),
    ],
)
def test_a_case_that_cannot_be_graded_says_why_and_is_no_pass(
    case: dict[str, Any], reason: str
) -> None:
    [graded] = grade("program", [{"id": 1, **case}])
    assert graded.value == "error"
    assert reason in graded.reason
