"""Programs as plain subprocesses, for people who typed `sandbox.kind = "unsafe-subprocess"`.

Same results as the isolated sandbox, no isolation: a program reads and writes what the user can.
"""

import json
import os
import socket
import subprocess
import tempfile
import time
import warnings
from collections.abc import Mapping, Sequence
from threading import BoundedSemaphore

from cotrain.environments.sandbox.base import Limits, Run, check_arguments
from cotrain.environments.sandbox.bubblewrap import ENVIRONMENT, INSIDE, base_interpreter
from cotrain.environments.sandbox.processes import descendants, kill_below
from cotrain.environments.sandbox.results import run_of, with_value, with_verdict
from cotrain.environments.sandbox.streams import RESULTS, Streams
from cotrain.environments.sandbox.worker import ENDED

WARNING = (
    'sandbox.kind = "unsafe-subprocess": programs of replies run with all rights of this user '
    "and can read and change its files; for trusted replies only"
)


class UnsafeSandbox:
    """Runs each program in a fresh interpreter with resource limits and no isolation."""

    kind = "unsafe-subprocess"

    def __init__(self, workers: int, limits: Limits) -> None:
        warnings.warn(WARNING, stacklevel=3)
        self._limits = limits
        self._slots = BoundedSemaphore(workers)

    def run(self, source: str, stdin: str) -> Run:
        """The program as `__main__`, with this standard input."""
        with self._slots:
            return self._conduct({"kind": "program", "source": source}, stdin)[0]

    def call(self, source: str, function: str, arguments: str) -> Run:
        """One call of a function of the program."""
        check_arguments(arguments)
        job = {"kind": "call", "source": source, "function": function, "arguments": arguments}
        with self._slots:
            return with_value(*self._conduct(job, ""))

    def check(self, source: str, function: str, preamble: str, check: str) -> Run:
        """Test code in one process against the function in another one."""
        candidate = {"kind": "candidate", "source": source, "function": function}
        test = {"kind": "test", "function": function, "preamble": preamble, "check": check}
        ours, theirs = socket.socketpair()
        with self._slots, ours, open(os.devnull, "r+b") as nothing:
            with theirs:
                other = Alone(candidate, [nothing.fileno()] * 3 + [theirs.fileno()], self._limits)
            try:
                return with_verdict(*self._conduct(test, "", ours))
            finally:
                other.end()

    def close(self) -> None:
        """Nothing stays open between programs."""

    def _conduct(
        self, job: Mapping[str, str], stdin: str, line: socket.socket | None = None
    ) -> tuple[Run, bytes]:
        streams = Streams(stdin, self._limits.output_bytes, RESULTS[job["kind"]])
        try:
            if line is not None:
                streams.theirs.append(line.detach())
            deadline = time.monotonic() + self._limits.seconds
            process = Alone(job, streams.theirs, self._limits)
            try:
                streams.hand_over()
                outcome = streams.follow(process.report, deadline)
                exit_code = process.exit_code() if outcome == "ended" else None
            finally:
                process.end()
            run = run_of(outcome, exit_code, 0, streams)
            return run, streams.result()
        finally:
            streams.close()


class Alone:
    """One program's processes. `report` can be read once the program has ended."""

    def __init__(self, job: Mapping[str, str], descriptors: Sequence[int], limits: Limits) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="cotrain-unsafe-")
        self.report, theirs = os.pipe()
        with tempfile.TemporaryFile() as file:
            file.write(json.dumps(job).encode())
            file.seek(0)
            extra = descriptors[3:]
            code = _code(file.fileno(), theirs, extra, limits)
            self._process = subprocess.Popen(
                [base_interpreter(), "-S", "-s", "-P", "-B", "-c", code],
                stdin=descriptors[0],
                stdout=descriptors[1],
                stderr=descriptors[2],
                env={**ENVIRONMENT, "TMPDIR": self._folder.name},
                cwd=self._folder.name,
                pass_fds=[file.fileno(), theirs, *extra],
                start_new_session=True,
            )
        os.close(theirs)

    def exit_code(self) -> int | None:
        """How the program ended, None where that cannot be known."""
        said = os.read(self.report, ENDED.size)
        if len(said) != ENDED.size:
            return None
        return os.waitstatus_to_exitcode(ENDED.unpack(said)[1])

    def end(self) -> None:
        """Ends every process of the program that can be found, and waits for them."""
        while descendants(self._process.pid):
            kill_below(self._process.pid)
            time.sleep(0.001)
        self._process.kill()
        self._process.wait()
        os.close(self.report)
        self._folder.cleanup()


def _code(job: int, report: int, extra: Sequence[int], limits: Limits) -> str:
    """What the interpreter is started with."""
    bounds = {
        "RLIMIT_CPU": int(limits.seconds) + 2,
        "RLIMIT_AS": limits.memory_bytes,
        "RLIMIT_FSIZE": limits.file_bytes,
        "RLIMIT_NOFILE": limits.open_files,
        "RLIMIT_CORE": 0,
    }
    return (
        f"import sys; sys.path.insert(0, {str(INSIDE.parent)!r}); "
        "from inside.alone import main; sys.path.pop(0); "
        f"main({job}, {report}, {list(extra)}, {bounds})"
    )
