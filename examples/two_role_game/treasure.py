"""Treasure: a scout who sees the map calls the way, a runner who only hears the call runs it."""

# ruff: noqa: D101, D102 - what each method does is said once, in cotrain.environments.base
from dataclasses import dataclass, replace
from random import Random

from cotrain import Environment, Message, Outcome, Part, Role, Task
from cotrain.environments.parsing import MOVES, format_moves, parse_moves
from cotrain.environments.procedural import draw_task

CELLS = [(row, column) for row in range(6) for column in range(6)]


@dataclass(frozen=True)
class State:
    runner: tuple[int, int]
    goal: tuple[int, int]
    call: str = "none"


class Treasure(Environment[State]):
    name = "treasure"
    roles = (
        Role("scout", "Call the way from at to goal (row, column), as <answer>Up Left</answer>."),
        Role("runner", "Run the way that your scout proposes, as <answer>Up Left</answer>."),
    )

    def task(self, split: str, seed: int, index: int) -> Task:
        return draw_task(self.name, split, seed, index, lambda g: tuple(g.sample(CELLS, 2)))

    def start(self, task: Task, purpose: str) -> State:
        return State(*task.data)

    def observe(self, state: State, agent: str) -> list[Message]:
        seen = self.render(state) if agent == "scout" else f"proposal {state.call}"
        return [Message("system", self.prompt(agent)), Message("user", seen)]

    def act(self, state: State, agent: str, reply: str, evidence: object) -> Outcome[State]:
        moves = (parse_moves(reply) or ())[:4]
        row = min(5, max(0, state.runner[0] + moves.count("Down") - moves.count("Up")))
        column = min(5, max(0, state.runner[1] + moves.count("Right") - moves.count("Left")))
        team = 1 - (abs(row - state.goal[0]) + abs(column - state.goal[1])) / 10
        if agent == "scout":
            called = replace(state, call=" ".join(moves) or "none")
            return Outcome(called, team, (Part("format", 1.0, float(bool(moves))),))
        parts = (Part("format", 0.5, float(bool(moves))), Part("found", 0.5, float(team == 1)))
        return Outcome(replace(state, runner=(row, column)), team, parts, done=team == 1)

    def success(self, state: State) -> bool:
        return state.runner == state.goal

    def render(self, state: State) -> str:
        return "at {} {} goal {} {}".format(*state.runner, *state.goal)

    def attempts(self, state: State, agent: str, generator: Random) -> list[str]:
        return [format_moves(generator.choices(MOVES, k=count)) for count in (1, 2, 3, 4)]
