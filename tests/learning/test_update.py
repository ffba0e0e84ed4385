"""What an update does with versions, failures, precision and saved state."""

import math
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from tests.builders import make_credited, make_sample
from tests.learning.batches import (
    MIXED,
    NO_SIGNAL,
    SETTINGS,
    Trained,
    batch,
    make_trained,
    moments,
    reference_loss,
    with_advantage,
)

from cotrain.core.aggregation import Aggregation, sequence_mean, token_mean
from cotrain.core.episode import TurnKey
from cotrain.learning.base import LearningError
from cotrain.learning.update import loss_shares, weigh
from cotrain.policies.weights import checksum

REALISTIC = replace(SETTINGS, max_grad_norm=1.0)


def changed(trained: Trained, before: dict[str, torch.Tensor]) -> list[str]:
    """The names of the masters that are no longer what they were."""
    return [n for n, value in trained.masters().items() if not torch.equal(value, before[n])]


def test_an_update_moves_the_weights_and_raises_the_version_by_one() -> None:
    trained = make_trained()
    before = trained.masters()
    report = trained.learner.update(batch(trained), step=1, rate_factor=1.0)
    assert sorted(changed(trained, before)) == sorted(before)
    assert (report.version, trained.policy.version, report.skipped) == (1, 1, False)
    assert report.non_finite is False


@pytest.mark.parametrize("num_minibatches", [1, 3])
def test_without_signal_nothing_moves_and_the_run_goes_on(num_minibatches: int) -> None:
    # NeMo-RL#3469, AReaL#450, slime#2374
    trained = make_trained(replace(SETTINGS, num_minibatches=num_minibatches))
    before = trained.masters()
    report = trained.learner.update(batch(trained, NO_SIGNAL), step=1, rate_factor=1.0)
    assert changed(trained, before) == []
    assert (report.skipped, report.version, report.samples) == (True, 0, 7)
    assert (report.loss, report.grad_norm, report.logprob_gap) == (None, None, None)
    assert report.tokens_trained == 0
    assert not trained.learner.update(batch(trained), step=2, rate_factor=1.0).skipped


def test_no_samples_at_all_are_a_skipped_step() -> None:
    report = make_trained().learner.update([], step=1, rate_factor=1.0)
    assert (report.skipped, report.version, report.samples) == (True, 0, 0)


def test_a_minibatch_without_signal_takes_no_step(tmp_path: Path) -> None:
    trained = make_trained(replace(SETTINGS, num_minibatches=4))
    samples = batch(trained, (MIXED[0], *NO_SIGNAL))
    report = trained.learner.update(samples, step=1, rate_factor=1.0)
    steps = [v for k, v in moments(trained.learner, tmp_path).items() if k.endswith("/step")]
    assert {int(step) for step in steps} == {1}
    assert (report.skipped, report.version) == (False, 1)


def test_a_step_is_taken_for_each_minibatch_with_signal(tmp_path: Path) -> None:
    trained = make_trained(replace(SETTINGS, num_minibatches=2))
    trained.learner.update(batch(trained, (MIXED[0], MIXED[1])), step=1, rate_factor=1.0)
    steps = [v for k, v in moments(trained.learner, tmp_path).items() if k.endswith("/step")]
    assert {int(step) for step in steps} == {2}


def test_samples_of_another_version_are_refused_and_both_versions_named() -> None:
    trained = make_trained()
    samples = batch(trained)
    trained.learner.update(samples, step=1, rate_factor=1.0)
    before = trained.masters()
    said = r"shared is at version 1, but group .*agent='coder'.* from shared version 0"
    with pytest.raises(LearningError, match=said):
        trained.learner.update(samples, step=2, rate_factor=1.0)
    assert changed(trained, before) == []


def test_samples_of_another_policy_are_refused() -> None:
    trained = make_trained()
    samples = [replace(s, sample=replace(s.sample, policy="tester")) for s in batch(trained)]
    with pytest.raises(LearningError, match="was sampled from tester version 0"):
        trained.learner.update(samples, step=1, rate_factor=1.0)


@pytest.mark.parametrize("advantage", [math.nan, math.inf])
def test_an_update_whose_loss_is_not_finite_is_refused(advantage: float) -> None:
    trained = make_trained()
    before = trained.masters()
    samples = with_advantage(batch(trained), advantage)
    report = trained.learner.update(samples, step=1, rate_factor=1.0)
    assert changed(trained, before) == []
    assert (report.non_finite, report.skipped, report.version) == (True, True, 0)
    assert (report.loss, report.grad_norm) == (None, None)
    after = trained.learner.update(batch(trained), step=2, rate_factor=1.0)
    assert (after.non_finite, after.version) == (False, 1)


def test_an_update_of_weights_that_are_not_finite_is_refused() -> None:
    trained = make_trained(dtype=torch.float32)
    samples = batch(trained)
    broken = trained.masters()
    broken["model.norm.weight"][3] = math.nan
    trained.weights.load(broken)
    trained.policy.seal(trained.weights.checksum())
    report = trained.learner.update(samples, step=1, rate_factor=1.0)
    assert (report.non_finite, report.skipped, report.version) == (True, True, 0)
    assert (report.loss, report.logprob_gap) == (None, None)
    assert changed(trained, broken) == ["model.norm.weight"]  # NaN differs from itself


def test_one_minibatch_that_is_not_finite_spoils_no_other() -> None:
    trained = make_trained(replace(SETTINGS, num_minibatches=2))
    samples = batch(trained, (MIXED[0], MIXED[2]))
    spoiled = [s.sample.key.episode == 1 for s in samples]
    mixed = [
        with_advantage([s], math.nan)[0] if bad else s
        for s, bad in zip(samples, spoiled, strict=True)
    ]
    good = [s for s, bad in zip(samples, spoiled, strict=True) if not bad]
    loss = reference_loss(trained.policy.model, good, "sequence_mean").item()
    report = trained.learner.update(mixed, step=1, rate_factor=1.0)
    assert (report.non_finite, report.skipped, report.version) == (True, False, 1)
    assert report.loss == pytest.approx(loss, abs=1e-9)
    assert all(torch.isfinite(value).all() for value in trained.masters().values())


@pytest.mark.parametrize("num_minibatches", [1, 3])
def test_a_gap_between_sampler_and_trainer_stops_the_run_before_any_step(
    num_minibatches: int,
) -> None:
    trained = make_trained(replace(SETTINGS, num_minibatches=num_minibatches))
    before = trained.masters()
    samples = [
        replace(
            s,
            sample=replace(
                s.sample, sampler_logprobs=tuple(v - 0.25 for v in s.sample.sampler_logprobs)
            ),
        )
        for s in batch(trained)
    ]
    said = r"policy shared disagree.*0\.2500 a token, allowed is 0\.1 \(algorithm\.max_logprob_gap"
    with pytest.raises(LearningError, match=said):
        trained.learner.update(samples, step=1, rate_factor=1.0)
    assert changed(trained, before) == []
    assert trained.policy.version == 0
    wide = make_trained(replace(SETTINGS, num_minibatches=num_minibatches, max_logprob_gap=0.3))
    assert wide.learner.update(samples, 1, 1.0).logprob_gap == pytest.approx(0.25, abs=1e-6)


def test_the_samplers_log_probs_are_the_trainers_to_1e_5() -> None:
    trained = make_trained(dtype=torch.float32)
    for step in range(1, 4):
        report = trained.learner.update(batch(trained, seed=1000 * step), step, rate_factor=1.0)
        assert report.logprob_gap is not None
        assert report.logprob_gap < 1e-5


def test_in_bfloat16_ten_small_updates_move_the_masters() -> None:
    settings = replace(REALISTIC, learning_rate=1e-6)
    trained = make_trained(settings, dtype=torch.bfloat16)
    before = trained.masters()
    for step in range(1, 11):
        report = trained.learner.update(batch(trained, seed=1000 * step), step, rate_factor=1.0)
        assert not report.skipped
    after = trained.masters()
    assert {value.dtype for value in after.values()} == {torch.float32}
    moved = torch.cat([(after[n] != before[n]).flatten() for n in before]).float().mean()
    assert moved > 0.95
    names = dict(trained.policy.model.named_parameters())
    assert all(torch.equal(names[n], value.bfloat16()) for n, value in after.items())


def test_in_bfloat16_masters_the_same_updates_would_be_rounded_away() -> None:
    trained = make_trained(dtype=torch.bfloat16)
    model = trained.policy.model
    before = {name: p.detach().clone() for name, p in model.named_parameters()}
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-6, weight_decay=0.01)
    for step in range(10):
        optimizer.zero_grad()
        samples = batch(trained, seed=1000 * step)
        reference_loss(model, samples, "sequence_mean").backward()
        optimizer.step()
        trained.policy.seal(checksum(model.parameters()))
    after = dict(model.named_parameters())
    moved = torch.cat([(after[n] != before[n]).flatten() for n in before]).float().mean()
    assert moved < 0.02


def test_the_rate_is_the_configured_one_times_the_factor_of_the_step() -> None:
    full, half, none = make_trained(), make_trained(), make_trained()
    before = full.masters()
    for trained, factor in ((full, 1.0), (half, 0.5), (none, 0.0)):
        trained.learner.update(batch(trained), step=1, rate_factor=factor)
    for name, start in before.items():
        moved = full.masters()[name] - start
        torch.testing.assert_close(half.masters()[name] - start, moved / 2, atol=1e-12, rtol=1e-6)
    assert changed(none, before) == []


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_a_run_that_was_saved_and_loaded_goes_on_to_the_bit(
    dtype: torch.dtype, tmp_path: Path
) -> None:
    straight, first = make_trained(REALISTIC, dtype=dtype), make_trained(REALISTIC, dtype=dtype)
    for step in (1, 2):
        for trained in (straight, first):
            trained.learner.update(batch(trained, seed=1000 * step), step, rate_factor=1.0)
    first.learner.save_policy(tmp_path / "policy")
    first.learner.save_optimizer(tmp_path / "optimizer")

    resumed = make_trained(REALISTIC, dtype=dtype, seed=9)
    other = make_trained(REALISTIC, dtype=dtype, seed=9)
    resumed.learner.update(batch(other), step=1, rate_factor=1.0)  # so that it has moments to lose
    resumed.learner.load(tmp_path / "policy", tmp_path / "optimizer", version=2)
    assert resumed.policy.version == 2
    for step in (3, 4):
        for trained in (straight, resumed):
            trained.learner.update(batch(trained, seed=1000 * step), step, rate_factor=1.0)
    assert changed(resumed, straight.masters()) == []
    assert batch(resumed, seed=5) == batch(straight, seed=5)
    saved = moments(straight.learner, tmp_path / "straight")
    again = moments(resumed.learner, tmp_path / "resumed")
    assert saved.keys() == again.keys()
    assert all(torch.equal(value, again[name]) for name, value in saved.items())


def test_the_same_updates_twice_give_the_same_weights() -> None:
    first, second = make_trained(REALISTIC), make_trained(REALISTIC)
    for step in (1, 2, 3):
        for trained in (first, second):
            trained.learner.update(batch(trained, seed=1000 * step), step, rate_factor=1.0)
    assert changed(first, second.masters()) == []


def test_weights_come_from_all_scored_replies_of_the_minibatch() -> None:
    kept = [make_sample(reply=(5,) * n, candidate=c) for c, n in enumerate((1, 4))]
    dropped = make_sample(reply=(5,) * 5, episode=1)
    items = [*(make_credited(sample, 1.0) for sample in kept), make_credited(dropped, 0.0)]
    [weighted] = weigh([items], SETTINGS)
    assert [w.token_weight for w in weighted] == [1 / 3, 1 / 12]
    assert [w.credited.sample for w in weighted] == kept


@pytest.mark.parametrize(("aggregation", "share"), [(sequence_mean, 0.5), (token_mean, 0.75)])
def test_the_loss_share_of_a_role_follows_the_aggregation(
    aggregation: Aggregation, share: float
) -> None:
    long = make_credited(make_sample(agent="coder", reply=(5,) * 3), 1.0)
    short = make_credited(make_sample(agent="tester", reply=(5,), episode=1), -1.0)
    [weighted] = weigh([[long, short]], replace(SETTINGS, aggregation=aggregation))
    expected = {"coder": share, "tester": 1.0 - share}
    assert loss_shares(weighted, ["coder", "tester"]) == pytest.approx(expected)


def test_a_role_without_signal_has_no_share_of_the_loss() -> None:
    [weighted] = weigh([[make_credited(make_sample(agent="coder"), 1.0)]], SETTINGS)
    assert loss_shares(weighted, ["coder", "tester"]) == {"coder": 1.0, "tester": 0.0}
    assert loss_shares([], ["coder"]) == {}


def test_places_tell_the_samples_of_all_minibatches_apart() -> None:
    parts = [
        [make_credited(make_sample(episode=e, candidate=c), 1.0) for c in range(2)]
        for e in range(3)
    ]
    silent = [make_credited(make_sample(episode=8), 0.0, TurnKey(1, 8, "coder", 1))]
    found = list(weigh([parts[0], silent, [], *parts[1:]], SETTINGS))
    assert [len(part) for part in found] == [2, 0, 0, 2, 2]
    places = [w.place for part in found for w in part]
    assert len(set(places)) == len(places)
