"""The contract of a sandbox: limits, what became of a program, and who can run one.

Programs that a model wrote are run behind this contract alone. What a program does is a `Run`,
never an exception; an exception says that the sandbox itself is gone.
"""

import json
from dataclasses import dataclass
from typing import Any, Literal, Protocol, TypeAlias, cast

from cotrain.config.faults import ConfigurationError, Fault, show
from cotrain.environments.base import ServiceLostError

Status: TypeAlias = Literal["finished", "failed", "timeout", "output", "memory", "not run"]
MIN_MEMORY_BYTES, MAX_MEMORY_BYTES = 2**26, 2**50
MAX_SECONDS = 86_400.0
MAX_DEPTH = 64


@dataclass(frozen=True, slots=True)
class Limits:
    """What one program may use.

    `seconds` is wall-clock time. `memory_bytes` limits each process's address space and what the
    program's processes hold together. `output_bytes` limits each of standard output, standard
    error and a returned value. `file_bytes` limits a file, and all of the private folder.
    `processes` counts threads too.

    >>> Limits(seconds=1).processes
    32
    >>> Limits(memory_bytes=1000)
    Traceback (most recent call last):
    cotrain.config.faults.ConfigurationError: sandbox.memory_bytes = 1000: \
must be at least 67108864, which an interpreter needs
    """

    seconds: float = 10.0
    memory_bytes: int = 2**29
    output_bytes: int = 2**20
    file_bytes: int = 2**26
    open_files: int = 64
    processes: int = 32

    def __post_init__(self) -> None:
        if self.memory_bytes < MIN_MEMORY_BYTES:
            allowed = f"must be at least {MIN_MEMORY_BYTES}, which an interpreter needs"
            raise _fault("memory_bytes", self.memory_bytes, allowed)
        if self.memory_bytes > MAX_MEMORY_BYTES:
            raise _fault("memory_bytes", self.memory_bytes, f"must be <= {MAX_MEMORY_BYTES}")
        if not 0 < self.seconds <= MAX_SECONDS:
            allowed = f"must be > 0 and <= {MAX_SECONDS:g}, which is a day"
            raise _fault("seconds", self.seconds, allowed)


def _fault(key: str, value: float, allowed: str) -> ConfigurationError:
    return ConfigurationError([Fault(f"sandbox.{key}", show(value), allowed)])


@dataclass(frozen=True, slots=True)
class Run:
    """What became of one program; equal programs give equal runs, so no times are kept.

    `status` is one of those in `requests.py`. `stdout` and `stderr` are text (UTF-8, other bytes
    replaced), empty after `timeout` and `memory`, since what had been written by then differs from
    run to run; after `output` the beginning is kept. `exit_code` is minus the signal's number where
    a signal ended the program, None where the sandbox did. `value`, the result of `call`, is JSON
    text that a parser accepts, nested 64 deep at most; its whole numbers may be longer than Python
    turns into an int by itself. `passed` is the result of `check`.
    """

    status: Status
    stdout: str = ""
    stderr: str = ""
    exit_code: int | None = None
    value: str | None = None
    passed: bool = False


class Sandbox(Protocol):
    """Runs programs, from any thread, as many at once as it has worker slots."""

    kind: str

    def run(self, source: str, stdin: str) -> Run:
        """The program as `__main__`, with this standard input."""
        ...

    def call(self, source: str, function: str, arguments: str) -> Run:
        """One call of a function, or of a method of `class Solution`; `arguments`: a JSON list."""
        ...

    def check(self, source: str, function: str, preamble: str, check: str) -> Run:
        """Test code `check(candidate)` in one process, the program under test in another."""
        ...

    def close(self) -> None:
        """Ends every process of the sandbox and waits for them."""
        ...


class SandboxUnavailableError(ServiceLostError):
    """Programs cannot be run in isolation here. The message says what is missing and the remedy."""


def check_arguments(arguments: str) -> None:
    """Raises ValueError unless this is the text of a JSON list.

    >>> check_arguments("[1, [2]]")
    >>> check_arguments("1")
    Traceback (most recent call last):
    ValueError: arguments must be the text of a JSON list, got '1'
    """
    if not isinstance(json.loads(arguments, parse_int=len), list):
        raise ValueError(f"arguments must be the text of a JSON list, got {arguments[:80]!r}")


def checked_value(text: str) -> str | None:
    """The text if it is JSON that is not nested too deeply to be compared, else None.

    >>> checked_value("[1, 2]")
    '[1, 2]'
    >>> checked_value("[1, 2"), checked_value("[" * 200 + "]" * 200)
    (None, None)
    """
    try:
        value = json.loads(text, parse_int=len)
    except (ValueError, RecursionError):
        return None
    level: list[Any] = [value]
    for _ in range(MAX_DEPTH):
        level = [inner for outer in level for inner in _children(outer)]
        if not level:
            return text
    return None


def _children(value: object) -> list[Any]:
    if isinstance(value, dict):
        return list(cast("dict[str, Any]", value).values())
    return cast("list[Any]", value) if isinstance(value, list) else []
