"""The published forms of function problems: HumanEval and MBPP, whose tests are assertions."""

import ast
import doctest
import json
from collections.abc import Iterator, Sequence
from typing import Any, cast

from cotrain.environments.data.coding_contests import UnusableError, split_of_file
from cotrain.environments.data.coding_records import Case, Problem
from cotrain.environments.data.files import Row


def humaneval_problem(row: Row) -> Problem:
    """A problem of HumanEval: the examples of its docstring are the public ones."""
    prompt, function = row.text("prompt"), row.text("entry_point")
    return Problem(
        id=row.text("task_id"),
        prompt=f"Complete this function:\n```python\n{prompt.strip()}\n```",
        function=function,
        checks=(row.text("test"),),
        preamble=prompt,
        starter=_before_function(prompt, function),
        public=tuple(_docstring_cases(prompt, function)),
        solution=prompt + row.text("canonical_solution"),
        source="humaneval",
        split="test",
    )


def mbpp_problem(row: Row) -> Problem:
    """A problem of MBPP: its first assertion is public, each of the others decides alone."""
    lists = [row.values.get(name) or () for name in ("test_list", "challenge_test_list")]
    asserts = [text for texts in lists for text in cast("Sequence[str]", texts)]
    if not asserts:
        raise UnusableError("no tests")
    solution = row.text("code")
    function = _function_called(asserts[0], solution)
    shown, golden = (asserts[:1], asserts[1:]) if len(asserts) > 1 else ([], asserts)
    setup = [row.optional_text("test_setup_code")]
    setup += list(cast("Sequence[str]", row.values.get("test_imports") or ()))
    text = row.optional_text("text") or row.text("prompt")
    example = f"\nFor example:\n{shown[0]}" if shown else ""
    return Problem(
        id=f"mbpp/{row.values.get('task_id', row.line)}",
        prompt=f"{text.strip()}\nThe function is `{_signature(solution, function)}`.{example}",
        function=function,
        checks=tuple(_check(text, function) for text in golden),
        preamble="\n".join(line for line in setup if line),
        public=tuple(case for text in shown for case in _assert_cases(text, function)),
        solution=solution,
        source="mbpp",
        split=split_of_file(row),
    )


def _before_function(prompt: str, function: str) -> str:
    """The imports and functions that stand before the one that is asked for."""
    return prompt.partition(f"def {function}(")[0].strip()


def _docstring_cases(prompt: str, function: str) -> Iterator[Case]:
    try:
        examples = doctest.DocTestParser().get_examples(prompt)
    except ValueError:
        return
    for example in examples:
        yield from _case_of(example.source, example.want, function)


def _assert_cases(text: str, function: str) -> Iterator[Case]:
    for node in ast.walk(_parsed(text)):
        is_equality = isinstance(node, ast.Compare) and [type(op) for op in node.ops] == [ast.Eq]
        if is_equality:
            compared = cast("ast.Compare", node)
            yield from _case_of(
                ast.unparse(compared.left), ast.unparse(compared.comparators[0]), function
            )


def _case_of(call: str, value: str, function: str) -> Iterator[Case]:
    """The case of a call with plain arguments and a plain value; none for another."""
    try:
        tree = ast.parse(call.strip(), mode="eval").body
        if not isinstance(tree, ast.Call) or tree.keywords or _name(tree) != function:
            return
        arguments = [ast.literal_eval(argument) for argument in tree.args]
        expected = ast.literal_eval(value.strip())
    except (ValueError, SyntaxError):
        return
    if _is_plain(arguments) and _is_plain(expected):
        yield Case(json.dumps(arguments), json.dumps(expected))


def _is_plain(value: Any) -> bool:
    """Whether JSON gives the value back as it was."""
    try:
        return json.loads(json.dumps(value)) == value
    except (TypeError, ValueError):
        return False


def _function_called(text: str, solution: str) -> str:
    """The function of the solution that an assertion calls."""
    defined = [node.name for node in _functions(solution)]
    called = [_name(node) for node in ast.walk(_parsed(text)) if isinstance(node, ast.Call)]
    found = [name for name in called if name in defined]
    if not found:
        raise UnusableError("unreadable tests")
    return found[0]


def _signature(solution: str, function: str) -> str:
    node = next(node for node in _functions(solution) if node.name == function)
    return f"{function}({ast.unparse(node.args)})"


def _check(text: str, function: str) -> str:
    lines = [f"    {function} = candidate", *(f"    {line}" for line in text.splitlines())]
    return "\n".join(["def check(candidate):", *lines])


def _functions(source: str) -> list[ast.FunctionDef]:
    return [node for node in ast.walk(_parsed(source)) if isinstance(node, ast.FunctionDef)]


def _parsed(source: str) -> ast.Module:
    try:
        return ast.parse(source)
    except (SyntaxError, ValueError, RecursionError) as error:
        raise UnusableError("unreadable tests") from error


def _name(call: ast.Call) -> str:
    return call.func.id if isinstance(call.func, ast.Name) else ""
