"""Programs that try to harm the machine, the grader or the next program, and what each may reach.

Each prints `BROKE OUT` where it got what it wanted. `bench/sandbox.py --soak` and the tests run
them by the hundred. Only ever run them in isolation: they do what they say.
"""

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
FILLS_ITS_OUTPUTS = """
import os
for descriptor in (1, 2):
    left = 2**20
    while left: left -= os.write(descriptor, b"\\xff" * min(left, 65536))
"""
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
