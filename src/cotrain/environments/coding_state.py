"""The state of the coding environment, and how agents read it and write tests."""

import json
import re
from dataclasses import dataclass, replace
from random import Random

from cotrain.core.seeds import derive_seed
from cotrain.environments.coding_runs import Failure, Verdict, cut, input_in_words
from cotrain.environments.data.coding_records import Case, Problem
from cotrain.environments.graders.outputs import arguments_of, normalised
from cotrain.environments.parsing import hide_thinking

_TAG = re.compile(r"<(/?)(input|output)\s*>", re.IGNORECASE)

FORM_OF_PROGRAM = """\
Reply with the whole program in one fenced block:
```python
...
```"""
FORM_OF_TEST = """\
Reply with one test: what the program reads, and what a right program prints for it:
<input>
...
</input>
<output>
...
</output>"""
FORM_OF_CALL = """\
Reply with one test of the function: its arguments as JSON, one a line, and the value that a right \
function returns, as JSON:
<input>
...
</input>
<output>
...
</output>"""


@dataclass(frozen=True, slots=True)
class State:
    """Where the team stands: its program and its test are the last ones that could be read.

    `scored` are the places of the golden tests that judge this turn's programs, `golden` is the
    share that the standing program passed. `failing` are the public examples it fails; `tested`
    says that it was run on the standing test, `test_failing` how it fails that. `draft` is one that
    the answerer may take, with what it fails. `agreed` says that the golden solution confirmed the
    test of a tester who plays alone.
    """

    problem: Problem
    digest: str
    scored: tuple[int, ...]
    tests_per_turn: int | None = None
    turn: int = 1
    program: str = ""
    golden: float = 0.0
    failing: tuple[Failure, ...] = ()
    test: Case | None = None
    tested: bool = False
    test_failing: tuple[Failure, ...] = ()
    draft: str = ""
    draft_failing: tuple[Failure, ...] = ()
    agreed: bool = False

    @property
    def known_failures(self) -> tuple[Failure, ...]:
        """The tests that the standing program fails and agents may know."""
        return (*self.failing, *self.test_failing)

    @property
    def passes(self) -> bool:
        """Whether the standing program was run on tests that agents may know, and fails none."""
        was_run = self.tested or bool(self.problem.public)
        return bool(self.program) and was_run and not self.known_failures


def start_of(problem: Problem, digest: str, tests_per_turn: int | None) -> State:
    """The opening state; a turn is judged by `tests_per_turn` golden tests, None for all."""
    return State(problem, digest, scored_tests(problem, digest, 1, tests_per_turn), tests_per_turn)


def next_turn(state: State) -> State:
    """The state at the opening of the next turn: other golden tests, no draft."""
    turn = state.turn + 1
    scored = scored_tests(state.problem, state.digest, turn, state.tests_per_turn)
    return replace(state, turn=turn, scored=scored, draft="", draft_failing=())


def with_program(state: State, program: str | None, verdict: Verdict) -> State:
    """The state with a program in place of the one that stood, if there is one."""
    if program is None:
        return state
    return replace(
        state,
        program=program,
        golden=verdict.golden,
        failing=verdict.failing,
        tested=False,
        test_failing=(),
    )


def scored_tests(
    problem: Problem, digest: str, turn: int, tests_per_turn: int | None
) -> tuple[int, ...]:
    """The places of the golden tests that judge one turn: all, or a seeded choice of so many.

    The choice depends on the problem and the turn alone, so that siblings are judged alike.

    >>> problem = Problem("a", "", golden=tuple(Case(str(i), "") for i in range(20)))
    >>> scored_tests(problem, "0a", 1, 8) == scored_tests(problem, "0a", 1, 8)
    True
    >>> len(scored_tests(problem, "0a", 1, 8)), len(scored_tests(problem, "0a", 1, None))
    (8, 20)
    """
    places = range(problem.num_tests)
    if tests_per_turn is None or tests_per_turn >= problem.num_tests:
        return tuple(places)
    chosen = Random(derive_seed("golden tests", digest, turn)).sample(places, tests_per_turn)
    return tuple(sorted(chosen))


def parse_test(problem: Problem, reply: str) -> Case | None:
    """The last test of a reply that is well formed, or None.

    A test is a closed input tag and then a closed output tag; the output is not blank. Of a
    function the input holds JSON values, its arguments, and the output is a JSON value. What
    stands in thinking is none.

    >>> parse_test(Problem("a", ""), "<input>1 2</input> gives <output>3</output>")
    Case(input='1 2\\n', output='3', also=())
    >>> parse_test(Problem("a", "", function="f"), "<input>[1]\\n2</input><output>3</output>")
    Case(input='[[1], 2]', output='3', also=())
    """
    for given, expected in reversed(_pairs(hide_thinking(reply))):
        test = _test_of(problem, given, expected)
        if test is not None:
            return test
    return None


def reply_with_test(problem: Problem, test: Case) -> str:
    """A reply that states this test, in the form that is asked for."""
    given = input_in_words(problem, test).rstrip()
    return f"<input>\n{given}\n</input>\n<output>\n{test.output.rstrip()}\n</output>"


def reply_with_program(source: str) -> str:
    """A reply that is this program and nothing else."""
    return f"```python\n{source}\n```"


def state_in_words(state: State) -> str:
    """What every agent reads: the problem, the program that stands, its test, what it fails."""
    sections = [f"Problem:\n{state.problem.prompt.strip()}", _form(state.problem)]
    if state.program:
        sections.append(f"The program so far:\n```python\n{state.program}\n```")
    if state.test is not None:
        given = cut(input_in_words(state.problem, state.test))
        sections.append(f"The test so far:\nInput:\n{given}\nExpected:\n{cut(state.test.output)}")
    if state.passes or state.known_failures:
        sections.append(results_in_words(state.known_failures))
    return "\n\n".join(sections)


def draft_in_words(state: State) -> str:
    """The draft of this turn with what it fails; that there is none, if it could not be read."""
    if not state.draft:
        return "Draft: none that can be read."
    draft = f"Draft:\n```python\n{state.draft}\n```"
    if not state.problem.public:
        return draft
    return f"{draft}\n\n{results_in_words(state.draft_failing)}"


def results_in_words(failing: tuple[Failure, ...]) -> str:
    """The tests that a program fails, each with both outputs."""
    if not failing:
        return "It fails none of the tests that it was run on."
    tests = (
        f"Input:\n{cut(one.input)}\nExpected:\n{cut(one.expected)}\nGot:\n{cut(one.actual)}"
        for one in failing
    )
    return "It fails these tests:\n\n" + "\n\n".join(tests)


def _form(problem: Problem) -> str:
    if problem.function:
        return f"The program defines {problem.function}, which is called by that name."
    return "The program reads standard input and prints to standard output."


def _pairs(text: str) -> list[tuple[str, str]]:
    """The texts of each closed input tag with the closed output tag that follows it."""
    pairs: list[tuple[str, str]] = []
    opened: re.Match[str] | None = None
    given: str | None = None
    for tag in _TAG.finditer(text):
        name = tag[2].lower()
        if not tag[1]:
            opened = tag
        elif opened is not None and opened[2].lower() == name:
            inside = text[opened.end() : tag.start()]
            if name == "output" and given is not None:
                pairs.append((given, inside))
            given, opened = (inside if name == "input" else None), None
    return pairs


def _test_of(problem: Problem, given: str, expected: str) -> Case | None:
    given, expected = _unfenced(given), _unfenced(expected)
    if not normalised(expected):
        return None
    if not problem.function:
        return Case(f"{given}\n" if given else "", expected)
    try:
        return Case(json.dumps(arguments_of(given)), json.dumps(json.loads(expected)))
    except (ValueError, RecursionError):
        return None


def _unfenced(text: str) -> str:
    """The text without blank lines around it and without a fence."""
    lines = text.strip("\n").rstrip().split("\n")
    if len(lines) >= 2 and lines[0].startswith("```") and lines[-1].startswith("```"):
        lines = lines[1:-1]
    return "\n".join(lines)
