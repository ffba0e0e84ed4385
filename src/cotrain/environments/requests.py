"""The requests that the program itself answers, and the form of each answer.

An environment names the kinds it may ask for in `services`; rules make requests with the functions
below and read the answers as data. Programs run in the sandbox, within its limits; what they do is
an answer, never a failure. Expected results stay with the rules: no request holds them, except the
code of a `check`, which runs in a process that the program under test cannot reach.
"""

from collections.abc import Sequence

from cotrain.core.episode import Request

PROGRAM = "program"
CALLS = "calls"
CHECK = "check"
MATHS = "maths"
VERIFY = "verify"
PROGRAM_ANSWER = "program_answer"

SANDBOXED = (PROGRAM, CALLS, CHECK)
"""The kinds that run code which a model wrote."""


def program_request(source: str, inputs: Sequence[str]) -> Request:
    """One Python program, run once for each standard input, each time in a fresh process.

    Answer: one mapping an input, in order, with `status` (`"finished"`: exit code 0; `"failed"`:
    another exit code or a signal; `"timeout"`; `"output"`: more output than is allowed; `"memory"`;
    `"not run"`: an earlier input ran into the time limit), `stdout`, `stderr` (its end) and
    `exit_code` (None where there is none).

    >>> program_request("print(input())", ["4"])["inputs"]
    ('4',)
    """
    return Request.of(PROGRAM, source=source, inputs=tuple(inputs))


def calls_request(source: str, function: str, arguments: Sequence[str]) -> Request:
    """One function of a program, called once for each JSON list of arguments, in fresh processes.

    `function` may be a method of `class Solution`. Answer: as for `program_request`, one mapping a
    call, with `value` beside the others: the returned value as JSON text (tuples and sets as
    lists), None where nothing was returned that has such a form.

    >>> calls_request("def f(a, b): return a + b", "f", ["[1, 2]"])["function"]
    'f'
    """
    return Request.of(CALLS, source=source, function=function, arguments=tuple(arguments))


def check_request(source: str, function: str, preamble: str, check: str) -> Request:
    """Test code `check(candidate)`, run against a function of a program in another process.

    `preamble` is run before `check` (imports and functions that the test code uses). The program
    sees arguments of calls alone, and what it returns is turned into plain data. Answer: one
    mapping with `status` as above and `passed`.

    >>> check_request("def f(): return 1", "f", "", "def check(f): assert f() == 1").kind
    'check'
    """
    return Request.of(CHECK, source=source, function=function, preamble=preamble, check=check)


def maths_request(gold: str, reply: str) -> Request:
    """Whether the answer that a reply gives equals the gold answer. Answer: true or false.

    >>> maths_request("5", "It is \\\\boxed{5}.")["gold"]
    '5'
    """
    return Request.of(MATHS, gold=gold, reply=reply)


def verify_request(dataset: str, options: str, seed: int, digest: str, reply: str) -> Request:
    """How a reasoning-gym data set scores the answer of a reply to its problem of this seed.

    `options` is the JSON object of the data set's own options, `digest` the hash of the problem's
    text, which proves that the verifier has the same one. Answer: a score from 0 to 1, of which 1
    alone is right (some data sets give less for what is nearly right).

    >>> verify_request("gcd", "{}", 7, "0f", "It is \\boxed{5}.").kind
    'verify'
    """
    return Request.of(
        VERIFY, dataset=dataset, options=options, seed=seed, digest=digest, reply=reply
    )


def program_answer_request(source: str, question: Request) -> Request:
    """Whether what a program prints is the right answer to a question.

    The program runs in the sandbox without input; then `question`, a `maths` or `verify` request,
    is asked with what it printed as the reply. The gold answer never comes near the program.
    Answer: the mapping of a run as for `program_request`, with `answer` beside it: that of the
    question, None for a program that did not run to its end.

    >>> program_answer_request("print(5)", maths_request("5", ""))["asks"]
    'maths'
    """
    return Request.of(PROGRAM_ANSWER, source=source, asks=question.kind, about=question.arguments)
