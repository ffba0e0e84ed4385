"""The contract of a learner: credited samples in, new weights and a report out."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from cotrain.core.samples import CreditedSample


@dataclass(frozen=True, slots=True)
class UpdateReport:
    """What one update did. Figures are None where nothing was trained.

    `version` is the policy's version after the update; `skipped` says that none of its
    `optimizer_steps` was taken, `non_finite` that one was refused because its loss or gradient was
    NaN or infinite. `loss` and `grad_norm` are means over the optimiser steps taken. `kl` is the
    mean divergence from the reference over the trained tokens, None without a reference.
    `loss_shares` says how much of the update is each role's own: `|token weight x advantage|` over
    its trained tokens, as a share of that of all roles.
    """

    version: int
    skipped: bool
    optimizer_steps: int = 0
    samples: int = 0
    tokens_trained: int = 0
    loss: float | None = None
    grad_norm: float | None = None
    clip_fraction: float | None = None
    logprob_gap: float | None = None
    kl: float | None = None
    non_finite: bool = False
    loss_shares: Mapping[str, float] = field(default_factory=dict[str, float])


class Learner(Protocol):
    """What trains one policy and saves it."""

    def update(
        self, samples: Sequence[CreditedSample], step: int, rate_factor: float
    ) -> UpdateReport:
        """Trains on the samples of one step; all must carry the policy's present version."""
        ...

    def save_policy(self, folder: Path) -> None:
        """Writes the float32 masters as a Hugging Face or PEFT folder."""
        ...

    def save_optimizer(self, folder: Path) -> None:
        """Writes the optimiser's moments."""
        ...

    def load(self, policy_folder: Path, optimizer_folder: Path, version: int) -> None:
        """Takes over what was saved, to the bit."""
        ...


class LearningError(RuntimeError):
    """The update cannot go on: stale samples, or sampler and trainer disagree."""
