"""Starting bubblewrap: what a sandbox sees of the system, which is little, and all of it read-only.

The interpreter with its standard library, the system's libraries and commands, and nothing else:
no home, no `/etc` but the linker's cache, no site-packages, no network, no other process.
"""

import functools
import os
import platform
import re
import shutil
import socket
import subprocess
import sys
import sysconfig
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from cotrain.environments.sandbox.base import Limits, SandboxUnavailableError

PROGRAM = "bwrap"
INSIDE = Path(__file__).parent / "inside"
INSIDE_THERE = "/sandbox/inside"
ENVIRONMENT: Mapping[str, str] = MappingProxyType(
    {
        "PATH": "/usr/bin:/bin",
        "LANG": "C.UTF-8",
        "TMPDIR": "/tmp",
        "PYTHONHASHSEED": "0",
        "MALLOC_ARENA_MAX": "2",  # else every thread reserves address space, which is limited
    }
)
SYSTEM = ("/bin", "/sbin", "/lib", "/lib32", "/lib64", "/usr/bin", "/usr/lib", "/usr/lib32",
          "/usr/lib64", "/usr/share/zoneinfo", "/nix/store", "/etc/ld.so.cache")  # fmt: skip
FIRST_USER, NUM_USERS = 60578, 606
"""Users that distributions leave unused; as root, each worker slot becomes another of them."""
REMEDY = 'sandbox.kind = "unsafe-subprocess" runs programs without any isolation'


def refuse_without_bubblewrap() -> None:
    """Raises SandboxUnavailableError where bubblewrap cannot be started at all."""
    if sys.platform != "linux":
        raise SandboxUnavailableError(
            f"isolation needs Linux, and this is {platform.system()}; {REMEDY}"
        )
    if shutil.which(PROGRAM) is None:
        raise SandboxUnavailableError(
            "programs are run in isolation by bubblewrap, which is not installed: install the "
            f"package bubblewrap of your system (apt, dnf or pacman install bubblewrap); {REMEDY}"
        )
    if _is_below("/tmp", sys.base_prefix):
        raise SandboxUnavailableError(
            f"the interpreter lies in {sys.base_prefix}, and /tmp is private in the sandbox: "
            "use a Python that is installed elsewhere"
        )


def launch(slot: int, line: socket.socket, limits: Limits) -> "subprocess.Popen[bytes]":
    """Starts one sandbox with a warm interpreter, which talks over the socket's other end.

    It is killed when the calling thread ends, so that thread must be one that stays.
    """
    refuse_without_bubblewrap()
    return start(command(slot, line, limits), line.fileno())


def start(words: Sequence[str], *inherited: int) -> "subprocess.Popen[bytes]":
    """The process of a command that inherits these descriptors and nothing else."""
    return subprocess.Popen(
        words,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        env=ENVIRONMENT,
        cwd="/",
        pass_fds=inherited,
        start_new_session=True,  # Ctrl-C at a terminal is for the run alone
    )


def command(slot: int, line: socket.socket, limits: Limits) -> list[str]:
    """The whole command. Root makes the namespaces as root and becomes another user inside,
    anyone else makes them as a user of a new user namespace.
    """
    user = FIRST_USER + (os.getpid() + slot) % NUM_USERS
    as_root = os.geteuid() == 0 and _exists(user)
    if as_root:
        kept = ("CAP_SETUID", "CAP_SETGID", "CAP_SYS_ADMIN")  # until it becomes the user
        become = ["--cap-drop", "ALL", *_each("--cap-add", kept)]
    else:
        become = ["--unshare-user", "--uid", str(user), "--gid", str(user)]
    size = ["--size", str(limits.file_bytes)] if _version() >= (0, 7) else []
    return [
        shutil.which(PROGRAM) or PROGRAM,
        *become,
        *(f"--unshare-{name}" for name in ("pid", "ipc", "net", "uts", "cgroup-try")),
        "--die-with-parent", "--new-session", "--as-pid-1", "--hostname", "sandbox",
        *_visible(),
        "--ro-bind", str(INSIDE), INSIDE_THERE,
        "--proc", "/proc", "--dev", "/dev", "--ro-bind", "/dev/null", "/dev/zero",
        "--remount-ro", "/dev",
        *size, "--tmpfs", "/dev/shm", *size, "--tmpfs", "/tmp",
        "--remount-ro", "/", "--chdir", "/",
        *_interpreter(line.fileno(), user if as_root else 0),
    ]  # fmt: skip


def base_interpreter() -> str:
    """The interpreter that virtual environments are made from: its prefix holds the library."""
    base = getattr(sys, "_base_executable", "") or sys.executable
    name = f"python{sys.version_info.major}.{sys.version_info.minor}"
    found = Path(sys.base_prefix, "bin", name)
    return os.path.realpath(found if found.exists() else base)


def _exists(user: int) -> bool:
    """Whether this process's user namespace has such a user at all: a small one may not."""
    lines = Path("/proc/self/uid_map").read_text().splitlines()
    maps = (map(int, line.split()) for line in lines)
    return any(first <= user < first + count for first, _, count in maps)


def _interpreter(control: int, user: int) -> list[str]:
    code = (
        f"import sys; sys.path.insert(0, {os.path.dirname(INSIDE_THERE)!r}); "
        "from inside.zygote import main; sys.path.pop(0); "
        f"main({control}, {user})"
    )
    return [base_interpreter(), "-S", "-s", "-P", "-B", "-c", code]


def _visible() -> Iterator[str]:
    """The options that show the system's and the interpreter's files, and hide site-packages."""
    prefix = os.path.realpath(sys.base_prefix)
    own = (os.path.join(prefix, name) for name in ("bin", "lib", "lib64"))
    library = os.path.realpath(os.path.dirname(os.__file__))
    modules = os.path.realpath(sysconfig.get_config_var("DESTSHARED") or library)
    shown: list[str] = []
    for path in (*SYSTEM, *own, library, modules):
        if os.path.islink(path):
            yield from ("--symlink", os.readlink(path), path)
        elif os.path.exists(path) and not any(_is_below(top, path) for top in shown):
            shown.append(path)
            yield from _each("--dir", map(str, reversed(Path(path).parents[:-1])))
            yield from ("--ro-bind", path, path)
    for path in _packages(library, prefix):
        if _seen(path, shown):  # read-only, since it outlives a program
            yield from ("--tmpfs", path, "--remount-ro", path)


def _packages(library: str, prefix: str) -> Iterator[str]:
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    yield from (os.path.join(library, name) for name in ("site-packages", "dist-packages"))
    for top in (prefix, "/usr"):
        for name in ("python3", version):
            yield os.path.join(top, "lib", name, "dist-packages")
            yield os.path.join(top, "lib64", name, "site-packages")


def _seen(path: str, shown: list[str]) -> bool:
    return os.path.isdir(path) and any(_is_below(top, path) for top in shown)


def _is_below(top: str, path: str) -> bool:
    return os.path.commonpath([top, path]) == top


def _each(option: str, values: Iterable[str]) -> list[str]:
    return [word for value in values for word in (option, value)]


@functools.cache
def _version() -> tuple[int, int]:
    said = subprocess.run([PROGRAM, "--version"], capture_output=True, text=True, check=False)
    found = re.search(r"(\d+)\.(\d+)", said.stdout)
    return (int(found[1]), int(found[2])) if found else (0, 0)
