"""Programs run as in a plain interpreter, in both kinds of sandbox."""

import subprocess
import sys
import time
from collections.abc import Iterator

import pytest
from tests.environments.sandbox.opened import KINDS, opened, processes_with

from cotrain.environments.sandbox import Limits, Run, Sandbox


@pytest.fixture(scope="module", params=KINDS)
def sandbox(request: pytest.FixtureRequest) -> Iterator[Sandbox]:
    with opened(request.param, Limits(seconds=20, output_bytes=2**16)) as found:
        yield found


@pytest.fixture(scope="module", params=KINDS)
def impatient(request: pytest.FixtureRequest) -> Iterator[Sandbox]:
    with opened(request.param, Limits(seconds=0.7)) as found:
        yield found


ANSWERS = {
    "bytes of stdin": (
        "import sys\nd = sys.stdin.buffer.read().split()\nprint(sum(map(int, d[1:])))",
        "3\n10 20 30\n",
        "60\n",
    ),
    "input and sys.stdin share one position": (
        "import sys\nn = int(input())\nprint(n, sys.stdin.readline().split(), input())",
        "2\n1 2\n3 4\n",
        "2 ['1', '2'] 3 4\n",
    ),
    "two reads of the buffer share one position": (
        "import sys\na = sys.stdin.buffer.readline()\nprint(a, sys.stdin.buffer.readlines())",
        "7\na\nb\n",
        "b'7\\n' [b'a\\n', b'b\\n']\n",
    ),
    "stdin is iterated, its last line unfinished": (
        "import sys\nprint(max(int(line) for line in sys.stdin))",
        "4\n9\n2",
        "9\n",
    ),
    "a guarded main": (
        "def main(): print(6 * int(input()))\nif __name__ == '__main__': main()",
        "7\n",
        "42\n",
    ),
    "the devices of the streams": (
        "print(open('/dev/stdin').read(), file=open('/dev/stdout', 'w'))",
        "4 5 6\n",
        "4 5 6\n\n",
    ),
    "a byte order mark": ("\ufeffprint(1)", "", "1\n"),
    "open(0)": ("print(sum(map(int, open(0).read().split())))", "4 5 6\n", "15\n"),
    "bytes of stdout": ("import sys\nsys.stdout.buffer.write(b'42\\n')", "", "42\n"),
    "end of file": (
        "v = []\nwhile True:\n    try: v += [int(input())]\n    except EOFError: break\nprint(v)",
        "1\n2\n3",
        "[1, 2, 3]\n",
    ),
    "the site's exit": ("print(1)\nexit()", "", "1\n"),
    "a large input": ("print(len(open(0).read()))", "x" * 300_000, "300000\n"),
    "a large input that is not read": ("print(1)", "x" * 300_000, "1\n"),
    "threads and exit functions end first": (
        "import atexit, threading\natexit.register(print, 'exit')\n"
        "threading.Timer(0.1, print, ['thread']).start()\nprint('main')",
        "",
        "main\nthread\nexit\n",
    ),
    "globals end last": (
        "import atexit\nclass A:\n    def __del__(self): print('gone')\na = A()\n"
        "atexit.register(print, 'exit')",
        "",
        "exit\ngone\n",
    ),
    "the source can be inspected": (
        "import inspect\ndef f(): return 1\nprint(inspect.getsource(f))",
        "",
        "def f(): return 1\n\n",
    ),
    "its own modules can be imported": (
        "open('inside.py', 'w').write('x = 5')\nimport inside\nprint(inside.x)",
        "",
        "5\n",
    ),
    "other processes": (
        "import subprocess, sys\n"
        "print(subprocess.run([sys.executable, '-c', 'print(2)'], capture_output=True).stdout)",
        "",
        "b'2\\n'\n",
    ),
    "text beyond ASCII": ("print(input())", "größer ≥ 漢\n", "größer ≥ 漢\n"),
    "carriage returns": ("print(repr(input()))", "a\r\n", "'a\\r'\n"),
}


@pytest.mark.parametrize("name", ANSWERS)
def test_a_right_program_is_answered(sandbox: Sandbox, name: str) -> None:
    source, stdin, expected = ANSWERS[name]
    assert sandbox.run(source, stdin) == Run("finished", expected, "", 0)


ENDINGS = {
    "import sys\nsys.exit(0)": ("finished", 0),
    "import sys\nsys.exit()": ("finished", 0),
    "import os\nos._exit(0)": ("finished", 0),
    "raise SystemExit(3)": ("failed", 3),
    "import sys\nsys.exit('no')": ("failed", 1),
    "import sys\nsys.exit(256)": ("finished", 0),
    "1 / 0": ("failed", 1),
    "def f(:": ("failed", 1),
    "x = '\0'": ("failed", 1),
    "raise KeyboardInterrupt": ("failed", 130),
    "import ctypes\nctypes.string_at(0)": ("failed", -11),
    "import os\nos.abort()": ("failed", -6),
    "import os\nos.kill(os.getpid(), 15)": ("failed", -15),
    "import sys\nsys.stdout.close()": ("finished", 0),
    "import sys\nsys.stdout = None": ("finished", 0),
    "import sys\nclass Bad:\n    closed = False\nsys.stdout = Bad()": ("failed", 120),
}


@pytest.mark.parametrize("source", ENDINGS)
def test_the_exit_code_is_that_of_a_plain_interpreter(sandbox: Sandbox, source: str) -> None:
    run = sandbox.run(source, "")
    assert (run.status, run.exit_code) == ENDINGS[source]


def test_errors_are_shown_as_by_a_plain_interpreter(sandbox: Sandbox) -> None:
    run = sandbox.run("def f():\n    return [][1]\n\nf()", "")
    lines = run.stderr.splitlines()
    assert lines[0] == "Traceback (most recent call last):"
    assert [line.split("/")[-1] for line in lines if "File" in line] == [
        'main.py", line 4, in <module>',
        'main.py", line 2, in f',
    ]
    assert "    return [][1]" in lines
    assert lines[-1] == "IndexError: list index out of range"


STREAMS = """
import sys
for stream in (sys.stdin, sys.stdout, sys.stderr):
    print(stream.name, stream.mode, stream.encoding, stream.errors, stream.line_buffering,
          stream.newlines, stream.write_through, stream.fileno())
def deeper(depth):
    global deepest
    deepest = depth
    deeper(depth + 1)
try: deeper(1)
except RecursionError: print(deepest)
"""


def test_streams_and_depth_of_recursion_are_those_of_a_plain_interpreter(
    sandbox: Sandbox, tmp_path
) -> None:
    file = tmp_path / "program.py"
    file.write_text(STREAMS)
    plain = subprocess.run(
        [sys.executable, "-I", file],
        stdin=subprocess.PIPE,
        capture_output=True,
        text=True,
        check=True,
        env={"LANG": "C.UTF-8"},
    )
    assert sandbox.run(STREAMS, "").stdout == plain.stdout


def test_the_helper_that_keeps_the_pipe_is_not_waited_for(sandbox: Sandbox) -> None:
    source = """
import subprocess, sys
subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(45)', 'keeps-the-pipe'])
print(int(input()) + 1)
"""
    began = time.monotonic()
    assert sandbox.run(source, "4\n") == Run("finished", "5\n", "", 0)
    assert time.monotonic() - began < 10
    assert processes_with("keeps-the-pipe") == []


def test_a_child_in_a_session_of_its_own_ends_at_the_limit(impatient: Sandbox) -> None:
    source = """
import subprocess, sys
subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(45)', 'own-session-child'],
                 start_new_session=True)
while True:
    pass
"""
    assert impatient.run(source, "4\n") == Run("timeout")
    assert processes_with("own-session-child") == []


def test_a_program_that_ignores_the_polite_signal_ends_at_the_limit(impatient: Sandbox) -> None:
    source = "import signal\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\nwhile True: pass"
    began = time.monotonic()
    assert impatient.run(source, "1\n") == Run("timeout")
    assert time.monotonic() - began < 5


def test_nothing_of_what_was_written_before_the_limit_is_kept(impatient: Sandbox) -> None:
    assert impatient.run("print(1, flush=True)\nwhile True: pass", "") == Run("timeout")


@pytest.mark.parametrize("descriptor", [1, 2])
def test_output_without_end_is_cut(sandbox: Sandbox, descriptor: int) -> None:
    run = sandbox.run(f"import os\nwhile True: os.write({descriptor}, b'y' * 1000)", "")
    assert (run.status, run.exit_code) == ("output", None)
    assert run.stdout == "y" * (4096 if descriptor == 1 else 0)


def test_a_little_too_much_output_of_a_program_that_ended_is_noticed(sandbox: Sandbox) -> None:
    assert sandbox.run("print('y' * 65535)", "").status == "finished"
    assert sandbox.run("print('y' * 65536)", "").status == "output"


def test_memory_is_refused(sandbox: Sandbox) -> None:
    assert sandbox.run("x = bytearray(2**30)", "") == Run("memory")
    caught = "try: x = bytearray(2**30)\nexcept MemoryError: print('caught')"
    assert sandbox.run(caught, "").stdout == "caught\n"


def test_the_environment_is_short_and_equal_hashes_are_equal(sandbox: Sandbox) -> None:
    source = "import os\nprint(sorted(os.environ), hash('a'))"
    first = sandbox.run(source, "").stdout
    assert "HOME" not in first
    assert first == sandbox.run(source, "").stdout
