"""What answers the requests that run programs, in the form that `requests.py` documents."""

from collections.abc import Callable, Iterable, Mapping
from typing import cast

from cotrain.core.episode import Json, Request
from cotrain.environments.requests import CALLS, CHECK, PROGRAM
from cotrain.environments.sandbox.base import Run, Sandbox

STDERR_CHARACTERS = 4000
NOT_RUN = Run("not run")


def sandbox_handlers(sandbox: Sandbox) -> Mapping[str, Callable[[Request], Json]]:
    """One function a kind, to be called from any thread; answers hold nothing that varies.

    After the first input that runs into the time limit the others of a request are not run.
    """

    def program(request: Request) -> Json:
        source = _text(request, "source")
        return _until_timeout(lambda stdin: sandbox.run(source, stdin), _texts(request, "inputs"))

    def calls(request: Request) -> Json:
        source, function = _text(request, "source"), _text(request, "function")
        arguments = _texts(request, "arguments")
        return _until_timeout(lambda given: sandbox.call(source, function, given), arguments)

    def check(request: Request) -> Json:
        names = ("source", "function", "preamble", "check")
        source, function, preamble, code = (_text(request, name) for name in names)
        run = sandbox.check(source, function, preamble, code)
        return {"status": run.status, "passed": run.passed}

    return {PROGRAM: program, CALLS: calls, CHECK: check}


def _until_timeout(one: Callable[[str], Run], inputs: Iterable[str]) -> tuple[Json, ...]:
    runs: list[Run] = []
    for given in inputs:
        late = bool(runs) and runs[-1].status in ("timeout", "not run")
        runs.append(NOT_RUN if late else one(given))
    return tuple(_answer(run) for run in runs)


def _answer(run: Run) -> Mapping[str, Json]:
    return {
        "status": run.status,
        "stdout": run.stdout,
        "stderr": run.stderr[-STDERR_CHARACTERS:],
        "exit_code": run.exit_code,
        "value": run.value,
    }


def _text(request: Request, name: str) -> str:
    return cast("str", request[name])


def _texts(request: Request, name: str) -> tuple[str, ...]:
    return cast("tuple[str, ...]", request[name])
