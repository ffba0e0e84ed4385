"""Imitation of a stream of demonstrations, which is how the embedded bases are made."""

import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from cotrain.core.aggregation import sequence_mean
from cotrain.learning.base import LearningError
from cotrain.learning.batching import WeightedSample, bare_sample
from cotrain.learning.forward import Form
from cotrain.learning.steps import Steps, UpdateSettings
from cotrain.policies.causal_lm import CausalPolicy
from cotrain.policies.weights import MasterWeights


@dataclass(frozen=True, slots=True)
class Demonstration:
    """One prompt and replies to it, as token ids; a reply ends with the end token."""

    prompt_ids: tuple[int, ...]
    replies: tuple[tuple[int, ...], ...]


@dataclass(frozen=True, slots=True)
class Schedule:
    """A learning rate with linear warm-up and linear decay to zero over `num_steps`."""

    learning_rate: float
    num_steps: int
    warmup_steps: int = 100

    def factor(self, number: int) -> float:
        """The share of the rate that step `number`, from 1, takes.

        >>> [Schedule(1.0, num_steps=10, warmup_steps=4).factor(n) for n in (1, 2, 6, 11)]
        [0.25, 0.5, 0.5, 0.0]
        """
        warmup = number / self.warmup_steps if self.warmup_steps else 1.0
        return min(warmup, 1.0 - (number - 1) / self.num_steps)


class Imitation:
    """Trains a policy's weights on demonstrations, batch by batch."""

    def __init__(
        self, policy: CausalPolicy, weights: MasterWeights, form: Form, schedule: Schedule
    ) -> None:
        self._schedule = schedule
        settings = UpdateSettings(
            aggregation=sequence_mean,
            max_reply_tokens=sys.maxsize,
            learning_rate=schedule.learning_rate,
            microbatch_tokens=sys.maxsize,
        )
        self._steps = Steps(policy, weights, form, settings)

    def step(self, number: int, demonstrations: Sequence[Demonstration]) -> float:
        """One optimiser step (`number` from 1); each reply weighs the same, whatever its length.

        Returns the mean loss of a reply token, in nats, averaged over replies. Raises
        LearningError when it or the gradient is not finite.
        """
        self._steps.set_rate(self._schedule.factor(number))
        part = list(_samples(demonstrations))
        loss = self._steps.gather(part, self._steps.negative_log_likelihood)
        if self._steps.take(loss) is None:
            raise LearningError(f"step {number}: the loss, {loss}, or its gradient is not finite")
        return loss


def _samples(demonstrations: Sequence[Demonstration]) -> Iterable[WeightedSample]:
    lengths = [len(reply) for demonstration in demonstrations for reply in demonstration.replies]
    weights = iter(sequence_mean(lengths, max(lengths)))
    for number, demonstration in enumerate(demonstrations):
        for place, reply in enumerate(demonstration.replies):
            yield bare_sample(number, place, demonstration.prompt_ids, reply, next(weights))
