"""Whether an architecture can take a tree mask, found out on the model itself."""

from collections.abc import Sequence

import torch
from torch import Tensor
from transformers import PreTrainedModel

from cotrain.learning.batching import bare_sample
from cotrain.learning.forward import PACKED, PLAIN, Form, lay_out, reply_logprobs

TOLERANCES = {torch.float64: 1e-8, torch.float32: 1e-4, torch.bfloat16: 0.1, torch.float16: 0.05}


def choose_form(model: PreTrainedModel) -> Form:
    """The packed form where the model computes it rightly, else the plain form.

    The packed log-probs must equal the plain ones within rounding, and those of one reply must not
    move at all when another reply of the same row changes: a model that ignores the mask (a
    recurrent layer) fails one of the two. A sliding window shows on long prompts alone, so it is
    asked for.
    """
    if _has_sliding_window(model):
        return PLAIN
    prompt, first, other, second = _token_lists(model.config.get_text_config().vocab_size)
    try:
        packed = _logprobs(model, PACKED, prompt, [first, second])
        changed = _logprobs(model, PACKED, prompt, [other, second])
    except (RuntimeError, ValueError, TypeError, IndexError):
        # What an architecture raises for a mask that it does not know is not ours to foresee.
        return PLAIN
    plain = _logprobs(model, PLAIN, prompt, [first, second])
    near = (packed - plain).abs().max().item() <= TOLERANCES[model.dtype]
    apart = torch.equal(packed[len(first) :], changed[len(other) :])
    return PACKED if near and apart else PLAIN


def _has_sliding_window(model: PreTrainedModel) -> bool:
    config = model.config.get_text_config()
    layers = getattr(config, "layer_types", None)
    window = getattr(config, "sliding_window", None)
    return window is not None and (layers is None or "sliding_attention" in layers)


@torch.no_grad()
def _logprobs(
    model: PreTrainedModel, form: Form, prompt: Sequence[int], replies: Sequence[Sequence[int]]
) -> Tensor:
    samples = [bare_sample(0, place, prompt, reply) for place, reply in enumerate(replies)]
    layout = lay_out(form.packing(samples), form.mask, model.device)
    return reply_logprobs(model, layout)


def _token_lists(vocabulary: int) -> tuple[list[int], ...]:
    generator = torch.Generator().manual_seed(0)
    return tuple(
        torch.randint(vocabulary, (length,), generator=generator).tolist()
        for length in (12, 6, 6, 5)
    )
