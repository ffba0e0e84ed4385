"""What the process of one program does: it takes a job and is then the program.

A job is a mapping that this process reads for itself, so that the process it was forked from never
holds a program. Standard input and outputs are the program's own. Descriptor 3 carries the result
of a call or of a check; for a candidate, it is the line to the test code, which has it as 4.
"""

import json
import os
import site
import socket
import sys
from types import ModuleType
from typing import Any, NoReturn

from .ending import run_to_end
from .plain import NotPlainError, json_text, numbers_of_any_size, tagged_text, untagged
from .prelude import offer_prelude

FILE = "main.py"
RESULT, LINE_OF_TEST = 3, 4
CALLS_ABOVE = 4 if sys.version_info >= (3, 12) else 5  # `exec` itself counts in the older ones
RETURNED, NOT_PLAIN, PASSED = b"=", b"-", b"passed"


class CandidateError(Exception):
    """The function under test raised an exception, or returned what is not plain data."""


class CandidateGoneError(BaseException):
    """The process under test has ended, so that no test can pass any more."""


def perform(job: dict[str, Any]) -> NoReturn:
    """Does the job and ends the process as an interpreter ends."""
    sys.argv = [FILE]
    sys.path.insert(0, os.getcwd())
    for give in (site.setquit, site.setcopyright, site.sethelper):  # `exit()` and its like
        give()
    sys.setrecursionlimit(sys.getrecursionlimit() + frames_below())
    do, module = KINDS[job["kind"]]
    run_to_end(lambda: do(job), module)


def frames_below() -> int:
    """Calls between the interpreter's start and a program: they cost it no depth of recursion."""
    depth, frame = 0, sys._getframe()
    while frame.f_back is not None:
        depth, frame = depth + 1, frame.f_back
    return depth + CALLS_ABOVE


def program(job: dict[str, Any]) -> None:
    """Runs the source as `__main__`."""
    execute(job["source"], ModuleType("__main__"), kept(job["source"]))


def call(job: dict[str, Any]) -> None:
    """Calls the function once; its value goes to the private descriptor, not to the output."""
    with numbers_of_any_size():
        arguments = json.loads(job["arguments"])
    function = defined(job)
    try:
        value = function(*arguments)
    except Exception as error:  # noqa: BLE001 - whatever the program raises is its end or answer
        fail(error)
    try:
        result = RETURNED + json_text(value).encode()
    except (NotPlainError, RecursionError):
        result = NOT_PLAIN
    write_all(RESULT, result)


def candidate(job: dict[str, Any]) -> None:
    """Answers calls that come over the line, until it is closed."""
    function = defined(job)
    with socket.socket(fileno=RESULT) as line, line.makefile("rw", encoding="utf-8") as messages:
        for message in messages:
            messages.write(answered(function, message) + "\n")
            messages.flush()


def answered(function: Any, message: str) -> str:
    """The answer to one call: the value, or the exception as text."""
    arguments, keywords = untagged(message)
    try:
        return json.dumps({"value": tagged_text(function(*arguments, **keywords))})
    except Exception as error:  # noqa: BLE001 - whatever the program raises is its end or answer
        return json.dumps({"error": f"{type(error).__name__}: {error}"[:1000]})


def test(job: dict[str, Any]) -> None:
    """Runs the test code; the result is written only once `check` has returned."""
    with socket.socket(fileno=LINE_OF_TEST) as line:
        messages = line.makefile("rw", encoding="utf-8")

        def ask(*arguments: Any, **keywords: Any) -> Any:
            try:
                messages.write(tagged_text((arguments, keywords)) + "\n")
                messages.flush()
                answer = messages.readline()
            except OSError as error:
                raise CandidateGoneError from error
            if not answer.endswith("\n"):
                raise CandidateGoneError
            return value_of(answer)

        ask.__name__ = job["function"]
        module = ModuleType("check")
        offer_prelude()
        execute(job["preamble"], module, "preamble.py")
        vars(module)[job["function"]] = ask
        execute(job["check"], module, "check.py")
        try:
            vars(module)["check"](ask)
        except Exception as error:  # noqa: BLE001 - whatever the program raises is its end or answer
            fail(error)
    write_all(RESULT, PASSED)


def value_of(answer: str) -> Any:
    """The value of an answer. Whatever else the candidate's process sent is a CandidateError."""
    try:
        said = json.loads(answer)
        if "value" in said:
            return untagged(said["value"])
        message = str(said["error"])
    except Exception as error:  # noqa: BLE001 - whatever the program raises is its end or answer
        message = f"no plain data: {error}"
    raise CandidateError(message)


def defined(job: dict[str, Any]) -> Any:
    """The function of the executed source, at its top level or of its `class Solution`."""
    module = ModuleType("solution")
    offer_prelude()
    execute(job["source"], module, kept(job["source"]))
    name, space = job["function"], vars(module)
    if callable(space.get(name)):
        return space[name]
    try:
        return getattr(space["Solution"](), name)
    except Exception as error:  # noqa: BLE001 - whatever the program raises is its end or answer
        said = f"there is no function {name!r}, nor a method of class Solution"
        fail(NameError(f"{said} ({type(error).__name__}: {error})"))


def kept(source: str) -> str:
    """The path of the source as a file, so that tracebacks and `inspect` can show its lines."""
    with open(FILE, "w", encoding="utf-8", errors="surrogatepass", newline="") as file:
        file.write(source)
    return os.path.abspath(FILE)


def execute(source: str, module: ModuleType, path: str) -> None:
    """Runs source in a module; an exception ends the process, as in a plain interpreter."""
    module.__file__ = path
    sys.modules[module.__name__] = module
    try:
        code = compile(source.removeprefix("\ufeff"), path, "exec", dont_inherit=True)
        exec(code, vars(module))
    except Exception as error:  # noqa: BLE001 - whatever the program raises is its end or answer
        fail(error)


def fail(error: BaseException) -> NoReturn:
    """Prints the traceback, less the frames of this module, and ends with exit code 1."""
    place = error.__traceback__
    while place is not None and place.tb_frame.f_code.co_filename == __file__:
        place = place.tb_next
    sys.excepthook(type(error), error.with_traceback(place), place)
    sys.exit(1)


def write_all(descriptor: int, data: bytes) -> None:
    """Writes everything, also where a pipe takes it in pieces."""
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(descriptor, rest) :]


KINDS = {
    "program": (program, "__main__"),
    "call": (call, "solution"),
    "candidate": (candidate, "solution"),
    "test": (test, "check"),
}
