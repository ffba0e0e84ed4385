"""What a sandbox is proven to do on this machine: one small real program for each property.

`cotrain doctor` shows the findings. Nothing is taken from versions or settings: each program tries
what must be refused, and its failure is the proof.
"""

import socket
import tempfile
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from uuid import uuid4

from cotrain.environments.sandbox.base import Limits, Sandbox
from cotrain.environments.sandbox.pool import BubblewrapSandbox

PROBE_LIMITS = Limits(seconds=2.0, memory_bytes=2**28, output_bytes=2**16, file_bytes=2**22)
NOT_REACHED = "refused\n"


@dataclass(frozen=True, slots=True)
class Proof:
    """A property, whether a program has proven it here, and what it said where it has not."""

    name: str
    proven: bool
    said: str = ""


def prove(sandbox: BubblewrapSandbox) -> tuple[Proof, ...]:
    """Tries every property on a sandbox that was opened with `PROBE_LIMITS`.

    For an isolated sandbox alone: without isolation the programs would reach what they try.
    """
    if sandbox.kind != "bubblewrap":
        raise ValueError(f"the probes are for isolated sandboxes alone, not for {sandbox.kind}")
    with ThreadPoolExecutor(len(PROBES)) as threads:
        found = threads.map(lambda probe: _outcome(probe, sandbox), PROBES.values())
        return tuple(Proof(name, not said, said) for name, said in zip(PROBES, found, strict=True))


def _outcome(probe: Callable[[Sandbox], str], sandbox: Sandbox) -> str:
    try:
        return probe(sandbox)
    except Exception as error:  # noqa: BLE001 - whatever fails is a property that is not proven
        return f"{type(error).__name__}: {error}"


def _expect(sandbox: Sandbox, source: str, stdout: str = NOT_REACHED) -> str:
    """Empty if the program ended well and wrote this, else what it did."""
    run = sandbox.run(source, "")
    last = run.stderr.strip().rpartition("\n")[2]
    same = run.status == "finished" and run.stdout == stdout
    return "" if same else f"{run.status}: {run.stdout.strip()[:80] or last}"


def _refused(attempt: str) -> str:
    """A program that says `refused` if the attempt raises OSError."""
    body = "\n".join(f"    {line}" for line in attempt.splitlines())
    return f"import os\ntry:\n{body}\nexcept OSError: print('refused')"


def _files_outside(sandbox: Sandbox) -> str:
    with tempfile.NamedTemporaryFile() as secret:
        paths = [secret.name, str(Path.home()), str(Path(__file__)), "/etc/passwd"]
        return _expect(
            sandbox, f"import os\nprint([p for p in {paths} if os.path.isfile(p)])", "[]\n"
        )


def _system_files(sandbox: Sandbox) -> str:
    places = "('/usr/bin/x', os.path.dirname(os.__file__) + '/x', '/x', '/dev/x')"
    said = [_expect(sandbox, _refused(f"open({places}[{n}], 'w')")) for n in range(4)]
    return next((text for text in said if text), "")


def _network(sandbox: Sandbox) -> str:
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = server.getsockname()
        attempt = f"import socket\nsocket.create_connection({address}, 1)\nprint('connected')"
        return _expect(sandbox, _refused(attempt))


def _processes(sandbox: Sandbox) -> str:
    most = PROBE_LIMITS.processes
    source = (
        "import os, time\ncount = 0\n"
        f"while count < {4 * most}:\n"
        "    try: child = os.fork()\n"
        "    except OSError: break\n"
        "    if child == 0:\n        time.sleep(60)\n"
        "    count += 1\n"
        f"print('refused' if count <= {most} else count)"
    )
    return _expect(sandbox, source)


def _memory(sandbox: Sandbox) -> str:
    run = sandbox.run(f"bytearray({2 * PROBE_LIMITS.memory_bytes})", "")
    return "" if run.status == "memory" else run.status


def _disk(sandbox: Sandbox) -> str:
    size = PROBE_LIMITS.file_bytes
    attempt = (
        f"for n in range(4):\n    open(str(n), 'wb').write(bytes({size // 2}))\nprint('written')"
    )
    return _expect(sandbox, _refused(attempt))


def _output(sandbox: Sandbox) -> str:
    run = sandbox.run("while True: print('x' * 999)", "")
    return "" if run.status == "output" else run.status


def _time(sandbox: Sandbox) -> str:
    source = "import signal\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\nwhile True: pass"
    run = sandbox.run(source, "")
    return "" if run.status == "timeout" else run.status


def _own_sessions(sandbox: Sandbox) -> str:
    mark = f"cotrain-{uuid4()}"
    source = (
        "import subprocess, sys\nsubprocess.Popen([sys.executable, '-c', "
        f"'import time; time.sleep(60)', {mark!r}], start_new_session=True)\nprint('refused')"
    )
    return _expect(sandbox, source) or ("still running" if _is_running(mark) else "")


def _is_running(mark: str) -> bool:
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            if mark.encode() in path.read_bytes():
                return True
    return False


def _other_processes(sandbox: Sandbox) -> str:
    source = (
        "import os, signal\nreached = []\n"
        "others = [p for p in os.listdir('/proc') if p.isdigit() and int(p) != os.getpid()]\n"
        "for process in others:\n"
        "    for name in ('mem', 'environ', 'maps'):\n"
        "        try:\n"
        "            with open(f'/proc/{process}/{name}', 'rb') as file: file.read(1)\n"
        "            reached.append((process, name))\n"
        "        except OSError: pass\n"
        "os.kill(1, signal.SIGKILL)\n"
        "print(reached or 'refused', len(others) < 4)"
    )
    return _expect(sandbox, source, "refused True\n")


def _rights(sandbox: Sandbox) -> str:
    source = (
        "import ctypes, os\nlibc = ctypes.CDLL(None)\n"
        "gained = [f for f in (0x20000, 0x40000000) if libc.unshare(f) == 0]\n"
        "status = dict(l.split(':', 1) for l in open('/proc/self/status'))\n"
        "print(os.getuid() == 0, gained, int(status['CapEff'], 16), status['NoNewPrivs'].strip())"
    )
    return _expect(sandbox, source, "False [] 0 1\n")


def _leftovers(sandbox: Sandbox) -> str:
    source = (
        "import ctypes, os\nfound = []\n"
        "for folder in ('/tmp', '/dev/shm'):\n"
        "    found += [n for n in os.listdir(folder) if n != 'main.py']\n"
        "    open(folder + '/leftover', 'w').close()\n"
        "if ctypes.CDLL(None).shmget(4711, 64, 0o600) >= 0: found.append('segment')\n"
        "ctypes.CDLL(None).shmget(4711, 64, 0o1600)\nprint(found)"
    )
    said = [_expect(sandbox, source, "[]\n") for _ in range(4)]
    return next((text for text in said if text), "")


PROBES: Mapping[str, Callable[[Sandbox], str]] = MappingProxyType(
    {
        "files outside are not there": _files_outside,
        "files of the system are read-only": _system_files,
        "the network is not there": _network,
        "processes are refused at the limit": _processes,
        "memory is refused at the limit": _memory,
        "files are refused at the limit": _disk,
        "output is cut at the limit": _output,
        "time is cut at the limit": _time,
        "processes of its own session end": _own_sessions,
        "other processes are out of reach": _other_processes,
        "no rights can be gained": _rights,
        "nothing is left for the next program": _leftovers,
    }
)
"""The properties by name; each probe says what was wrong, or nothing."""
