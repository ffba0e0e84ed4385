"""The record of a coding problem: what it asks, the tests that decide, and the public examples.

The plain form is one JSON object a line (or a row of Parquet, where `tests` may be JSON text):

    {"id": "sum", "prompt": "Print a + b.", "tests": [{"input": "1 2\\n", "output": "3\\n"}]}

`tests` is a list of standard inputs with outputs; or `{fn_name, inputs, outputs}`, calls of a
function; or `{check, fn_name, preamble}`, test code `check(candidate)` (one text or several) with
code to run before it. Optional: `public_tests` (input and output; of a function the list of
arguments and the value), `solution`, `mutants` (wrong programs), `starter` (code that stands before
every program), `source`, `split`.
"""

import ast
import hashlib
import json
import keyword
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeGuard, cast

from cotrain.environments.base import SPLITS
from cotrain.environments.data.files import Row, json_value
from cotrain.environments.graders.outputs import arguments_of, expected_values

TESTS = (
    "it must be a list of {input, output}, or {fn_name, inputs, outputs}, or {check, fn_name}, "
    "with one test or more"
)
PUBLIC_TESTS = "it must be a list of {input, output}"


@dataclass(frozen=True, slots=True)
class Case:
    """One test: an input and the output that is right.

    Of a program they are standard input and output. Of a function, `input` is the JSON list of
    arguments and `output` the value as JSON text; `also` holds other values that are right.
    """

    input: str
    output: str
    also: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Problem:
    """One problem. `function` is empty where the program reads standard input.

    Either `golden` or `checks` holds the tests that decide, which no agent ever sees; `public` ones
    are no secret. `preamble` is run before a check, `starter` before every program of a reply.
    `date` is that of the contest (`2024-10-31`), where there was one.
    """

    id: str
    prompt: str
    function: str = ""
    golden: tuple[Case, ...] = ()
    checks: tuple[str, ...] = ()
    preamble: str = ""
    starter: str = ""
    public: tuple[Case, ...] = ()
    solution: str = ""
    mutants: tuple[str, ...] = ()
    source: str = ""
    split: str = ""
    date: str = ""

    @property
    def num_tests(self) -> int:
        """How many tests decide."""
        return len(self.golden) + len(self.checks)

    @property
    def digest(self) -> str:
        """The hash of the whole record."""
        return hashlib.blake2b(repr(self).encode("utf-8", "backslashreplace")).hexdigest()[:32]

    @property
    def text_digest(self) -> str:
        """The hash of the prompt without blanks and case, so that a copy laid out otherwise has it.

        >>> Problem("a", "Print  a+b.").text_digest == Problem("b", "print a + b.").text_digest
        True
        """
        text = "".join(self.prompt.casefold().split()).encode("utf-8", "backslashreplace")
        return hashlib.blake2b(text, digest_size=16).hexdigest()


def problem_of(row: Row) -> Problem:
    """The problem of a row in the plain form.

    Raises ConfigurationError with file, line and field: what is missing, of another type, or empty.
    """
    split = row.optional_text("split")
    if split and split not in SPLITS:
        raise row.fault("split", f'is "{split}"', f"it must be {', '.join(SPLITS)}")
    function, golden, checks, preamble = _tests(row, _decoded(row, "tests"))
    public = _decoded(row, "public_tests") if row.values.get("public_tests") is not None else []
    return Problem(
        id=row.identity("id"),
        prompt=row.text("prompt"),
        function=function,
        golden=golden,
        checks=checks,
        preamble=preamble,
        starter=row.optional_text("starter"),
        public=_cases(row, "public_tests", public, function),
        solution=row.optional_text("solution"),
        mutants=_texts(row, "mutants"),
        source=row.optional_text("source") or row.file.name,
        split=split,
    )


def stdin_cases(inputs: Sequence[Any], outputs: Sequence[Any]) -> tuple[Case, ...]:
    """Tests of a program. A list stands for its lines, as some published tests have it.

    Raises ValueError unless there are as many outputs as inputs, texts or lists of texts.

    >>> stdin_cases(["1 2\\n"], [["3", "4"]])
    (Case(input='1 2\\n', output='3\\n4', also=()),)
    """
    _refuse_unequal(inputs, outputs)
    pairs = zip(inputs, outputs, strict=True)
    return tuple(Case(_lines(given), _lines(expected)) for given, expected in pairs)


def call_cases(inputs: Sequence[Any], outputs: Sequence[Any]) -> tuple[Case, ...]:
    """Tests of a function. A list of arguments is spread once; a text holds one argument a line.

    The expected value of a text is JSON text; of a list it is the value itself. Raises ValueError
    for what has no such form, TypeError for a value that JSON has no form for.

    >>> call_cases([[[1, 2], 3]], [True])
    (Case(input='[[1, 2], 3]', output='true', also=()),)
    >>> call_cases(["[1, 2]\\n3"], ["true"])
    (Case(input='[[1, 2], 3]', output='true', also=()),)
    """
    _refuse_unequal(inputs, outputs)
    pairs = list(zip(inputs, outputs, strict=True))
    expected = expected_values([_value(given, output) for given, output in pairs])
    return tuple(
        Case(_arguments(given), texts[0], texts[1:])
        for (given, _), texts in zip(pairs, expected, strict=True)
    )


def _refuse_unequal(inputs: Sequence[Any], outputs: Sequence[Any]) -> None:
    if len(inputs) != len(outputs):
        raise ValueError(f"there are {len(inputs)} inputs and {len(outputs)} outputs")


def _lines(value: Any) -> str:
    if isinstance(value, list | tuple):
        return "\n".join(map(_lines, cast("Sequence[Any]", value)))
    if not isinstance(value, str):
        raise ValueError(f"{value!r} is no text")
    return value


def _arguments(given: Any) -> str:
    if isinstance(given, str):
        return json.dumps(arguments_of(given))
    if not isinstance(given, list | tuple):
        raise ValueError(f"{given!r} is no list of arguments")
    return json.dumps(given)


def _value(given: Any, output: Any) -> Any:
    if not isinstance(given, str) or not isinstance(output, str):
        return output
    try:
        return json.loads(output)
    except (ValueError, RecursionError):
        return output


def _decoded(row: Row, name: str) -> Any:
    value = row.get(name, object, TESTS)
    if not isinstance(value, str):
        return value
    try:
        return json_value(value)
    except ValueError as error:
        raise row.fault(name, f"is no JSON ({error})", TESTS) from error


def _tests(row: Row, tests: Any) -> tuple[str, tuple[Case, ...], tuple[str, ...], str]:
    """The function, the golden cases, the checks and their preamble; one test or more."""
    if isinstance(tests, list):
        cases = _cases(row, "tests", cast("list[Any]", tests), "")
        if not cases:
            raise row.fault("tests", "is empty", TESTS)
        return "", cases, (), ""
    form = cast("dict[str, Any]", tests) if isinstance(tests, dict) else {}
    function = form.get("fn_name")
    if not names_function(function):
        raise row.fault("tests", "has no fn_name that names a function", TESTS)
    if form.get("check"):
        return function, (), _checks(row, form["check"]), _preamble(row, form)
    try:
        cases = call_cases(_list(form, "inputs"), _list(form, "outputs"))
    except (ValueError, TypeError, RecursionError) as error:
        raise row.fault("tests", f"cannot be read ({error})", TESTS) from error
    if not cases:
        raise row.fault("tests", "is empty", TESTS)
    return function, cases, (), ""


def _list(form: dict[str, Any], name: str) -> list[Any]:
    value = form.get(name)
    if not isinstance(value, list):
        raise ValueError(f"{name} is no list")
    return cast("list[Any]", value)


def _checks(row: Row, check: Any) -> tuple[str, ...]:
    checks = [check] if isinstance(check, str) else check
    if not isinstance(checks, list):
        raise row.fault("tests", "has a check that is no text", TESTS)
    texts = cast("list[Any]", checks)
    if not all(isinstance(text, str) and "check" in _functions(row, text) for text in texts):
        raise row.fault("tests", "has a check that defines no check(candidate)", TESTS)
    return tuple(texts)


def names_function(name: object) -> TypeGuard[str]:
    """Whether a function can be called this.

    >>> names_function("rotate"), names_function("if"), names_function("f()"), names_function(5)
    (True, False, False, False)
    """
    return isinstance(name, str) and name.isidentifier() and not keyword.iskeyword(name)


def _functions(row: Row, source: str) -> set[str]:
    """The functions that test code defines at its top level, and all of it can be parsed."""
    try:
        body = ast.parse(source).body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise row.fault("tests", f"has code that is no Python ({error})", TESTS) from error
    return {node.name for node in body if isinstance(node, ast.FunctionDef)}


def _preamble(row: Row, form: dict[str, Any]) -> str:
    preamble = form.get("preamble") or ""
    if not isinstance(preamble, str):
        raise row.fault("tests", "has a preamble that is no text", TESTS)
    _functions(row, preamble)
    return preamble


def _cases(row: Row, name: str, tests: Any, function: str) -> tuple[Case, ...]:
    if not isinstance(tests, list):
        raise row.fault(name, "is no list", PUBLIC_TESTS)
    given = cast("list[Any]", tests)
    if not all(isinstance(test, dict) and {"input", "output"} <= test.keys() for test in given):
        raise row.fault(name, "holds a test without input or output", PUBLIC_TESTS)
    build = call_cases if function else stdin_cases
    try:
        return build([test["input"] for test in given], [test["output"] for test in given])
    except (ValueError, TypeError, RecursionError) as error:
        raise row.fault(name, f"cannot be read ({error})", PUBLIC_TESTS) from error


def _texts(row: Row, name: str) -> tuple[str, ...]:
    allowed = "it must be a list of texts"
    if row.values.get(name) is None:
        return ()
    texts: list[Any] = row.get(name, list, allowed)
    if not all(isinstance(text, str) for text in texts):
        raise row.fault(name, "holds something that is no text", allowed)
    return tuple(texts)
