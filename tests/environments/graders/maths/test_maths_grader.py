"""The grader of maths in its own processes: hostile strings, limits, processes that end."""

import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from cotrain.environments.base import ServiceLostError, UndecidedError
from cotrain.environments.graders.line_workers import LateError, LineWorkers, WorkerLostError
from cotrain.environments.graders.maths import MathsGrader
from cotrain.environments.requests import maths_request

HOSTILE = [
    r"\boxed{7^{7^{7^{7^{7}}}}}",
    r"\boxed{(10^{7})!}",
    r"\boxed{10^{10^{10}}}",
    r"\boxed{" + "(" * 20_000 + "5" + ")" * 20_000 + "}",
    r"\boxed{" * 20_000,
    r"\boxed{9!!!!!!}",
    r"\boxed{((10!)!)!}",
    r"\boxed{\binom{10^9}{5\cdot 10^8}}",
    r"\boxed{\binom{99999}{50000}}",
    r"\boxed{\sum_{n=1}^{10^9} n}",
    r"\boxed{\prod_{n=1}^{10^9} n}",
    r"\boxed{(x+1)^{100000}}",
    r"\boxed{\Gamma(10^9)}",
    r"\boxed{e^{e^{e^{e^{10}}}}}",
    r"\boxed{" + "9" * 3900 + "}",
    r"\boxed{" + "-" * 3001 + "5}",
    r"\boxed{" + "[" * 39 + "1, 2" + "]" * 39 + "}",
    r"\boxed{" + ",".join(map(str, range(900))) + "}",
    r"\boxed{1e999999999}",
    r"\boxed{\frac{5}{0}}",
    r"\boxed{1} or " * 5_000,
    r"\boxed{(lambda: 5)()}",
    r"\boxed{5 if True else 6}",
]


@pytest.fixture(scope="module")
def grader() -> Iterator[MathsGrader]:
    made = MathsGrader(num_workers=1)
    yield made
    made.close()


@pytest.mark.parametrize("reply", HOSTILE)
def test_a_hostile_reply_is_wrong_and_the_next_pair_is_graded_right(
    grader: MathsGrader, reply: str
) -> None:
    started = time.monotonic()
    assert grader.grade("5", reply) is False
    assert grader.grade("5", r"\boxed{5}") is True
    assert time.monotonic() - started < 10


@pytest.mark.parametrize(
    "code",
    [
        '{pi}+__import__("os").system("touch {path}")',
        'exec("open({path!r}, {w!r})")',
        '__import__("pathlib").Path({path!r}).touch()',
    ],
)
def test_code_in_an_answer_is_never_run(grader: MathsGrader, code: str, tmp_path: Path) -> None:
    touched = tmp_path / "touched"
    filled = code.replace("{path}", str(touched)).replace("{path!r}", repr(str(touched)))
    filled = filled.replace("{pi}", "\\pi").replace("{w!r}", "'w'")
    for reply in (f"\\boxed{{{filled}}}", f"The answer is {filled}", filled):
        assert grader.grade("5", reply) is False
    assert not touched.exists()


def test_a_request_is_answered(grader: MathsGrader) -> None:
    assert grader(maths_request(r"\frac12", r"\boxed{0.5}")) is True
    assert grader(maths_request(r"\frac12", "ValueError: 0.5")) is False


def test_a_gold_answer_that_cannot_be_read_is_told(grader: MathsGrader) -> None:
    assert grader.readable(r"(-\infty,6)")
    assert not grader.readable(r"\frac{1}{")


def test_two_numbers_too_large_to_write_out_are_undecided(grader: MathsGrader) -> None:
    with pytest.raises(UndecidedError, match="too large"):
        grader.grade(r"3^{10^8}", r"\boxed{9^{5\cdot 10^7}}")


def test_threads_share_a_grader() -> None:
    shared = MathsGrader(num_workers=2)
    found: dict[int, bool] = {}

    def ask(number: int) -> None:
        found[number] = shared.grade(str(number), rf"\boxed{{{number % 3}}}")

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(9)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    shared.close()
    assert found == {number: number < 3 for number in range(9)}


WORKER = """
import os, signal, sys, time
from cotrain.environments.graders.serving import serve

def make():
    if "{start}" == "fails":
        raise ImportError("no such package")
    def answer(question):
        print("noise")
        if question == "sleep":
            time.sleep(60)
        if question == "die":
            os.kill(os.getpid(), signal.SIGKILL)
        if question == "memory":
            return len(bytearray(1 << 32))
        return [question, os.getpid()]
    return answer

if __name__ == "__main__":
    serve(make)
"""


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """A folder whose modules the workers find."""
    before = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = str(tmp_path)
    yield tmp_path
    del os.environ["PYTHONPATH"]
    os.environ.update({} if before is None else {"PYTHONPATH": before})


@pytest.fixture
def workers(folder: Path) -> Iterator[LineWorkers]:
    (folder / "answering.py").write_text(WORKER)
    made = LineWorkers("answering", 1, 1.0, 1 << 30)
    yield made
    made.close()


def test_a_worker_lives_for_many_questions(workers: LineWorkers) -> None:
    first, second = workers.ask("a"), workers.ask("b")
    assert [first[0], second[0]] == ["a", "b"]
    assert first[1] == second[1]


def test_a_late_worker_is_ended_and_replaced(workers: LineWorkers) -> None:
    _, old = workers.ask("a")
    with pytest.raises(LateError, match="within 1 seconds"):
        workers.ask("sleep")
    assert workers.ask("b")[1] != old
    with pytest.raises(ProcessLookupError):
        os.kill(old, 0)


@pytest.mark.parametrize("question", ["die", "memory"])
def test_a_worker_that_dies_is_replaced(workers: LineWorkers, question: str) -> None:
    with pytest.raises(WorkerLostError):
        workers.ask(question)
    assert workers.ask("b")[0] == "b"


def test_closing_ends_the_processes(workers: LineWorkers) -> None:
    _, process = workers.ask("a")
    workers.close()
    with pytest.raises(ProcessLookupError):
        os.kill(process, 0)
    with pytest.raises(WorkerLostError, match="closed"):
        workers.ask("b")


def test_a_worker_that_cannot_start_is_a_lost_service(folder: Path) -> None:
    (folder / "failing.py").write_text(WORKER.replace("{start}", "fails"))
    made = LineWorkers("failing", 1, 1.0, 1 << 30)
    with pytest.raises(ServiceLostError, match="no such package"):
        made.ask("a")
