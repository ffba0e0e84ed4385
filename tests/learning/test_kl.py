"""The KL divergence to a reference: its gradient, its groups, and what a role's reference is."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from tests.learning.batches import (
    MIXED,
    NO_SIGNAL,
    SETTINGS,
    Trained,
    batch,
    distance,
    gradient,
    plain_logprobs,
    reference_loss,
)
from tests.policies.toy_policies import toy_policy
from torch import Tensor

from cotrain.core.loss import kl_k3
from cotrain.core.samples import CreditedSample
from cotrain.learning.forward import PACKED
from cotrain.learning.update import PolicyLearner
from cotrain.policies.networks import WholeModel
from cotrain.policies.weights import MasterWeights

COEFFICIENT = 0.3
WITH_KL = replace(SETTINGS, kl_coefficient=COEFFICIENT)


def near(reference: WholeModel) -> Trained:
    """A float64 policy that is held near this reference."""
    policy = toy_policy(seed=0)
    weights = MasterWeights(policy.network.tensors(), torch.float64)
    learner = PolicyLearner(policy, weights, PACKED, WITH_KL, reference)
    return Trained(policy, weights, learner)


def another() -> WholeModel:
    model = toy_policy(seed=1).model.double()
    return WholeModel(model, toy_policy().network.tokenizer)


def loss_with_kl(
    model: torch.nn.Module, reference: torch.nn.Module, samples: Sequence[CreditedSample]
) -> tuple[Tensor, Tensor]:
    """The loss as the specification says it, and the mean divergence of a token."""
    divergences = [
        kl_k3(plain_logprobs(model, s.sample), plain_logprobs(reference, s.sample).detach())
        for s in samples
    ]
    per_reply = torch.stack([tokens.mean() for tokens in divergences]).mean()
    loss = reference_loss(model, samples, "sequence_mean") + COEFFICIENT * per_reply
    return loss, torch.cat(divergences).mean()


def test_the_gradient_is_that_of_the_loss_with_the_divergence_written_out(tmp_path: Path) -> None:
    reference = another()
    trained = near(reference)
    samples = batch(trained, (*MIXED, *NO_SIGNAL))
    model = trained.policy.model
    loss, divergence = loss_with_kl(model, reference.model, samples)
    loss.backward()
    right = {n: p.grad.clone() for n, p in model.named_parameters() if p.grad is not None}
    model.zero_grad()
    report = trained.learner.update(samples, step=1, rate_factor=1.0)
    assert distance(gradient(trained.learner, tmp_path), right) < 1e-6
    assert report.loss == pytest.approx(loss.item(), abs=1e-9)
    assert report.kl == pytest.approx(divergence.item(), abs=1e-9)


def test_groups_without_signal_are_trained_for_their_divergence() -> None:
    trained = near(another())
    before = trained.masters()
    samples = batch(trained, NO_SIGNAL)
    report = trained.learner.update(samples, step=1, rate_factor=1.0)
    assert report.tokens_trained == sum(len(s.sample.reply_ids) for s in samples)
    assert not report.skipped
    assert any(not torch.equal(v, before[n]) for n, v in trained.masters().items())


def test_at_its_start_a_policy_does_not_diverge_and_later_it_does() -> None:
    policy = toy_policy()
    weights = MasterWeights(policy.network.tensors(), torch.float64)
    assert isinstance(policy.network, WholeModel)
    learner = PolicyLearner(policy, weights, PACKED, WITH_KL, policy.network.frozen_copy())
    trained = Trained(policy, weights, learner)
    first = learner.update(batch(trained), step=1, rate_factor=1.0)
    second = learner.update(batch(trained), step=2, rate_factor=1.0)
    assert first.kl == 0.0
    assert second.kl is not None
    assert second.kl > 0.0


def test_the_reference_stays_as_it_was() -> None:
    reference = another()
    trained = near(reference)
    before = {n: p.clone() for n, p in reference.model.named_parameters()}
    for step in (1, 2):
        trained.learner.update(batch(trained), step=step, rate_factor=1.0)
    assert all(torch.equal(p, before[n]) for n, p in reference.model.named_parameters())
    assert all(p.grad is None for p in reference.model.parameters())


def test_a_coefficient_without_a_reference_is_refused() -> None:
    policy = toy_policy()
    weights = MasterWeights(policy.network.tensors(), torch.float32)
    with pytest.raises(ValueError, match="needs a reference"):
        PolicyLearner(policy, weights, PACKED, WITH_KL)
