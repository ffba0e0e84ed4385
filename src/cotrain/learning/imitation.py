"""Imitation: supervised training on demonstrated replies, with shared prompts computed once.

Shapes: N reply tokens of a batch.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import torch

from cotrain.core.aggregation import sequence_mean
from cotrain.learning.batching import WeightedSample, bare_sample
from cotrain.learning.forward import Form, lay_out, per_token, reply_logprobs
from cotrain.policies.causal_lm import CausalPolicy
from cotrain.policies.weights import MasterWeights


@dataclass(frozen=True, slots=True)
class Demonstration:
    """One prompt and replies to it, as token ids; a reply ends with the end token."""

    prompt_ids: tuple[int, ...]
    replies: tuple[tuple[int, ...], ...]


@dataclass(frozen=True, slots=True)
class ImitationSettings:
    """AdamW with linear warm-up and linear decay to zero over `num_steps`."""

    learning_rate: float
    num_steps: int
    warmup_steps: int = 100
    weight_decay: float = 0.01
    max_grad_norm: float = 1.0


class Imitation:
    """Trains a policy's weights on demonstrations, batch by batch."""

    def __init__(
        self,
        policy: CausalPolicy,
        weights: MasterWeights,
        form: Form,
        settings: ImitationSettings,
    ) -> None:
        self._policy = policy
        self._weights = weights
        self._form = form
        self._settings = settings
        self._optimizer = torch.optim.AdamW(
            weights.parameters.values(), weight_decay=settings.weight_decay, fused=True
        )

    def step(self, number: int, demonstrations: Sequence[Demonstration]) -> float:
        """One optimiser step (`number` from 1); each reply weighs the same, whatever its length.

        Returns the mean loss of a reply token, in nats, averaged over replies.
        """
        s = self._settings
        warmup = number / s.warmup_steps if s.warmup_steps else 1.0
        factor = min(warmup, 1.0 - (number - 1) / s.num_steps)
        for group in self._optimizer.param_groups:
            group["lr"] = s.learning_rate * factor
        packs = self._form.packing(list(_samples(demonstrations)))
        with self._policy.computing() as model:
            layout = lay_out(packs, self._form.mask, model.device)
            logprobs = reply_logprobs(model, layout)
            samples = [sample for pack in packs for sample in pack.samples]
            weights = per_token(samples, [sample.token_weight for sample in samples], logprobs)
            loss = -(weights * logprobs).sum()
            loss.backward()
        self._weights.collect_gradients()
        torch.nn.utils.clip_grad_norm_(self._weights.parameters.values(), s.max_grad_norm)
        self._optimizer.step()
        self._weights.publish()
        self._policy.seal(self._weights.checksum())
        self._weights.clear_gradients()
        return loss.item()


def _samples(demonstrations: Sequence[Demonstration]) -> Iterable[WeightedSample]:
    lengths = [len(reply) for demonstration in demonstrations for reply in demonstration.replies]
    weights = iter(sequence_mean(lengths, max(lengths)))
    for number, demonstration in enumerate(demonstrations):
        for place, reply in enumerate(demonstration.replies):
            yield bare_sample(number, place, demonstration.prompt_ids, reply, next(weights))
