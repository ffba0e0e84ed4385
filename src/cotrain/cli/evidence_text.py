"""What was run or checked to judge a reply, in lines for a person."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, TypeAlias, cast

from cotrain.core.episode import CandidateStatus, Evidence, Json, Request
from cotrain.environments.requests import CALLS, CHECK, MATHS, PROGRAM, PROGRAM_ANSWER, VERIFY

MAX_SHOWN = 120
MAX_RUNS = 4

Run: TypeAlias = Mapping[str, Any]


def evidence_lines(evidence: Evidence) -> Iterator[str]:
    """One line a piece of evidence, and one more for each of the first runs of a program.

    >>> from cotrain.environments.requests import program_request
    >>> run = {"status": "finished", "stdout": "5\\n", "stderr": "", "exit_code": 0}
    >>> for line in evidence_lines(Evidence(program_request("print(5)", ["4"]), (run,))):
    ...     print(line)
    evidence program: 1 run, 1 finished
      '4' -> finished '5\\n'
    """
    kind = evidence.request.kind
    if evidence.status is not CandidateStatus.SCORED:
        yield f"evidence {kind}: {evidence.status.value} {short(evidence.message)}"
        return
    yield from _LINES.get(kind, _any_lines)(evidence)


def short(text: str) -> str:
    """The text on one line, cut; says how long it was.

    >>> short("a" * 200)[-28:]
    'aaaaaa... (200 characters)'
    """
    line = " ".join(text.split())
    return line if len(line) <= MAX_SHOWN else f"{line[:MAX_SHOWN]} ... ({len(text)} characters)"


def _any_lines(evidence: Evidence) -> Iterator[str]:
    yield f"evidence {evidence.request.kind}: {short(str(evidence.answer))}"


def _program_lines(evidence: Evidence) -> Iterator[str]:
    yield from _run_lines(evidence, cast("Sequence[str]", evidence.request["inputs"]), "stdout")


def _calls_lines(evidence: Evidence) -> Iterator[str]:
    yield from _run_lines(evidence, cast("Sequence[str]", evidence.request["arguments"]), "value")


def _run_lines(evidence: Evidence, given: Sequence[str], result: str) -> Iterator[str]:
    runs = cast("Sequence[Run]", evidence.answer)
    ends = Counter(run["status"] for run in runs)
    ended = ", ".join(f"{number} {status}" for status, number in ends.items())
    some = "run" if len(runs) == 1 else "runs"
    yield f"evidence {evidence.request.kind}: {len(runs)} {some}, {ended}"
    for what, run in zip(given[:MAX_RUNS], runs[:MAX_RUNS], strict=False):
        yield f"  {short(repr(what))} -> {run['status']} {_said(run, result)}".rstrip()
    if len(runs) > MAX_RUNS:
        yield f"  and {len(runs) - MAX_RUNS} more"


def _check_lines(evidence: Evidence) -> Iterator[str]:
    run = cast("Run", evidence.answer)
    yield f"evidence check: {'passed' if run['passed'] else 'not passed'}, {run['status']}"


def _maths_lines(evidence: Evidence) -> Iterator[str]:
    verdict = "equal" if evidence.answer else "not equal"
    yield f"evidence maths: {verdict} to {short(str(evidence.request['gold']))}"


def _verify_lines(evidence: Evidence) -> Iterator[str]:
    yield f"evidence verify: {evidence.request['dataset']} scores it {evidence.answer}"


def _program_answer_lines(evidence: Evidence) -> Iterator[str]:
    run = cast("Run", evidence.answer)
    yield f"evidence program_answer: {run['status']} {_said(run, 'stdout')}".rstrip()
    asked, answer = evidence.request["asks"], run["answer"]
    if answer is not None:
        about = dict(cast("Sequence[tuple[str, Json]]", evidence.request["about"]))
        question = Evidence(Request.of(str(asked), **about), answer)
        yield from (f"  {line}" for line in evidence_lines(question))


def _said(run: Run, result: str) -> str:
    if run["status"] != "finished":
        return short(str(run["stderr"]).strip().rpartition("\n")[2])
    return short(str(run[result]) if result == "value" else repr(run[result]))


_LINES: Mapping[str, Callable[[Evidence], Iterator[str]]] = MappingProxyType(
    {
        PROGRAM: _program_lines,
        CALLS: _calls_lines,
        CHECK: _check_lines,
        MATHS: _maths_lines,
        VERIFY: _verify_lines,
        PROGRAM_ANSWER: _program_answer_lines,
    }
)
