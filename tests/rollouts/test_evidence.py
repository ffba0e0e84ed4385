"""The pool that answers requests."""

import threading
import time

import pytest
from tests.rollouts.troubled import SpeechlessError

from cotrain.core.episode import CandidateStatus, Evidence, Request
from cotrain.environments.base import ServiceLostError, UndecidedError
from cotrain.rollouts.evidence import HandlerPool, tried

SCORED, ERROR, TIMEOUT = CandidateStatus.SCORED, CandidateStatus.ERROR, CandidateStatus.TIMEOUT


def number_of(request: Request) -> int:
    number = request["number"]
    assert isinstance(number, int)
    return number


def sleepy(request: Request) -> int:
    """The later requests are answered first."""
    time.sleep(0.02 * (5 - number_of(request)))
    return number_of(request)


def numbered(kind: str, count: int) -> list[Request]:
    return [Request.of(kind, number=number) for number in range(count)]


@pytest.mark.parametrize("workers", [1, 4])
def test_answers_come_in_the_order_of_the_requests(workers: int) -> None:
    requests = numbered("sleepy", 5)
    found = HandlerPool({"sleepy": sleepy}, workers=workers).fulfil(requests)
    assert [evidence.answer for evidence in found] == [0, 1, 2, 3, 4]
    assert [evidence.request for evidence in found] == requests
    assert {evidence.status for evidence in found} == {SCORED}
    assert HandlerPool({}).fulfil([]) == []


def test_no_more_handlers_run_at_once_than_there_are_workers() -> None:
    lock, running, most = threading.Lock(), [0], [0]

    def watched(request: Request) -> None:
        with lock:
            running[0] += 1
            most[0] = max(most[0], running[0])
        time.sleep(0.02)
        with lock:
            running[0] -= 1

    HandlerPool({"watched": watched}, workers=3).fulfil(numbered("watched", 9))
    assert most[0] == 3


def test_a_handler_that_fails_is_tried_again() -> None:
    tries: list[int] = []

    def fails_twice(request: Request) -> str:
        tries.append(1)
        if len(tries) < 3:
            raise ConnectionError("gone")
        return "here"

    [found] = HandlerPool({"check": fails_twice}, retries=2).fulfil([Request.of("check")])
    assert (found.answer, found.status, len(tries)) == ("here", SCORED, 3)
    assert found.retries == 2


def test_an_error_whose_message_cannot_be_had_is_an_error_like_any_other() -> None:
    def fails(request: Request) -> str:
        raise SpeechlessError

    [found] = HandlerPool({"check": fails}, retries=0).fulfil([Request.of("check")])
    assert found.status is ERROR
    assert found.message.startswith("SpeechlessError: (its message raises ValueError)")


@pytest.mark.parametrize("error", [KeyError("gone"), SystemExit(1)])
def test_a_handler_that_always_fails_is_an_error_with_its_message(error: BaseException) -> None:
    tries: list[int] = []

    def fails(request: Request) -> str:
        tries.append(1)
        raise error

    [found] = HandlerPool({"check": fails}, seconds=5, retries=1).fulfil([Request.of("check")])
    assert (found.answer, found.status, len(tries)) == (None, ERROR, 2)
    assert found.message == f"{type(error).__name__}: {error} (after 2 tries)"
    assert found.retries == 1


def test_a_request_that_is_late_says_how_often_it_was_tried_until_then() -> None:
    never, tries = threading.Event(), iter([ConnectionError("gone"), ConnectionError("gone")])

    def fails_twice_and_hangs(request: Request) -> None:
        for error in tries:
            raise error
        never.wait()

    pool = HandlerPool({"check": fails_twice_and_hangs}, seconds=0.2, retries=5)
    [found] = pool.fulfil([Request.of("check")])
    assert (found.status, found.retries) == (TIMEOUT, 2)
    never.set()


def test_a_request_that_is_answered_at_once_has_no_retries() -> None:
    found = HandlerPool({"sleepy": lambda request: 1}).fulfil(numbered("sleepy", 3))
    assert [evidence.retries for evidence in found] == [0, 0, 0]


def test_a_kind_that_nobody_answers_is_named_with_those_that_are_answered() -> None:
    pool = HandlerPool({"verify": sleepy, "program": sleepy})
    [found] = pool.fulfil([Request.of("progam")])
    assert found.status is ERROR
    assert found.message == (
        "nothing answers requests of kind 'progam'; known kinds: program, verify"
    )
    assert HandlerPool({}).fulfil([Request.of("x")])[0].message.endswith("known kinds: none")


@pytest.mark.parametrize("workers", [1, 2, 8])
def test_a_handler_that_never_returns_is_a_timeout_and_the_others_are_answered(
    workers: int,
) -> None:
    # prime-rl#2360, SimpleVLA-RL#37: the pool keeps its size
    never = threading.Event()

    def answer(request: Request) -> int:
        if number_of(request) == 3:
            never.wait()
        return number_of(request)

    pool = HandlerPool({"check": answer}, seconds=0.25, workers=workers)
    begun = time.monotonic()
    found = pool.fulfil(numbered("check", 8))
    assert time.monotonic() - begun < 0.25 + 1
    assert [e.answer for e in found] == [0, 1, 2, None, 4, 5, 6, 7]
    assert found[3].status is TIMEOUT
    assert found[3].message == "no answer within 0.25 s (limits.act_seconds)"
    again = pool.fulfil(numbered("check", 3))
    assert [e.answer for e in again] == [0, 1, 2]
    never.set()


def test_an_answer_that_comes_late_is_dropped() -> None:
    def answer(request: Request) -> int:
        time.sleep(0.4 if number_of(request) == 0 else 0.05)
        return number_of(request)

    pool = HandlerPool({"check": answer}, seconds=0.3, workers=1)
    found = pool.fulfil(numbered("check", 6))
    assert [e.answer for e in found] == [None, 1, 2, 3, 4, 5]
    assert [e.status for e in found] == [TIMEOUT, *[SCORED] * 5]


def test_what_cannot_be_decided_is_unknown_and_not_tried_again() -> None:
    tries: list[int] = []

    def undecided(request: Request) -> None:
        tries.append(1)
        raise UndecidedError("sqrt of what?")

    [found] = HandlerPool({"maths": undecided}, retries=3).fulfil([Request.of("maths")])
    assert (found.answer, found.status, found.retries) == (None, CandidateStatus.UNKNOWN, 0)
    assert (found.message, len(tries)) == ("undecided: sqrt of what?", 1)


def test_a_lost_service_comes_out_of_the_pool_without_a_further_try() -> None:
    tries: list[int] = []

    def lost(request: Request) -> int:
        if number_of(request) == 2:
            tries.append(1)
            raise ServiceLostError("the oracle is gone")
        return number_of(request)

    pool = HandlerPool({"ask": lost}, seconds=5, retries=3)
    with pytest.raises(ServiceLostError, match="the oracle is gone"):
        pool.fulfil(numbered("ask", 5))
    assert len(tries) == 1


def test_what_keeps_its_own_time_is_not_held_to_the_limit() -> None:
    def slow(request: Request) -> Evidence:
        time.sleep(0.4)
        return Evidence(request, "slow")

    never = threading.Event()
    pool = HandlerPool(
        {"own": lambda request: never.wait()}, seconds=0.1, timed={"program": slow}, workers=2
    )
    own, program = pool.fulfil([Request.of("own"), Request.of("program")])
    never.set()
    assert (own.status, program.status) == (TIMEOUT, SCORED)


def test_what_keeps_its_own_time_is_tried_again_when_it_fails() -> None:
    answers = iter([OSError("a pipe broke"), 7])

    def answer(request: Request) -> int:
        item = next(answers)
        if isinstance(item, OSError):
            raise item
        return item

    pool = HandlerPool({}, timed={"program": lambda request: tried(answer, request)})
    [found] = pool.fulfil([Request.of("program")])
    assert (found.answer, found.retries) == (7, 1)
