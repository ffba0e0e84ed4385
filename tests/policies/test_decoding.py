"""Choosing tokens: the right frequencies, and nothing outside top-k and top-p."""

import pytest
import torch
from torch import Tensor
from transformers import TopKLogitsWarper, TopPLogitsWarper

from cotrain.policies.base import Decoding
from cotrain.policies.decoding import RowDecoding, choose, uniforms

CPU = torch.device("cpu")
PROBABILITIES = torch.tensor([0.05, 0.4, 0.1, 0.3, 0.15])


def draw(logits: Tensor, decoding: Decoding, uniform: Tensor) -> tuple[Tensor, Tensor]:
    """The tokens of one distribution at many uniform numbers."""
    rows = len(uniform)
    return choose(logits.expand(rows, -1), RowDecoding.of([decoding] * rows, CPU), uniform)


def grid(count: int) -> Tensor:
    return (torch.arange(count, dtype=torch.float64) + 0.5) / count


def shares(logits: Tensor, decoding: Decoding) -> Tensor:
    tokens, _ = draw(logits, decoding, grid(10_000))
    return torch.bincount(tokens, minlength=logits.shape[-1]) / 10_000


@pytest.mark.parametrize("temperature", [1.0, 0.5, 2.0])
def test_tokens_come_as_often_as_their_probability(temperature: float) -> None:
    right = (PROBABILITIES.log() / temperature).softmax(-1)
    got = shares(PROBABILITIES.log(), Decoding(temperature, 1))
    torch.testing.assert_close(got, right, atol=2e-4, rtol=0)


def test_the_log_prob_is_that_of_the_whole_distribution_at_the_temperature() -> None:
    right = (PROBABILITIES.log() / 0.5).log_softmax(-1)
    for decoding in (Decoding(0.5, 1), Decoding(0.5, 1, top_p=0.6), Decoding(0.5, 1, top_k=2)):
        tokens, logprobs = draw(PROBABILITIES.log(), decoding, grid(50))
        torch.testing.assert_close(logprobs, right[tokens])


@pytest.mark.parametrize(
    ("top_p", "top_k", "kept"),
    [
        (1.0, 0, {0, 1, 2, 3, 4}),
        (1.0, 2, {1, 3}),
        (1.0, 1, {1}),
        (1.0, 9, {0, 1, 2, 3, 4}),
        (0.35, 0, {1}),
        (0.69, 0, {1, 3}),
        (0.71, 0, {1, 3, 4}),
        (1e-9, 0, {1}),
        (0.71, 2, {1, 3}),
        (0.55, 2, {1}),
    ],
)
def test_top_k_and_top_p_keep_the_likeliest_tokens(
    top_p: float, top_k: int, kept: set[int]
) -> None:
    found = shares(PROBABILITIES.log(), Decoding(1.0, 1, top_p, top_k))
    assert set(found.nonzero().flatten().tolist()) == kept
    right = torch.where(found > 0, PROBABILITIES, 0.0)
    torch.testing.assert_close(found, right / right.sum(), atol=2e-4, rtol=0)


@pytest.mark.parametrize(("top_p", "top_k"), [(0.95, 20), (0.9, 0), (0.5, 10), (1.0, 7)])
def test_what_is_kept_is_what_transformers_keeps(top_p: float, top_k: int) -> None:
    logits = torch.randn(8, 60, generator=torch.Generator().manual_seed(0)) * 2
    ids = torch.zeros(8, 1, dtype=torch.long)
    warped = TopKLogitsWarper(top_k)(ids, logits) if top_k else logits  # pyright: ignore
    warped = TopPLogitsWarper(top_p)(ids, warped) if top_p < 1 else warped  # pyright: ignore
    right = warped.softmax(-1)
    for row in range(8):
        found = shares(logits[row], Decoding(1.0, 1, top_p, top_k))
        torch.testing.assert_close(found, right[row], atol=3e-4, rtol=0)


def test_rows_have_their_own_settings() -> None:
    rows = [Decoding(0.0, 1), Decoding(1.0, 1, top_k=1), Decoding(1.0, 1, top_p=0.3)]
    decoding = RowDecoding.of([*rows, Decoding(1.0, 1)], CPU)
    uniform = torch.full((4,), 0.99, dtype=torch.float64)
    tokens, logprobs = choose(PROBABILITIES.log().expand(4, -1), decoding, uniform)
    assert tokens.tolist() == [1, 1, 1, 4]
    torch.testing.assert_close(logprobs, PROBABILITIES.log()[tokens])
    assert decoding.select(torch.tensor([3])).top_p.tolist() == [[1.0]]


def test_the_log_prob_of_a_greedy_token_is_that_at_temperature_one() -> None:
    tokens, logprobs = draw(PROBABILITIES.log(), Decoding(0.0, 1), grid(1))
    assert tokens.tolist() == [1]
    torch.testing.assert_close(logprobs, PROBABILITIES[1:2].log())


@pytest.mark.parametrize("uniform", [0.0, 0.5, 1.0 - 2.0**-53])
def test_a_token_without_probability_is_never_drawn(uniform: float) -> None:
    logits = torch.tensor([-torch.inf, 0.0, -torch.inf, 0.0, -torch.inf])
    tokens, _ = draw(logits, Decoding(1.0, 1), torch.tensor([uniform], dtype=torch.float64))
    assert tokens.item() in {1, 3}


def test_low_precision_logits_give_float32_log_probs() -> None:
    _, logprobs = draw(PROBABILITIES.log().bfloat16(), Decoding(1.0, 1), grid(3))
    assert logprobs.dtype is torch.float32


def test_the_numbers_of_a_row_depend_on_its_seed_alone() -> None:
    straight = uniforms([3, 4, 5], 6)
    assert torch.equal(uniforms([5, 3], 6), straight[[2, 0]])
    assert torch.equal(uniforms([3], 4)[0], straight[0, :4])
    assert len({tuple(row) for row in straight.tolist()}) == 3
    assert ((straight >= 0) & (straight < 1)).all()
