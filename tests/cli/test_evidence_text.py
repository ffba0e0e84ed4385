"""What `cotrain play` says of evidence, with answers of the real services."""

import pytest
from tests.environments.sandbox.opened import needs_bubblewrap

from cotrain.assembly.services import SERVICES
from cotrain.cli.evidence_text import evidence_lines
from cotrain.config import SandboxSettings
from cotrain.core.episode import Request
from cotrain.environments.requests import (
    CALLS,
    CHECK,
    PROGRAM,
    PROGRAM_ANSWER,
    calls_request,
    check_request,
    maths_request,
    program_answer_request,
    program_request,
)

WORKS, CRASHES = "def f(n):\n    return n + 1\nprint(3)", "def f(n):\n    return n.missing\nf(1)"
CHECKED = "def check(candidate):\n    assert candidate(1) == 2\n"
ASKED = {
    PROGRAM: lambda source: program_request(source, ["1"]),
    CALLS: lambda source: calls_request(source, "f", ["[1]"]),
    CHECK: lambda source: check_request(source, "f", "", CHECKED),
    PROGRAM_ANSWER: lambda source: program_answer_request(source, maths_request("3", "")),
}


def lines_of(request: Request) -> list[str]:
    """The lines on what the program's own service answers."""
    settings = SandboxSettings(kind="bubblewrap", seconds=5.0)
    tried = SERVICES.tries([request.kind], settings)[request.kind]
    return list(evidence_lines(tried(request)))


@needs_bubblewrap
@pytest.mark.parametrize("kind", ASKED)
def test_programs_that_end_well_and_programs_that_crash_are_told_in_lines(kind: str) -> None:
    well, crashed = lines_of(ASKED[kind](WORKS)), lines_of(ASKED[kind](CRASHES))
    assert well[0].startswith(f"evidence {kind}: ")
    assert crashed[0].startswith(f"evidence {kind}: ")
    assert well != crashed


@needs_bubblewrap
def test_a_check_says_whether_it_passed_and_how_its_program_ended() -> None:
    [passed] = lines_of(check_request(WORKS, "f", "", CHECKED))
    [wrong] = lines_of(check_request("def f(n):\n    return n", "f", "", CHECKED))
    assert passed == "evidence check: passed, finished"
    assert wrong.startswith("evidence check: not passed, ")
