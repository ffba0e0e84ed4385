"""One policy's update (paper, Algorithm 1, line 20; Eq. 2): loss, gradient, step, version.

Strictly on-policy by default: with one minibatch the old log-probs are the new ones, detached, and
every importance ratio is exactly 1. With several, the old log-probs of all later minibatches are
taken before the first optimiser step; the first minibatch's are its own.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor
from transformers import PreTrainedModel

from cotrain.core.loss import clipped_surrogate, is_clipped, kl_k3
from cotrain.core.samples import CreditedSample
from cotrain.core.seeds import derive_seed
from cotrain.learning.base import LearningError, UpdateReport
from cotrain.learning.batching import Pack, WeightedSample, minibatches
from cotrain.learning.forward import Form, per_token
from cotrain.learning.steps import Steps, UpdateSettings
from cotrain.learning.weighing import loss_shares, weigh
from cotrain.policies.causal_lm import CausalPolicy
from cotrain.policies.networks import Network
from cotrain.policies.weights import MasterWeights


@dataclass(slots=True)
class _Tally:
    """Sums over the tokens of an update."""

    loss: float = 0.0
    clipped: int = 0
    tokens: int = 0
    gap: float = 0.0
    gap_tokens: int = 0
    kl: float = 0.0


class PolicyLearner:
    """Trains a causal policy's weights with AdamW.

    `weights` are those of the policy's network. `reference`, needed when the KL coefficient is
    above 0, is what the policy must stay near: the weights that it started from.
    """

    def __init__(
        self,
        policy: CausalPolicy,
        weights: MasterWeights,
        form: Form,
        settings: UpdateSettings,
        reference: Network | None = None,
    ) -> None:
        if settings.kl_coefficient > 0 and reference is None:
            raise ValueError(f"kl_coefficient = {settings.kl_coefficient} needs a reference")
        self._policy = policy
        self._settings = settings
        self._reference = reference
        self._steps = Steps(policy, weights, form, settings)

    def update(
        self, samples: Sequence[CreditedSample], step: int, rate_factor: float
    ) -> UpdateReport:
        """Takes one optimiser step a minibatch that has signal.

        Raises LearningError for samples of another version, and when the sampler's log-probs are
        farther from the trainer's than `algorithm.max_logprob_gap`.
        """
        self._refuse_stale(samples)
        self._steps.set_rate(rate_factor)
        seed = derive_seed(self._settings.seed, self._policy.name, step)
        parts = minibatches(samples, self._settings.num_minibatches, seed)
        parts = [part for part in weigh(parts, self._settings) if part]
        tally = _Tally()
        old = self._old_logprobs(parts[1:], tally)
        norms = [self._optimizer_step(part, old, tally) for part in parts]
        return self._report(samples, parts, tally, norms)

    def _report(
        self,
        samples: Sequence[CreditedSample],
        parts: Sequence[Sequence[WeightedSample]],
        tally: _Tally,
        norms: Sequence[float | None],
    ) -> UpdateReport:
        taken = [norm for norm in norms if norm is not None]
        if taken:
            self._policy.version += 1
        if not norms:
            return UpdateReport(self._policy.version, skipped=True, samples=len(samples))
        return UpdateReport(
            version=self._policy.version,
            skipped=not taken,
            optimizer_steps=len(taken),
            samples=len(samples),
            tokens_trained=tally.tokens,
            loss=tally.loss / len(taken) if taken else None,
            grad_norm=sum(taken) / len(taken) if taken else None,
            clip_fraction=tally.clipped / tally.tokens,
            logprob_gap=_finite(tally.gap / tally.gap_tokens),
            kl=None if self._reference is None else _finite(tally.kl / tally.tokens),
            non_finite=len(taken) < len(norms),
            loss_shares=loss_shares(
                [sample for part in parts for sample in part],
                [credited.sample.role for credited in samples],
            ),
        )

    def _optimizer_step(
        self, part: Sequence[WeightedSample], old: Mapping[int, Tensor], tally: _Tally
    ) -> float | None:
        """Steps on one minibatch; returns the gradient norm, or None if it was not finite."""
        loss = self._steps.gather(part, lambda model, batch: self._loss(model, batch, old, tally))
        self._refuse_gap(tally)
        norm = self._steps.take(loss)
        if norm is not None:
            tally.loss += loss
        return norm

    def _loss(
        self,
        model: PreTrainedModel,
        batch: Sequence[Pack],
        old: Mapping[int, Tensor],
        tally: _Tally,
    ) -> Tensor:
        """The loss of one micro-batch."""
        samples = [sample for pack in batch for sample in pack.samples]
        # First, because a reference on the same base makes its own adapter active meanwhile.
        reference = None if self._reference is None else self._reference_logprobs(batch)
        new = self._steps.logprobs(model, batch)
        if samples[0].place in old:
            before = torch.cat([old[sample.place] for sample in samples])
        else:
            before = new.detach()
            _measure_gap(samples, before, tally)
        advantages = per_token(samples, [s.credited.advantage for s in samples], new)
        weights = per_token(samples, [s.token_weight for s in samples], new)
        clips = self._settings.clip_low, self._settings.clip_high
        losses = clipped_surrogate(new, before, advantages, *clips)
        if reference is not None:
            divergences = kl_k3(new, reference)
            losses = losses + self._settings.kl_coefficient * divergences
            tally.kl += float(divergences.detach().sum())
        tally.clipped += int(is_clipped(new.detach(), before, advantages, *clips).sum())
        tally.tokens += len(new)
        return (weights * losses).sum()

    @torch.no_grad()
    def _reference_logprobs(self, batch: Sequence[Pack]) -> Tensor:
        assert self._reference is not None
        with self._reference.computing() as model:
            return self._steps.logprobs(model, batch)

    @torch.no_grad()
    def _old_logprobs(
        self, parts: Sequence[Sequence[WeightedSample]], tally: _Tally
    ) -> dict[int, Tensor]:
        """The log-probs of these minibatches before the first optimiser step, by place."""
        old: dict[int, Tensor] = {}
        with self._policy.computing() as model:
            for batch in (batch for part in parts for batch in self._steps.micro_batches(part)):
                samples = [sample for pack in batch for sample in pack.samples]
                logprobs = self._steps.logprobs(model, batch)
                _measure_gap(samples, logprobs, tally)
                lengths = [len(sample.reply_ids) for sample in samples]
                places = [sample.place for sample in samples]
                old.update(zip(places, logprobs.split(lengths), strict=True))
        return old

    def _refuse_stale(self, samples: Sequence[CreditedSample]) -> None:
        present = (self._policy.name, self._policy.version)
        for credited in samples:
            sample = credited.sample
            if (sample.policy, sample.version) != present:
                raise LearningError(
                    f"policy {present[0]} is at version {present[1]}, but group {credited.group} "
                    f"was sampled from {sample.policy} version {sample.version}"
                )

    def _refuse_gap(self, tally: _Tally) -> None:
        limit = self._settings.max_logprob_gap
        gap = tally.gap / tally.gap_tokens
        if gap > limit:
            raise LearningError(
                f"sampler and trainer of policy {self._policy.name} disagree: their log-probs "
                f"differ by {gap:.4f} a token, allowed is {limit} (algorithm.max_logprob_gap)"
            )

    def save_policy(self, folder: Path) -> None:
        """Writes the float32 masters in the layout of the policy's network."""
        self._steps.save_policy(folder)

    def save_optimizer(self, folder: Path) -> None:
        """Writes the optimiser's moments as safetensors."""
        self._steps.save_optimizer(folder)

    def load(self, policy_folder: Path, optimizer_folder: Path, version: int) -> None:
        """Takes over saved masters, moments and version."""
        self._steps.load(policy_folder, optimizer_folder, version)


def _measure_gap(samples: Sequence[WeightedSample], logprobs: Tensor, tally: _Tally) -> None:
    sampled = [value for s in samples for value in s.credited.sample.sampler_logprobs]
    difference = logprobs - torch.tensor(sampled, dtype=logprobs.dtype, device=logprobs.device)
    tally.gap += float(difference.abs().sum())
    tally.gap_tokens += len(sampled)


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
