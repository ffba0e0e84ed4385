"""The few calls to the kernel that Python 3.11 lacks. Each raises OSError where it fails."""

import ctypes
import os
import platform
import resource
import struct

NEW_MOUNTS, NEW_IPC, NEW_USER, NEW_PIDS = 0x00020000, 0x08000000, 0x10000000, 0x20000000
NAMESPACES = NEW_MOUNTS | NEW_IPC | NEW_USER | NEW_PIDS
CLONE = {"x86_64": 56, "aarch64": 220, "riscv64": 220}
NO_SUID_NO_DEVICES, NO_EXEC = 2 | 4, 8
SET_DUMPABLE, SET_CHILD_SUBREAPER = 4, 36
SIGCHLD = 17
CAPABILITIES_VERSION_3 = 0x20080522

_libc = ctypes.PyDLL(None, use_errno=True)


def _checked(result: int) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result


def fork_into_namespaces() -> int:
    """As `os.fork`, but the child is process 1 of namespaces of its own.

    Only for a process with one thread; the child may call `os.fork`, which puts right what Python
    keeps about the process.
    """
    number = CLONE.get(platform.machine())
    if number is None:
        raise OSError(f"no nested namespaces on {platform.machine()}")
    return _checked(_libc.syscall(number, NAMESPACES | SIGCHLD, 0, 0, 0, 0))


def mount(kind: str, target: str, options: str = "", flags: int = NO_SUID_NO_DEVICES) -> None:
    """Mounts a file system of this kind over the folder."""
    texts = (kind.encode(), target.encode(), kind.encode())
    _checked(_libc.mount(*texts, ctypes.c_ulong(flags), options.encode()))


def control(option: int, *values: int) -> None:
    """Sets a property of this process, as `prctl` has them."""
    _checked(_libc.prctl(option, *map(ctypes.c_ulong, (*values, 0, 0, 0, 0)[:4])))


def set_dumpable(dumpable: int) -> None:
    """1: processes of the same user may look into this one; 0: they may not."""
    control(SET_DUMPABLE, dumpable)


def adopt_orphans() -> None:
    """Processes below this one whose parent ends become its children."""
    control(SET_CHILD_SUBREAPER, 1)


def drop_capabilities() -> None:
    """No privilege is left, nor can one be had by running a file."""
    header = struct.pack("=Ii", CAPABILITIES_VERSION_3, 0)
    _checked(_libc.capset(header, bytes(24)))


def limit(kind: int, amount: int) -> None:
    """Sets a resource limit, or the lower one that already holds."""
    _, hard = resource.getrlimit(kind)
    amount = amount if hard == resource.RLIM_INFINITY else min(amount, hard)
    resource.setrlimit(kind, (amount, amount))


def used_bytes(processes: list[int]) -> int:
    """The memory of these processes, shared pages divided among those that share them."""
    return sum(_proportional_bytes(process) for process in processes)


def resident_bytes(processes: list[int]) -> int:
    """An upper bound of `used_bytes` that is cheap to have."""
    return sum(_resident_pages(process) for process in processes) * resource.getpagesize()


def _resident_pages(process: int) -> int:
    try:
        with open(f"/proc/{process}/statm", "rb") as file:
            return int(file.read().split()[1])
    except (OSError, IndexError):  # it has ended
        return 0


def _proportional_bytes(process: int) -> int:
    try:
        with open(f"/proc/{process}/smaps_rollup", "rb") as file:
            lines = [line.split() for line in file]
    except PermissionError:  # it hides its maps
        return resident_bytes([process])
    except OSError:  # it has ended
        return 0
    return sum(int(line[1]) * 1024 for line in lines if line[0] == b"Pss:")
