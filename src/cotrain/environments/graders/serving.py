"""The inside of a worker that answers lines: limits on itself, then one answer a question."""

import json
import os
import resource
import signal
import sys
from collections.abc import Callable, Mapping
from typing import Any, BinaryIO, TypeAlias

Answerer: TypeAlias = Callable[[Mapping[str, Any]], object]

SECONDS_TO_SPARE = 10


def serve(make_answerer: Callable[[], Answerer]) -> None:
    """Answers the lines of standard input until it ends; the `main` of a worker.

    The arguments of the command are the bytes of memory and the seconds of a question. What the
    answerer prints goes nowhere; an exception is that question's answer, `{"failed": message}`.
    """
    memory_bytes, seconds = int(sys.argv[1]), float(sys.argv[2])
    with os.fdopen(os.dup(1), "wb") as out:
        quiet = os.open(os.devnull, os.O_WRONLY)
        os.dup2(quiet, 1)
        _limit(resource.RLIMIT_AS, memory_bytes)
        _limit(resource.RLIMIT_CORE, 0)
        try:
            answerer = make_answerer()
        except Exception as error:  # noqa: BLE001 - the asking process reports it
            _write(out, {"failed": f"{type(error).__name__}: {error}"})
            return
        _limit(resource.RLIMIT_FSIZE, 0)
        _write(out, {"answer": "ready"})
        for line in sys.stdin.buffer:
            signal.alarm(int(seconds) + SECONDS_TO_SPARE)
            _write(out, _answer(answerer, line))
            signal.alarm(0)


def _answer(answerer: Answerer, line: bytes) -> dict[str, object]:
    try:
        return {"answer": answerer(json.loads(line))}
    except Exception as error:  # noqa: BLE001 - it is this question's result
        return {"failed": f"{type(error).__name__}: {error}"[:500]}


def _limit(which: int, value: int) -> None:
    _, highest = resource.getrlimit(which)
    value = value if highest == resource.RLIM_INFINITY else min(value, highest)
    resource.setrlimit(which, (value, highest))


def _write(out: BinaryIO, answer: Mapping[str, object]) -> None:
    out.write(json.dumps(answer).encode() + b"\n")
    out.flush()
