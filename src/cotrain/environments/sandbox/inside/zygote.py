"""Process 1 of a sandbox: a warm interpreter that forks one fresh process for each program.

It reads one-word messages and descriptors from a socket, never a program: what runs later cannot
find in its memory what ran before. Each program gets an init process of its own in namespaces of
its own (users, processes, mounts, IPC) with an empty private folder; when init ends, the kernel
ends everything in there. Where the system does not permit nested namespaces, this sandbox says so
and is used for one program only.
"""

import fcntl
import gc
import io
import json
import os
import resource
import select
import signal
import socket
import struct
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from . import kernel
from .jobs import perform
from .refusals import refuse

KILL = b"kill"
LIMITS = struct.Struct("=qqqqq")
ENDED = struct.Struct("=cii")
FOLDER, SHARED_MEMORY = "/tmp", "/dev/shm"
WATCH_SECONDS = 0.05
LOST = -1


@dataclass(frozen=True)
class Bounds:
    """The limits of one program, as the message spells them."""

    cpu_seconds: int
    memory_bytes: int
    file_bytes: int
    open_files: int
    processes: int

    def set(self) -> None:
        """Applies them to this process and its children."""
        kernel.limit(resource.RLIMIT_CPU, self.cpu_seconds)
        kernel.limit(resource.RLIMIT_AS, self.memory_bytes)
        kernel.limit(resource.RLIMIT_FSIZE, self.file_bytes)
        kernel.limit(resource.RLIMIT_NOFILE, self.open_files)
        kernel.limit(resource.RLIMIT_CORE, 0)
        kernel.limit(resource.RLIMIT_NPROC, self.processes + 1)  # init counts


def main(control: int, user: int) -> None:
    """Serves programs until the socket closes. `user`: whom to become, 0 to stay."""
    if user:
        become(user)
    refuse()
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    kernel.set_dumpable(0)
    gc.freeze()
    line = socket.socket(fileno=control)
    refusal = why_not_nested()
    line.send(json.dumps({"nested": not refusal, "refusal": refusal}).encode())
    perform(serve(line, WHOLE if refusal else NESTED))


def become(user: int) -> None:
    """Leaves root for good. The new process table hides nothing, which nesting another one needs.

    The launcher's own is partly covered when root mounts it, and the kernel lets nobody mount a
    fuller one inside.
    """
    with suppress(OSError):  # where this is refused, nesting will be too, and is reported
        kernel.mount("proc", "/proc", "", kernel.NO_SUID_NO_DEVICES | kernel.NO_EXEC)
    for folder in (FOLDER, SHARED_MEMORY):
        os.chmod(folder, 0o1777)
    os.setgroups([])
    os.setgid(user)
    os.setuid(user)


def why_not_nested() -> str:
    """Empty if a program can have namespaces of its own here, else the kernel's reason."""
    reader, writer = os.pipe()
    user, group = os.getuid(), os.getgid()
    try:
        child = kernel.fork_into_namespaces()
    except OSError as error:
        return str(error)
    if child == 0:
        try:
            furnish(user, group, 2**20)
            os._exit(0)
        except BaseException as error:  # noqa: BLE001 - it is reported and the process ends
            os.write(writer, str(error).encode()[:200])
            os._exit(1)
    os.close(writer)
    status = os.waitpid(child, 0)[1]
    said = os.read(reader, 200).decode()
    os.close(reader)
    return said or ("" if status == 0 else f"wait status {status}")


def serve(line: socket.socket, way: "Way") -> dict[str, Any]:
    """Starts a process for each message; returns, in that process, the job to be done."""
    user, group = os.getuid(), os.getgid()
    while True:
        message, descriptors, _, _ = socket.recv_fds(line, 256, 8)
        if not message:
            os._exit(0)
        if message == KILL:  # of a program that had just ended by itself
            continue
        bounds = Bounds(*LIMITS.unpack(message))
        reader, writer = os.pipe()
        init = way.fork()
        if init == 0:
            line.detach()
            guarded(writer, way.furnish, user, group, bounds.file_bytes)
            guarded(writer, oversee, writer)
            return opened_job(descriptors, bounds)
        for descriptor in (writer, *descriptors):
            os.close(descriptor)
        line.send(watch(line, reader, init, bounds.memory_bytes))
        os.close(reader)
        if way.serves_once:
            os._exit(0)


def guarded(writer: int, step: Any, *arguments: Any) -> None:
    """Does a step of init; where it fails, the program is not run and the reason is reported."""
    try:
        step(*arguments)
    except BaseException as error:  # noqa: BLE001 - it is reported and the process ends
        os.write(writer, f"{type(error).__name__}: {error}".encode()[:200])
        os._exit(1)


def furnish(user: int, group: int, file_bytes: int) -> None:
    """Makes the new namespaces a place to live in: same user, empty folders, own process table."""
    kernel.set_dumpable(1)  # else the maps of this process belong to root
    for name, text in (
        ("setgroups", "deny"),
        ("uid_map", f"{user} {user} 1"),
        ("gid_map", f"{group} {group} 1"),
    ):
        with open(f"/proc/self/{name}", "w") as file:
            file.write(text)
    kernel.set_dumpable(0)
    for folder in (FOLDER, SHARED_MEMORY):
        kernel.mount("tmpfs", folder, f"size={file_bytes},nr_inodes=16384,mode=1777")
    kernel.mount("proc", "/proc", "", kernel.NO_SUID_NO_DEVICES | kernel.NO_EXEC)
    with open("/proc/sys/user/max_user_namespaces", "w") as file:
        file.write("0")


@dataclass(frozen=True)
class Way:
    """How a program gets its process: `furnish` is done in what `fork` begins."""

    fork: Callable[[], int]
    furnish: Callable[[int, int, int], None]
    serves_once: bool


NESTED = Way(kernel.fork_into_namespaces, furnish, serves_once=False)
WHOLE = Way(os.fork, lambda *_: None, serves_once=True)
"""Where nothing nests: this sandbox is the program's, and ends with it."""


def oversee(writer: int) -> None:
    """Returns in a new process, the program's. This one waits for it, says how it ended, ends."""
    program = os.fork()
    if program == 0:
        return
    while True:
        ended, status = os.wait()
        if ended == program:
            os.write(writer, ENDED.pack(b"D", status, 0))
            os._exit(0)


def watch(line: socket.socket, reader: int, init: int, memory_bytes: int) -> bytes:
    """Waits until all is over, killing when told to or when memory is used up; says how it ended.

    Waiting for init is waiting for everything in its namespaces.
    """
    excessive = 0
    while True:
        ready = select.select([line, reader], [], [], WATCH_SECONDS)[0]
        if reader in ready:
            break
        if line in ready:
            if not line.recv(256):
                os._exit(0)
            os.kill(init, signal.SIGKILL)
        elif uses_more_than(memory_bytes, init):
            excessive = 1
            os.kill(init, signal.SIGKILL)
    said = os.read(reader, 256)
    os.waitpid(init, 0)
    if len(said) == ENDED.size and said[:1] == b"D":
        return ENDED.pack(b"D", ENDED.unpack(said)[1], excessive)
    return said or ENDED.pack(b"D", LOST, excessive)


def uses_more_than(memory_bytes: int, init: int) -> bool:
    """Whether the processes of the program hold more than this together."""
    processes = [int(name) for name in os.listdir("/proc") if name.isdigit()]
    processes = [process for process in processes if process not in (1, init)]
    if kernel.resident_bytes(processes) <= memory_bytes:
        return False
    return kernel.used_bytes(processes) > memory_bytes


def opened_job(descriptors: list[int], bounds: Bounds) -> dict[str, Any]:
    """The job, read from the first descriptor; the others become 0, 1, 2 and those after."""
    os.setsid()
    kernel.set_dumpable(1)
    kernel.drop_capabilities()
    signal.signal(signal.SIGINT, signal.default_int_handler)
    with open(descriptors[0], "rb") as file:
        job = json.loads(file.read())
    place(descriptors[1:])
    os.chdir(FOLDER)
    bounds.set()
    renew_standard_streams()
    forget_this_package()
    return job


def place(descriptors: list[int]) -> None:
    """Puts these at 0 and up, and closes every other descriptor."""
    high = [fcntl.fcntl(descriptor, fcntl.F_DUPFD, 64) for descriptor in descriptors]
    for target, descriptor in enumerate(high):
        os.dup2(descriptor, target, inheritable=target <= 2)
    os.closerange(len(high), 1 << 20)


def renew_standard_streams() -> None:
    """Text streams as a plain interpreter makes them, over the descriptors as they are now."""
    sys.stdin = sys.__stdin__ = text_stream(sys.stdin, 0, "r")
    sys.stdout = sys.__stdout__ = text_stream(sys.stdout, 1, "w")
    sys.stderr = sys.__stderr__ = text_stream(sys.stderr, 2, "w")


def text_stream(before: Any, descriptor: int, mode: str) -> Any:
    """A stream over the descriptor with the encoding of the one before."""
    binary: Any = open(descriptor, mode + "b", closefd=False)  # noqa: SIM115 - lives as long as the process
    binary.raw.name = before.name
    stream: Any = io.TextIOWrapper(
        binary, before.encoding, before.errors, "\n", line_buffering=descriptor == 2
    )
    stream.mode = mode
    return stream


def forget_this_package() -> None:
    """A program may have modules of these names."""
    package = __name__.partition(".")[0]
    for name in [name for name in sys.modules if name.partition(".")[0] == package]:
        del sys.modules[name]
