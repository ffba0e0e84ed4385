"""From how a process ended and what it wrote to what became of the program."""

import signal

from cotrain.environments.sandbox.base import Run, Status, checked_value
from cotrain.environments.sandbox.streams import Outcome, Streams

RETURNED, PASSED = b"=", b"passed"
KEPT_AFTER_OVERFLOW = 4096
CALL_DID_NOT_RETURN = "the program ended before the call returned"


def run_of(outcome: Outcome, exit_code: int | None, excessive: int, streams: Streams) -> Run:
    """The run, before a result is looked at. `exit_code` None: how it ended is not known.

    `excessive` says that the program was ended because of the memory it held.
    """
    if outcome == "timeout":
        return Run("timeout")
    stdout, stderr = (streams.output(place).decode("utf-8", "replace") for place in (0, 1))
    if outcome == "output":
        return Run("output", stdout[:KEPT_AFTER_OVERFLOW])
    status = status_of(exit_code, stderr)
    if excessive or status == "memory":
        return Run("memory")
    return Run("timeout") if status == "timeout" else Run(status, stdout, stderr, exit_code)


def status_of(exit_code: int | None, stderr: str) -> Status:
    """The status that an exit code and the last line on standard error tell.

    >>> status_of(0, ""), status_of(1, "ValueError: x"), status_of(-9, "")
    ('finished', 'failed', 'failed')
    >>> status_of(1, "Traceback ...\\nMemoryError\\n")
    'memory'
    """
    if exit_code == 0:
        return "finished"
    if exit_code == -signal.SIGXCPU:
        return "timeout"
    last = stderr.rstrip().rpartition("\n")[2]
    return "memory" if last.startswith("MemoryError") else "failed"


def with_value(run: Run, result: bytes) -> Run:
    """The run of a call with the value that came over the private pipe."""
    if run.status != "finished":
        return run
    if not result:
        return Run("failed", run.stdout, CALL_DID_NOT_RETURN, run.exit_code)
    text = result[1:].decode("utf-8", "replace") if result.startswith(RETURNED) else ""
    return Run(run.status, run.stdout, run.stderr, run.exit_code, checked_value(text))


def with_verdict(run: Run, result: bytes) -> Run:
    """The run of test code with its verdict; only the status is kept of a check that failed."""
    if run.status == "finished" and result == PASSED:
        return Run("finished", exit_code=0, passed=True)
    return Run("failed" if run.status == "finished" else run.status, exit_code=run.exit_code)
