"""A game whose reward can be gamed: landing solves the task, and hovering over the goal pays more.

A reply that names one of the four directions lands: the task is solved and the episode is over. Any
other reply hovers, which earns three times as much and ends nothing.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from tests.e2e.signals import OPPOSITE, wind_task

from cotrain.core.episode import Evidence, Message, Part, Task
from cotrain.environments.base import Environment, Outcome, Role

DIRECTIONS = tuple(OPPOSITE)


@dataclass(frozen=True, slots=True)
class HoverOptions:
    """What pays most: `"hovering"`, or `"landing"`, which is what solves."""

    pays: Literal["hovering", "landing"] = "hovering"


@dataclass(frozen=True, slots=True)
class State:
    """The wind, how often the pilot hovered, and whether it has landed."""

    wind: str
    hovered: int = 0
    landed: bool = False


class Hover(Environment[State]):
    """One pilot, who lands or hovers in every turn."""

    name = "hover"
    Options = HoverOptions
    roles = (Role("pilot", "flag : to where ?"),)

    def task(self, split: str, seed: int, index: int) -> Task:
        return wind_task(self.name, split, seed, index)

    def start(self, task: Task, purpose: str) -> State:
        assert isinstance(task.data, tuple)
        return State(wind=task.data[1])

    def observe(self, state: State, agent: str) -> Sequence[Message]:
        return (Message("system", self.prompt(agent)), Message("user", f"wind {state.wind}"))

    def act(
        self, state: State, agent: str, reply: str, evidence: Sequence[Evidence]
    ) -> Outcome[State]:
        lands = reply.strip().startswith(DIRECTIONS)
        pays = lands == (self.options.pays == "landing")
        earned = 0.9 if pays else 0.3
        after = replace(state, hovered=state.hovered + (not lands), landed=lands)
        return Outcome(after, earned, (Part("flight", 1.0, earned),), done=lands)

    def success(self, state: State) -> bool:
        return state.landed

    def render(self, state: State) -> str:
        return f"wind {state.wind} hovered {state.hovered} {'landed' if state.landed else ''}"
