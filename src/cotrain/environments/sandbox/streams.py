"""A program's standard streams, from outside: fed and read at once, and never more than allowed."""

import os
import select
import time
from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal

CHUNK_BYTES = 2**16
Outcome = Literal["ended", "timeout", "output"]
RESULTS: Mapping[str, int] = MappingProxyType({"program": 0, "call": 1, "test": 1})
"""Private pipes for a result that the kinds of job have."""


class Streams:
    """The pipes of one program: `theirs` are handed over to it, the others are served here.

    `theirs` are standard input, output and error, then `num_results` private pipes for results.
    Nothing beyond `limit` bytes (and one chunk) of an output is ever held.
    """

    def __init__(self, stdin: str, limit: int, num_results: int) -> None:
        self.theirs: list[int] = []
        self._limit = limit
        self._input = memoryview(stdin.encode("utf-8", "surrogatepass"))
        self._read: dict[int, bytearray] = {}
        theirs, self._writer = os.pipe()
        self.theirs.append(theirs)
        for _ in range(2 + num_results):
            ours, theirs = os.pipe()
            self.theirs.append(theirs)
            self._read[ours] = bytearray()
        for descriptor in self.theirs:  # `/dev/stdin` opens it anew, maybe as another user
            os.fchmod(descriptor, 0o666)
        self._outputs = list(self._read)
        for descriptor in (self._writer, *self._outputs):
            os.set_blocking(descriptor, False)
        self._open = set(self._outputs)

    def hand_over(self) -> None:
        """Closes the program's ends here, once it has its own copies; begins the input."""
        self._close_theirs()
        self._feed()

    def follow(self, ending: int, deadline: float) -> Outcome:
        """Serves the pipes until `ending` can be read, the deadline, or too much output."""
        while True:
            wait = deadline - time.monotonic()
            if wait <= 0:
                return "timeout"
            if ending in self._serve(ending, wait):
                return "output" if self._drain() else "ended"
            if self._overflows():
                return "output"

    def output(self, place: int) -> bytes:
        """What was read of standard output (0) or standard error (1)."""
        return bytes(self._read[self._outputs[place]][: self._limit])

    def result(self) -> bytes:
        """What came over the private pipe; nothing where there is none."""
        return b"".join(bytes(self._read[place]) for place in self._outputs[2:])

    def close(self) -> None:
        """Closes what is open here."""
        self._close_theirs()
        self._close_input()
        for descriptor in self._outputs:
            os.close(descriptor)

    def _serve(self, ending: int, wait: float) -> set[int]:
        poll = select.poll()
        poll.register(ending, select.POLLIN)
        for descriptor in self._open:
            poll.register(descriptor, select.POLLIN)
        if self._writer >= 0:
            poll.register(self._writer, select.POLLOUT)
        ready = {descriptor for descriptor, _ in poll.poll(wait * 1000)}
        for descriptor in ready & self._open:
            self._take(descriptor)
        if self._writer in ready:
            self._feed()
        return ready

    def _take(self, descriptor: int) -> bool:
        """Reads a chunk; False where there is none for now, or no more at all."""
        try:
            chunk = os.read(descriptor, CHUNK_BYTES)
        except BlockingIOError:
            return False
        if not chunk:
            self._open.discard(descriptor)
        self._read[descriptor] += chunk
        return bool(chunk)

    def _drain(self) -> bool:
        """Reads what the ended program left in its pipes; True if that is too much."""
        for descriptor in list(self._open):
            while self._take(descriptor):
                if self._overflows():
                    return True
        return self._overflows()

    def _overflows(self) -> bool:
        return any(len(read) > self._limit for read in self._read.values())

    def _feed(self) -> None:
        try:
            while self._input:
                self._input = self._input[os.write(self._writer, self._input[:CHUNK_BYTES]) :]
        except BlockingIOError:
            return
        except BrokenPipeError:  # the program does not read its input to the end
            self._input = self._input[:0]
        self._close_input()

    def _close_input(self) -> None:
        if self._writer >= 0:
            os.close(self._writer)
            self._writer = -1

    def _close_theirs(self) -> None:
        for descriptor in self.theirs:
            os.close(descriptor)
        self.theirs.clear()
