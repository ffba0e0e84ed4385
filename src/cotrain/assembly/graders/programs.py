"""Grades programs: whether one passes all of its tests, each a real process in the sandbox."""

from collections.abc import Mapping
from typing import Any

from cotrain.assembly.graders.base import Case, CaseError, field_of, shown
from cotrain.assembly.graders.served import answered
from cotrain.environments.coding_runs import judged_program, program_requests
from cotrain.environments.data.coding_records import Case as TestCase
from cotrain.environments.data.coding_records import Problem, call_cases, stdin_cases

TESTS = "it must be a list of {stdin, expected}, one or more"


def grade_program(case: Case) -> str:
    """`program` with `tests`, or with `fn_name`, `inputs` and `outputs`, to pass or fail.

    Raises CaseError for a case without a test, and where programs cannot be run in isolation.
    """
    program = field_of(case, "program", str, "it must be a text")
    problem = _called(case) if case.get("fn_name") else _printed(case)
    requests = program_requests(problem, program, range(problem.num_tests))
    evidence = [answered(request) for request in requests]
    verdict = judged_program(problem, range(problem.num_tests), evidence)
    return "pass" if verdict.golden == 1.0 else "fail"


def _printed(case: Case) -> Problem:
    tests: list[Any] = field_of(case, "tests", list, TESTS)
    if not tests:
        raise CaseError(f"tests is empty: {TESTS}")
    for test in tests:
        if not isinstance(test, Mapping) or not {"stdin", "expected"} <= test.keys():
            raise CaseError(f"tests holds {shown(test)}: {TESTS}")
    try:
        given = [test["stdin"] for test in tests]
        golden = stdin_cases(given, [test["expected"] for test in tests])
    except ValueError as error:
        raise CaseError(f"tests: {error}") from error
    return _problem("", golden)


def _called(case: Case) -> Problem:
    function = field_of(case, "fn_name", str, "it must be the name of a function")
    inputs = field_of(case, "inputs", list, "it must be a list of lists of arguments")
    outputs = field_of(case, "outputs", list, "it must be a list of values")
    if not inputs:
        raise CaseError("inputs is empty: it must hold the arguments of one call or more")
    try:
        return _problem(function, call_cases(inputs, outputs))
    except ValueError as error:
        raise CaseError(f"inputs and outputs: {error}") from error


def _problem(function: str, golden: tuple[TestCase, ...]) -> Problem:
    return Problem("case", "", function, golden)
