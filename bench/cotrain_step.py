"""Samples a second of one whole training step (sampling, reward, update) in cotrain.

Our half of the training-step benchmark; `bench/train_step.py` runs it beside the peer's half. A
step samples `--candidates` replies of exactly `--reply-tokens` tokens to every prompt, groups and
credits them, and takes one optimiser step over all of them. Prints one JSON object on one line.
"""

import argparse
import json
import platform
import statistics
import time
from importlib.metadata import version
from pathlib import Path

import torch

from cotrain.core.advantages import normalised
from cotrain.core.aggregation import sequence_mean
from cotrain.core.episode import Reply, TurnKey
from cotrain.core.grouping import turn_groups
from cotrain.core.samples import Sample, credit
from cotrain.core.seeds import derive_seed
from cotrain.learning.probe import choose_form
from cotrain.learning.steps import UpdateSettings
from cotrain.learning.update import PolicyLearner
from cotrain.policies.base import Decoding, SampleRequest
from cotrain.policies.causal_lm import CausalPolicy
from cotrain.policies.chat import ChatCodec
from cotrain.policies.loading import load_base
from cotrain.policies.networks import WholeModel
from cotrain.policies.weights import MasterWeights
from cotrain.training.recording import peak_memory_bytes


class Step:
    """A policy and its learner on fixed prompts; no token ends a reply, so the work is fixed."""

    def __init__(self, options: argparse.Namespace) -> None:
        model, tokenizer = load_base(str(options.model_dir), torch.float32)
        dtype = torch.bfloat16 if options.bfloat16 else torch.float32
        network = WholeModel(model, tokenizer)
        weights = MasterWeights(network.tensors(), dtype)
        codec = ChatCodec(tokenizer, end_ids=(), template_options={})
        self.policy = CausalPolicy("shared", network, codec, max_batch_tokens=10**6)
        settings = UpdateSettings(
            sequence_mean,
            max_reply_tokens=options.reply_tokens,
            learning_rate=1e-4,
            microbatch_tokens=options.microbatch_tokens,
        )
        self.learner = PolicyLearner(self.policy, weights, choose_form(model), settings)
        self.prompts = [tuple(ids) for ids in json.loads(options.prompts.read_text())]
        self.decoding = Decoding(1.0, options.reply_tokens)
        self.candidates = options.candidates

    def take(self, step: int) -> int:
        """One whole step; returns the number of samples."""
        requests = [
            SampleRequest(prompt, self._seeds(step, number), self.decoding)
            for number, prompt in enumerate(self.prompts)
        ]
        replies = self.policy.sample(requests)
        samples = [
            self._sample(step, number, candidate, reply)
            for number, group in enumerate(replies)
            for candidate, reply in enumerate(group)
        ]
        credited = credit(turn_groups(samples), normalised, cut_replies="train")
        self.learner.update(credited, step, rate_factor=1.0)
        return len(samples)

    def _seeds(self, step: int, number: int) -> tuple[int, ...]:
        return tuple(derive_seed(step, number, place) for place in range(self.candidates))

    def _sample(self, step: int, number: int, candidate: int, reply: Reply) -> Sample:
        if len(reply.token_ids) != self.decoding.max_reply_tokens:
            raise SystemExit(f"a reply has {len(reply.token_ids)} tokens: the work is not fixed")
        return Sample(
            key=TurnKey(step, number, "solo", 1),
            candidate=candidate,
            width=self.candidates,
            task_number=number,
            role="solo",
            policy="shared",
            version=self.policy.version,
            prompt_ids=self.prompts[number],
            reply_ids=reply.token_ids,
            sampler_logprobs=reply.logprobs,
            temperature=1.0,
            finish=reply.finish,
            score=sum(reply.token_ids) / (64 * len(reply.token_ids)),
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model-dir", type=Path, required=True)
    parser.add_argument("--prompts", type=Path, required=True, help="JSON list of token-id lists")
    parser.add_argument("--candidates", type=int, default=8)
    parser.add_argument("--reply-tokens", type=int, default=12)
    parser.add_argument("--steps", type=int, default=5)
    parser.add_argument("--warmup", type=int, default=2)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--microbatch-tokens", type=int, default=4096)
    parser.add_argument("--bfloat16", action="store_true")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    before = peak_memory_bytes()
    step = Step(options)
    seconds: list[float] = []
    for number in range(1, options.warmup + options.steps + 1):
        began = time.perf_counter()
        samples = step.take(number)
        seconds.append(time.perf_counter() - began)
    measured = seconds[options.warmup :]
    print(
        json.dumps(
            {
                "samples_per_second": samples / statistics.median(measured),
                "step_seconds": measured,
                "samples": samples,
                "threads": torch.get_num_threads(),
                "peak_memory_bytes": peak_memory_bytes(),
                "memory_before_training_bytes": before,
                "versions": {name: version(name) for name in ("cotrain", "transformers", "torch")},
                "python": platform.python_version(),
            }
        )
    )


if __name__ == "__main__":
    main()
