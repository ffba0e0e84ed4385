"""A small environment as a user writes one, and others that break or lack something."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import ClassVar, TypeAlias

from cotrain import Environment, Evidence, Message, Outcome, Part, Request, Role, Task
from cotrain.core.episode import Json
from cotrain.environments.procedural import draw_task

Handlers: TypeAlias = Mapping[str, Callable[[Request], Json]]

FLOORS = ("one", "two", "three", "four", "five")


@dataclass(frozen=True)
class Floor:
    """Where the lift is to go, and where it is."""

    goal: int
    now: int = 0


class Lift(Environment[Floor]):
    """A lift that goes to the floor that is said."""

    name = "lift"
    roles = (Role("driver", "Say the floor."),)

    def task(self, split: str, seed: int, index: int) -> Task:
        return draw_task(self.name, split, seed, index, lambda drawn: drawn.randint(1, 10**6))

    def start(self, task: Task, purpose: str) -> Floor:
        assert isinstance(task.data, int)
        return Floor(1 + task.data % 5)

    def observe(self, state: Floor, agent: str) -> Sequence[Message]:
        shown = f"The lift is on floor {state.now}, the goal is {FLOORS[state.goal - 1]}"
        return (Message("system", self.prompt(agent)), Message("user", shown))

    def act(
        self, state: Floor, agent: str, reply: str, evidence: Sequence[Evidence]
    ) -> Outcome[Floor]:
        if reply not in FLOORS:
            return Outcome(state, 0.0, (Part("format", 1.0, 0.0),))
        after = replace(state, now=FLOORS.index(reply) + 1)
        solved = self.success(after)
        return Outcome(after, float(solved), (Part("format", 1.0, 1.0),), done=solved)

    def success(self, state: Floor) -> bool:
        return state.now == state.goal

    def render(self, state: Floor) -> str:
        return f"on floor {state.now} of {state.goal}"

    def attempts(self, state: Floor, agent: str, generator: Random) -> list[str]:
        return list(FLOORS)


class Asking(Lift):
    name = "asking"

    def evidence(self, state: Floor, agent: str, reply: str) -> Sequence[Request]:
        return (Request.of("weight", reply=reply),)


class Weighed(Asking):
    name = "weighed"
    handlers: ClassVar[Handlers] = {"weight": lambda request: str(request["reply"])[:9]}


class Unweighable(Asking):
    name = "unweighable"
    handlers: ClassVar[Handlers] = {"weight": lambda request: 1 // 0}


class Generous(Lift):
    """Pays for staying away from the goal."""

    name = "generous"

    def act(
        self, state: Floor, agent: str, reply: str, evidence: Sequence[Evidence]
    ) -> Outcome[Floor]:
        outcome = super().act(state, agent, reply, evidence)
        return replace(outcome, team=0.1 if self.success(outcome.state) else 1.0)

    def solve(self, state: Floor, agent: str) -> str:
        return FLOORS[state.goal - 1]

    def would_solve(self, agent: str, outcome: Outcome[Floor]) -> bool:
        return self.success(outcome.state)


class Hopeless(Lift):
    """Knows no reply that solves, so that its audit compares no episodes."""

    name = "hopeless"

    def solve(self, state: Floor, agent: str) -> None:
        return None

    def would_solve(self, agent: str, outcome: Outcome[Floor]) -> bool:
        return self.success(outcome.state)


class Talkative(Lift):
    name = "talkative"

    def start(self, task: Task, purpose: str) -> Floor:
        print("started")
        return super().start(task, purpose)


class Misspelt(Lift):
    name = "misspelt"
    phases = (("drivr",),)


class Unfinished(Environment[Floor]):
    name = "unfinished"
