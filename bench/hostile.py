"""Programs that try to harm the machine, the grader or the next program, and what each may reach.

Each prints `BROKE OUT` where it got what it wanted. `bench/sandbox.py --soak` and the tests run
them by the hundred. Only ever run them in isolation: they do what they say.
"""

import os
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from dataclasses import dataclass
from itertools import cycle, islice
from pathlib import Path

from cotrain.environments.sandbox import Limits
from cotrain.environments.sandbox.bubblewrap import FIRST_USER, NUM_USERS
from cotrain.environments.sandbox.pool import BubblewrapSandbox

FORK_BOMB = """
import os
while True:
    try: os.fork()
    except OSError: pass
"""
THREAD_BOMB = """
import threading, time
started = []
try:
    while True:
        started.append(threading.Thread(target=time.sleep, args=(60,), daemon=True))
        started[-1].start()
except RuntimeError:
    print(len(started))
"""
MEMORY_HOG = "held = []\nwhile True: held.append(bytearray(2**24))\n"
MEMORY_HOG_OF_MANY = """
import os, time
for _ in range(12):
    if os.fork() == 0:
        held = bytearray(b"x") * (180 * 2**20)
        time.sleep(60)
time.sleep(60)
"""
ENDLESS_OUTPUT = "import os\nwhile True: os.write(1, b'y' * 65536)\n"
ENDLESS_ERRORS = "import os\nwhile True: os.write(2, b'y' * 65536)\n"
OWN_SESSION = """
import subprocess, sys
subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)", "own-session"],
                 start_new_session=True)
print("left")
"""
DOUBLE_FORK = """
import os, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        time.sleep(600)
    os._exit(0)
while True: pass
"""
IGNORES_SIGNALS = """
import signal
for number in range(1, 65):
    try: signal.signal(number, signal.SIG_IGN)
    except (OSError, ValueError): pass
while True: pass
"""
WRITES_FILES = """
import os
for path in ("/usr/bin/x", "/usr/lib/x", "/etc/x", "/x", "/root/x", "/home/x", "/var/x", "/dev/x",
             "/sandbox/x", os.path.dirname(os.__file__) + "/x.py", "/proc/sys/kernel/hostname"):
    try:
        with open(path, "w") as file: file.write("x")
        print("BROKE OUT", path)
    except OSError: pass
"""
LEAVES_FILES = """
import os
for folder in ("/tmp", "/dev/shm"):
    if os.listdir(folder) not in ([], ["main.py"]): print("BROKE OUT", os.listdir(folder))
    with open(folder + "/leftover", "w") as file: file.write("x")
"""
READS_FILES = """
import os
for folder in ("/root", "/home", "/work", "/etc", "/var", "/boot", "/sys", "/mnt", "/srv", "/opt"):
    for top, _, files in os.walk(folder):
        for name in files:
            path = os.path.join(top, name)
            if "/python3" not in path and "/lib/" not in path and "/bin/" not in path \\
                    and path != "/etc/ld.so.cache":
                print("BROKE OUT", path)
"""
USES_NETWORK = """
import socket
for family, address in ((socket.AF_INET, ("1.1.1.1", 53)), (socket.AF_INET, ("127.0.0.1", 22)),
                        (socket.AF_INET6, ("::1", 22))):
    for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
        try:
            connection = socket.socket(family, kind)
            connection.connect(address)
            if kind == socket.SOCK_STREAM: print("BROKE OUT", address)
        except OSError: pass
with open("/proc/net/dev") as file:
    names = [line.split(":")[0].strip() for line in file if ":" in line]
if names != ["lo"]: print("BROKE OUT", names)
"""
READS_PROCESSES = """
import os
for process in (name for name in os.listdir("/proc") if name.isdigit()):
    if int(process) == os.getpid(): continue
    for name in ("mem", "environ", "maps", "root", "cwd", "fd", "exe"):
        path = f"/proc/{process}/{name}"
        try:
            found = os.listdir(path) if name == "fd" else (
                os.readlink(path) if name in ("root", "cwd", "exe") else open(path, "rb").read(64))
            print("BROKE OUT", path, found)
        except OSError: pass
"""
KILLS_EVERYTHING = """
import os, signal
for target in (1, 0, -1, os.getppid()):
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGSTOP, signal.SIGKILL):
        try:
            if target != 0 or number == signal.SIGINT: signal.signal(signal.SIGINT, signal.SIG_IGN)
            if target: os.kill(target, number)
        except OSError: pass
print("still here")
"""
TRACES = """
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
for target in (1, os.getppid()):
    if libc.ptrace(16, target, 0, 0) == 0: print("BROKE OUT", target)
"""
CLOSES_EVERYTHING = "import os\nos.closerange(0, 4096)\nwhile True: pass\n"
WRITES_TO_EVERY_DESCRIPTOR = """
import os
for descriptor in range(3, 4096):
    try:
        os.write(descriptor, b"=true")
        print("BROKE OUT", descriptor)
    except OSError: pass
"""
DELETES_ITS_FOLDER = """
import os, shutil
shutil.rmtree("/tmp", ignore_errors=True)
try:
    os.rmdir(os.getcwd())
except OSError: pass
os.chdir("/")
"""
FILLS_ITS_FOLDER = """
import os
number = 0
try:
    while True:
        with open(f"/tmp/{number}", "wb") as file: file.write(bytes(2**20))
        number += 1
except OSError:
    print("full" if number <= 128 else "BROKE OUT")
"""
MANY_FILES = """
number = 0
try:
    while True:
        open(f"/tmp/f{number}", "w").close()
        number += 1
except OSError:
    print("full")
"""
BIG_FILE = "with open('/tmp/big', 'wb') as file:\n    while True: file.write(bytes(2**20))\n"
ABSTRACT_SOCKET = """
import socket
listener = socket.socket(socket.AF_UNIX)
listener.bind("\\0leftover")
listener.listen()
"""
SHARED_SEGMENT = """
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
if libc.shmget(4711, 4096, 0o600) >= 0: print("BROKE OUT")
if libc.msgget(4711, 0o600) >= 0: print("BROKE OUT")
assert libc.shmget(4711, 4096, 0o1600) >= 0
assert libc.msgget(4711, 0o1600) >= 0
"""
GAINS_RIGHTS = """
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
for flags in (0x10000000, 0x10000000 | 0x20000, 0x20000, 0x20000000, 0x40000000):
    if libc.unshare(flags) == 0: print("BROKE OUT", hex(flags))
for call in (lambda: os.setuid(0), lambda: os.chroot("/"), lambda: os.setgroups([0])):
    try:
        call()
        print("BROKE OUT")
    except OSError: pass
if libc.umount2(b"/tmp", 2) == 0: print("BROKE OUT")
if libc.mount(b"x", b"/tmp", b"tmpfs", 0, b"") == 0: print("BROKE OUT")
if os.getuid() == 0: print("BROKE OUT")
"""
CHANGES_MODULES = """
import sys, builtins, json
if getattr(sys, "leftover", None) or hasattr(json, "leftover"): print("BROKE OUT")
sys.leftover = json.leftover = True
builtins.print = lambda *words: None
json.loads = json.dumps = None
sys.modules.clear()
"""
SEARCHES_MEMORY = """
import re
needle = b"SECRET" + b"-OF-ANOTHER-PROGRAM"
with open("/proc/self/maps") as maps, open("/proc/self/mem", "rb", 0) as memory:
    for line in maps:
        area = re.match(r"([0-9a-f]+)-([0-9a-f]+) rw", line)
        if not area or "vvar" in line: continue
        memory.seek(int(area[1], 16))
        found = memory.read(int(area[2], 16) - int(area[1], 16))
        place = found.find(needle)
        while place >= 0:
            if found[place - 1:place] == b"#": print("BROKE OUT")
            place = found.find(needle, place + 1)
"""
CARRIES_A_SECRET = "x = 1 #SECRET-OF-ANOTHER-PROGRAM\nprint(input())\n"
ENDS_HARD = "import os\nos._exit(0)\n"
CRASHES = "import ctypes\nctypes.string_at(0)\n"
STOPS_ITSELF = "import os, signal\nos.kill(os.getpid(), signal.SIGSTOP)\n"
DEEP_RECURSION = """
import sys
sys.setrecursionlimit(10**9)
def deeper(): return [deeper()]
deeper()
"""
HUGE_ERROR = "raise ValueError('x' * 10**8)\n"

HOSTILE = {
    name.lower(): source
    for name, source in list(globals().items())
    if name.isupper() and isinstance(source, str)
}
"""The programs by name."""

LEFT_BEHIND = ("leftover", "big", "f0", "own-session")
SOAK_LIMITS = Limits(seconds=1.0, memory_bytes=2**27, file_bytes=2**22)


@dataclass(frozen=True)
class Soak:
    """What hostile programs did, and what was left of them when the sandbox had been closed.

    `grown_bytes` is what this process holds more at the end than halfway.
    """

    statuses: Counter[str]
    broke_out: list[str]
    survivors: list[str]
    zombies: list[str]
    files_left: list[str]
    descriptors_left: int
    grown_bytes: int
    seconds: float

    def as_text(self) -> str:
        """The figures, a line each."""
        names = ("broke_out", "survivors", "zombies", "files_left")
        lists = [f"{name:17}{len(getattr(self, name))} {getattr(self, name)[:3]}" for name in names]
        return "\n".join(
            [
                f"{'programs':17}{self.statuses.total()} in {self.seconds:.0f} s: "
                + ", ".join(f"{count} {status}" for status, count in self.statuses.items()),
                *lists,
                f"{'descriptors_left':17}{self.descriptors_left}",
                f"{'grown_bytes':17}{self.grown_bytes}",
            ]
        )


def soak(programs: int, workers: int) -> Soak:
    """Runs this many hostile programs, every kind in turn, and looks at what is left."""
    began, users = time.monotonic(), _users(workers)
    processes, descriptors = set(_processes()), _num_descriptors()
    names = list(islice(cycle(HOSTILE), programs))
    sandbox = BubblewrapSandbox(workers, SOAK_LIMITS)
    with ThreadPoolExecutor(workers) as threads, closing(sandbox):

        def one(name: str) -> tuple[str, str]:
            run = sandbox.run(HOSTILE[name], "#SECRET-OF-ANOTHER-PROGRAM\n")
            return run.status, name if "BROKE OUT" in run.stdout + run.stderr else ""

        first = list(threads.map(one, names[: programs // 2]))
        held = _resident_bytes()
        runs = first + list(threads.map(one, names[programs // 2 :]))
        grown = _resident_bytes() - held
    new = {line: path for path, line in _processes().items() if path not in processes}
    return Soak(
        statuses=Counter(status for status, _ in runs),
        broke_out=[name for _, name in runs if name],
        survivors=[line for line, path in new.items() if _is_ours(line, path, users)],
        zombies=[str(path) for path in _processes() if _is_zombie_child(path)],
        files_left=[*_files_left(), *_segments_left()],
        descriptors_left=_num_descriptors() - descriptors,
        grown_bytes=grown,
        seconds=time.monotonic() - began,
    )


def _users(workers: int) -> set[int]:
    """The users that programs ran as, where that says whose they are."""
    numbers = {FIRST_USER + (os.getpid() + place) % NUM_USERS for place in range(2 * workers)}
    return numbers if os.geteuid() == 0 else set()


def _processes() -> dict[Path, str]:
    found: dict[Path, str] = {}
    for path in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            found[path] = (path / "cmdline").read_bytes().replace(b"\0", b" ").decode()
    return found


def _is_ours(line: str, path: Path, users: set[int]) -> bool:
    """Whether a new process is a program's, by its user where that is known, else by its words."""
    with suppress(OSError):
        return path.stat().st_uid in users if users else "own-session" in line
    return False


def _is_zombie_child(path: Path) -> bool:
    with suppress(OSError):
        state, parent = (path / "stat").read_text().rpartition(")")[2].split()[:2]
        return state == "Z" and int(parent) == os.getpid()
    return False


def _files_left() -> Iterator[str]:
    for folder in ("/tmp", "/dev/shm", "/"):
        yield from (f"{folder}/{name}" for name in LEFT_BEHIND if Path(folder, name).exists())


def _segments_left() -> list[str]:
    lines = Path("/proc/sysvipc/shm").read_text().splitlines()[1:]
    return [line for line in lines if line.split()[0] == "4711"]


def _num_descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


def _resident_bytes() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
