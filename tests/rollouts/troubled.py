"""A game whose rules and handler get into trouble where a test says so: to be played in workers.

Replies: a number is the team value; `sleep`, `exit`, `boom`, `keyboard`, `speechless`, `fork`,
`lock` and `pid` are done by `act`; `ask WHAT` asks the handler for the same things, and for
`undecided`, `lost`, `child`, `orphan` and `modules`.
A task whose number is a key of `options.late` finds that rule asleep.
"""

import os
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.rollouts.rated import RatedOptions, RatedTogether, State

from cotrain.core.episode import Evidence, Json, Message, Request, Task
from cotrain.environments.base import Judged, Outcome, Role, ServiceLostError, UndecidedError

NAME = f"{__name__}:Troubled"
ALONE = f"{__name__}:TroubledAlone"
A_LONG_TIME = 3600.0


@dataclass(frozen=True, slots=True)
class Locked:
    """A state that no other process can be given."""

    lock: object = field(default_factory=threading.Lock)


@dataclass(frozen=True, slots=True)
class TroubledOptions(RatedOptions):
    """`late` names the rules that sleep, each for the task of its place."""

    late: tuple[str, ...] = ()


class SpeechlessError(Exception):
    """An error whose message cannot be had."""

    def __str__(self) -> str:
        raise ValueError("no message")


def make_trouble(what: str) -> int | None:
    """Does what this word says."""
    if what == "keyboard":
        raise KeyboardInterrupt
    if what == "speechless":
        raise SpeechlessError
    if what == "fork":
        os.fork()
    if what == "sleep":
        time.sleep(A_LONG_TIME)
    if what == "exit":
        os._exit(3)
    if what == "boom":
        raise KeyError("boom")
    if what == "pid":
        time.sleep(0.1)
    return os.getpid() if what == "pid" else None


def answer(request: Request) -> Json:
    """The handler of `ask WHAT`."""
    match what := request["what"]:
        case "undecided":
            raise UndecidedError("too close to call")
        case "lost":
            raise ServiceLostError("the oracle is gone: start it again")
        case "child":
            child = subprocess.Popen(
                [sys.executable, "-c", f"import time; time.sleep({A_LONG_TIME})"]
            )
            print(child.pid, file=sys.stderr, flush=True)
            child.wait()
            return None
        case "orphan":
            if not os.fork():
                os.setsid()
                if not os.fork():
                    print(os.getpid(), file=sys.stderr, flush=True)
                    time.sleep(A_LONG_TIME)
                os._exit(0)
            os.wait()
            return None
        case "modules":
            return tuple(sorted({"torch", "transformers", "numpy"} & set(sys.modules)))
        case _:
            return make_trouble(str(what))


class Troubled(RatedTogether):
    """Two roles at once."""

    name = "troubled"
    Options = TroubledOptions
    handlers: Mapping[str, Any] = {"ask": answer, "tie": lambda request: None}

    def start(self, task: Task, purpose: str) -> Any:
        print("a rule that prints")
        assert isinstance(task.data, int)
        self._late("start", task.data)
        return super().start(task, purpose)

    def observe(self, state: State, agent: str) -> Sequence[Message]:
        self._late("observe", state.task)
        return super().observe(state, agent)

    def evidence(self, state: State, agent: str, reply: str) -> Sequence[Request]:
        self._late("evidence", state.task)
        word, _, what = reply.partition(" ")
        return (Request.of("ask", what=what),) if word == "ask" else ()

    def act(
        self, state: State, agent: str, reply: str, evidence: Sequence[Evidence]
    ) -> Outcome[Any]:
        if evidence:
            return Outcome(state, 1.0)
        if reply == "lock":
            return Outcome(Locked(), 1.0)
        if reply[:1].isalpha():
            return Outcome(State(state.task, (f"{make_trouble(reply)}",)), 1.0)
        return super().act(state, agent, reply, evidence)

    def joint_evidence(self, state: State, replies: Mapping[str, str]) -> Sequence[Request]:
        self._late("joint_evidence", state.task)
        return super().joint_evidence(state, replies)

    def commit(
        self, state: State, replies: Mapping[str, Judged], joint_evidence: Sequence[Evidence]
    ) -> tuple[State, bool]:
        self._late("commit", state.task)
        return super().commit(state, replies, joint_evidence)

    def success(self, state: State) -> bool:
        self._late("success", state.task)
        return super().success(state)

    def render(self, state: State) -> str:
        self._late("render", state.task)
        return super().render(state)

    def _late(self, rule: str, task: int) -> None:
        if dict(enumerate(self.options.late)).get(task) == rule:
            time.sleep(A_LONG_TIME)


class TroubledAlone(Troubled):
    """One role."""

    roles = (Role("solo"),)
    phases = (("solo",),)
