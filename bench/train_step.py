"""One whole training step beside TRL's GRPOTrainer: samples a second and peak memory, as a ratio.

Same model, prompts, K, reply length and threads, each side in a process of its own, in turn, in one
run. The peer needs a Python that has `trl` (a virtual environment of its own keeps it apart):

    python -m venv ../peer && ../peer/bin/pip install torch==2.13.0 trl==1.16.0
    python bench/train_step.py --trl-python ../peer/bin/python

Without `--trl-python` our side alone is measured.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from toy_batch import make_prompts, write_model

HERE = Path(__file__).parent


def measure(python: str, script: str, arguments: list[str]) -> dict[str, Any]:
    """Runs one side once and reads the JSON line that it prints."""
    done = subprocess.run(
        [python, str(HERE / script), *arguments], capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise SystemExit(f"{script} failed:\n{done.stderr[-3000:]}")
    return json.loads(done.stdout.strip().splitlines()[-1])


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--trl-python", help="a Python that has trl")
    parser.add_argument("--rounds", type=int, default=3, help="each side is run so often")
    parser.add_argument("--prompts", type=int, default=48)
    parser.add_argument("--prompt-tokens", type=int, default=45)
    parser.add_argument("--candidates", type=int, default=8)
    parser.add_argument("--reply-tokens", type=int, default=12)
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        model, prompts = Path(folder) / "model", Path(folder) / "prompts.json"
        write_model(model)
        prompts.write_text(json.dumps(make_prompts(options.prompts, options.prompt_tokens)))
        arguments = ["--model-dir", str(model), "--prompts", str(prompts)]
        for key in ("candidates", "reply_tokens", "threads"):
            arguments += [f"--{key.replace('_', '-')}", str(getattr(options, key))]
        sides = {"cotrain": (sys.executable, "cotrain_step.py")}
        if options.trl_python:
            sides["trl"] = (options.trl_python, "trl_step.py")
        found: dict[str, list[dict[str, Any]]] = {name: [] for name in sides}
        for _ in range(options.rounds):
            for name, (python, script) in sides.items():
                found[name].append(measure(python, script, arguments))
                last = found[name][-1]
                print(
                    f"{name}: {last['samples_per_second']:.0f} samples/s, "
                    f"peak {last['peak_memory_bytes'] / 2**20:.0f} MiB",
                    flush=True,
                )
    if "trl" in found:
        pairs = zip(found["cotrain"], found["trl"], strict=True)
        ratios = [a["samples_per_second"] / b["samples_per_second"] for a, b in pairs]
        memory = [
            statistics.median(run["peak_memory_bytes"] for run in found[name]) for name in found
        ]
        print(
            f"ratio of samples/s, cotrain over TRL: median {statistics.median(ratios):.2f} "
            f"(from {min(ratios):.2f} to {max(ratios):.2f}); "
            f"ratio of peak memory: {memory[0] / memory[1]:.2f}"
        )


if __name__ == "__main__":
    main()
