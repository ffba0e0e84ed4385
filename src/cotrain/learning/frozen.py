"""The learner of a frozen policy: it keeps what the policy was, and trains nothing."""

from collections.abc import Sequence
from pathlib import Path

import torch

from cotrain.core.samples import CreditedSample
from cotrain.learning.base import LearningError, UpdateReport
from cotrain.policies.causal_lm import CausalPolicy
from cotrain.policies.weights import cast_parameters, checksum, copy_tensors


class FrozenLearner:
    """Saves and loads a policy that has no optimiser, no masters and no gradient."""

    def __init__(self, policy: CausalPolicy, compute_dtype: torch.dtype) -> None:
        self._policy = policy
        policy.network.freeze()
        cast_parameters(policy.network.tensors().values(), compute_dtype)
        self._seal()

    def update(
        self, samples: Sequence[CreditedSample], step: int, rate_factor: float
    ) -> UpdateReport:
        """A skipped update. Raises LearningError for a sample that asks to be trained."""
        if samples:
            raise LearningError(
                f"policy {self._policy.name} is frozen, but group {samples[0].group} was to be "
                "trained"
            )
        return UpdateReport(self._policy.version, skipped=True)

    def save_policy(self, folder: Path) -> None:
        """Writes the weights, float32 or wider, in the layout of the policy's network."""
        tensors = self._policy.network.tensors()
        wide = {
            name: tensor.detach().to(torch.promote_types(tensor.dtype, torch.float32))
            for name, tensor in tensors.items()
        }
        self._policy.network.write(wide, folder)

    def save_optimizer(self, folder: Path) -> None:
        """There are no moments; the folder is made, so that all policies look alike."""
        folder.mkdir(parents=True, exist_ok=True)

    def load(self, policy_folder: Path, optimizer_folder: Path, version: int) -> None:
        """Takes over saved weights and version."""
        network = self._policy.network
        copy_tensors(network.read(policy_folder), network.tensors())
        self._seal()
        self._policy.version = version

    def _seal(self) -> None:
        self._policy.seal(checksum(self._policy.network.tensors().values()))
