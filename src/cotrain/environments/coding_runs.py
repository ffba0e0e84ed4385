"""What must be run to judge a program or a test, and what came of it.

The rules of `coding.py` make requests with this module and read the answers with it. Expected
outputs are compared here; no request holds them.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, cast

from cotrain.core.episode import Evidence, Request
from cotrain.environments.data.coding_records import Case, Problem
from cotrain.environments.graders.outputs import normalised, same_output, value_matches
from cotrain.environments.requests import calls_request, check_request, program_request

MAX_PUBLIC = 3
"""How many public examples of a problem are run for each program."""
MAX_SHOWN = 400
"""How many characters of an input or output a prompt shows."""

Run: TypeAlias = Mapping[str, Any]
"""What became of one run, in the form of `requests.py`."""

_NO_IMPORT = ("SyntaxError", "IndentationError", "TabError", "ImportError", "ModuleNotFoundError")
_ENDS = {
    "timeout": "the time limit was reached",
    "memory": "the memory limit was reached",
    "output": "it printed too much",
    "not run": "not run, since an earlier input reached the time limit",
}


@dataclass(frozen=True, slots=True)
class Failure:
    """A test that agents may know and the program fails: what is right, and what came instead."""

    input: str
    expected: str
    actual: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a program is worth.

    `built`: it can be parsed and its modules are there; `ran`: on the first public example, without
    an exception; `golden`: the share of golden tests passed; `failing`: the public examples failed.
    """

    built: bool
    ran: bool
    golden: float
    failing: tuple[Failure, ...] = ()


NO_PROGRAM = Verdict(built=False, ran=False, golden=0.0)


@dataclass(frozen=True, slots=True)
class Authored:
    """What an authored test is worth.

    `valid`: the golden solution answers it, twice alike; that answer `agrees` with its output; it
    then `catches` a wrong program. A `known` one stands among the public ones or in the text.
    """

    valid: bool
    known: bool = False
    agrees: bool = False
    catches: bool = False


def program_requests(problem: Problem, program: str, scored: Sequence[int]) -> tuple[Request, ...]:
    """What must be run to judge a program: the public examples, and the golden tests `scored`.

    A time-out ends the list of inputs, so public examples come first.
    """
    source = with_starter(problem, program)
    public = [case.input for case in _public(problem)]
    if not problem.checks:
        return (run_request(problem, source, [*public, *_golden_inputs(problem, scored)]),)
    first = run_request(problem, source, public) if public else program_request(source, [""])
    checks = [problem.checks[place] for place in scored]
    return (
        first,
        *(check_request(source, problem.function, problem.preamble, check) for check in checks),
    )


def judged_program(
    problem: Problem, scored: Sequence[int], evidence: Sequence[Evidence]
) -> Verdict:
    """What the answers to `program_requests` say; no evidence, no program."""
    if not evidence:
        return NO_PROGRAM
    runs, public = _runs(evidence[0]), _public(problem)
    failing = failures(problem, zip(runs, public, strict=False))
    if problem.checks:
        passed = [bool(cast("Run", one.answer)["passed"]) for one in evidence[1:]]
    else:
        golden = [problem.golden[place] for place in scored]
        pairs = zip(runs[len(public) :], golden, strict=True)
        passed = [is_right(problem, run, case) for run, case in pairs]
    share = sum(passed) / len(passed)
    solved = share == 1.0
    ran = runs[0]["status"] == "finished"
    return Verdict(solved or ran or _can_be_imported(runs[0]), solved or ran, share, failing)


def authored_requests(problem: Problem, test: Case) -> tuple[Request, ...]:
    """What must be run to judge an authored test: the golden solution twice, and each mutant."""
    inputs = [test.input]
    return (
        run_request(problem, problem.solution, inputs * 2),
        *(run_request(problem, mutant, inputs) for mutant in problem.mutants),
    )


def judged_authored(problem: Problem, test: Case, evidence: Sequence[Evidence]) -> Authored:
    """What the answers to `authored_requests` say. A wrong test catches nothing."""
    first, second = _runs(evidence[0])
    result = _result(problem)
    finished = first["status"] == second["status"] == "finished"
    valid = finished and first[result] is not None and first[result] == second[result]
    agrees = valid and is_right(problem, first, test)
    caught = (not is_right(problem, _runs(one)[0], test) for one in evidence[1:])
    return Authored(valid, is_known(problem, test), agrees, agrees and any(caught))


def run_request(problem: Problem, source: str, inputs: Sequence[str]) -> Request:
    """One program on these inputs: standard input, or arguments of the problem's function."""
    if problem.function:
        return calls_request(source, problem.function, inputs)
    return program_request(source, inputs)


def with_starter(problem: Problem, program: str) -> str:
    """A reply's program, after the code that the problem gives."""
    return f"{problem.starter}\n\n{program}" if problem.starter else program


def failures(problem: Problem, pairs: Iterable[tuple[Run, Case]]) -> tuple[Failure, ...]:
    """The cases that a run does not get right, as agents may read them."""
    return tuple(
        Failure(input_in_words(problem, case), case.output, _in_words(problem, run))
        for run, case in pairs
        if not is_right(problem, run, case)
    )


def is_right(problem: Problem, run: Run, case: Case) -> bool:
    """Whether a run ended by itself, with exit code 0, and with the expected result."""
    if run["status"] != "finished":
        return False
    if problem.function:
        return value_matches(run["value"], (case.output, *case.also))
    return same_output(run["stdout"], case.output)


def is_known(problem: Problem, test: Case) -> bool:
    """Whether a test's input is that of a public example, or stands in the text as lines of it."""
    given = normalised(test.input)
    if any(given == normalised(case.input) for case in problem.public):
        return True
    lines = f"\n{normalised(problem.prompt)}\n"
    return not problem.function and f"\n{given}\n" in lines


def runs_of(evidence: Sequence[Evidence]) -> list[Run]:
    """The runs of one answered request; none where nothing was asked."""
    return _runs(evidence[0]) if evidence else []


def input_in_words(problem: Problem, case: Case) -> str:
    """The input of a test in the form in which agents write it: arguments one a line."""
    if not problem.function:
        return case.input
    return "\n".join(json.dumps(argument) for argument in json.loads(case.input))


def cut(text: str) -> str:
    """A text as a prompt shows it.

    >>> cut("1 2\\n"), len(cut("1" * 9_000)) < 450
    ('1 2', True)
    """
    text = text.rstrip()
    if len(text) <= MAX_SHOWN:
        return text
    return f"{text[:MAX_SHOWN]}... ({len(text)} characters)"


def _public(problem: Problem) -> tuple[Case, ...]:
    return problem.public[:MAX_PUBLIC]


def _golden_inputs(problem: Problem, scored: Sequence[int]) -> list[str]:
    return [problem.golden[place].input for place in scored]


def _runs(evidence: Evidence) -> list[Run]:
    return list(cast("Sequence[Run]", evidence.answer))


def _result(problem: Problem) -> str:
    return "value" if problem.function else "stdout"


def _can_be_imported(run: Run) -> bool:
    """Whether a run that did not finish failed for another reason than its syntax and imports."""
    lines = str(run["stderr"]).splitlines()
    return run["status"] != "failed" or not any(line.startswith(_NO_IMPORT) for line in lines)


def _in_words(problem: Problem, run: Run) -> str:
    if run["status"] == "finished":
        return str(run[_result(problem)] if run[_result(problem)] is not None else "no value")
    if run["status"] == "failed":
        last = str(run["stderr"]).strip().rpartition("\n")[2]
        return last or f"it ended with exit code {run['exit_code']}"
    return _ENDS[run["status"]]
