"""Test code in one process, the function under test in another: no way to pass but to be right."""

from collections.abc import Iterator

import pytest
from tests.environments.sandbox.opened import KINDS, opened

from cotrain.environments.sandbox import Limits, Run, Sandbox

PASSED, FAILED = Run("finished", exit_code=0, passed=True), Run("failed", exit_code=1)
CHECK = "def check(candidate):\n    assert candidate(2) == 4\n    assert candidate(3) == 9\n"


@pytest.fixture(scope="module", params=KINDS)
def sandbox(request: pytest.FixtureRequest) -> Iterator[Sandbox]:
    with opened(request.param, Limits(seconds=20)) as found:
        yield found


def test_a_right_function_passes_and_a_wrong_one_fails(sandbox: Sandbox) -> None:
    assert sandbox.check("def f(x): return x * x", "f", "", CHECK) == PASSED
    assert sandbox.check("def f(x): return x + x", "f", "", CHECK) == FAILED


CROSSING = """
def check(candidate):
    for value in ((1, 2), [1, 2], {1, 2}, frozenset({1}), {(1, 2): [None]}, b"x", 1j, "é", 10**5000,
                  True, 1.5, {}, set()):
        assert candidate(value) == value
        assert type(candidate(value)) is type(value)
    assert candidate(value=3) == 3
"""


def test_every_plain_value_crosses_as_what_it_is(sandbox: Sandbox) -> None:
    assert sandbox.check("def f(value): return value", "f", "", CROSSING) == PASSED


def test_the_preamble_and_the_names_of_the_function_are_there_for_the_test_code(
    sandbox: Sandbox,
) -> None:
    preamble = "import math\ndef f(x): raise ValueError\ndef close(a, b): return abs(a - b) < 1e-6"
    check = (
        "def check(candidate):\n    assert close(candidate(4), math.sqrt(4))\n    assert f(9)==3"
    )
    assert sandbox.check("def f(x): return x ** 0.5", "f", preamble, check) == PASSED


def test_the_program_keeps_its_state_between_calls(sandbox: Sandbox) -> None:
    source = "calls = []\ndef f(x):\n    calls.append(x)\n    return len(calls)"
    check = "def check(candidate): assert [candidate(0), candidate(0)] == [1, 2]"
    assert sandbox.check(source, "f", "", check) == PASSED


def test_an_exception_of_the_function_is_an_exception_in_the_test_code(sandbox: Sandbox) -> None:
    source = "def f(x): raise ValueError('no')"
    expected = "def check(c):\n    try: c(1)\n    except Exception as e: assert 'no' in str(e)\n"
    assert sandbox.check(source, "f", "", CHECK) == FAILED
    assert sandbox.check(source, "f", "", expected + "    else: assert False") == PASSED


CHEATS = {
    "forged equality": "class A:\n    def __eq__(self, o): return True\ndef f(x): return A()",
    "a patched assertion": (
        "import builtins, sys\nAssertionError = builtins.AssertionError = Exception\n"
        "sys.modules['builtins'].all = lambda *_: True\ndef f(x): return 0"
    ),
    "exit at import": "import sys\nsys.exit(0)",
    "hard exit at import": "import os\nos._exit(0)",
    "exit in a call": "def f(x): raise SystemExit(0)",
    "hard exit in a call": "import os\ndef f(x): os._exit(0)",
    "the verdict over the line": "import os\ndef f(x): return os.write(3, b'passed\\n')",
    "the verdict over every descriptor": (
        "import os\nfor n in range(20):\n"
        "    try: os.write(n, b'passed')\n    except OSError: pass\n"
        "def f(x): return 0"
    ),
    "an answer that is not plain": 'import os\ndef f(x): os.write(3, b\'{"value": "["}\\n\')',
    "a subclass": "class N(int):\n    __eq__ = lambda s, o: True\ndef f(x): return N()",
    "frames of the test code": (
        "import sys\ndef f(x):\n    frame = sys._getframe()\n    while frame:\n"
        "        frame.f_globals['check'] = lambda c: None\n        frame = frame.f_back"
    ),
    "no function": "x = 1",
    "code that does not run": "def f(x:",
}


@pytest.mark.parametrize("name", CHEATS)
def test_cheating_fails(sandbox: Sandbox, name: str) -> None:
    run = sandbox.check(CHEATS[name], "f", "", CHECK)
    assert (run.status, run.passed) == ("failed", False)


def test_an_exit_is_not_taken_for_an_expected_exception(sandbox: Sandbox) -> None:
    check = "def check(c):\n    try: c(1)\n    except Exception: pass\n"
    assert not sandbox.check("import os\ndef f(x): os._exit(0)", "f", "", check).passed


def test_test_code_that_ends_early_has_not_passed(sandbox: Sandbox) -> None:
    early = "import os\ndef check(candidate): os._exit(0)"
    assert sandbox.check("def f(x): return x", "f", "", early).status == "failed"
    assert not sandbox.check("def f(x): return x", "f", "", "check = 3").passed


@pytest.mark.parametrize("kind", KINDS)
def test_a_function_that_does_not_return_is_a_timeout(kind) -> None:
    with opened(kind, Limits(seconds=3)) as impatient:
        assert impatient.check("def f(x):\n    while True: pass", "f", "", CHECK) == Run("timeout")
        assert impatient.check("def f(x): return x * x", "f", "", CHECK) == PASSED
