"""Samples a second of one whole training step (sampling, reward, update) in TRL's GRPOTrainer.

The peer's half of the training-step benchmark; run it with a Python that has `trl`:

    python bench/trl_step.py --model-dir FOLDER --prompts prompts.json

A step samples `--candidates` replies of exactly `--reply-tokens` tokens to every prompt of the
file and takes one optimiser step over all of them. The prompts are lists of token ids; TRL takes
text, so each goes in as its text, and the script stops if the text gives other ids. Prints one
JSON object on one line.

What could slow TRL down and is no part of the work is off: gradient checkpointing (on in TRL by
default), bfloat16 emulation, logging, saving, evaluation, the reference model (`beta` 0) and the
pass for old log-probs (TRL skips it when every reply is used in one optimiser step). The loss is
`grpo`, the mean over replies. `--rows-per-forward` splits the batch into micro-batches: 96 is as
fast as all 384 rows at once and needs half the memory, so it is the default. `--cache static` and
`--optimizer` try the other settings of TRL.
"""

import argparse
import json
import math
import platform
import resource
import statistics
import tempfile
import time
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch
from datasets import Dataset
from datasets import disable_progress_bars as disable_datasets_progress_bars
from transformers import (
    AutoModelForCausalLM,
    AutoTokenizer,
    PreTrainedTokenizerBase,
    PrinterCallback,
    TrainerCallback,
)
from transformers.utils import logging as transformers_logging
from trl import GRPOConfig, GRPOTrainer

ROWS_PER_FORWARD = 96
BYTES_PER_MAXRSS_UNIT = 1 if platform.system() == "Darwin" else 1024


class StepClock(TrainerCallback):
    """The wall and processor seconds of each step, from the end of the step before to its own."""

    def __init__(self) -> None:
        self.seconds: list[float] = []
        self.cpu_seconds: list[float] = []
        self._last = (0.0, 0.0)

    def on_train_begin(self, *_: Any, **__: Any) -> None:
        self._last = (time.perf_counter(), time.process_time())

    def on_step_end(self, *_: Any, **__: Any) -> None:
        now = (time.perf_counter(), time.process_time())
        self.seconds.append(now[0] - self._last[0])
        self.cpu_seconds.append(now[1] - self._last[1])
        self._last = now


class ReplyMeter:
    """The reward, which is the mean token id over 64; it also counts the tokens of the replies."""

    __name__ = "mean_token_id"

    def __init__(self) -> None:
        self.reply_tokens: list[int] = []

    def __call__(self, completion_ids: list[list[int]], **_: Any) -> list[float]:
        self.reply_tokens = [len(ids) for ids in completion_ids]
        return [sum(ids) / (64 * len(ids)) for ids in completion_ids]


def peak_memory_bytes() -> int:
    """The largest resident set that this process has had so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * BYTES_PER_MAXRSS_UNIT


def prompt_texts(prompts: Sequence[Sequence[int]], tokenizer: PreTrainedTokenizerBase) -> list[str]:
    """The texts that TRL will tokenise into exactly these ids.

    Raises `SystemExit` naming the first prompt for which there is no such text.
    """
    texts = [tokenizer.decode(prompt, skip_special_tokens=False) for prompt in prompts]
    for number, (prompt, text) in enumerate(zip(prompts, texts, strict=True)):
        ids = tokenizer(text=text)["input_ids"]
        if ids != list(prompt):
            raise SystemExit(
                f"--prompts: prompt {number} has the ids {list(prompt)}, its text {text!r} gives "
                f"{ids}; use token ids that survive decoding and encoding"
            )
    return texts


def split_rows(rows: int, asked: int | None) -> int:
    """Rows of one micro-batch: those asked for, else the largest even split up to the default."""
    if asked is None:
        return math.gcd(rows, ROWS_PER_FORWARD)
    if rows % asked:
        raise SystemExit(f"--rows-per-forward {asked} must divide the {rows} replies of a step")
    return asked


def grpo_config(
    options: argparse.Namespace, rows: int, rows_per_forward: int, folder: str
) -> GRPOConfig:
    """One optimiser step a generation batch, everything beside the work switched off."""
    return GRPOConfig(
        output_dir=folder,
        per_device_train_batch_size=rows_per_forward,
        gradient_accumulation_steps=rows // rows_per_forward,
        steps_per_generation=rows // rows_per_forward,
        num_generations=options.candidates,
        num_iterations=1,
        max_steps=options.warmup + options.steps,
        max_completion_length=options.reply_tokens,
        generation_kwargs={"min_new_tokens": options.reply_tokens},
        cache_implementation=options.cache,
        temperature=1.0,
        top_p=1.0,
        top_k=0,
        beta=0.0,
        loss_type="grpo",
        learning_rate=1e-4,
        lr_scheduler_type="constant",
        optim=options.optimizer,
        max_grad_norm=1.0,
        shuffle_dataset=False,
        gradient_checkpointing=False,
        bf16=False,
        use_cpu=True,
        use_vllm=False,
        dataloader_num_workers=0,
        dataloader_pin_memory=False,
        logging_strategy="no",
        save_strategy="no",
        eval_strategy="no",
        report_to="none",
        disable_tqdm=True,
        seed=0,
    )


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """Train for warm-up and measured steps; what the benchmark prints."""
    tokenizer = AutoTokenizer.from_pretrained(options.model_dir)
    model = AutoModelForCausalLM.from_pretrained(options.model_dir, dtype=torch.float32)
    prompts = json.loads(options.prompts.read_text())
    rows = len(prompts) * options.candidates
    rows_per_forward = split_rows(rows, options.rows_per_forward)
    texts = prompt_texts(prompts, tokenizer) * (options.warmup + options.steps)
    clock, meter = StepClock(), ReplyMeter()
    memory_before = peak_memory_bytes()
    with tempfile.TemporaryDirectory() as folder:
        trainer = GRPOTrainer(
            model=model,
            processing_class=tokenizer,
            reward_funcs=meter,
            args=grpo_config(options, rows, rows_per_forward, folder),
            train_dataset=Dataset.from_dict({"prompt": texts}),
            callbacks=[clock],
        )
        trainer.remove_callback(PrinterCallback)
        trainer.train()
    require_fixed_work(meter.reply_tokens, rows, options.reply_tokens)
    seconds = clock.seconds[options.warmup :]
    return {
        "samples_per_second": rows / statistics.median(seconds),
        "samples_per_second_low": rows / max(seconds),
        "samples_per_second_high": rows / min(seconds),
        "step_seconds": seconds,
        "step_cpu_seconds": clock.cpu_seconds[options.warmup :],
        "samples": rows,
        "prompt_tokens": len(prompts[0]),
        "reply_tokens": options.reply_tokens,
        "rows_per_forward": rows_per_forward,
        "parameters": sum(p.numel() for p in model.parameters()),
        "threads": torch.get_num_threads(),
        "peak_memory_bytes": peak_memory_bytes(),
        "memory_before_training_bytes": memory_before,
        "versions": {n: version(n) for n in ("trl", "transformers", "torch", "accelerate")},
        "python": platform.python_version(),
    }


def require_fixed_work(reply_tokens: Sequence[int], rows: int, expected: int) -> None:
    """Stop unless the last step had `rows` replies of exactly the expected length."""
    if list(reply_tokens) != [expected] * rows:
        raise SystemExit(
            f"the last step had {len(reply_tokens)} replies of {sorted(set(reply_tokens))} tokens, "
            f"expected {rows} of {expected}; the figures would compare unequal work"
        )


def parse_options() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--model-dir", type=Path, required=True, help="model and tokenizer")
    parser.add_argument("--prompts", type=Path, required=True, help="JSON list of token-id lists")
    parser.add_argument("--candidates", type=int, default=8)
    parser.add_argument("--reply-tokens", type=int, default=12)
    parser.add_argument("--steps", type=int, default=5, help="measured steps")
    parser.add_argument("--warmup", type=int, default=2, help="steps before the measured ones")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rows-per-forward", type=int, help=f"default: up to {ROWS_PER_FORWARD}")
    parser.add_argument("--cache", choices=["static"], help="default: TRL's own")
    parser.add_argument("--optimizer", default="adamw_torch_fused")
    return parser.parse_args()


def main() -> None:
    """Measure and print one line of JSON."""
    options = parse_options()
    torch.set_num_threads(options.threads)
    transformers_logging.disable_progress_bar()
    disable_datasets_progress_bars()
    print(json.dumps(measure(options)))


if __name__ == "__main__":
    main()
