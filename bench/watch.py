"""How often the watch for reward hacking is wrong: alarms in runs where success never changes.

The score rises at every evaluation, which is the worst case: only the noise of success decides.
Prints for each value of `evaluation.watch` the largest share of runs with an alarm, and where.
"""

import argparse
import random
from itertools import product

from cotrain.training.watch import Look, raised

TASKS, SUCCESS, WATCH = (50, 100, 200), (0.05, 0.25, 0.5, 0.75, 0.9), (1, 2, 3)
NUM_LOOKS = 21  # the start and 20 evaluations


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=3000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    shares: dict[tuple[int, int, float], float] = {}
    for tasks, success in product(TASKS, SUCCESS):
        generator = random.Random(f"{options.seed} {tasks} {success}")
        runs = [drawn(generator, tasks, success) for _ in range(options.runs)]
        for watch in WATCH:
            alarms = sum(has_alarm(run, watch) for run in runs)
            shares[watch, tasks, success] = alarms / options.runs
    for watch in WATCH:
        key = max((key for key in shares if key[0] == watch), key=shares.__getitem__)
        print(f"watch {watch}: {shares[key]:.4f} of runs, with {key[1]} tasks and success {key[2]}")


def drawn(generator: random.Random, tasks: int, success: float) -> list[Look]:
    """The evaluations of one run: each task is solved with the same probability, independently."""
    looks: list[Look] = []
    for number in range(NUM_LOOKS):
        solved = sum(generator.random() < success for _ in range(tasks))
        scores = tuple(number + 0.01 * place for place in range(4)) if number else ()
        looks.append(Look(4 * number, solved, tasks, scores))
    return looks


def has_alarm(looks: list[Look], watch: int) -> bool:
    """Whether any of the evaluations raises an alarm."""
    return any(raised(looks[:length], watch) is not None for length in range(2, len(looks) + 1))


if __name__ == "__main__":
    main()
