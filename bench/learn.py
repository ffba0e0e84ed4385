"""A short learning run that CI makes: the embedded team must get better, beyond doubt.

Trains the embedded default for a few steps, then plays the same held-out tasks with the policy
before and after. Passes when the lower end of the 95 % interval of the paired gain (bootstrap over
tasks) is above 0.
"""

import argparse
import sys
import tempfile
import time
from pathlib import Path

from cotrain.assembly.commands import train
from cotrain.assembly.evaluating import team_of
from cotrain.compare.intervals import paired_difference
from cotrain.training.evaluation import Contender, evaluate


def solved(contender: Contender, tasks: int) -> str:
    """A digit for each of the first test tasks: 1 where this team solves it."""
    return str(evaluate(contender, "test", tasks, 0)["solved"])


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
    gain = paired_difference([after], [before], options.seed)
    first, last = (digits.count("1") / options.tasks for digits in (before, after))
    print(
        f"success {first:.3f} -> {last:.3f} "
        f"on {options.tasks} test tasks after {options.steps} steps; paired gain, 95 %: "
        f"{gain.low:.3f} to {gain.high:.3f}; {time.perf_counter() - began:.0f} s"
    )
    sys.exit(0 if gain.low > 0 else 1)


if __name__ == "__main__":
    main()
