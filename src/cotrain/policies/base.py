"""The contract of a sampler: prompts in, replies with exact token ids out."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from cotrain.core.episode import Message, Reply


@dataclass(frozen=True, slots=True)
class Decoding:
    """How replies are drawn. Temperature 0 takes the likeliest token.

    `top_k = 0` and `top_p = 1` are off, as training requires.
    """

    temperature: float
    max_reply_tokens: int
    top_p: float = 1.0
    top_k: int = 0


@dataclass(frozen=True, slots=True)
class SampleRequest:
    """One prompt and as many seeds as replies are wanted from it."""

    prompt_ids: tuple[int, ...]
    seeds: tuple[int, ...]
    decoding: Decoding


class WeightsError(RuntimeError):
    """A model was about to compute with other weights than those that were meant."""


class Sampler(Protocol):
    """What gives replies. `version` counts the updates of its weights."""

    @property
    def name(self) -> str:
        """The policy's name in the run."""
        ...

    @property
    def version(self) -> int:
        """How often the weights have changed."""
        ...

    @property
    def context_tokens(self) -> int:
        """The most tokens that prompt and reply can have together."""
        ...

    def encode(self, messages: Sequence[Message]) -> tuple[int, ...]:
        """The token ids of a prompt, through the chat template, ready for the reply."""
        ...

    def sample(self, requests: Sequence[SampleRequest]) -> list[tuple[Reply, ...]]:
        """The replies, one tuple a request, one reply a seed, in order.

        A reply depends on its prompt, seed and decoding, up to the rounding of batched products.
        """
        ...
