"""Requests are answered in the form that `requests.py` documents."""

from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from tests.environments.sandbox.opened import KINDS, opened

from cotrain.environments.requests import (
    SANDBOXED,
    calls_request,
    check_request,
    program_request,
)
from cotrain.environments.returned import check_json
from cotrain.environments.sandbox import Limits, sandbox_handlers


@pytest.fixture(scope="module", params=KINDS)
def handlers(request: pytest.FixtureRequest) -> Iterator[Mapping[str, Any]]:
    with opened(request.param, Limits(seconds=3)) as sandbox:
        yield sandbox_handlers(sandbox)


def test_every_kind_that_runs_code_is_answered(handlers: Mapping[str, Any]) -> None:
    assert set(handlers) == set(SANDBOXED)


def test_a_program_is_run_for_each_input_afresh(handlers: Mapping[str, Any]) -> None:
    source = "import os\nprint(input(), os.path.exists('x'))\nopen('x', 'w')"
    answer = handlers["program"](program_request(source, ["1", "2"]))
    check_json("the answer", answer)
    assert [run["stdout"] for run in answer] == ["1 False\n", "2 False\n"]
    assert answer[0] == {
        "status": "finished",
        "stdout": "1 False\n",
        "stderr": "",
        "exit_code": 0,
        "value": None,
    }


def test_nothing_is_run_after_the_first_timeout(handlers: Mapping[str, Any]) -> None:
    source = "if input() == '2':\n    while True: pass"
    answer = handlers["program"](program_request(source, ["1", "2", "3", "4"]))
    statuses = [run["status"] for run in answer]
    assert statuses == ["finished", "timeout", "not run", "not run"]


def test_calls_have_values(handlers: Mapping[str, Any]) -> None:
    source = "def f(x):\n    return 1 // x"
    answer = handlers["calls"](calls_request(source, "f", ["[1]", "[0]"]))
    check_json("the answer", answer)
    assert [(run["status"], run["value"]) for run in answer] == [
        ("finished", "1"),
        ("failed", None),
    ]


def test_a_check_has_a_verdict_and_shows_nothing_of_the_test_code(
    handlers: Mapping[str, Any],
) -> None:
    check = "def check(c): assert c() == 1, 'secret'"
    request = check_request("def f(): return 2", "f", "", check)
    assert handlers["check"](request) == {"status": "failed", "passed": False}
    request = check_request("def f(): return 1", "f", "", check)
    assert handlers["check"](request) == {"status": "finished", "passed": True}


def test_only_the_end_of_a_long_error_is_kept(handlers: Mapping[str, Any]) -> None:
    request = program_request("import sys\nsys.stderr.write('x' * 9000 + 'end')\n", [""])
    (run,) = handlers["program"](request)
    assert run["stderr"] == "x" * 3997 + "end"
