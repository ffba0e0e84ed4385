"""Tokens a second of the local engine over plain `generate` on the same batch, as a ratio.

Same model, prompts, replies a prompt, reply length, precision and threads; both sample at
temperature 1 in one process, in turn. `generate` gets the prompts once with `num_return_sequences`.
"""

import argparse
import statistics
import tempfile
import time
from pathlib import Path

import torch
from toy_batch import make_prompts, write_model

from cotrain.policies.base import Decoding, SampleRequest
from cotrain.policies.causal_lm import CausalPolicy, pad_left
from cotrain.policies.chat import ChatCodec
from cotrain.policies.loading import load_base
from cotrain.policies.networks import WholeModel


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--prompts", type=int, default=48)
    parser.add_argument("--prompt-tokens", type=int, default=45)
    parser.add_argument("--candidates", type=int, default=8)
    parser.add_argument("--reply-tokens", type=int, default=12)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--model", help="a model folder; default: a toy of 0.6 million parameters")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    with tempfile.TemporaryDirectory() as folder:
        if options.model is None:
            write_model(Path(folder))
        model, tokenizer = load_base(options.model or folder, torch.float32)
    policy = CausalPolicy(
        "shared", WholeModel(model, tokenizer), ChatCodec(tokenizer, (), {}), 10**7
    )
    prompts = make_prompts(options.prompts, options.prompt_tokens)
    rows = options.prompts * options.candidates
    tokens = rows * options.reply_tokens

    def engine(round_number: int) -> int:
        decoding = Decoding(1.0, options.reply_tokens)
        requests = [
            SampleRequest(
                tuple(prompt),
                tuple(
                    round_number * rows + place * options.candidates + c
                    for c in range(options.candidates)
                ),
                decoding,
            )
            for place, prompt in enumerate(prompts)
        ]
        return sum(len(reply.token_ids) for group in policy.sample(requests) for reply in group)

    ids, mask = pad_left(prompts, model.device)

    def plain_generate(round_number: int) -> int:
        torch.manual_seed(round_number)
        output = model.generate(
            input_ids=ids,
            attention_mask=mask,
            do_sample=True,
            temperature=1.0,
            top_k=0,
            top_p=1.0,
            num_return_sequences=options.candidates,
            min_new_tokens=options.reply_tokens,
            max_new_tokens=options.reply_tokens,
        )
        return output[:, ids.shape[1] :].numel()

    ratios: list[float] = []
    for round_number in range(options.rounds + 1):
        speeds: list[float] = []
        for side in (engine, plain_generate):
            began = time.perf_counter()
            sampled = side(round_number)
            speeds.append(sampled / (time.perf_counter() - began))
            if sampled != tokens:
                raise SystemExit(f"{side.__name__} sampled {sampled} tokens instead of {tokens}")
        if round_number:
            ratios.append(speeds[0] / speeds[1])
            print(f"engine {speeds[0]:.0f} tokens/s, generate {speeds[1]:.0f} tokens/s", flush=True)
    print(
        f"ratio, engine over generate: median {statistics.median(ratios):.2f} "
        f"(from {min(ratios):.2f} to {max(ratios):.2f}), K = {options.candidates}"
    )


if __name__ == "__main__":
    main()
