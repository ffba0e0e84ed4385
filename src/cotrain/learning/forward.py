"""The log-probs of replies under a model, with each shared prompt computed once.

Shapes: B packs, P prompt tokens, S reply tokens of a pack, T = P + S, N reply tokens of all packs,
V vocabulary. A row is `[pad, prompt, reply 1, ..., reply K, pad]`: prompts end at column P, so that
one slice of the logits serves every row. A tree mask lets a reply see its prompt and itself, and
its positions go on from the prompt, so that the result is that of the plain form.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from transformers import PreTrainedModel

from cotrain.core.loss import token_logprobs
from cotrain.learning.batching import (
    Pack,
    Packing,
    WeightedSample,
    packs_by_prompt,
    packs_of_one,
)

PADDING, PROMPT = -1, 0


@dataclass(frozen=True, slots=True)
class Layout:
    """A micro-batch as tensors.

    `ids`, `positions` [B, T] and `mask` go into the model; `first_logit` is the column whose logits
    predict the first reply tokens. `rows`, `columns` [N] find the logits of each reply token from
    there on, `targets` [N] are the tokens, `temperatures` [N] theirs.
    """

    ids: Tensor
    positions: Tensor
    mask: Tensor
    first_logit: int
    rows: Tensor
    columns: Tensor
    targets: Tensor
    temperatures: Tensor


@dataclass(frozen=True, slots=True)
class Form:
    """How replies share a row: which are packed together, and the mask that keeps them apart."""

    name: str
    packing: Packing
    mask: Callable[[Tensor], Tensor]


def lay_out(
    packs: Sequence[Pack], mask: Callable[[Tensor], Tensor], device: torch.device
) -> Layout:
    """Lays packs out for one forward pass."""
    prompt_width = max(len(pack.prompt_ids) for pack in packs)
    width = prompt_width + max(pack.reply_tokens for pack in packs)
    rows = [_Row.of(pack, prompt_width, width) for pack in packs]

    def tensor(values: Sequence[object]) -> Tensor:
        return torch.tensor(values, device=device)

    return Layout(
        ids=tensor([row.ids for row in rows]),
        positions=tensor([row.positions for row in rows]),
        mask=mask(tensor([row.segments for row in rows])),
        first_logit=prompt_width - 1,
        rows=tensor([place for place, row in enumerate(rows) for _ in row.columns]),
        columns=tensor([column for row in rows for column in row.columns]),
        targets=tensor([i for p in packs for s in p.samples for i in s.reply_ids]),
        temperatures=tensor(
            [s.credited.sample.temperature for p in packs for s in p.samples for _ in s.reply_ids]
        ),
    )


@dataclass(frozen=True, slots=True)
class _Row:
    """One pack as lists of T numbers, and the logit column of each of its reply tokens."""

    ids: list[int]
    positions: list[int]
    segments: list[int]
    columns: list[int]

    @classmethod
    def of(cls, pack: Pack, prompt_width: int, width: int) -> "_Row":
        length = len(pack.prompt_ids)
        lead = prompt_width - length
        ids = [0] * lead + list(pack.prompt_ids)
        positions = [0] * lead + list(range(length))
        segments = [PADDING] * lead + [PROMPT] * length
        columns: list[int] = []
        for number, sample in enumerate(pack.samples, start=1):
            size, behind = len(sample.reply_ids), len(ids) - prompt_width
            columns += [0, *range(behind + 1, behind + size)]
            ids += sample.reply_ids
            positions += range(length, length + size)
            segments += [number] * size
        trail = width - len(ids)
        return cls(
            ids + [0] * trail, positions + [0] * trail, segments + [PADDING] * trail, columns
        )


def tree_mask(segments: Tensor) -> Tensor:
    """Who sees whom, bool [B, 1, T, T], from segment numbers [B, T].

    0 is the prompt, 1 to K the replies, -1 padding. A token sees earlier tokens of its own segment
    and of the prompt. Padding sees itself, because a row without any key has no softmax.

    >>> tree_mask(torch.tensor([[0, 1, 2]]))[0, 0].int().tolist()
    [[1, 0, 0], [1, 1, 0], [1, 0, 1]]
    """
    size, device = segments.shape[-1], segments.device
    causal = torch.ones(size, size, dtype=torch.bool, device=device).tril()
    query, key = segments.unsqueeze(-1), segments.unsqueeze(-2)
    related = (query == key) | ((key == PROMPT) & (query != PADDING))
    itself = torch.eye(size, dtype=torch.bool, device=device)
    return ((causal & related & (key != PADDING)) | itself).unsqueeze(1)


def padding_mask(segments: Tensor) -> Tensor:
    """The usual mask [B, T] of the plain form: 1 for every token that is not padding."""
    return (segments != PADDING).long()


PACKED = Form("packed", packs_by_prompt, tree_mask)
PLAIN = Form("plain", packs_of_one, padding_mask)


def reply_logprobs(model: PreTrainedModel, layout: Layout) -> Tensor:
    """The log-prob of each reply token at its sampling temperature, [N], float32 or wider.

    The order is that of the packs and their samples, token by token.
    """
    kept = torch.arange(layout.first_logit, layout.ids.shape[1], device=layout.ids.device)
    logits = model(
        input_ids=layout.ids,
        attention_mask=layout.mask,
        position_ids=layout.positions,
        use_cache=False,
        logits_to_keep=kept,
    ).logits
    return token_logprobs(logits[layout.rows, layout.columns], layout.targets, layout.temperatures)


def per_token(samples: Sequence[WeightedSample], values: Sequence[float], like: Tensor) -> Tensor:
    """One value a sample, repeated for each of its reply tokens: [N], of the type of `like`."""
    lengths = torch.tensor([len(sample.reply_ids) for sample in samples], device=like.device)
    return torch.tensor(values, dtype=like.dtype, device=like.device).repeat_interleave(lengths)
