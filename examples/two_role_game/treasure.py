"""Treasure: a scout who sees the treasure calls the way, a runner who does not see it runs."""

# ruff: noqa: D101, D102 - what each method does is said once, in cotrain.environments.base
from dataclasses import dataclass, replace
from random import Random

from cotrain import Environment, Message, Outcome, Part, Role, Task
from cotrain.environments.parsing import MOVES, format_moves, parse_moves
from cotrain.environments.procedural import draw_task

CELLS = [(row, column) for row in range(6) for column in range(6)]
VIEW = "legal Up Down Left Right at {} {} goal {} {} moves 4 grid "


@dataclass(frozen=True)
class State:
    runner: tuple[int, int]
    treasure: tuple[int, int]
    call: str = ""


class Treasure(Environment[State]):
    name = "treasure"
    roles = (Role("scout", "proposer"), Role("runner", "planner"))

    def task(self, split: str, seed: int, index: int) -> Task:
        return draw_task(self.name, split, seed, index, lambda g: tuple(g.sample(CELLS, 2)))

    def start(self, task: Task, purpose: str) -> State:
        return State(*task.data)

    def observe(self, state: State, agent: str) -> list[Message]:
        seen = state if agent == "scout" else replace(state, treasure=state.runner)
        return [Message("system", self.prompt(agent)), Message("user", self.render(seen))]

    def act(self, state: State, agent: str, reply: str, evidence: object) -> Outcome[State]:
        moves = (parse_moves(reply) or ())[:4]
        row = min(5, max(0, state.runner[0] + moves.count("Down") - moves.count("Up")))
        column = min(5, max(0, state.runner[1] + moves.count("Right") - moves.count("Left")))
        team = 1 - (abs(row - state.treasure[0]) + abs(column - state.treasure[1])) / 10
        parts = (Part("format", 0.5, float(bool(moves))), Part("found", 0.5, float(team == 1)))
        if agent == "scout":
            call = f" proposal {' '.join(moves) or 'none'} ends {row} {column} illegal 0"
            return Outcome(replace(state, call=call), team, parts)
        return Outcome(State((row, column), state.treasure), team, parts, done=team == 1)

    def success(self, state: State) -> bool:
        return state.runner == state.treasure

    def render(self, state: State) -> str:
        marks = {state.treasure: "G", state.runner: "A"}
        cells = " ".join(marks.get(cell, ".") for cell in CELLS)
        return VIEW.format(*state.runner, *state.treasure) + cells + state.call

    def attempts(self, state: State, agent: str, generator: Random) -> list[str]:
        return [format_moves(generator.choices(MOVES, k=count)) for count in (1, 2, 3, 4)]
