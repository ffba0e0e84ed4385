"""Choosing the next token of each row, from a uniform number that belongs to the row alone.

Shapes: R rows, V vocabulary. Inverse-CDF sampling makes a row's choice a function of its own logits
and its own number, so that replies do not depend on which other rows share the batch.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from cotrain.policies.base import Decoding


@dataclass(frozen=True, slots=True)
class RowDecoding:
    """The decoding settings of each row, as columns [R, 1]."""

    temperature: Tensor
    top_p: Tensor
    top_k: Tensor

    @classmethod
    def of(cls, rows: Sequence[Decoding], device: torch.device) -> "RowDecoding":
        """The settings of these rows, on this device."""

        def column(values: list[float], dtype: torch.dtype) -> Tensor:
            return torch.tensor(values, dtype=dtype, device=device).unsqueeze(-1)

        return cls(
            column([row.temperature for row in rows], torch.float32),
            column([row.top_p for row in rows], torch.float32),
            column([row.top_k for row in rows], torch.long),
        )

    def select(self, rows: Tensor) -> "RowDecoding":
        """The settings of these rows."""
        return RowDecoding(self.temperature[rows], self.top_p[rows], self.top_k[rows])


def uniforms(seeds: Sequence[int], count: int) -> Tensor:
    """`count` numbers in [0, 1) for each seed, float64 [R, count].

    >>> torch.equal(uniforms([7, 8], 2)[1], uniforms([8], 2)[0])
    True
    """
    generator = torch.Generator()
    rows = [
        torch.rand(count, generator=generator.manual_seed(seed), dtype=torch.float64)
        for seed in seeds
    ]
    return torch.stack(rows)


def choose(logits: Tensor, decoding: RowDecoding, uniform: Tensor) -> tuple[Tensor, Tensor]:
    """The chosen token of each row [R] and its log-prob [R], float32 or wider.

    `logits` [R, V], `uniform` [R]. The log-prob is that of the whole distribution at the row's
    temperature, before top-k and top-p; at temperature 0, of the distribution at temperature 1.
    It is NaN in a row whose logits have a NaN or an infinity, and the token then means nothing.
    """
    wide = logits.to(torch.promote_types(logits.dtype, torch.float32))
    greedy = decoding.temperature == 0
    logprobs = (wide / torch.where(greedy, 1.0, decoding.temperature)).log_softmax(-1)
    drawn = _draw(_truncated(logprobs.exp(), decoding), uniform)
    tokens = torch.where(greedy.squeeze(-1), logprobs.argmax(-1), drawn)
    return tokens, logprobs.gather(-1, tokens.unsqueeze(-1)).squeeze(-1)


def _draw(mass: Tensor, uniform: Tensor) -> Tensor:
    cumulative = mass.double().cumsum(-1)
    total = cumulative[:, -1:]
    # A number just below 1 may round to the whole mass, which no token's interval contains.
    below = torch.nextafter(total, torch.zeros_like(total))
    threshold = torch.minimum(uniform.unsqueeze(-1) * total, below)
    # In a row of NaN no place is found, and the one past the end is no token.
    places = torch.searchsorted(cumulative, threshold, right=True).squeeze(-1)
    return places.clamp(max=mass.shape[-1] - 1)


def _truncated(mass: Tensor, decoding: RowDecoding) -> Tensor:
    """Sets to zero what top-k, then top-p of the rest, leave out; the likeliest token stays."""
    if bool(((decoding.top_p >= 1) & (decoding.top_k == 0)).all()):
        return mass
    ordered, places = mass.sort(dim=-1, descending=True, stable=True)
    rank = torch.arange(mass.shape[-1], device=mass.device)
    ordered = torch.where((decoding.top_k == 0) | (rank < decoding.top_k), ordered, 0.0)
    before = ordered.cumsum(-1) - ordered
    share = decoding.top_p * ordered.sum(-1, keepdim=True)
    keep = (before < share) | (decoding.top_p >= 1)
    keep[:, 0] = True
    return torch.zeros_like(mass).scatter(-1, places, torch.where(keep, ordered, 0.0))
