"""Calls to the kernel that no program here may make, since no other limit would hold for them.

Memory that no process maps belongs to no process, so that nobody counts it: anonymous files, System
V memory and messages, shared mappings without a file. Keys outlive a program. The others are doors
to the kernel that programs of this kind have no use for.
"""

import ctypes
import platform
import struct

from . import kernel

REFUSED = {
    "memfd_create": (319, 279),
    "memfd_secret": (447, 447),
    "shmget": (29, 194),
    "msgget": (68, 186),
    "semget": (64, 190),
    "add_key": (248, 217),
    "request_key": (249, 218),
    "keyctl": (250, 219),
    "userfaultfd": (323, 282),
    "perf_event_open": (298, 241),
    "bpf": (321, 280),
    "io_uring_setup": (425, 425),
}
"""The numbers on x86-64, and on the machines that share the newer table."""

MMAP = (9, 222)
SHARED_WITHOUT_FILE = 0x01 | 0x20
MACHINES = {"x86_64": (0xC000003E, 0), "aarch64": (0xC00000B7, 1), "riscv64": (0xC00000F3, 1)}
FIRST_OF_X32 = 0x40000000
NUMBER, MACHINE, LOW_HALF_OF_FLAGS = 0, 4, 16 + 8 * 3
LOAD, AND, IF_EQUAL, IF_AT_LEAST, RETURN = 0x20, 0x54, 0x15, 0x35, 0x06
ALLOW, NOT_PERMITTED = 0x7FFF0000, 0x00050001
NO_NEW_PRIVILEGES, SECCOMP, FILTER = 38, 22, 2


class _Filter(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("instructions", ctypes.c_char_p))


def refuse() -> None:
    """Has the kernel refuse these calls to this process and all after it. Raises OSError."""
    instructions = filter_of(platform.machine())
    given = _Filter(len(instructions) // 8, instructions)
    kernel.control(NO_NEW_PRIVILEGES, 1)
    kernel.control(SECCOMP, FILTER, ctypes.addressof(given))


def filter_of(machine: str) -> bytes:
    """The filter as the kernel takes it. Calls in the form of another machine are all refused.

    Raises OSError for a machine whose numbers are not known here.
    """
    if machine not in MACHINES:
        raise OSError(f"no filter for calls to the kernel on {machine}")
    code, table = MACHINES[machine]
    refused = [numbers[table] for numbers in REFUSED.values()]
    # A jump counts the instructions that it leaves out; the last two are: allow, refuse.
    rest = [
        *((IF_EQUAL, len(refused) - place + 4, 0, number) for place, number in enumerate(refused)),
        (IF_EQUAL, 0, 3, MMAP[table]),
        (LOAD, 0, 0, LOW_HALF_OF_FLAGS),
        (AND, 0, 0, SHARED_WITHOUT_FILE),
        (IF_EQUAL, 1, 0, SHARED_WITHOUT_FILE),
        (RETURN, 0, 0, ALLOW),
        (RETURN, 0, 0, NOT_PERMITTED),
    ]
    first = [
        (LOAD, 0, 0, MACHINE),
        (IF_EQUAL, 0, len(rest) + 1, code),
        (LOAD, 0, 0, NUMBER),
        (IF_AT_LEAST, len(rest) - 1, 0, FIRST_OF_X32),
    ]
    return b"".join(struct.pack("=HBBI", *one) for one in [*first, *rest])
