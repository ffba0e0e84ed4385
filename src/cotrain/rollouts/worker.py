"""A process that applies the rules of one environment, and can be killed at any time.

It reads calls on standard input and writes each answer on what was standard output; what the rules
print goes to standard error. When its input ends, it ends, whatever the rules are doing.
"""

import os
import pickle
import queue
import signal
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, fields, is_dataclass
from functools import partial
from typing import Any, BinaryIO, cast

from cotrain.config.faults import told
from cotrain.core.episode import CandidateStatus, Evidence, Request
from cotrain.environments.base import Environment, ServiceLostError
from cotrain.environments.registry import make_environment
from cotrain.environments.returned import RULE_FAULTS
from cotrain.environments.sandbox.inside import kernel
from cotrain.environments.sandbox.processes import kill_below
from cotrain.rollouts.channel import framed, messages_from
from cotrain.rollouts.evidence import tried
from cotrain.rollouts.referee import Call, Failure, answered

LEAVING_SECONDS = 1.0

COMMAND = (
    "import sys; sys.path[:], sys.argv[1:] = sys.argv[1:], []; "
    "from cotrain.rollouts.worker import main; main()"
)
"""The program of a worker, whose arguments are the module path of the process that starts it."""


@dataclass(frozen=True, slots=True)
class Recipe:
    """What an environment is made from."""

    name: str
    options: Mapping[str, Any]
    prompts: Mapping[str, str]

    def make(self) -> Environment[Any]:
        """A fresh environment."""
        return make_environment(self.name, self.options, self.prompts)


@dataclass(frozen=True, slots=True)
class Lost:
    """The answer of a worker that cannot answer this call nor any other."""

    message: str


class UnsendableError(TypeError):
    """A value that no other process could be given."""


def handler(environment: Environment[Any], request: Request) -> Evidence:
    """One try of a request, by the environment's own handler."""
    return tried(environment.handlers[request.kind], request)


def packed(what: str, value: object) -> bytes:
    """A value as bytes. Raises UnsendableError, with the class of what cannot be sent.

    >>> packed("start returned", lambda: 1)
    Traceback (most recent call last):
    cotrain.rollouts.worker.UnsendableError: start returned a function, which cannot be sent from \
one process to another (...). With limits.act_seconds the rules run in workers, so tasks and \
states must be values that pickle can store
    """
    try:
        return pickle.dumps(value)
    except Exception as error:
        raise UnsendableError(
            f"{what} a {_unsendable(value)}, which cannot be sent from one process to another "
            f"({error}). With limits.act_seconds the rules run in workers, so tasks and states "
            "must be values that pickle can store"
        ) from error


def _unsendable(value: object) -> str:
    """The class of the innermost record that cannot be sent, or of the value itself."""
    for part in _parts(value):
        try:
            pickle.dumps(part)
        except Exception:  # noqa: BLE001 - whatever pickling raises
            return _unsendable(part)
    return type(value).__qualname__


def _parts(value: object) -> Iterator[object]:
    """What a record of this package holds; the parts of an author's own classes are not named."""
    if isinstance(value, tuple):
        yield from cast("tuple[object, ...]", value)
    elif is_dataclass(value) and type(value).__module__.startswith("cotrain."):
        yield from (getattr(value, field.name) for field in fields(value))


def main() -> None:
    """Answers calls until the input ends."""
    with suppress(OSError, AttributeError):  # Linux alone has it
        kernel.adopt_orphans()
    reads, writes = _private_pipes()
    messages = _read_ahead(reads)
    environment = _made(messages.get(), writes)
    if environment is None:
        return
    while (message := messages.get()) is not None:
        writes.write(framed(_answer(environment, message)))
        writes.flush()


def _private_pipes() -> tuple[BinaryIO, BinaryIO]:
    """The pipes to the parent, taken away from standard input and output."""
    reads, writes = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.dup2(2, 1)
    # A rule that forks returns in both processes, and a call has one answer.
    os.register_at_fork(after_in_child=partial(_silence, nothing, reads, writes))
    sys.stdout = sys.stderr
    return os.fdopen(reads, "rb"), os.fdopen(writes, "wb")


def _silence(nothing: int, *pipes: int) -> None:
    """Takes the pipes to the parent from this process."""
    for pipe in pipes:
        os.dup2(nothing, pipe)


def _read_ahead(file: BinaryIO) -> "queue.SimpleQueue[bytes | None]":
    """The messages as they come, None at the end; soon after the end the process is no more."""
    messages: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()

    def read() -> None:
        for message in messages_from(file):
            messages.put(message)
        messages.put(None)
        time.sleep(LEAVING_SECONDS)
        kill_below(os.getpid())
        os.killpg(0, signal.SIGKILL)

    threading.Thread(target=read, daemon=True).start()
    return messages


def _made(message: bytes | None, writes: BinaryIO) -> Environment[Any] | None:
    """The environment of the recipe that came first; None where there is none."""
    if message is None:
        return None
    environment, failed = None, ""
    try:
        environment = pickle.loads(message).make()
    except RULE_FAULTS as error:
        failed = told(error)
    writes.write(framed(failed.encode(errors="replace")))
    writes.flush()
    return environment


def _answer(environment: Environment[Any], message: bytes) -> bytes:
    try:
        call: Call[object] = pickle.loads(message)
        answer = answered(environment, call)
        return packed(f"{call.rule.__name__} returned", answer)
    except ServiceLostError as error:
        return pickle.dumps(Lost(str(error)))
    except BaseException as error:  # noqa: BLE001 - no key reaches a worker: a rule has raised it
        return pickle.dumps(Failure(CandidateStatus.ERROR, told(error)))
