"""Rules in workers: what is late or dies is masked and replaced, and nothing else differs."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.rollouts.rated import State
from tests.rollouts.settings import make_openings, make_player, make_rules, place_of, rows, scores
from tests.rollouts.troubled import ALONE, NAME

from cotrain.core.episode import CandidateStatus, Episode, EpisodeStatus, Evidence, Reply, Request
from cotrain.environments import rules as ask
from cotrain.environments.base import ServiceLostError
from cotrain.rollouts.engine import Engine
from cotrain.rollouts.evidence import HandlerPool
from cotrain.rollouts.referee import Call, Failure, LocalReferee
from cotrain.rollouts.worker import Recipe
from cotrain.rollouts.workers import WorkerReferee

SCORED, ERROR, TIMEOUT = CandidateStatus.SCORED, CandidateStatus.ERROR, CandidateStatus.TIMEOUT


def make_referee(
    name: str = ALONE, *, seconds: float = 20.0, workers: int = 2, **options: Any
) -> WorkerReferee:
    recipe = Recipe(name, options, {})
    return WorkerReferee(recipe.make(), recipe, seconds, workers)


@contextmanager
def engine_in_workers(name: str = ALONE, *, retries: int = 0, **given: Any) -> Iterator[Engine]:
    """An engine whose rules and handlers run in workers; afterwards no process of it is left."""
    before = children()
    with closing(make_referee(name, **given)) as referee:
        own = dict.fromkeys(referee.environment.handlers, referee.handle)
        yield Engine(referee, HandlerPool({}, None, retries, 4, own))
    assert children() == before


def children() -> set[int]:
    """The workers that this process has started, and all that it has not waited for."""
    tasks = Path(f"/proc/{os.getpid()}/task").glob("*/children")
    found = {int(pid) for task in tasks for pid in task.read_text().split()}
    return {pid for pid in found if state_of(pid) == "Z" or is_worker(pid)}


def is_worker(pid: int) -> bool:
    command = Path(f"/proc/{pid}/cmdline")
    return command.exists() and b"cotrain.rollouts.worker" in command.read_bytes()


def is_alive(pid: int) -> bool:
    """A process whose first thread has ended lives on while another one holds its pipes."""
    if state_of(pid) not in ("", "Z"):
        return True
    threads = Path(f"/proc/{pid}/task")
    return threads.exists() and len(list(threads.iterdir())) > 1


def state_of(pid: int) -> str:
    """The letter of a process's state, empty where there is no such process."""
    state = Path(f"/proc/{pid}/stat")
    return state.read_text().rpartition(")")[2].split()[0] if state.exists() else ""


def waits_for(condition: Callable[[], bool], seconds: float = 10.0) -> bool:
    deadline = time.monotonic() + seconds
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.02)
    return condition()


def play_alone(engine: Engine, write: Callable[[int], str | Reply], count: int) -> list[Episode]:
    cast = {"solo": make_player("solo", write)}
    return engine.play(make_openings(count), cast, make_rules())


def acting(state: State, reply: str) -> Call[Any]:
    return Call(ask.act, (state, "solo", reply, ()))


@pytest.mark.parametrize(
    ("trouble", "status", "message"),
    [
        ("sleep", TIMEOUT, "act: no answer within 2.0 s (limits.act_seconds)"),
        ("exit", ERROR, "act: the worker that ran it ended with exit code 3"),
        ("boom", ERROR, "KeyError: 'boom'"),
    ],
)
def test_an_environment_in_trouble_is_masked_and_the_next_batch_has_all_workers(
    trouble: str, status: CandidateStatus, message: str
) -> None:
    # prime-rl#2360, camel#2116, SimpleVLA-RL#37: eight environments, the fourth in trouble
    def write(seed: int) -> str:
        return trouble if place_of(seed)[0] == 3 else "0.5"

    begun = time.monotonic()
    with engine_in_workers(seconds=2.0, workers=4) as engine:
        episodes = play_alone(engine, write, 8)
        spent = time.monotonic() - begun
        again = play_alone(engine, lambda seed: "pid", 8)
        pids = {turn.phases[0].rendering for episode in again for turn in episode.turns}
        late = episodes.pop(3)
        assert spent < 10
        assert {episode.status for episode in episodes} == {EpisodeStatus.TURN_LIMIT}
        assert {score for episode in episodes for score in scores(episode.groups()[0])} == {0.5}
        assert late.status is EpisodeStatus.UNSCORED
        found = late.groups()[0].candidates
        assert {(one.status, one.score, one.message) for one in found} == {(status, None, message)}
        assert {episode.status for episode in again} == {EpisodeStatus.TURN_LIMIT}
        assert {int(pid) for pid in pids} <= children()
        assert len(children()) == 4


def test_whatever_rule_is_late_ends_its_own_episode_as_a_timeout() -> None:
    rules = ("start", "observe", "joint_evidence", "commit", "render", "success")
    with engine_in_workers(NAME, seconds=0.5, late=rules) as engine:
        cast = {hand: make_player(hand, rows(["0.1", "0.2"])) for hand in ("left", "right")}
        *late, fine = engine.play(make_openings(len(rules) + 1), cast, make_rules())
    assert fine.status is EpisodeStatus.TURN_LIMIT
    for rule, episode in zip(rules, late, strict=True):
        assert (episode.status, episode.success) == (EpisodeStatus.TIMEOUT, False), rule
        assert "no answer within 0.5 s (limits.act_seconds)" in episode.message
    assert [len(episode.groups()) for episode in late] == [0, 0, 2, 2, 0, 2]


def test_what_must_be_run_and_is_not_said_in_time_is_a_timeout_of_the_candidates() -> None:
    with engine_in_workers(seconds=0.5, late=("evidence",)) as engine:
        late, fine = play_alone(engine, rows(["0.1", "0.2"]), 2)
    assert (late.status, fine.status) == (EpisodeStatus.UNSCORED, EpisodeStatus.TURN_LIMIT)
    assert {one.status for one in late.groups()[0].candidates} == {TIMEOUT}


def test_one_worker_four_workers_and_none_give_the_same_episodes() -> None:
    def write(seed: int) -> str:
        episode, turn, candidate = place_of(seed)
        return "boom" if candidate == 0 and (episode + turn) % 2 else f"0.{seed % 7}"

    def episodes(engine: Engine) -> list[Episode]:
        cast = {hand: make_player(hand, write) for hand in ("left", "right")}
        return engine.play(make_openings(6), cast, make_rules(3))

    environment = make_referee(NAME).environment
    here = episodes(Engine(LocalReferee(environment), HandlerPool(environment.handlers)))
    assert any(one.status is ERROR for e in here for g in e.groups() for one in g.candidates)
    for workers in (1, 4):
        with engine_in_workers(NAME, workers=workers) as engine:
            assert episodes(engine) == here


HANDLED: Mapping[str, tuple[CandidateStatus, str, int]] = {
    "sleep": (TIMEOUT, "handler: no answer within 1.0 s (limits.act_seconds)", 0),
    "exit": (ERROR, "handler: the worker that ran it ended with exit code 3 (after 2 tries)", 1),
    "boom": (ERROR, "KeyError: 'boom' (after 2 tries)", 1),
    "undecided": (CandidateStatus.UNKNOWN, "undecided: too close to call", 0),
    "fine": (SCORED, "", 0),
}


def test_the_environments_own_handlers_run_in_the_workers_too() -> None:
    with engine_in_workers(seconds=1.0, retries=1) as engine:
        requests = [Request.of("ask", what=what) for what in HANDLED]
        found = engine.fulfiller.fulfil(requests)
    assert [(e.status, e.message, e.retries) for e in found] == list(HANDLED.values())
    assert [e.request for e in found] == requests


def test_a_late_handler_ends_with_the_process_that_it_has_started(
    capfd: pytest.CaptureFixture[str],
) -> None:
    with closing(make_referee(seconds=1.0)) as referee:
        evidence = referee.handle(Request.of("ask", what="child"))
    assert evidence.status is TIMEOUT
    child = int(capfd.readouterr().err.split()[-1])
    assert waits_for(lambda: not is_alive(child))


def test_a_process_in_a_session_of_its_own_ends_with_the_worker_that_began_it(
    capfd: pytest.CaptureFixture[str],
) -> None:
    with closing(make_referee()) as referee:
        assert referee.handle(Request.of("ask", what="orphan")).status is SCORED
        orphan = int(capfd.readouterr().err.split()[-1])
        assert is_alive(orphan)
    assert waits_for(lambda: not is_alive(orphan))


def test_a_rule_that_forks_gives_one_answer_to_each_call() -> None:
    with closing(make_referee(workers=1)) as referee:
        for _ in range(5):
            forked, plain = referee.ask([acting(State(1), "fork"), acting(State(1), "0.5")])
            assert not isinstance(forked, Failure)
            assert not isinstance(plain, Failure)
            assert (forked.team, plain.team) == (1.0, 0.5)


@pytest.mark.parametrize("trouble", ["keyboard", "speechless", "boom"])
def test_whatever_a_rule_raises_is_an_error_of_that_call_and_ends_no_worker(trouble: str) -> None:
    with closing(make_referee(workers=1)) as referee:
        [failed] = referee.ask([acting(State(1), trouble)])
        [worker] = children()
        assert isinstance(failed, Failure)
        assert failed.status is ERROR
        assert trouble in failed.message.lower()
        assert not isinstance(referee.ask([acting(State(1), "0.5")])[0], Failure)
        assert children() == {worker}


def test_a_lost_service_of_a_handler_comes_out_of_the_play() -> None:
    with (
        engine_in_workers(retries=2) as engine,
        pytest.raises(ServiceLostError, match="the oracle is gone: start it again"),
    ):
        play_alone(engine, lambda seed: "ask lost" if seed % 2 else "0.5", 2)


def test_a_worker_knows_no_torch_and_what_rules_print_goes_to_standard_error(
    capfd: pytest.CaptureFixture[str],
) -> None:
    with closing(make_referee()) as referee:
        [opened] = referee.ask([Call(ask.start, (make_openings()[0].task, "train"))])
        modules = referee.handle(Request.of("ask", what="modules"))
    assert not isinstance(opened, Failure)
    assert modules.answer == ()
    out, err = capfd.readouterr()
    assert (out, "a rule that prints" in err) == ("", True)


def test_a_state_that_cannot_be_sent_is_an_error_that_names_its_class() -> None:
    with closing(make_referee()) as referee:
        found, after = referee.ask([acting(State(1), "lock"), acting(State(1), "0.5")])
    assert isinstance(found, Failure)
    assert found.status is ERROR
    assert "act returned a Locked, which cannot be sent" in found.message
    assert "cannot pickle '_thread.lock' object" in found.message
    assert not isinstance(after, Failure)


def test_evidence_that_cannot_be_sent_is_an_error_that_names_its_class() -> None:
    evidence = Evidence(Request.of("ask"), {"lock": threading.Lock()})  # pyright: ignore[reportArgumentType]
    with closing(make_referee()) as referee:
        call = Call(ask.act, (State(1), "solo", "0.5", (evidence,)))
        found, after = referee.ask([call, acting(State(1), "0.5")])
    assert isinstance(found, Failure)
    assert "act is given a dict, which cannot be sent" in found.message
    assert not isinstance(after, Failure)


def test_a_worker_that_died_between_two_calls_costs_no_call() -> None:
    with closing(make_referee(workers=1)) as referee:
        [first] = referee.ask([acting(State(1), "pid")])
        [pid] = children()
        os.kill(pid, signal.SIGKILL)
        assert waits_for(lambda: not is_alive(pid))
        [second] = referee.ask([acting(State(1), "pid")])
        assert not isinstance(first, Failure)
        assert not isinstance(second, Failure)
        assert len(children()) == 1


def test_an_environment_that_cannot_be_made_in_a_worker_stops_the_run() -> None:
    recipe = Recipe(ALONE, {"lat": ()}, {})
    with (
        closing(WorkerReferee(make_referee().environment, recipe, 20.0, 2)) as referee,
        pytest.raises(ServiceLostError, match=r"cannot be made in a worker: .*options\.lat"),
    ):
        referee.ask([acting(State(1), "0.5")])
    assert children() == set()


def test_closing_ends_a_call_that_is_under_way() -> None:
    referee = make_referee(seconds=60.0, workers=1)
    found: list[Any] = []
    thread = threading.Thread(
        target=lambda: found.append(referee.handle(Request.of("ask", what="sleep")))
    )
    thread.start()
    assert waits_for(lambda: len(children()) == 1)
    referee.close()
    thread.join(10)
    assert [evidence.status for evidence in found] in ([ERROR], [])
    assert children() == set()
    with pytest.raises(ServiceLostError, match="were closed"):
        referee.handle(Request.of("ask", what="fine"))


PARENT = """
import os, sys, threading, time
from tests.rollouts.test_workers import acting, children, make_referee
from tests.rollouts.rated import State

referee = make_referee(seconds=3600.0, workers=2)
threading.Thread(target=referee.ask, args=([acting(State(1), "sleep")],), daemon=True).start()
referee.ask([acting(State(1), "0.5")])
time.sleep(0.3)
print(*children(), flush=True)
os.kill(os.getpid(), 9)
"""


def test_workers_end_when_their_parent_is_killed_whatever_they_are_doing() -> None:
    path = os.pathsep.join(filter(None, sys.path))
    found = subprocess.run(
        [sys.executable, "-c", PARENT],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        timeout=60,
        check=False,
        env={**os.environ, "PYTHONPATH": path},
    )
    pids = [int(pid) for pid in found.stdout.split()]
    assert (found.returncode, len(pids)) == (-signal.SIGKILL, 2)
    assert waits_for(lambda: not any(map(is_alive, pids)))
