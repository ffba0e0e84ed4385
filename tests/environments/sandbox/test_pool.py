"""The pool: losses are made good, threads and processes may use it, and it ends with its owner."""

import asyncio
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from dataclasses import replace
from pathlib import Path

import pytest
from tests.environments.sandbox.opened import (
    isolated,
    needs_bubblewrap,
    opened,
    processes_with,
    zombies,
)

from cotrain.config.faults import ConfigurationError
from cotrain.environments.sandbox import (
    Limits,
    Run,
    SandboxUnavailableError,
    open_sandbox,
    refuse_unavailable,
)
from cotrain.environments.sandbox.bubblewrap import launch, start
from cotrain.environments.sandbox.pool import BubblewrapSandbox

LIMITS = Limits(seconds=20)
DOUBLE = "print(2 * int(input()))"


def children_of(process: int | str) -> set[int]:
    """Those that run now; one that has just ended is none."""
    found: set[int] = set()
    for path in Path(f"/proc/{process}/task").glob("*/children"):
        with suppress(OSError):
            found |= {int(child) for child in path.read_text().split()}
    return found


def sandbox_processes() -> set[int]:
    """The processes of bubblewrap that this process started."""
    return {child for child in children_of("self") if children_of(child)}


def warm_interpreters() -> set[int]:
    """The processes that bubblewrap started for this process."""
    return {inner for child in children_of("self") for inner in children_of(child)}


@needs_bubblewrap
def test_as_many_programs_run_at_once_as_there_are_workers() -> None:
    with isolated(LIMITS, workers=3) as sandbox, ThreadPoolExecutor(9) as threads:
        source = "import time; time.sleep(0.3); print(input())"
        began = time.monotonic()
        runs = list(threads.map(lambda n: sandbox.run(source, str(n)), range(6)))
        took = time.monotonic() - began
        assert [run.stdout for run in runs] == [f"{n}\n" for n in range(6)]
        assert took >= 0.6
        assert len(sandbox_processes()) == 3


@needs_bubblewrap
def test_a_sandbox_outlives_the_thread_that_had_it_started() -> None:
    with isolated(LIMITS) as sandbox:
        before = sandbox_processes()
        for number in range(3):
            thread = threading.Thread(target=sandbox.run, args=(DOUBLE, str(number)))
            thread.start()
            thread.join()
        assert sandbox.run(DOUBLE, "4").stdout == "8\n"
        assert sandbox_processes() == before


@needs_bubblewrap
def test_asynchronous_code_can_use_it() -> None:
    async def several() -> list[Run]:
        calls = (asyncio.to_thread(sandbox.run, DOUBLE, str(n)) for n in range(4))
        return list(await asyncio.gather(*calls))

    with isolated(LIMITS, workers=2) as sandbox:
        assert [run.stdout for run in asyncio.run(several())] == ["0\n", "2\n", "4\n", "6\n"]


@needs_bubblewrap
def test_a_sandbox_that_was_killed_is_replaced() -> None:
    with isolated(LIMITS) as sandbox:
        for _ in range(2):
            (process,) = warm_interpreters()
            os.kill(process, signal.SIGKILL)
            assert sandbox.run(DOUBLE, "4") == Run("finished", "8\n", "", 0)
        assert zombies() == []


@needs_bubblewrap
def test_a_sandbox_that_is_killed_meanwhile_is_tried_once_more() -> None:
    with isolated(LIMITS) as sandbox, ThreadPoolExecutor(1) as threads:
        source = "import time; time.sleep(0.5); print(1)"
        running = threads.submit(sandbox.run, source, "")
        (process,) = warm_interpreters()
        time.sleep(0.2)
        os.kill(process, signal.SIGKILL)
        assert running.result() == Run("finished", "1\n", "", 0)
        check = threads.submit(sandbox.check, "def f(): return 1", "f", "", SLOW_CHECK)
        time.sleep(0.3)
        for process in warm_interpreters():
            os.kill(process, signal.SIGKILL)
        assert check.result().passed


SLOW_CHECK = "import time\ndef check(c):\n    time.sleep(0.5)\n    assert c() == 1"


@needs_bubblewrap
def test_a_program_that_costs_two_sandboxes_has_failed_and_the_next_one_runs() -> None:
    patient = replace(LIMITS, seconds=60)
    with isolated(patient) as sandbox, ThreadPoolExecutor(1) as threads:
        running = threads.submit(sandbox.run, "while True: pass", "")
        killed: set[int] = set()
        while len(killed) < 2 and not running.done():
            for process in warm_interpreters() - killed:
                time.sleep(0.3)
                os.kill(process, signal.SIGKILL)
                killed.add(process)
        run = running.result()
        assert run.status == "failed"
        assert "ended twice" in run.stderr
        assert sandbox.run(DOUBLE, "4").stdout == "8\n"


@needs_bubblewrap
def test_a_forked_process_starts_its_own_and_leaves_those_of_its_parent_alone() -> None:
    with isolated(LIMITS) as sandbox:
        before = sandbox_processes()
        child = os.fork()
        if child == 0:
            right = sandbox.run(DOUBLE, "4").stdout == "8\n"
            sandbox.close()
            os._exit(0 if right else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert sandbox.run(DOUBLE, "5").stdout == "10\n"
        assert sandbox_processes() == before


OWNER = """
from cotrain.environments.sandbox import Limits, open_sandbox
sandbox = open_sandbox("bubblewrap", 1, Limits(seconds=60))
print(sandbox.run("print(1)", "").stdout, flush=True)
sandbox.run('''
import subprocess, sys
subprocess.run([sys.executable, "-c", "import time; time.sleep(600)", "MARK"])
''', "")
"""


@needs_bubblewrap
def test_everything_ends_when_the_owner_is_killed() -> None:
    mark = f"owner-{os.getpid()}"
    words = [sys.executable, "-c", OWNER.replace("MARK", mark)]
    with subprocess.Popen(words, stdout=subprocess.PIPE) as owner:
        assert owner.stdout is not None
        assert owner.stdout.readline() == b"1\n"
        wait_until(lambda: len(processes_with(mark)) == 2)
        owner.kill()
    wait_until(lambda: processes_with(mark) == [])


def wait_until(holds) -> None:
    deadline = time.monotonic() + 10
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.01)


@needs_bubblewrap
def test_closing_leaves_nothing_and_says_so_to_whoever_comes_later() -> None:
    before = set(os.listdir("/proc/self/fd"))
    with isolated(LIMITS, workers=2) as sandbox:
        assert sandbox.check("def f(): return 1", "f", "", SLOW_CHECK).passed
    assert sandbox_processes() == set()
    assert zombies() == []
    assert set(os.listdir("/proc/self/fd")) == before
    with pytest.raises(RuntimeError, match="the sandbox is closed"):
        sandbox.run(DOUBLE, "4")


@needs_bubblewrap
def test_without_bubblewrap_it_is_refused_with_what_to_install(tmp_path: Path) -> None:
    code = (
        "from cotrain.environments.sandbox import *\n"
        "for ask in (lambda: refuse_unavailable('bubblewrap'),\n"
        "            lambda: open_sandbox('bubblewrap', 1, Limits())):\n"
        "    try: ask()\n"
        "    except SandboxUnavailableError as error: print(error)\n"
    )
    said = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    ).stdout.splitlines()
    assert len(said) == 2
    for line in said:
        assert "install the package bubblewrap" in line
        assert 'sandbox.kind = "unsafe-subprocess"' in line


class Once:
    """Starts a sandbox once, then as on a machine from which bubblewrap has been removed."""

    def __init__(self) -> None:
        self.started = False

    def __call__(self, slot: int, line: socket.socket, limits: Limits) -> "subprocess.Popen[bytes]":
        if self.started:
            raise SandboxUnavailableError("bubblewrap is not installed")
        self.started = True
        return launch(slot, line, limits)


@needs_bubblewrap
def test_bubblewrap_that_vanishes_meanwhile_stops_the_run() -> None:
    with closing(BubblewrapSandbox(1, LIMITS, Once())) as sandbox:
        assert sandbox.run(DOUBLE, "4").stdout == "8\n"
        (process,) = warm_interpreters()
        os.kill(process, signal.SIGKILL)
        with pytest.raises(SandboxUnavailableError, match="not installed"):
            sandbox.run(DOUBLE, "4")


def test_bubblewrap_that_cannot_start_is_refused_with_its_own_words() -> None:
    def launch_in_vain(slot: int, line: socket.socket, limits: Limits) -> "subprocess.Popen[bytes]":
        return start(["/bin/sh", "-c", "echo bwrap: no permission >&2; exit 1"], line.fileno())

    with pytest.raises(SandboxUnavailableError) as caught:
        BubblewrapSandbox(1, LIMITS, launch_in_vain)
    assert str(caught.value).startswith("bubblewrap does not start here: bwrap: no permission; ")
    assert zombies() == []


@needs_bubblewrap
def test_a_sandbox_that_hangs_is_ended_when_it_is_closed() -> None:
    with isolated(LIMITS) as sandbox:
        assert sandbox.run(DOUBLE, "4").stdout == "8\n"
        (process,) = warm_interpreters()
        os.kill(process, signal.SIGSTOP)
        assert len(sandbox_processes()) == 1
    assert sandbox_processes() == set()
    assert not Path(f"/proc/{process}").exists()
    assert zombies() == []


def test_the_unsafe_kind_warns_once_and_is_never_refused() -> None:
    refuse_unavailable("unsafe-subprocess")
    with pytest.warns(UserWarning, match="run with all rights of this user") as warned:
        open_sandbox("unsafe-subprocess", 1, Limits()).close()
    assert len(warned) == 1


def test_the_unsafe_kind_leaves_no_folder_descriptor_or_zombie(tmp_path: Path) -> None:
    before = set(os.listdir("/proc/self/fd"))
    with opened("unsafe-subprocess", Limits(seconds=3)) as sandbox:
        folder = sandbox.run("import os; print(os.getcwd())", "").stdout.strip()
        assert sandbox.run("while True: pass", "") == Run("timeout")
    assert not Path(folder).exists()
    assert zombies() == []
    assert set(os.listdir("/proc/self/fd")) == before


def test_limits_too_small_for_an_interpreter_are_refused() -> None:
    with pytest.raises(ConfigurationError, match=r"sandbox\.memory_bytes = 1"):
        Limits(memory_bytes=1)
    assert issubclass(SandboxUnavailableError, RuntimeError)


@pytest.mark.parametrize(
    ("limit", "value"), [("memory_bytes", 2**63), ("seconds", 1e9), ("seconds", float("nan"))]
)
def test_limits_that_the_system_cannot_keep_are_refused(limit: str, value: float) -> None:
    with pytest.raises(ConfigurationError, match=rf"sandbox\.{limit} = "):
        Limits(**{limit: value})


def test_a_sandbox_that_ends_while_it_starts_is_started_once_more_and_no_more() -> None:
    started = []

    def ended_first(slot: int, line: socket.socket, limits: Limits):
        started.append(slot)
        return launch(slot, line, limits) if len(started) > 1 else start(["true"])

    with closing(BubblewrapSandbox(1, Limits(), ended_first)) as sandbox:
        assert sandbox.run("print(1)", "").stdout == "1\n"
    assert len(started) == 2
    with pytest.raises(SandboxUnavailableError, match="does not start here"):
        BubblewrapSandbox(1, Limits(), lambda *_: start(["true"]))


def test_an_interrupt_at_the_terminal_does_not_reach_the_sandboxes() -> None:
    with isolated(Limits()):
        groups = {os.getpgid(process) for process in children_of(os.getpid())}
    assert groups
    assert os.getpgrp() not in groups


AS_ANOTHER_USER = """
import os
from cotrain.environments.sandbox import Limits, open_sandbox
sandbox = open_sandbox("bubblewrap", 1, Limits())
writes = (
    "import os\\nfor folder, _, _ in os.walk('/'):\\n"
    "    if folder.startswith(('/proc', '/tmp', '/dev')): continue\\n"
    "    try: open(folder + '/left', 'w').close()\\n"
    "    except OSError: continue\\n"
    "    print(folder)"
)
print(os.getuid(), [sandbox.run(writes, "").stdout])
sandbox.close()
"""


@pytest.mark.skipif(
    os.geteuid() != 0 or shutil.which("setpriv") is None, reason="becoming another user needs root"
)
def test_a_program_of_an_ordinary_user_can_write_nowhere_but_in_its_own_folders() -> None:
    done = subprocess.run(
        [
            "setpriv",
            "--reuid=65534",
            "--regid=65534",
            "--clear-groups",
            sys.executable,
            "-B",
            "-c",
            AS_ANOTHER_USER,
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    if "SandboxUnavailableError" in done.stderr or "Permission denied" in done.stderr:
        pytest.skip("an ordinary user can open no sandbox here")
    assert done.stdout == "65534 ['']\n", done.stderr
