"""Learners on small policies, batches sampled from them, and a reference that packs nothing.

The reference goes through the replies one by one: a plain causal forward pass, no padding, no mask,
no micro-batch, and the loss written out.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import torch
from safetensors.torch import load_file
from tests.builders import make_sample
from tests.policies.toy_policies import toy_policy
from torch import Tensor

from cotrain.core.advantages import normalised
from cotrain.core.aggregation import sequence_mean
from cotrain.core.grouping import turn_groups
from cotrain.core.samples import CreditedSample, Sample, credit
from cotrain.learning.base import Learner
from cotrain.learning.forward import PACKED, Form
from cotrain.learning.moments import MOMENTS_FILE
from cotrain.learning.steps import UpdateSettings
from cotrain.learning.update import PolicyLearner
from cotrain.policies.base import Decoding, SampleRequest
from cotrain.policies.causal_lm import CausalPolicy
from cotrain.policies.weights import MasterWeights

MAX_REPLY_TOKENS = 8
PROMPTS = ((1, 5, 7, 8, 2), (1, 5, 9, 9, 10, 11, 12, 13, 2), (1, 6, 0, 14, 2, 1, 6))
SETTINGS = UpdateSettings(
    aggregation=sequence_mean,
    max_reply_tokens=MAX_REPLY_TOKENS,
    learning_rate=1e-3,
    max_grad_norm=1e9,
)
MIXED = ((1.0, 0.0, 0.5), (0.25, None, 1.0), (0.0, 0.0, 1.0), (0.5, 0.5, 0.5))
NO_SIGNAL = ((0.5, 0.5, 0.5), (1.0, None, None), (0.0, 0.0, 0.0))

Scores = Sequence[Sequence[float | None]]


@dataclass(frozen=True, slots=True)
class Trained:
    """A policy with what trains it."""

    policy: CausalPolicy
    weights: MasterWeights
    learner: PolicyLearner

    def masters(self) -> dict[str, Tensor]:
        """A copy of the masters."""
        return {name: value.clone() for name, value in self.weights.state().items()}


def make_trained(
    settings: UpdateSettings = SETTINGS,
    form: Form = PACKED,
    dtype: torch.dtype = torch.float64,
    seed: int = 0,
) -> Trained:
    policy = toy_policy(seed)
    weights = MasterWeights(policy.network.tensors(), dtype)
    return Trained(policy, weights, PolicyLearner(policy, weights, form, settings))


def draw(
    policy: CausalPolicy, scores: Scores = MIXED, temperature: float = 1.0, seed: int = 0
) -> list[Sample]:
    """One group a row of scores, sampled from the policy as it is; prompts of several lengths."""
    decoding = Decoding(temperature, MAX_REPLY_TOKENS)
    found: list[Sample] = []
    for episode, row in enumerate(scores):
        prompt = PROMPTS[episode % len(PROMPTS)]
        seeds = tuple(seed + 100 * episode + candidate for candidate in range(len(row)))
        [replies] = policy.sample([SampleRequest(prompt, seeds, decoding)])
        found += [
            make_sample(
                score,
                episode=episode,
                candidate=candidate,
                width=len(row),
                version=policy.version,
                prompt=prompt,
                reply=reply.token_ids,
                logprobs=reply.logprobs,
                temperature=temperature,
                finish=reply.finish,
            )
            for candidate, (reply, score) in enumerate(zip(replies, row, strict=True))
        ]
    return found


def credited(samples: Sequence[Sample]) -> list[CreditedSample]:
    return credit(turn_groups(samples), normalised, "train")


def batch(trained: Trained, scores: Scores = MIXED, seed: int = 0) -> list[CreditedSample]:
    """A credited batch, sampled from the policy as it is."""
    return credited(draw(trained.policy, scores, seed=seed))


def with_advantage(samples: Sequence[CreditedSample], advantage: float) -> list[CreditedSample]:
    return [replace(sample, advantage=advantage) for sample in samples]


def moments(learner: Learner, folder: Path) -> dict[str, Tensor]:
    learner.save_optimizer(folder)
    return load_file(folder / MOMENTS_FILE)


def gradient(learner: Learner, folder: Path) -> dict[str, Tensor]:
    """The gradient of the only update so far, read from Adam's first moment."""
    first = {k: v for k, v in moments(learner, folder).items() if k.endswith("/exp_avg")}
    return {key.removesuffix("/exp_avg"): value / (1 - 0.9) for key, value in first.items()}


def plain_logprobs(model: torch.nn.Module, sample: Sample) -> Tensor:
    """The log-probs of a reply, by the shortest way."""
    ids = torch.tensor([[*sample.prompt_ids, *sample.reply_ids]])
    logits = model(input_ids=ids).logits[0, len(sample.prompt_ids) - 1 : -1]
    logprobs = (logits / sample.temperature).log_softmax(-1)
    return logprobs.gather(-1, torch.tensor(sample.reply_ids).unsqueeze(-1)).squeeze(-1)


def with_own_logprobs(model: torch.nn.Module, sample: Sample) -> Sample:
    """The sample, as if this model had sampled it."""
    with torch.no_grad():
        return replace(sample, sampler_logprobs=tuple(plain_logprobs(model, sample).tolist()))


def reference_loss(
    model: torch.nn.Module,
    samples: Sequence[CreditedSample],
    aggregation: str,
    old: Sequence[Tensor] | None = None,
    clip_low: float = 0.2,
) -> Tensor:
    """The loss of one optimiser step over all its scored replies, as the specification says it.

    `old` are the log-probs before the first optimiser step; None stands for those of now.
    """
    per_reply: list[Tensor] = []
    lengths: list[int] = []
    for number, item in enumerate(samples):
        new = plain_logprobs(model, item.sample)
        before = new.detach() if old is None else old[number]
        ratio = (new - before).exp()
        limited = ratio.clamp(1 - clip_low, 1.2)
        gain = torch.minimum(ratio * item.advantage, limited * item.advantage)
        per_reply.append(-gain.sum())
        lengths.append(len(new))
    if aggregation == "sequence_mean":
        means = [total / length for total, length in zip(per_reply, lengths, strict=True)]
        return torch.stack(means).mean()
    if aggregation == "token_mean":
        return torch.stack(per_reply).sum() / sum(lengths)
    return torch.stack(per_reply).sum() / (len(lengths) * MAX_REPLY_TOKENS)


def reference_gradient(
    model: torch.nn.Module, samples: Sequence[CreditedSample], aggregation: str = "sequence_mean"
) -> tuple[float, dict[str, Tensor]]:
    """Loss and gradient by name; leaves none behind on the model."""
    model.zero_grad()
    loss = reference_loss(model, samples, aggregation)
    loss.backward()
    found = {n: p.grad.clone() for n, p in model.named_parameters() if p.grad is not None}
    model.zero_grad()
    return loss.item(), found


def distance(found: Mapping[str, Tensor], right: Mapping[str, Tensor]) -> float:
    """The largest difference, relative to the norm of what is right."""
    assert found.keys() == right.keys()
    scale = torch.stack([value.double().norm() for value in right.values()]).norm()
    apart = torch.stack([(found[name] - right[name]).double().norm() for name in right]).norm()
    return float(apart / scale)
