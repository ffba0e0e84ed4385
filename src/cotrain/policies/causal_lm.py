"""A policy on a transformers causal language model, sampled in waves on this machine.

Shapes: P prompts, R rows (one a reply), T tokens, V vocabulary. Prompts are padded on the left,
positions come from the mask, and a prompt is computed once for all of its replies.
"""

import inspect
import math
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import torch
from torch import Tensor
from transformers import DynamicCache, PreTrainedModel

from cotrain.core.episode import Finish, Message, Reply
from cotrain.policies.base import SampleRequest, WeightsError
from cotrain.policies.chat import ChatCodec
from cotrain.policies.decoding import RowDecoding, choose, uniforms
from cotrain.policies.networks import Network
from cotrain.policies.weights import Checksum, checksum


class CausalPolicy:
    """Samples replies from a causal language model.

    The learner that trains its network raises `version`, and seals the weights that the version
    stands for; before anything is computed the active weights are held against the seal.
    `max_batch_tokens` bounds rows times tokens of what is sampled at once; `reply_seconds` is the
    time limit of one such batch, past which its unfinished replies are recorded as timed out.
    """

    def __init__(
        self,
        name: str,
        network: Network,
        codec: ChatCodec,
        max_batch_tokens: int,
        reply_seconds: float | None = None,
    ) -> None:
        self.name = name
        self.version = 0
        self.network = network
        self.codec = codec
        self.context_tokens = context_tokens(network.model)
        self._max_batch_tokens = max_batch_tokens
        self._reply_seconds = reply_seconds
        self._seal = checksum(network.tensors().values())

    @property
    def model(self) -> PreTrainedModel:
        """The computing model, to be asked for its configuration; it computes in `computing()`."""
        return self.network.model

    def seal(self, weights: Checksum) -> None:
        """Says what the checksum of its weights is from now on."""
        self._seal = weights

    @contextmanager
    def computing(self) -> Iterator[PreTrainedModel]:
        """The model with this policy's weights active, until the block ends.

        Raises WeightsError when they are not the sealed ones: an update that was not published, an
        adapter of another policy, or none.
        """
        with self.network.computing() as model:
            if checksum(self.network.active()) != self._seal:
                raise WeightsError(
                    f"policy {self.name} version {self.version} was about to compute with other "
                    "weights than those of this version"
                )
            yield model

    def encode(self, messages: Sequence[Message]) -> tuple[int, ...]:
        """The prompt's ids, through the chat template."""
        return self.codec.encode(messages)

    def sample(self, requests: Sequence[SampleRequest]) -> list[tuple[Reply, ...]]:
        """Replies in order; how a wave is cut into batches depends on lengths alone."""
        with self.computing() as model:
            return [
                replies
                for batch in split_by_tokens(requests, self._max_batch_tokens)
                for replies in self._sample_batch(model, batch)
            ]

    @torch.inference_mode()
    def _sample_batch(
        self, model: PreTrainedModel, requests: Sequence[SampleRequest]
    ) -> list[tuple[Reply, ...]]:
        deadline = None if self._reply_seconds is None else time.monotonic() + self._reply_seconds
        rows = _decode(model, self.codec.end_ids, requests, deadline)
        replies = iter([self._reply(row) for row in rows])
        return [tuple(next(replies) for _ in request.seeds) for request in requests]

    def _reply(self, row: "_Row") -> Reply:
        text_ids = row.ids[:-1] if row.finish is Finish.STOP else row.ids
        failures = {
            Finish.TIMEOUT: f"no end within {self._reply_seconds} s (limits.reply_seconds)",
            Finish.ERROR: f"the output of policy {self.name} version {self.version} is not finite",
        }
        return Reply(
            text=self.codec.decode(text_ids),
            token_ids=tuple(row.ids),
            logprobs=tuple(row.logprobs),
            finish=row.finish,
            message=failures.get(row.finish, ""),
        )


def split_by_tokens(
    requests: Sequence[SampleRequest], max_batch_tokens: int
) -> Iterator[list[SampleRequest]]:
    """Cuts a wave into batches of at most this many padded tokens, one request at least."""
    batch: list[SampleRequest] = []
    rows = width = 0
    for request in requests:
        new_rows = rows + len(request.seeds)
        new_width = max(width, len(request.prompt_ids) + request.decoding.max_reply_tokens)
        if batch and new_rows * new_width > max_batch_tokens:
            yield batch
            batch, new_rows = [], len(request.seeds)
            new_width = len(request.prompt_ids) + request.decoding.max_reply_tokens
        batch.append(request)
        rows, width = new_rows, new_width
    if batch:
        yield batch


@dataclass(slots=True)
class _Row:
    """A reply in the making."""

    limit: int
    ids: list[int]
    logprobs: list[float]
    finish: Finish = Finish.TIMEOUT


def _decode(
    model: PreTrainedModel,
    end_ids: frozenset[int],
    requests: Sequence[SampleRequest],
    deadline: float | None,
) -> list[_Row]:
    """Samples every row to its end token, its limit, or the deadline."""
    rows = [_Row(r.decoding.max_reply_tokens, [], []) for r in requests for _ in r.seeds]
    device = model.device
    decoding = RowDecoding.of([r.decoding for r in requests for _ in r.seeds], device)
    random = uniforms([s for r in requests for s in r.seeds], max(row.limit for row in rows))
    random = random.to(device)
    state = _prefill(model, requests)
    active = list(range(len(rows)))
    for position in range(random.shape[1]):
        tokens, logprobs = choose(state.logits, decoding, random[:, position])
        going = _record(rows, active, end_ids, tokens.tolist(), logprobs.tolist())
        late = deadline is not None and time.monotonic() > deadline
        if not going or late:
            break
        if len(going) <= len(active) // 2:
            kept = torch.tensor(going, device=device)
            state, decoding, random = state.select(kept), decoding.select(kept), random[kept]
            tokens, active = tokens[kept], [active[place] for place in going]
        state = _advance(model, state, tokens)
    return rows


def _record(
    rows: list[_Row],
    active: list[int],
    end_ids: frozenset[int],
    tokens: list[int],
    logprobs: list[float],
) -> list[int]:
    """Writes the chosen tokens to the open rows; returns the places that are still open."""
    going: list[int] = []
    for place, number in enumerate(active):
        row = rows[number]
        if row.finish is not Finish.TIMEOUT:
            continue
        if math.isnan(logprobs[place]):
            row.finish = Finish.ERROR
            continue
        row.ids.append(tokens[place])
        row.logprobs.append(logprobs[place])
        if tokens[place] in end_ids:
            row.finish = Finish.STOP
        elif len(row.ids) == row.limit:
            row.finish = Finish.LENGTH
        else:
            going.append(place)
    return going


@dataclass(frozen=True, slots=True)
class _DecodingState:
    """The model between two tokens: cache, mask [R, T], next position [R], logits [R, V]."""

    cache: DynamicCache
    mask: Tensor
    position: Tensor
    logits: Tensor

    def select(self, kept: Tensor) -> "_DecodingState":
        self.cache.batch_select_indices(kept)
        return _DecodingState(self.cache, self.mask[kept], self.position[kept], self.logits[kept])


def _prefill(model: PreTrainedModel, requests: Sequence[SampleRequest]) -> _DecodingState:
    """Computes each prompt once, then gives every reply a copy of its cache and logits."""
    ids, mask = pad_left([request.prompt_ids for request in requests], model.device)
    positions = (mask.cumsum(-1) - 1).clamp(min=0)
    cache = DynamicCache(config=model.config)
    output = model(
        input_ids=ids,
        attention_mask=mask,
        position_ids=positions,
        use_cache=True,
        logits_to_keep=1,
        **{cache_argument(model): cache},
    )
    repeats = torch.tensor([len(request.seeds) for request in requests], device=model.device)
    rows = torch.arange(len(requests), device=model.device).repeat_interleave(repeats)
    state = _DecodingState(cache, mask, positions[:, -1] + 1, output.logits[:, -1])
    return state.select(rows)


def _advance(model: PreTrainedModel, state: _DecodingState, tokens: Tensor) -> _DecodingState:
    mask = torch.cat([state.mask, state.mask.new_ones(len(tokens), 1)], dim=-1)
    output = model(
        input_ids=tokens.unsqueeze(-1),
        attention_mask=mask,
        position_ids=state.position.unsqueeze(-1),
        use_cache=True,
        **{cache_argument(model): state.cache},
    )
    # A finished row goes on until it is dropped, past the context where its prompt was long.
    position = (state.position + 1).clamp(max=context_tokens(model) - 1)
    return _DecodingState(state.cache, mask, position, output.logits[:, -1])


def context_tokens(model: PreTrainedModel) -> int:
    """The most tokens that the model can read; without positions there is no limit."""
    limit = getattr(model.config.get_text_config(), "max_position_embeddings", None)
    return 2**30 if limit is None else int(limit)


def cache_argument(model: PreTrainedModel) -> str:
    """What this transformers release calls the cache in `forward`: it was renamed in 5.x."""
    parameters = inspect.signature(type(model).forward).parameters
    return "cache" if "cache" in parameters else "past_key_values"


def pad_left(prompts: Sequence[Sequence[int]], device: torch.device) -> tuple[Tensor, Tensor]:
    """Ids and mask [P, T], padded on the left; the mask comes from lengths, never from ids.

    >>> ids, mask = pad_left([[2, 7, 2, 8], [2, 7, 2, 8, 9, 9]], torch.device("cpu"))
    >>> mask[0].tolist()
    [0, 0, 1, 1, 1, 1]
    """
    width = max(len(prompt) for prompt in prompts)
    ids = [[0] * (width - len(prompt)) + list(prompt) for prompt in prompts]
    mask = [[0] * (width - len(prompt)) + [1] * len(prompt) for prompt in prompts]
    return torch.tensor(ids, device=device), torch.tensor(mask, device=device)
