"""Calls of functions: what is found, what crosses, and what is no value."""

import json
from collections.abc import Iterator

import pytest
from tests.environments.sandbox.opened import KINDS, opened

from cotrain.environments.sandbox import Limits, Run, Sandbox


@pytest.fixture(scope="module", params=KINDS)
def sandbox(request: pytest.FixtureRequest) -> Iterator[Sandbox]:
    with opened(request.param, Limits(seconds=20, output_bytes=2**20)) as found:
        yield found


TYPED = """
class Solution:
    def firstTwo(self, nums: List[int], k: Optional[int] = None) -> Dict[str, int]:
        return nums[0], nums[1]
"""
VALUES = {
    "two arguments": ("def f(a, b): return abs(a - b)", "[3, 10]", "7"),
    "one list": ("def f(xs): return sum(xs)", "[[1, 2, 3]]", "6"),
    "a method, names of typing": (TYPED.replace("firstTwo", "f"), "[[8, 9, 10]]", "[8, 9]"),
    "nothing": ("def f(xs): xs.append(1)", "[[]]", "null"),
    "a set": ("def f(): return {3, 1, 2}", "[]", "[1, 2, 3]"),
    "a set of two types": ("def f(): return {'a', 1}", "[]", '["a", 1]'),
    "keys": ("def f(): return {1: 2, None: (True, 1.5)}", "[]", '{"1": 2, "null": [true, 1.5]}'),
    "containers": (
        "def f(): return [deque([1]), Counter('a'), defaultdict(int)]",
        "[]",
        '[[1], {"a": 1}, {}]',
    ),
    "no numbers": (
        "def f(): return [inf, -inf, math.nan]",
        "[]",
        "[Infinity, -Infinity, NaN]",
    ),
    "libraries": (
        "def f(x): return [bisect.bisect(x, 2), heapq.nsmallest(1, x), re.sub('a', 'b', 'a')]",
        "[[1, 2, 3]]",
        '[2, [1], "b"]',
    ),
    "a guarded main is not run": (
        "def f(): return 1\nif __name__ == '__main__': raise ValueError",
        "[]",
        "1",
    ),
    "a function among globals": ("f = lambda x: x", '["a"]', '"a"'),
    "a byte order mark before it": ("\ufeffdef f(): return 1", "[]", "1"),
}


@pytest.mark.parametrize("name", VALUES)
def test_the_value_crosses_as_json(sandbox: Sandbox, name: str) -> None:
    source, arguments, value = VALUES[name]
    assert sandbox.call(source, "f", arguments) == Run("finished", "", "", 0, value)


def test_whole_numbers_cross_whatever_their_size(sandbox: Sandbox) -> None:
    number = "9" * 6000
    run = sandbox.call("def f(x): return [x]", "f", f"[{number}]")
    assert run.value == f"[{number}]"


FORGED = "class Always:\n    def __eq__(self, o): return True\n"
NO_VALUES = {
    "an object": FORGED + "def f(): return Always()",
    "an object inside": FORGED + "def f(): return [1, Always()]",
    "a subclass": "class N(int): pass\ndef f(): return N(3)",
    "two keys that JSON spells alike": "def f(): return {1: 'a', '1': 'b'}",
    "a key that JSON has not": "def f(): return {(1, 2): 3}",
    "a list that holds itself": "def f():\n    x = []\n    x.append(x)\n    return x",
    "a value too deep to compare": (
        "def f():\n    x = []\n    for _ in range(100): x = [x]\n    return x"
    ),
    "a generator": "def f(): yield 1",
}


@pytest.mark.parametrize("name", NO_VALUES)
def test_what_is_not_plain_data_is_no_value(sandbox: Sandbox, name: str) -> None:
    assert sandbox.call(NO_VALUES[name], "f", "[]") == Run("finished", "", "", 0, None)


FAILURES = {
    "an exception": ("def f(): raise ValueError('no')", "ValueError: no"),
    "no such function": ("def other(): return 1", "NameError: there is no function 'f'"),
    "no such method": ("class Solution: pass", "NameError: there is no function 'f'"),
    "not a function": ("f = 3", "NameError: there is no function 'f'"),
    "too many arguments": ("def f(a): return 1", "TypeError: f() missing"),
    "a failure before": ("1 / 0", "ZeroDivisionError"),
    "a hard exit": ("import os\ndef f(): os._exit(0)", "ended before the call returned"),
    "an exit": ("def f(): exit(0)", "ended before the call returned"),
}


@pytest.mark.parametrize("name", FAILURES)
def test_a_call_without_a_result_fails(sandbox: Sandbox, name: str) -> None:
    source, said = FAILURES[name]
    run = sandbox.call(source, "f", "[]")
    assert (run.status, run.value) == ("failed", None)
    assert said in run.stderr.strip().splitlines()[-1]


def test_a_forged_result_is_checked_before_it_is_believed(sandbox: Sandbox) -> None:
    for forged in ("={", "=" + "[" * 5000, "x", "=\\xff"):
        source = f"import os\nos.write(3, b'{forged}')\nos._exit(0)"
        assert sandbox.call(source, "f", "[]").value is None


def test_a_flood_over_the_private_pipe_is_stopped(sandbox: Sandbox) -> None:
    source = "import os\ndef f():\n    while True: os.write(3, b'1' * 4096)"
    assert sandbox.call(source, "f", "[]") == Run("output")


def test_what_a_call_prints_is_kept_apart_from_its_value(sandbox: Sandbox) -> None:
    run = sandbox.call("def f():\n    print('=5')\n    return 6", "f", "[]")
    assert (run.stdout, json.loads(run.value or "")) == ("=5\n", 6)


def test_arguments_that_are_no_list_are_the_callers_mistake(sandbox: Sandbox) -> None:
    for arguments in ("3", '{"a": 1}', "[1"):
        with pytest.raises(ValueError, match=r"JSON list|delimiter"):
            sandbox.call("def f(): return 1", "f", arguments)


@pytest.mark.parametrize("name", ["gcd", "product", "string", "deque"])
def test_a_name_that_is_offered_is_no_function_of_the_program(sandbox: Sandbox, name: str) -> None:
    assert sandbox.call("pass", name, "[4, 6]").status == "failed"
    method = f"class Solution:\n    def {name}(self, a, b): return [a, b, sqrt(4)]"
    assert sandbox.call(method, name, "[4, 6]").value == "[4, 6, 2.0]"
    imported = sandbox.call("from math import gcd", "gcd", "[4, 6]")
    assert imported.value == "2"
