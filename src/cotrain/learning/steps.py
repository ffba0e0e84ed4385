"""Optimiser steps on one policy's masters, whatever the loss: gather a gradient, clip it, step.

Shapes: N reply tokens of a micro-batch.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import torch
from torch import Tensor
from transformers import PreTrainedModel

from cotrain.core.aggregation import Aggregation
from cotrain.learning.batching import Pack, WeightedSample, micro_batches
from cotrain.learning.forward import Form, lay_out, per_token, reply_logprobs
from cotrain.learning.moments import load_moments, save_moments
from cotrain.policies.causal_lm import CausalPolicy
from cotrain.policies.weights import MasterWeights

Loss: TypeAlias = Callable[[PreTrainedModel, Sequence[Pack]], Tensor]
"""The part of the loss that a micro-batch gives; parts are added up."""


@dataclass(frozen=True, slots=True)
class UpdateSettings:
    """The settings of a policy's updates, named after the keys of the configuration."""

    aggregation: Aggregation
    max_reply_tokens: int
    learning_rate: float
    weight_decay: float = 0.01
    max_grad_norm: float = 1.0
    clip_low: float = 0.2
    clip_high: float = 0.2
    num_minibatches: int = 1
    microbatch_tokens: int = 16384
    max_logprob_gap: float = 0.1
    kl_coefficient: float = 0.0
    seed: int = 0


class Steps:
    """AdamW on the masters of a policy's network."""

    def __init__(
        self,
        policy: CausalPolicy,
        weights: MasterWeights,
        form: Form,
        settings: UpdateSettings,
    ) -> None:
        self._policy = policy
        self._weights = weights
        self._form = form
        self._settings = settings
        policy.seal(weights.checksum())
        self._optimizer = torch.optim.AdamW(
            weights.parameters.values(),
            lr=settings.learning_rate,
            weight_decay=settings.weight_decay,
            fused=True,
        )

    def set_rate(self, rate_factor: float) -> None:
        """Takes the next steps at this share of the learning rate."""
        for parameters in self._optimizer.param_groups:
            parameters["lr"] = self._settings.learning_rate * rate_factor

    def micro_batches(self, part: Sequence[WeightedSample]) -> Iterator[list[Pack]]:
        """The packs of a minibatch that go through the model together."""
        return micro_batches(self._form.packing(part), self._settings.microbatch_tokens)

    def logprobs(self, model: PreTrainedModel, batch: Sequence[Pack]) -> Tensor:
        """The log-prob of each reply token of a micro-batch, [N]."""
        return reply_logprobs(model, lay_out(batch, self._form.mask, model.device))

    def negative_log_likelihood(self, model: PreTrainedModel, batch: Sequence[Pack]) -> Tensor:
        """The loss in nats of a micro-batch's reply tokens, summed by token weight: a scalar."""
        samples = [sample for pack in batch for sample in pack.samples]
        logprobs = self.logprobs(model, batch)
        weights = per_token(samples, [sample.token_weight for sample in samples], logprobs)
        return -(weights * logprobs).sum()

    def gather(self, part: Sequence[WeightedSample], loss_of: Loss) -> float:
        """Adds up the gradient of a minibatch; returns its loss."""
        total = 0.0
        with self._policy.computing() as model:
            for batch in self.micro_batches(part):
                loss = loss_of(model, batch)
                loss.backward()
                self._weights.collect_gradients()
                total += loss.item()
        return total

    def take(self, loss: float) -> float | None:
        """Steps with the gathered gradient and publishes the weights.

        Returns the norm of the gradient before it was clipped, or None, and changes nothing, where
        it or the loss is not finite.
        """
        norm = float(
            torch.nn.utils.clip_grad_norm_(
                self._weights.parameters.values(), self._settings.max_grad_norm
            )
        )
        finite = math.isfinite(norm) and math.isfinite(loss)
        if finite:
            self._optimizer.step()
            self._weights.publish()
            self._policy.seal(self._weights.checksum())
        self._weights.clear_gradients()
        return norm if finite else None

    def save_policy(self, folder: Path) -> None:
        """Writes the float32 masters in the layout of the policy's network."""
        self._policy.network.write(self._weights.state(), folder)

    def save_optimizer(self, folder: Path) -> None:
        """Writes the optimiser's moments as safetensors."""
        save_moments(self._optimizer, self._weights, folder)

    def load(self, policy_folder: Path, optimizer_folder: Path, version: int) -> None:
        """Takes over saved masters, moments and version."""
        self._weights.load(self._policy.network.read(policy_folder))
        load_moments(self._optimizer, self._weights, optimizer_folder)
        self._policy.seal(self._weights.checksum())
        self._policy.version = version
