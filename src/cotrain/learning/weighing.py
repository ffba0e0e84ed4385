"""What each sample of an update weighs, and what share of the loss is each role's."""

import math
from collections.abc import Iterable, Iterator, Sequence

from cotrain.core.samples import CreditedSample
from cotrain.learning.batching import WeightedSample
from cotrain.learning.steps import UpdateSettings


def weigh(
    parts: Sequence[Sequence[CreditedSample]], settings: UpdateSettings
) -> Iterator[list[WeightedSample]]:
    """The trained samples of each minibatch with their token weights.

    The weights come from all scored replies of the minibatch; then groups without signal, whose
    gradient is zero, are dropped, unless a KL divergence gives them one.
    """
    keeps_all = settings.kl_coefficient > 0
    place = 0
    for part in parts:
        lengths = [len(credited.sample.reply_ids) for credited in part]
        weights = settings.aggregation(lengths, settings.max_reply_tokens) if part else []
        kept = [(c, w) for c, w in zip(part, weights, strict=True) if c.has_signal or keeps_all]
        yield [WeightedSample(place + i, c, w) for i, (c, w) in enumerate(kept)]
        place += len(kept)


def loss_shares(samples: Iterable[WeightedSample], roles: Iterable[str]) -> dict[str, float]:
    """Each role's share of the loss: `|token weight x advantage|` over its tokens and over all.

    0.0 for a role without a sample; no shares at all where every advantage is 0.
    """
    sizes = dict.fromkeys(roles, 0.0)
    for sample in samples:
        size = abs(sample.token_weight * sample.credited.advantage) * len(sample.reply_ids)
        sizes[sample.credited.sample.role] += size
    total = math.fsum(sizes.values())
    return {role: size / total for role, size in sizes.items()} if total else {}
