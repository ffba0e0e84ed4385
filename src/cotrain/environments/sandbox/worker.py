"""One warm sandbox: started once, then one program after another in fresh processes."""

import json
import os
import select
import signal
import socket
import struct
import subprocess
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from cotrain.environments.sandbox.base import Limits, SandboxUnavailableError
from cotrain.environments.sandbox.bubblewrap import REMEDY

START_SECONDS, END_SECONDS = 60.0, 60.0  # on a machine that is very busy
KILL = b"kill"
LIMITS, ENDED = struct.Struct("=qqqqq"), struct.Struct("=cii")
LOST = -1
Launch = Callable[[socket.socket], "subprocess.Popen[bytes]"]


class WorkerLostError(RuntimeError):
    """The sandbox's own process ended or does not answer, which no program should bring about."""


class KilledError(SandboxUnavailableError):
    """The sandbox ended before it was ready, without a word, as what is killed does."""


class Worker:
    """A running sandbox. One program at a time; `line` can be read once that has ended.

    `nested` says that each program gets namespaces of its own, and that the sandbox serves another
    one afterwards; where it does not, `refusal` is the kernel's reason, and `spent` says that the
    one program has been begun.
    """

    def __init__(self, launch: Launch) -> None:
        self.line, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        try:
            with theirs:
                self._process = launch(theirs)
        except BaseException:
            self.line.close()
            raise
        self.spent = False
        self.nested, self.refusal = self._greeting()

    def start(self, job: Mapping[str, str], descriptors: Sequence[int], limits: Limits) -> None:
        """Begins a job, whose descriptors 0, 1, 2 and on are copies of these."""
        message = LIMITS.pack(
            int(limits.seconds) + 2,  # processor time: beyond what the clock allows one thread
            limits.memory_bytes,
            limits.file_bytes,
            limits.open_files,
            limits.processes,
        )
        self.spent = not self.nested
        held = os.memfd_create("job")
        try:
            _write_all(held, json.dumps(job).encode())
            os.lseek(held, 0, os.SEEK_SET)
            socket.send_fds(self.line, [message], [held, *descriptors])
        except OSError as error:
            raise WorkerLostError(str(error)) from error
        finally:
            os.close(held)

    def stop(self) -> None:
        """Kills the running program; `ended` is still to be asked."""
        with suppress(OSError):  # the sandbox is gone, which `ended` reports
            self.line.send(KILL)

    def ended(self) -> tuple[int | None, int]:
        """Waits until nothing of the program is left: its exit code, whether memory ended it."""
        message = self._receive(END_SECONDS)
        if len(message) != ENDED.size:
            raise WorkerLostError(message.decode("utf-8", "replace") or "it ended")
        _, status, excessive = ENDED.unpack(message)
        if self.spent:
            self._wait()
        return None if status == LOST else os.waitstatus_to_exitcode(status), excessive

    def close(self) -> None:
        """Ends the sandbox with everything in it."""
        self.line.close()
        try:
            self._process.wait(1.0)
        except subprocess.TimeoutExpired:
            self._kill()
        with self._process:  # waits, and closes its pipe
            return

    def forget(self) -> None:
        """Lets go of a sandbox that belongs to the process this one was forked from."""
        self.line.close()
        self._process.returncode = 0

    def _greeting(self) -> tuple[bool, str]:
        try:
            said = json.loads(self._receive(START_SECONDS))
            return said["nested"], said["refusal"]
        except (ValueError, WorkerLostError) as error:
            self._kill()
            with self._process:
                said = self._process.stderr.read() if self._process.stderr else b""
            self.line.close()
            reason = said.decode("utf-8", "replace").strip()
            raise (SandboxUnavailableError if reason else KilledError)(
                f"bubblewrap does not start here: {reason or error}; the system must let "
                "this user make user namespaces (in a container: run it with the rights to do so; "
                f"Ubuntu: see kernel.apparmor_restrict_unprivileged_userns); {REMEDY}"
            ) from error

    def _kill(self) -> None:
        """Kills process 1 inside, whereupon the launcher waits for it and ends.

        As root, the launcher alone could not kill what has become another user.
        """
        inside = [
            int(child)
            for path in Path(f"/proc/{self._process.pid}/task").glob("*/children")
            for child in path.read_text().split()
        ]
        for process in inside:
            os.kill(process, signal.SIGKILL)
        if not inside:
            self._process.kill()

    def _wait(self) -> None:
        try:
            self._process.wait(END_SECONDS)
        except subprocess.TimeoutExpired as error:
            raise WorkerLostError(f"it does not end within {END_SECONDS} s") from error

    def _receive(self, seconds: float) -> bytes:
        """The next message; WorkerLostError where there is none, or none in time."""
        poll = select.poll()
        poll.register(self.line, select.POLLIN)
        if not poll.poll(seconds * 1000):
            raise WorkerLostError(f"no answer in {seconds} s")
        try:
            message = self.line.recv(1024)
        except OSError as error:
            raise WorkerLostError(str(error)) from error
        if not message:
            raise WorkerLostError("it ended")
        return message


def _write_all(descriptor: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(descriptor, rest) :]
