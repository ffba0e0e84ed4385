"""Token losses against numbers worked by hand."""

import math

import pytest
import torch

from cotrain.core.loss import clipped_surrogate, is_clipped, token_logprobs

CLIPS = 0.2, 0.28


@pytest.mark.parametrize(
    ("ratio", "advantage", "loss", "clipped"),
    [
        (1.0, 2.0, -2.0, False),
        (1.5, 1.0, -1.28, True),
        (0.5, 1.0, -0.5, False),
        (1.5, -1.0, 1.5, False),
        (0.5, -1.0, 0.8, True),
        (1.28 - 1e-9, 1.0, -1.28, False),
        (0.5, 0.0, 0.0, False),
        (1.5, 0.0, 0.0, False),
    ],
)
def test_the_surrogate_takes_the_worse_of_ratio_and_clipped_ratio(
    ratio: float, advantage: float, loss: float, clipped: bool
) -> None:
    new = torch.tensor([math.log(ratio)], dtype=torch.float64, requires_grad=True)
    old = torch.zeros(1, dtype=torch.float64)
    advantages = torch.tensor([advantage], dtype=torch.float64)
    got = clipped_surrogate(new, old, advantages, *CLIPS)
    got.sum().backward()
    assert new.grad is not None
    assert got.item() == pytest.approx(loss)
    assert is_clipped(new.detach(), old, advantages, *CLIPS).item() is clipped
    assert (new.grad.item() == 0.0) is (clipped or advantage == 0.0)


def test_on_policy_the_gradient_of_a_token_is_minus_its_advantage() -> None:
    new = torch.tensor([-1.7, -0.3], dtype=torch.float64, requires_grad=True)
    advantages = torch.tensor([0.5, -2.0], dtype=torch.float64)
    clipped_surrogate(new, new.detach(), advantages, 0.2, 0.2).sum().backward()
    assert new.grad is not None
    assert new.grad.tolist() == [-0.5, 2.0]


def test_log_probs_are_those_of_the_distribution_at_the_sampling_temperature() -> None:
    logits = torch.tensor([[1.0, 3.0, 0.5], [1.0, 3.0, 0.5]], dtype=torch.float64)
    got = token_logprobs(logits, torch.tensor([1, 2]), torch.tensor([1.0, 0.5]))
    plain = [math.exp(value) for value in (1.0, 3.0, 0.5)]
    sharp = [math.exp(2 * value) for value in (1.0, 3.0, 0.5)]
    right = [math.log(plain[1] / sum(plain)), math.log(sharp[2] / sum(sharp))]
    assert got.tolist() == pytest.approx(right)


@pytest.mark.parametrize(
    ("logits_in", "out"),
    [
        (torch.bfloat16, torch.float32),
        (torch.float32, torch.float32),
        (torch.float64, torch.float64),
    ],
)
def test_log_probs_are_float32_or_wider(logits_in: torch.dtype, out: torch.dtype) -> None:
    logits = torch.zeros(2, 5, dtype=logits_in)
    assert token_logprobs(logits, torch.tensor([0, 4]), torch.ones(2)).dtype is out
