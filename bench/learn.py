"""A short learning run that CI makes: the embedded team must get better, beyond doubt.

Trains the embedded default for a few steps, then plays the same held-out tasks with the policy
before and after. Passes when the lower end of the 95 % interval of the paired gain (bootstrap over
tasks) is above 0.
"""

import argparse
import random
import sys
import tempfile
import time
from pathlib import Path

from cotrain.assembly.commands import train
from cotrain.assembly.evaluating import team_of
from cotrain.training.evaluation import Contender

RESAMPLES = 2000


def solved(contender: Contender, tasks: int) -> list[bool]:
    """Which of the first test tasks this team solves."""
    return [episode.success for episode in contender.episodes.play("test", range(tasks), 0)]


def gain_interval(before: list[bool], after: list[bool], seed: int) -> tuple[float, float]:
    """The 95 % interval of the mean paired difference, by resampling tasks.

    >>> gain_interval([False] * 50, [True] * 50, seed=0)
    (1.0, 1.0)
    """
    differences = [float(b) - float(a) for a, b in zip(before, after, strict=True)]
    generator = random.Random(seed)
    means = sorted(
        sum(generator.choices(differences, k=len(differences))) / len(differences)
        for _ in range(RESAMPLES)
    )
    return means[int(0.025 * RESAMPLES)], means[int(0.975 * RESAMPLES) - 1]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=10)
    parser.add_argument("--tasks", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    began = time.perf_counter()
    overrides = {
        "run.steps": options.steps,
        "run.seed": options.seed,
        "run.evaluate_every": 0,
        "evaluation.tasks": 1,
        "evaluation.validation_tasks": 1,
        "evaluation.baselines": [],
    }
    with tempfile.TemporaryDirectory() as folder:
        run = train(None, overrides, Path(folder) / "run")
        after = solved(team_of(run.path, {}).contender, options.tasks)
    before = solved(team_of("plan_path_tiny", overrides).contender, options.tasks)
    low, high = gain_interval(before, after, options.seed)
    print(
        f"success {sum(before) / len(before):.3f} -> {sum(after) / len(after):.3f} on "
        f"{options.tasks} test tasks after {options.steps} steps; paired gain, 95 %: {low:.3f} to "
        f"{high:.3f}; {time.perf_counter() - began:.0f} s"
    )
    sys.exit(0 if low > 0 else 1)


if __name__ == "__main__":
    main()
