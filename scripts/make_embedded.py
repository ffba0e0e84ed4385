"""Makes the tiny models: the embedded base, the baselines beside it, and siblings of the base.

    python scripts/make_embedded.py base
    python scripts/make_embedded.py base --lesson sudoku --to src/cotrain/models/tiny/sudoku
    python scripts/make_embedded.py baseline --turns 6 --tokens 600000
    python scripts/make_embedded.py baseline --turns 1 --tokens 600000

A base is a toy Qwen3 that imitates the noisy demonstrations of a lesson (`lessons.py`; by default
Plan-Path, the base that ships with the package): with probability `--perfect` a good reply, and
else one of the right form. So it knows the form of replies and the goal only weakly. A baseline is
the embedded base after `single_grpo` with a budget of sampled tokens, as `cotrain train` trains it.
Weights are stored in bfloat16. `docs/results.md` has command, seed and commit of each model.
"""

import argparse
import json
import random
import shutil
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from lessons import LESSONS, OPEN_LOOP_MOVES, Lesson
from safetensors.torch import load_file, save_file
from transformers import PreTrainedTokenizerFast

from cotrain.assembly.commands import train
from cotrain.environments.base import Environment
from cotrain.learning.forward import PACKED
from cotrain.learning.imitation import Demonstration, Imitation, Schedule
from cotrain.policies.causal_lm import CausalPolicy
from cotrain.policies.chat import ChatCodec
from cotrain.policies.loading import EMBEDDED_ROOT
from cotrain.policies.networks import WholeModel
from cotrain.policies.toy import ToySize, toy_model, toy_tokenizer
from cotrain.policies.weights import MasterWeights
from cotrain.runs.checkpoint_folder import latest_complete

REPLIES_A_PROMPT = 4


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=["base", "baseline"])
    parser.add_argument("--lesson", choices=[*LESSONS], default="plan_path")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--steps", type=int, default=2000, help="imitation steps")
    parser.add_argument("--prompts", type=int, default=64, help="prompts of an imitation step")
    parser.add_argument("--perfect", type=float, default=0.3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--turns", type=int, default=6, help="of the baseline")
    parser.add_argument("--tokens", type=int, help="sampled tokens of the baseline")
    parser.add_argument("--to", type=Path, help="folder of the base; by default the embedded one")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    if options.what == "base":
        make_base(options)
    else:
        make_baseline(options)


def make_base(options: argparse.Namespace) -> None:
    """Imitates for `--steps` steps of `--prompts` prompts, 4 replies each; writes the base."""
    lesson = LESSONS[options.lesson]
    tokenizer = toy_tokenizer(lesson.words)
    model = toy_model(len(tokenizer), ToySize(), options.seed)
    codec = ChatCodec(tokenizer, (tokenizer.eos_token_id,), {})
    policy = CausalPolicy("base", WholeModel(model, tokenizer), codec, 10**6)
    weights = MasterWeights(policy.network.tensors(), torch.float32)
    schedule = Schedule(learning_rate=2e-3, num_steps=options.steps)
    imitation = Imitation(policy, weights, PACKED, schedule)
    demonstrations = mixed(lesson, codec, tokenizer, options)
    began, loss = time.time(), 0.0
    for step in range(1, options.steps + 1):
        batch = [next(demonstrations) for _ in range(options.prompts)]
        loss = 0.98 * loss + 0.02 * imitation.step(step, batch)
        if step % 100 == 0:
            smoothed = loss / (1 - 0.98**step)
            print(f"step {step}: loss {smoothed:.4f}, {time.time() - began:.0f} s", flush=True)
    folder = options.to or EMBEDDED_ROOT / "tiny" / "base"
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    to_bfloat16(folder)


def mixed(
    lesson: Lesson,
    codec: ChatCodec,
    tokenizer: PreTrainedTokenizerFast,
    options: argparse.Namespace,
) -> Iterator[Demonstration]:
    """Demonstrations of every variant of a lesson, in their shares."""
    variants = lesson.environments()
    streams = [
        demonstrations(lesson, environment, codec, tokenizer, options.perfect, place)
        for place, (environment, _) in enumerate(variants, start=1000 * (options.seed + 1))
    ]
    generator = random.Random(options.seed)
    while True:
        yield next(generator.choices(streams, [share for _, share in variants])[0])


def demonstrations(
    lesson: Lesson,
    environment: Environment[Any],
    codec: ChatCodec,
    tokenizer: PreTrainedTokenizerFast,
    perfect: float,
    seed: int,
) -> Iterator[Demonstration]:
    """Four replies to every prompt on the way of episodes that follow the first of them."""
    generator, index = random.Random(seed), 0
    while True:
        state = environment.start(environment.task("train", seed, index), "train")
        index += 1
        for _ in range(lesson.turns):
            for role in environment.roles:
                replies = [
                    lesson.reply(environment, state, role.name, perfect, generator)
                    for _ in range(REPLIES_A_PROMPT)
                ]
                ids = tuple(
                    (*tokenizer.encode(reply, add_special_tokens=False), tokenizer.eos_token_id)
                    for reply in replies
                )
                yield Demonstration(codec.encode(environment.observe(state, role.name)), ids)
                state = environment.act(state, role.name, replies[0], ()).state
            if environment.success(state):
                break


def make_baseline(options: argparse.Namespace) -> None:
    """Trains `single_grpo` from the base and keeps its last policy."""
    overrides: dict[str, object] = {
        "algorithm.method": "single_grpo",
        "team.turns": options.turns,
        "run.seed": options.seed,
        "run.steps": 100_000,
        "run.max_sampled_tokens": options.tokens,
        "run.evaluate_every": 20,
        "evaluation.baselines": [],
        "model.threads": options.threads,
    }
    if options.turns == 1:
        overrides["environment.options.max_moves"] = OPEN_LOOP_MOVES
        overrides["sampling.max_reply_tokens"] = OPEN_LOOP_MOVES + 4
    to = options.to or EMBEDDED_ROOT / "tiny"
    folder = to / f"single_grpo_{options.turns}_{'turn' if options.turns == 1 else 'turns'}"
    with tempfile.TemporaryDirectory() as run_dir:
        run = train(None, overrides, run_dir)
        latest = latest_complete(run.path / "checkpoints").checkpoint
        assert latest is not None
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(latest.path / "policies", folder / "policies")
        shutil.copy(latest.path / "state.json", folder / "state.json")
        print(json.dumps([row for row in run.evaluations if row["split"] == "test"], indent=1))
    to_bfloat16(folder / "policies" / "shared")


def to_bfloat16(folder: Path) -> None:
    """Stores the weights of a model folder in bfloat16."""
    path = folder / "model.safetensors"
    tensors = {name: value.to(torch.bfloat16) for name, value in load_file(path).items()}
    save_file(tensors, path, metadata={"format": "pt"})


if __name__ == "__main__":
    main()
