"""How many small programs a second run in isolation, beside plain subprocesses of the same program.

    python bench/sandbox.py                  rounds of both, alternating
    python bench/sandbox.py --soak 2000      that many hostile programs, and what they left behind

Both sides have as many at once (`--workers`), the same program, and are timed in one run.
"""

import argparse
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

from soak import soak

from cotrain.environments.sandbox import Limits, open_sandbox

PROGRAM = "n = int(input())\nprint(sum(i * i for i in range(n)))\n"
STDIN, STDOUT = "100\n", "328350\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--programs", type=int, default=100, help="a round of each side")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--soak", type=int, help="how many hostile programs, instead")
    parser.add_argument("--json", action="store_true", help="the soak's figures as JSON")
    chosen = parser.parse_args()
    if chosen.soak:
        found = soak(chosen.soak, chosen.workers)
        print(found.as_json() if chosen.json else found.as_text())
    else:
        compare(chosen.workers, chosen.programs, chosen.rounds)


def compare(workers: int, programs: int, rounds: int) -> None:
    """Prints the median rate of both sides and of their ratio."""
    rates: list[tuple[float, float]] = []
    with (
        closing(open_sandbox("bubblewrap", workers, Limits())) as sandbox,
        ThreadPoolExecutor(workers) as threads,
    ):
        sides = (lambda: sandbox.run(PROGRAM, STDIN).stdout, plain)
        for side in sides:
            rate(side, workers, threads)
        for _ in range(rounds):
            isolated, alone = (rate(side, programs, threads) for side in sides)
            rates.append((isolated, alone))
            print(f"isolated {isolated:6.1f}/s   plain {alone:6.1f}/s   {isolated / alone:.2f} x")
    medians = (statistics.median(side) for side in zip(*rates, strict=True))
    ratio = statistics.median(isolated / alone for isolated, alone in rates)
    isolated, alone = medians
    print(f"median: isolated {isolated:.1f}/s, plain {alone:.1f}/s, {ratio:.2f} x")


def plain() -> str:
    """The program as a plain subprocess."""
    words = [sys.executable, "-I", "-c", PROGRAM]
    done = subprocess.run(words, input=STDIN, capture_output=True, text=True, check=True)
    return done.stdout


def rate(side: Callable[[], str], programs: int, threads: ThreadPoolExecutor) -> float:
    """Programs a second."""
    began = time.perf_counter()
    assert set(threads.map(lambda _: side(), range(programs))) == {STDOUT}
    return programs / (time.perf_counter() - began)


if __name__ == "__main__":
    main()
