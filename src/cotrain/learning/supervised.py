"""One policy's update by imitation: the negative log-likelihood of demonstrated replies.

Its gradient is that of the on-policy update at ratio 1 with every advantage 1. The replies are
another policy's, or another version's, so that there is nothing to clip, and no sampler to compare.
"""

from collections.abc import Sequence
from pathlib import Path

from cotrain.core.samples import CreditedSample
from cotrain.core.seeds import derive_seed
from cotrain.learning.base import UpdateReport
from cotrain.learning.batching import WeightedSample, minibatches
from cotrain.learning.forward import Form
from cotrain.learning.steps import Steps, UpdateSettings
from cotrain.learning.weighing import loss_shares, weigh
from cotrain.policies.causal_lm import CausalPolicy
from cotrain.policies.weights import MasterWeights


class SupervisedLearner:
    """Trains a causal policy's weights to write demonstrated replies, with AdamW.

    Of the settings it takes those of the optimiser, the aggregation and the cuts; those of ratios
    and of sampling have no part in it.
    """

    def __init__(
        self, policy: CausalPolicy, weights: MasterWeights, form: Form, settings: UpdateSettings
    ) -> None:
        self._policy = policy
        self._settings = settings
        self._steps = Steps(policy, weights, form, settings)

    def update(
        self, samples: Sequence[CreditedSample], step: int, rate_factor: float
    ) -> UpdateReport:
        """Takes one optimiser step a minibatch. `loss` is in nats, a mean as the aggregation says.

        The samples may be of any policy and version.
        """
        self._steps.set_rate(rate_factor)
        seed = derive_seed(self._settings.seed, self._policy.name, step)
        parts = minibatches(samples, self._settings.num_minibatches, seed)
        weighed = [part for part in weigh(parts, self._settings) if part]
        found = [self._step(part) for part in weighed]
        taken = [pair for pair in found if pair is not None]
        if taken:
            self._policy.version += 1
        trained = [sample for part in weighed for sample in part]
        return UpdateReport(
            version=self._policy.version,
            skipped=not taken,
            optimizer_steps=len(taken),
            samples=len(samples),
            tokens_trained=sum(len(sample.reply_ids) for sample in trained),
            loss=sum(loss for loss, _ in taken) / len(taken) if taken else None,
            grad_norm=sum(norm for _, norm in taken) / len(taken) if taken else None,
            non_finite=len(taken) < len(found),
            loss_shares=loss_shares(trained, [one.sample.role for one in samples]),
        )

    def _step(self, part: Sequence[WeightedSample]) -> tuple[float, float] | None:
        """Steps on one minibatch; returns loss and gradient norm, or None if one was not finite."""
        loss = self._steps.gather(part, self._steps.negative_log_likelihood)
        norm = self._steps.take(loss)
        return None if norm is None else (loss, norm)

    def save_policy(self, folder: Path) -> None:
        """Writes the float32 masters in the layout of the policy's network."""
        self._steps.save_policy(folder)

    def save_optimizer(self, folder: Path) -> None:
        """Writes the optimiser's moments as safetensors."""
        self._steps.save_optimizer(folder)

    def load(self, policy_folder: Path, optimizer_folder: Path, version: int) -> None:
        """Takes over saved masters, moments and version."""
        self._steps.load(policy_folder, optimizer_folder, version)
