"""The token losses of AT-GRPO. The only module of the core that knows torch.

Shapes: N tokens, flat over the replies of a micro-batch. Log-probs are float32, or float64.
"""

import torch
from torch import Tensor


def clipped_surrogate(
    logp_new: Tensor, logp_old: Tensor, advantages: Tensor, clip_low: float, clip_high: float
) -> Tensor:
    """The loss of each token, `-min(rho A, clip(rho, 1 - clip_low, 1 + clip_high) A)` (PPO).

    `rho = exp(logp_new - logp_old)`; all tensors [N], and so is the result.

    >>> new = torch.tensor([0.0, 1.0])
    >>> clipped_surrogate(new, torch.zeros(2), torch.ones(2), 0.2, 0.2)
    tensor([-1.0000, -1.2000])
    """
    ratio = torch.exp(logp_new - logp_old)
    clipped = ratio.clamp(1.0 - clip_low, 1.0 + clip_high)
    return -torch.minimum(ratio * advantages, clipped * advantages)


def is_clipped(
    logp_new: Tensor, logp_old: Tensor, advantages: Tensor, clip_low: float, clip_high: float
) -> Tensor:
    """Where the clip stops the gradient, bool [N].

    >>> is_clipped(torch.tensor([1.0]), torch.zeros(1), torch.tensor([-1.0]), 0.2, 0.2)
    tensor([False])
    """
    ratio = torch.exp(logp_new - logp_old)
    too_high = (advantages > 0) & (ratio > 1.0 + clip_high)
    too_low = (advantages < 0) & (ratio < 1.0 - clip_low)
    return too_high | too_low


def kl_k3(logp: Tensor, logp_reference: Tensor) -> Tensor:
    """The k3 estimate of each token's KL divergence to the reference, `exp(d) - d - 1`.

    `d = logp_reference - logp` (GRPO, arXiv 2402.03300, Eq. 4). It is never negative, and its mean
    over the policy's own tokens estimates the divergence. All tensors [N], and so is the result.

    >>> kl_k3(torch.tensor([-1.0, -1.0]), torch.tensor([-1.0, -2.0]))
    tensor([0.0000, 0.3679])
    """
    difference = logp_reference - logp
    return torch.expm1(difference) - difference


def token_logprobs(logits: Tensor, targets: Tensor, temperature: Tensor) -> Tensor:
    """Log-probs of the targets at the sampling temperature, float32 or wider.

    `logits` [N, V], `targets` [N], `temperature` [N]; the result is [N].

    >>> token_logprobs(torch.zeros(1, 2), torch.tensor([1]), torch.ones(1))
    tensor([-0.6931])
    """
    wide = logits.to(torch.promote_types(logits.dtype, torch.float32))
    scaled = wide / temperature.to(wide.dtype).unsqueeze(-1)
    chosen = scaled.gather(-1, targets.unsqueeze(-1)).squeeze(-1)
    return chosen - scaled.logsumexp(-1)
