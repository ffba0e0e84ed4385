"""How the samples of an optimiser step are cut, packed and laid out.

    minibatches   one optimiser step each, whole groups in a seeded order
    packs         one prompt with the replies that share it
    micro-batches packs that go through the model together

Nothing here can change a loss: weights are fixed for the whole step before it is cut.
"""

import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from cotrain.core.episode import Finish, TurnKey
from cotrain.core.samples import CreditedSample, Sample
from cotrain.core.seeds import derive_seed


@dataclass(frozen=True, slots=True)
class WeightedSample:
    """A credited sample with the loss weight of each of its reply tokens.

    `place` is its number in the optimiser step, which finds its old log-probs again.
    """

    place: int
    credited: CreditedSample
    token_weight: float

    @property
    def prompt_ids(self) -> tuple[int, ...]:
        """The prompt that the reply was sampled from."""
        return self.credited.sample.prompt_ids

    @property
    def reply_ids(self) -> tuple[int, ...]:
        """The sampled reply, its end token included."""
        return self.credited.sample.reply_ids


@dataclass(frozen=True, slots=True)
class Pack:
    """One prompt, and replies that were sampled from it."""

    samples: tuple[WeightedSample, ...]

    @property
    def prompt_ids(self) -> tuple[int, ...]:
        """The shared prompt."""
        return self.samples[0].prompt_ids

    @property
    def reply_tokens(self) -> int:
        """The lengths of its replies, added up."""
        return sum(len(sample.reply_ids) for sample in self.samples)


def bare_sample(
    number: int,
    place: int,
    prompt_ids: Sequence[int],
    reply_ids: Sequence[int],
    token_weight: float = 1.0,
) -> WeightedSample:
    """A reply that no episode gave, at temperature 1: a demonstration, or the probe of a model.

    Samples with one `number` are of one group; `place` tells them apart.
    """
    key = TurnKey(step=0, episode=number, agent="", turn=0)
    sample = Sample(
        key=key,
        candidate=place,
        width=1,
        task_number=number,
        role="",
        policy="",
        version=0,
        prompt_ids=tuple(prompt_ids),
        reply_ids=tuple(reply_ids),
        sampler_logprobs=(),
        temperature=1.0,
        finish=Finish.STOP,
        score=None,
    )
    credited = CreditedSample(sample, key, advantage=0.0, has_signal=True)
    return WeightedSample(place, credited, token_weight)


Packing: TypeAlias = Callable[[Sequence[WeightedSample]], list[Pack]]


def packs_by_prompt(samples: Sequence[WeightedSample]) -> list[Pack]:
    """One pack a prompt of a group, so that a shared prompt is computed once."""
    found: dict[object, list[WeightedSample]] = {}
    for sample in samples:
        found.setdefault((sample.credited.group, sample.prompt_ids), []).append(sample)
    return [Pack(tuple(members)) for members in found.values()]


def packs_of_one(samples: Sequence[WeightedSample]) -> list[Pack]:
    """One pack a sample: the plain form, for architectures that cannot take a tree mask."""
    return [Pack((sample,)) for sample in samples]


def micro_batches(packs: Iterable[Pack], max_tokens: int) -> Iterator[list[Pack]]:
    """Cuts packs, longest first, into batches of at most `max_tokens` padded tokens.

    A pack that is longer than the limit makes a batch of its own.
    """
    ordered = sorted(packs, key=lambda pack: -(len(pack.prompt_ids) + pack.reply_tokens))
    batch: list[Pack] = []
    prompt = reply = 0
    for pack in ordered:
        new_prompt, new_reply = max(prompt, len(pack.prompt_ids)), max(reply, pack.reply_tokens)
        if batch and (len(batch) + 1) * (new_prompt + new_reply) > max_tokens:
            yield batch
            batch, new_prompt, new_reply = [], len(pack.prompt_ids), pack.reply_tokens
        batch.append(pack)
        prompt, reply = new_prompt, new_reply
    if batch:
        yield batch


def minibatches(
    samples: Sequence[CreditedSample], count: int, seed: int
) -> list[list[CreditedSample]]:
    """Splits samples by whole groups, in a seeded order, into `count` parts of near-equal groups.

    Groups without signal are split too: they belong to their part's denominator.
    """
    groups: dict[object, list[CreditedSample]] = {}
    for sample in samples:
        groups.setdefault(sample.group, []).append(sample)
    keys = list(groups)
    if count > 1:
        random.Random(derive_seed("minibatches", seed)).shuffle(keys)
    return [
        [sample for key in keys[part::count] for sample in groups[key]] for part in range(count)
    ]
