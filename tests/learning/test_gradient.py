"""Loss and gradient against a reference that goes reply by reply."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch
from tests.builders import make_sample
from tests.learning.batches import (
    MIXED,
    NO_SIGNAL,
    SETTINGS,
    batch,
    credited,
    distance,
    draw,
    gradient,
    make_trained,
    plain_logprobs,
    reference_gradient,
    reference_loss,
    with_own_logprobs,
)

from cotrain.core.aggregation import AGGREGATIONS
from cotrain.core.seeds import derive_seed
from cotrain.learning.batching import minibatches
from cotrain.learning.forward import PACKED, PLAIN, Form

both_forms = pytest.mark.parametrize("form", [PACKED, PLAIN], ids=lambda form: form.name)
every_split = pytest.mark.parametrize("microbatch_tokens", [1, 70, 10**6])
every_aggregation = pytest.mark.parametrize("aggregation", sorted(AGGREGATIONS))


@both_forms
@every_split
@every_aggregation
def test_loss_and_gradient_are_those_of_the_reference_for_every_split_and_form(
    aggregation: str, microbatch_tokens: int, form: Form, tmp_path: Path
) -> None:
    # trl#6024, ms-swift#10117, trl#3021, mlx-lm#1413: a split must be neutral
    settings = replace(
        SETTINGS, aggregation=AGGREGATIONS[aggregation], microbatch_tokens=microbatch_tokens
    )
    trained = make_trained(settings, form)
    samples = batch(trained)
    loss, right = reference_gradient(trained.policy.model, samples, aggregation)
    report = trained.learner.update(samples, step=1, rate_factor=1.0)
    norm = torch.stack([value.norm() for value in right.values()]).norm().item()
    assert distance(gradient(trained.learner, tmp_path), right) < 1e-6
    assert report.loss == pytest.approx(loss, abs=1e-9)
    assert report.grad_norm == pytest.approx(norm, rel=1e-6)


@both_forms
@every_split
def test_in_float32_the_gradient_is_right_to_1e_4(
    microbatch_tokens: int, form: Form, tmp_path: Path
) -> None:
    settings = replace(SETTINGS, microbatch_tokens=microbatch_tokens)
    trained, wide = make_trained(settings, form, torch.float32), make_trained()
    samples = batch(trained)
    _, right = reference_gradient(wide.policy.model, samples)
    trained.learner.update(samples, step=1, rate_factor=1.0)
    assert distance(gradient(trained.learner, tmp_path), right) < 1e-4


def test_the_order_of_the_samples_changes_no_gradient(tmp_path: Path) -> None:
    trained = make_trained()
    samples = batch(trained)
    _, right = reference_gradient(trained.policy.model, samples)
    trained.learner.update(samples[::-1], step=1, rate_factor=1.0)
    assert distance(gradient(trained.learner, tmp_path), right) < 1e-6


def test_with_one_minibatch_every_ratio_is_exactly_one(tmp_path: Path) -> None:
    trained = make_trained(replace(SETTINGS, clip_low=0.0, clip_high=0.0))
    samples = batch(trained)
    _, right = reference_gradient(trained.policy.model, samples)
    report = trained.learner.update(samples, step=1, rate_factor=1.0)
    assert report.clip_fraction == 0.0
    assert distance(gradient(trained.learner, tmp_path), right) < 1e-6


def test_the_temperature_of_sampling_is_applied_in_training(tmp_path: Path) -> None:
    trained = make_trained()
    samples = credited(draw(trained.policy, temperature=0.5))
    _, right = reference_gradient(trained.policy.model, samples)
    report = trained.learner.update(samples, step=1, rate_factor=1.0)
    assert distance(gradient(trained.learner, tmp_path), right) < 1e-6
    assert report.logprob_gap is not None
    assert report.logprob_gap < 1e-6


def test_dropping_groups_without_signal_alters_no_gradient(tmp_path: Path) -> None:
    # NeMo-RL#3469, DAPO#22: their replies stay in the denominator
    trained = make_trained()
    samples = batch(trained, (*MIXED, *NO_SIGNAL))
    signal = [sample for sample in samples if sample.has_signal]
    assert 0 < len(signal) < len(samples)
    _, right = reference_gradient(trained.policy.model, samples)
    _, without = reference_gradient(trained.policy.model, signal)
    report = trained.learner.update(samples, step=1, rate_factor=1.0)
    found = gradient(trained.learner, tmp_path)
    assert distance(found, right) < 1e-6
    assert distance(found, without) > 0.1
    assert report.tokens_trained == sum(len(s.sample.reply_ids) for s in signal)
    assert report.samples == len(samples)


def test_minibatches_are_one_optimiser_step_each_with_log_probs_from_before_the_first() -> None:
    settings = replace(
        SETTINGS, num_minibatches=3, learning_rate=0.02, max_grad_norm=0.5, clip_low=0.05
    )
    trained, plain = make_trained(settings), make_trained(settings)
    samples = batch(trained)
    report = trained.learner.update(samples, step=4, rate_factor=0.5)

    model = plain.policy.model
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01, weight_decay=0.01, fused=False)
    parts = minibatches(samples, 3, derive_seed(0, "shared", 4))
    with torch.no_grad():
        old = [[plain_logprobs(model, item.sample) for item in part] for part in parts]
    for part, before in zip(parts, old, strict=True):
        if not any(item.has_signal for item in part):
            continue
        optimizer.zero_grad()
        reference_loss(model, part, "sequence_mean", before, clip_low=0.05).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 0.5)
        optimizer.step()
    right = dict(model.named_parameters())
    for name, master in trained.masters().items():
        torch.testing.assert_close(master, right[name].detach(), atol=1e-6, rtol=1e-6)
    assert report.clip_fraction is not None
    assert report.clip_fraction > 0
    assert (report.version, trained.policy.version) == (1, 1)


def test_the_gradient_is_clipped_to_its_norm_and_reported_before(tmp_path: Path) -> None:
    trained = make_trained(replace(SETTINGS, max_grad_norm=1e-3))
    samples = batch(trained)
    _, right = reference_gradient(trained.policy.model, samples)
    report = trained.learner.update(samples, step=1, rate_factor=1.0)
    norm = torch.stack([value.norm() for value in right.values()]).norm().item()
    assert report.grad_norm == pytest.approx(norm, rel=1e-6)
    scaled = {name: value * 1e-3 / norm for name, value in right.items()}
    assert distance(gradient(trained.learner, tmp_path), scaled) < 1e-4


def test_a_reply_with_end_equal_to_pad_is_trained_to_its_first_end_token_and_no_further(
    tmp_path: Path,
) -> None:
    # trl#4970, trl#6357, MemGen#33: token 0 pads, and is in this prompt and these replies
    trained = make_trained()
    replies = ((5, 6, 0), (5, 6, 2, 7, 0), (0,))
    samples = credited(
        [
            with_own_logprobs(
                trained.policy.model,
                make_sample(float(c), candidate=c, width=3, prompt=(0, 7, 0, 8), reply=reply),
            )
            for c, reply in enumerate(replies)
        ]
    )
    loss, right = reference_gradient(trained.policy.model, samples)
    report = trained.learner.update(samples, step=1, rate_factor=1.0)
    assert report.tokens_trained == 3 + 5 + 1
    assert report.loss == pytest.approx(loss, abs=1e-9)
    assert distance(gradient(trained.learner, tmp_path), right) < 1e-6


def test_the_reference_agrees_with_numbers_worked_by_hand() -> None:
    trained = make_trained()
    samples = batch(trained, ((1.0, 0.0),))
    first, second = samples
    assert first.advantage == pytest.approx(0.7071, abs=1e-4)
    # on-policy, each token's loss is minus its advantage
    by_sequence = reference_loss(trained.policy.model, samples, "sequence_mean").item()
    assert by_sequence == pytest.approx(-(first.advantage + second.advantage) / 2, abs=1e-12)
    lengths = [len(item.sample.reply_ids) for item in samples]
    by_token = reference_loss(trained.policy.model, samples, "token_mean").item()
    total = -(first.advantage * lengths[0] + second.advantage * lengths[1])
    assert by_token == pytest.approx(total / sum(lengths), abs=1e-12)
