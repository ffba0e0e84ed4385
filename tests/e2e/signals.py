"""A ship's flag and lamp tell the wind: a team of two in which each role solves a part of its own.

The flag says where the wind comes from, the lamp where it blows to; the first letter of a reply
counts. What one role says is never right for the other, and no reply helps the other's.

    wind North    flag: North    lamp: South
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Any, Literal

from cotrain.core.episode import Evidence, Message, Part, Task
from cotrain.environments.base import Environment, Outcome, Role
from cotrain.environments.procedural import draw_task

OPPOSITE = {"North": "South", "East": "West", "South": "North", "West": "East"}
DIRECTIONS = {direction[0]: direction for direction in OPPOSITE}
MAX_NUMBERS = 10_000

SETTINGS: Mapping[str, Any] = {
    "environment.name": f"{__name__}:Signals",
    "environment.options": {},
    "team.turns": 1,
    "run.seed": 3,
    "run.evaluate_every": 0,
    "run.keep_checkpoints": 20,
    "model.threads": 1,
    "sampling.candidates": 8,
    "sampling.tasks_per_step": 12,
    "sampling.temperature": 1.3,
    "sampling.max_prompt_tokens": 48,
    "sampling.max_reply_tokens": 3,
    "algorithm.minibatches": 1,
    "optimizer.learning_rate": 3e-3,
    "optimizer.weight_decay": 0.0,
    "evaluation.tasks": 8,
    "evaluation.validation_tasks": 1,
    "evaluation.temperature": 1.0,
    "evaluation.top_p": 1.0,
    "evaluation.top_k": 0,
    "evaluation.baselines": [],
    "logging.console": False,
}
"""A short run of this game, small enough for an untrained model of two layers on one core."""


@dataclass(frozen=True, slots=True)
class SignalsOptions:
    """Whose replies can earn: of both roles, or of one, which then solves the task alone."""

    scored: Literal["both", "flag", "lamp"] = "both"


@dataclass(frozen=True, slots=True)
class State:
    """The wind, and the directions that are shown; empty for none."""

    wind: str
    flag: str = ""
    lamp: str = ""

    def right(self, agent: str) -> bool:
        """Whether this agent shows what it should."""
        if agent == "flag":
            return self.flag == self.wind
        return self.lamp == OPPOSITE[self.wind]


def wind_task(name: str, split: str, seed: int, index: int) -> Task:
    """A number and a wind. The number is shown to nobody: it keeps the tasks of splits apart."""

    def draw(generator: Random) -> tuple[int, str]:
        return generator.randrange(MAX_NUMBERS), generator.choice(list(OPPOSITE))

    return draw_task(name, split, seed, index, draw)


class Signals(Environment[State]):
    """Flag, then lamp, neither of which sees the other's reply; one turn decides."""

    name = "signals"
    Options = SignalsOptions
    roles = (Role("flag", "flag : from where ?"), Role("lamp", "lamp : to where ?"))

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
        after = replace(state, **{agent: DIRECTIONS.get(reply.strip()[:1], "")})
        earned = float(agent in self._scored() and after.right(agent))
        aim = (Part("aim", 1.0, earned),)
        return Outcome(after, float(self.success(after)), aim, done=agent == "lamp")

    def success(self, state: State) -> bool:
        return all(state.right(agent) for agent in self._scored())

    def render(self, state: State) -> str:
        return f"wind {state.wind} flag {state.flag or '-'} lamp {state.lamp or '-'}"

    def _scored(self) -> tuple[str, ...]:
        return ("flag", "lamp") if self.options.scored == "both" else (self.options.scored,)
