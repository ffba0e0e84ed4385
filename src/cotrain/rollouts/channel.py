"""Whole messages over a pair of pipes, each call within a deadline.

A message is 8 bytes of length and then that many bytes. Nothing here trusts the other side to read
or to write in time: the file descriptors do not block, and no signal is used.
"""

import os
import selectors
import time
from collections.abc import Iterator
from typing import BinaryIO

LENGTH_BYTES = 8
MAX_WAIT_SECONDS = 1_000_000.0  # the kernel takes no longer time; a call this late is late
_PIECE_BYTES = 2**16


class LateError(Exception):
    """The deadline has passed before the message was whole."""


class GoneError(Exception):
    """The other side has closed its end."""


class Channel:
    """One side of a pair of pipes, as file descriptors that belong to the caller.

    Deadlines are times of `time.monotonic()`.

    >>> there, here = os.pipe()
    >>> channel = Channel(reads=there, writes=here)
    >>> channel.send(b"hello", time.monotonic() + 1)
    >>> channel.receive(time.monotonic() + 1)
    b'hello'
    >>> os.close(here)
    >>> channel.receive(time.monotonic() + 1)
    Traceback (most recent call last):
    cotrain.rollouts.channel.GoneError
    """

    def __init__(self, reads: int, writes: int) -> None:
        self._reads = reads
        self._writes = writes
        for descriptor in (reads, writes):
            os.set_blocking(descriptor, False)

    def send(self, message: bytes, deadline: float) -> None:
        """Sends a message. Raises LateError or GoneError."""
        rest = memoryview(framed(message))
        while rest:
            try:
                rest = rest[os.write(self._writes, rest[:_PIECE_BYTES]) :]
            except BlockingIOError:
                _wait(self._writes, selectors.EVENT_WRITE, deadline)
            except BrokenPipeError as error:
                raise GoneError from error

    def receive(self, deadline: float) -> bytes:
        """The next message. Raises LateError or GoneError."""
        length = int.from_bytes(self._read(LENGTH_BYTES, deadline))
        return self._read(length, deadline)

    def is_quiet(self) -> bool:
        """Whether the other side is there and has sent nothing."""
        try:
            _wait(self._reads, selectors.EVENT_READ, time.monotonic())
        except LateError:
            return True
        return False

    def _read(self, length: int, deadline: float) -> bytes:
        found = bytearray()
        while len(found) < length:
            _wait(self._reads, selectors.EVENT_READ, deadline)
            piece = os.read(self._reads, min(_PIECE_BYTES, length - len(found)))
            if not piece:
                raise GoneError
            found += piece
        return bytes(found)


def framed(message: bytes) -> bytes:
    """A message with its length before it."""
    return len(message).to_bytes(LENGTH_BYTES) + message


def messages_from(file: BinaryIO) -> Iterator[bytes]:
    """The messages of a file that blocks, up to its end."""
    while len(head := file.read(LENGTH_BYTES)) == LENGTH_BYTES:
        yield file.read(int.from_bytes(head))


def _wait(descriptor: int, event: int, deadline: float) -> None:
    with selectors.DefaultSelector() as selector:
        selector.register(descriptor, event)
        if not selector.select(min(max(0.0, deadline - time.monotonic()), MAX_WAIT_SECONDS)):
            raise LateError
