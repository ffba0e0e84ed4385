"""A supervised step is a step on the negative log-likelihood, and on nothing else."""

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from tests.builders import make_sample
from tests.learning.batches import (
    SETTINGS,
    distance,
    draw,
    gradient,
    make_trained,
    plain_logprobs,
    with_advantage,
)
from tests.policies.toy_policies import toy_policy
from torch import Tensor

from cotrain.core.aggregation import AGGREGATIONS
from cotrain.core.samples import CreditedSample, Sample
from cotrain.learning.forward import PACKED, PLAIN, Form
from cotrain.learning.steps import UpdateSettings
from cotrain.learning.supervised import SupervisedLearner
from cotrain.policies.causal_lm import CausalPolicy
from cotrain.policies.weights import MasterWeights

both_forms = pytest.mark.parametrize("form", [PACKED, PLAIN], ids=lambda form: form.name)
ROWS = ((1.0, 1.0), (1.0,), (1.0,))


def supervised(
    settings: UpdateSettings = SETTINGS, form: Form = PACKED
) -> tuple[CausalPolicy, SupervisedLearner]:
    policy = toy_policy(0)
    weights = MasterWeights(policy.network.tensors(), torch.float64)
    return policy, SupervisedLearner(policy, weights, form, settings)


def demonstrations(samples: Sequence[Sample]) -> list[CreditedSample]:
    """As another policy of an older version had written them, with no log-prob of anybody."""
    return [
        CreditedSample(
            replace(sample, policy="other", version=7, sampler_logprobs=()), sample.key, 1.0, True
        )
        for sample in samples
    ]


def by_hand(
    model: torch.nn.Module, samples: Sequence[CreditedSample], weights: Sequence[float]
) -> tuple[float, dict[str, Tensor]]:
    """Loss and gradient of the weighted negative log-likelihood, reply by reply."""
    model.zero_grad()
    parts = [
        -weight * plain_logprobs(model, item.sample).sum()
        for item, weight in zip(samples, weights, strict=True)
    ]
    loss = torch.stack(parts).sum()
    loss.backward()
    found = {n: p.grad.clone() for n, p in model.named_parameters() if p.grad is not None}
    model.zero_grad()
    return loss.item(), found


@both_forms
@pytest.mark.parametrize("microbatch_tokens", [1, 10**6])
@pytest.mark.parametrize("aggregation", sorted(AGGREGATIONS))
def test_loss_and_gradient_are_those_of_the_negative_log_likelihood(
    aggregation: str, microbatch_tokens: int, form: Form, tmp_path: Path
) -> None:
    settings = replace(
        SETTINGS, aggregation=AGGREGATIONS[aggregation], microbatch_tokens=microbatch_tokens
    )
    policy, learner = supervised(settings, form)
    samples = demonstrations(draw(policy, ROWS))
    lengths = [len(item.sample.reply_ids) for item in samples]
    weights = AGGREGATIONS[aggregation](lengths, settings.max_reply_tokens)
    loss, right = by_hand(policy.model, samples, weights)
    report = learner.update(samples, step=1, rate_factor=1.0)
    norm = math.sqrt(sum(float(value.norm()) ** 2 for value in right.values()))
    assert distance(gradient(learner, tmp_path), right) < 1e-6
    assert report.loss == pytest.approx(loss, abs=1e-9)
    assert report.grad_norm == pytest.approx(norm, rel=1e-6)
    assert (report.tokens_trained, report.samples) == (sum(lengths), len(samples))


def test_its_gradient_is_that_of_the_update_with_every_advantage_one(tmp_path: Path) -> None:
    trained = make_trained()
    policy, learner = supervised()
    samples = draw(trained.policy, ROWS)
    as_signal = [CreditedSample(sample, sample.key, 0.0, has_signal=True) for sample in samples]
    trained.learner.update(with_advantage(as_signal, 1.0), step=1, rate_factor=1.0)
    learner.update(demonstrations(samples), step=1, rate_factor=1.0)
    right = gradient(trained.learner, tmp_path / "update")
    assert distance(gradient(learner, tmp_path / "supervised"), right) < 1e-6
    assert policy.version == trained.policy.version == 1


def test_a_step_is_taken_for_each_minibatch_and_lowers_the_loss() -> None:
    policy, learner = supervised(replace(SETTINGS, num_minibatches=2, learning_rate=0.01))
    samples = demonstrations(draw(policy, ROWS))
    losses = [learner.update(samples, step, 1.0).loss or 0.0 for step in range(1, 6)]
    assert losses == sorted(losses, reverse=True)
    assert policy.version == 5


def test_without_a_demonstration_nothing_is_trained() -> None:
    policy, learner = supervised()
    report = learner.update([], step=1, rate_factor=1.0)
    assert (report.skipped, report.non_finite, policy.version) == (True, False, 0)


def test_a_gradient_that_is_not_finite_is_refused() -> None:
    policy, learner = supervised()
    with torch.no_grad():
        next(iter(policy.model.parameters())).fill_(math.nan)
    policy.seal(MasterWeights(policy.network.tensors(), torch.float64).checksum())
    report = learner.update(demonstrations([make_sample(1.0)]), step=1, rate_factor=1.0)
    assert (report.skipped, report.non_finite, policy.version) == (True, True, 0)
