"""Milliseconds an instance and single moves a second of the games, on one processor.

An instance is a training task with its opening state. A single move is one list of one move, played
by the rules alone. The best of several rounds is printed, since other load only slows a round.
"""

import argparse
import time
from collections.abc import Callable
from itertools import cycle, islice
from random import Random

from cotrain.environments.base import Environment
from cotrain.environments.grid import Grid, walk
from cotrain.environments.parsing import MOVES
from cotrain.environments.plan_path import PlanPath
from cotrain.environments.plan_path_state import start_of
from cotrain.environments.sokoban import Sokoban
from cotrain.environments.sokoban_room import Room, play


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--instances", type=int, default=400)
    parser.add_argument("--moves", type=int, default=40_000)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    games = {
        "Plan-Path 10 x 10": (PlanPath(), single_moves_on_a_grid),
        "Sokoban 6 x 6": (Sokoban(), single_moves_in_a_room),
    }
    for name, (environment, single_moves) in games.items():
        rounds = range(options.rounds)
        instance = min(instances(environment, options.instances, seed) for seed in rounds)
        moves = max(options.moves / seconds(single_moves(seed, options.moves)) for seed in rounds)
        print(f"{name}: {1000 * instance:.3f} ms an instance, {moves:,.0f} single moves a second")


def instances(environment: Environment, number: int, seed: int) -> float:
    """Seconds an instance, each of another index."""

    def draw() -> None:
        for index in range(number):
            environment.start(environment.task("train", seed, index), "train")

    return seconds(draw) / number


def single_moves_on_a_grid(seed: int, number: int) -> Callable[[], None]:
    """Random single moves over one grid, each from where the last one led."""
    grid = PlanPath().task("train", seed, 0).data
    assert isinstance(grid, Grid)
    lists, distances = random_lists(seed, number), start_of(grid).distances

    def move() -> None:
        cell = grid.start
        for moves in lists:
            cell = walk(grid, cell, moves, distances).end

    return move


def single_moves_in_a_room(seed: int, number: int) -> Callable[[], None]:
    """Random single moves in one room, each from where the last one led."""
    room = Sokoban().task("train", seed, 0).data
    assert isinstance(room, Room)
    lists = random_lists(seed, number)

    def move() -> None:
        position = room.opening
        for moves in lists:
            position = play(room, position, moves).position

    return move


def random_lists(seed: int, number: int) -> list[tuple[str]]:
    generator = Random(seed)
    few = [(generator.choice(MOVES),) for _ in range(1000)]
    return list(islice(cycle(few), number))


def seconds(work: Callable[[], None]) -> float:
    """Seconds that this takes."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


if __name__ == "__main__":
    main()
