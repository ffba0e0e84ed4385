"""What a program cannot do, whether it gets namespaces of its own or a whole sandbox."""

import os
import platform
import socket
import struct
import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from bench.hostile import HOSTILE
from tests.environments.sandbox.opened import needs_bubblewrap, processes_with, zombies

from cotrain.environments.sandbox import Limits, Run
from cotrain.environments.sandbox.bubblewrap import command, start
from cotrain.environments.sandbox.pool import BubblewrapSandbox

pytestmark = needs_bubblewrap

LIMITS = Limits(seconds=0.7, file_bytes=2**22, processes=16)
PATIENT = Limits(seconds=20, file_bytes=2**22, processes=16)
NEW_USER = 0x10000000
CLONE, UNSHARE = (56, 272) if platform.machine() == "x86_64" else (220, 97)
REFUSE_NESTING = b"".join(
    struct.pack("HBBI", *instruction)
    for instruction in (
        (0x20, 0, 0, 0),  # the number of the call
        (0x15, 3, 0, UNSHARE),
        (0x15, 0, 3, CLONE),
        (0x20, 0, 0, 16),  # its flags
        (0x45, 0, 1, NEW_USER),
        (0x06, 0, 0, 0x00050001),  # refused: not permitted
        (0x06, 0, 0, 0x7FFF0000),  # allowed
    )
)
"""A filter as containers have it, which lets a process make no user namespace."""


def launch_without_nesting(slot: int, line: socket.socket, limits: Limits):
    with tempfile.TemporaryFile() as file:
        file.write(REFUSE_NESTING)
        file.seek(0)
        program, *words = command(slot, line, limits)
        filtered = [program, "--seccomp", str(file.fileno()), *words]
        return start(filtered, line.fileno(), file.fileno())


WAYS = {"nested": None, "whole": launch_without_nesting}


@pytest.fixture(scope="module", params=WAYS)
def sandbox(request: pytest.FixtureRequest) -> Iterator[BubblewrapSandbox]:
    chosen = {"launch": WAYS[request.param]} if WAYS[request.param] else {}
    with closing(BubblewrapSandbox(1, PATIENT, **chosen)) as found:
        assert bool(found.nested_refusal) == (request.param == "whole")
        yield found


HARMLESS = sorted(
    HOSTILE.keys()
    - {"fork_bomb", "memory_hog", "memory_hog_of_many", "endless_output", "endless_errors"}
    - {"double_fork", "ignores_signals", "closes_everything", "stops_itself", "deep_recursion"}
    - {"huge_error", "many_files"}
)
"""Those that end by themselves."""


@pytest.mark.parametrize("name", HARMLESS)
def test_a_hostile_program_gets_nothing(sandbox: BubblewrapSandbox, name: str) -> None:
    run = sandbox.run(HOSTILE[name], "")
    assert run.status in ("finished", "failed")
    assert "BROKE OUT" not in run.stdout + run.stderr
    assert sandbox.run("print(1)", "") == Run("finished", "1\n", "", 0)


def test_files_of_this_machine_are_not_there(sandbox: BubblewrapSandbox, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("x")
    for path in (
        secret,
        Path(__file__),
        Path.home() / ".bashrc",
        Path("/etc/passwd"),
        Path("/run"),
    ):
        assert (
            sandbox.run(f"import os; print(os.path.exists({str(path)!r}))", "").stdout == "False\n"
        )


def test_packages_are_not_there(sandbox: BubblewrapSandbox) -> None:
    source = "import os\nfor name in ('pydantic', 'numpy', 'pip', 'cotrain'):\n    try: __import__"
    source += "(name)\n    except ImportError: continue\n    print(name)"
    assert sandbox.run(source, "").stdout == ""
    child = (
        "import subprocess, sys; subprocess.run([sys.executable, '-c', 'import pip'], check=True)"
    )
    assert sandbox.run(child, "").status == "failed"


def test_the_network_of_this_machine_is_not_there(sandbox: BubblewrapSandbox) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        source = f"import socket; socket.create_connection(('127.0.0.1', {port}), 1)"
        run = sandbox.run(source, "")
    assert run.status == "failed"
    assert "refused" in run.stderr


UNCOUNTED = {
    "anonymous files": "import os\nos.memfd_create('x')",
    "shared mappings": "import mmap\nmmap.mmap(-1, 4096)",
    "mappings of zeros": ("import mmap, os\nmmap.mmap(os.open('/dev/zero', os.O_RDWR), 4096)"),
    "segments": (
        "import ctypes\nif ctypes.CDLL(None).shmget(0, 4096, 0o1600) < 0: raise OSError('no')"
    ),
    "keys": (
        "import ctypes, platform\nnumber = 248 if platform.machine() == 'x86_64' else 217\n"
        "key = ctypes.CDLL(None).syscall(number, b'user', b'left', b'x', 1, -3)\n"
        "if key < 0: raise OSError('no')"
    ),
}


@pytest.mark.parametrize("name", UNCOUNTED)
def test_memory_that_nobody_counts_is_refused(sandbox: BubblewrapSandbox, name: str) -> None:
    run = sandbox.run(UNCOUNTED[name], "")
    assert run.status == "failed"
    assert "Error" in run.stderr


FORKS = """
import os, time
count = 0
try:
    while count < 1000:
        if os.fork() == 0:
            time.sleep(60)
            os._exit(0)
        count += 1
except BlockingIOError:
    print(count)
"""


def test_processes_are_refused_at_the_limit(sandbox: BubblewrapSandbox) -> None:
    run = sandbox.run(FORKS, "")
    assert run.status == "finished"
    assert 8 <= int(run.stdout) <= PATIENT.processes


def test_a_program_has_no_rights(sandbox: BubblewrapSandbox) -> None:
    source = "import os\nprint(os.getuid(), os.getgid())\nfor line in open('/proc/self/status'):\n"
    source += "    name, value = line.split(':')\n"
    source += "    if name in ('CapPrm', 'CapEff', 'CapInh', 'CapAmb'): print(int(value, 16))\n"
    source += "    if name == 'NoNewPrivs': print(value.strip())"
    user, *others = sandbox.run(source, "").stdout.splitlines()
    assert "0" not in user.split()
    assert str(os.getuid()) not in user.split()
    assert others == ["0", "0", "0", "0", "1"]


@pytest.fixture(scope="module", params=WAYS)
def impatient(request: pytest.FixtureRequest) -> Iterator[BubblewrapSandbox]:
    chosen = {"launch": WAYS[request.param]} if WAYS[request.param] else {}
    with closing(BubblewrapSandbox(1, LIMITS, **chosen)) as found:
        yield found


@pytest.mark.parametrize("name", ["fork_bomb", "double_fork", "closes_everything", "stops_itself"])
def test_everything_ends_at_the_time_limit(impatient: BubblewrapSandbox, name: str) -> None:
    mark = f"mark-{name}"
    sleep = f"[sys.executable, '-c', 'import time; time.sleep(600)', '{mark}']"
    spawn = f"import subprocess, sys\nsubprocess.Popen({sleep})\n"
    assert impatient.run(spawn + HOSTILE[name], "") == Run("timeout")
    assert zombies() == []
    assert processes_with(mark) == []


def test_a_session_of_its_own_ends_with_the_program(sandbox: BubblewrapSandbox) -> None:
    assert sandbox.run(HOSTILE["own_session"], "").stdout == "left\n"
    assert processes_with("own-session") == []


@pytest.mark.parametrize("hides", ["", "import ctypes; ctypes.CDLL(None).prctl(4, 0, 0, 0, 0)\n"])
def test_memory_is_limited_for_all_processes_of_a_program_together(hides: str) -> None:
    limits = Limits(seconds=20, memory_bytes=2**27)
    source = hides + HOSTILE["memory_hog_of_many"].replace("180", "50")
    with closing(BubblewrapSandbox(1, limits)) as small:
        assert small.run(source, "") == Run("memory")
        assert small.run("print(1)", "").stdout == "1\n"
