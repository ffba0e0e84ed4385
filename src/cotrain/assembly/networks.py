"""Base models in memory, and the networks of policies on them."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

import torch
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from cotrain.assembly.policy_plans import AdapterStart, PolicyPlan, unfit_start
from cotrain.config import Config, ConfigurationError, Fault
from cotrain.core.episode import Message
from cotrain.policies.adapters import AdaptedBase, Adapter, AdapterSettings
from cotrain.policies.causal_lm import CausalPolicy
from cotrain.policies.chat import ChatCodec, end_token_ids
from cotrain.policies.loading import (
    ModelNotFoundError,
    ModelUnreachableError,
    accelerator,
    base_identity,
    load_base,
    revision_of,
)
from cotrain.policies.networks import Network, WholeModel

USUAL = (Message("system", "You plan."), Message("user", "Plan."))

Loaded = TypeVar("Loaded")


@dataclass(frozen=True, slots=True)
class LoadedBase:
    """A base as it was loaded; `identity` says what its weights are, whatever its name."""

    name: str
    identity: str
    model: PreTrainedModel
    tokenizer: PreTrainedTokenizerBase


class Bases:
    """Loads models for policies that compute in one type. Adapters on one base share it in memory.

    A Hub model is loaded at the commit of the identity that is asked for, where one is.
    """

    def __init__(self, dtype: torch.dtype) -> None:
        self._dtype = dtype
        self._adapted: dict[tuple[str, str | None], tuple[AdaptedBase, str]] = {}

    def network(
        self, plan: PolicyPlan, seed: int, identity: str | None = None
    ) -> tuple[Network, str]:
        """The network of a policy at its start, and the identity of its base.

        `seed` draws a new adapter. Raises ConfigurationError for a base that cannot be loaded or
        has no chat template, and for an adapter to start from that does not fit it.
        """
        if plan.adapter is None:
            # Masters are made of what is loaded, so a trained model is loaded in their precision.
            wide = torch.promote_types(self._dtype, torch.float32)
            found = load(plan.base, plan.base_key, wide if plan.trained else self._dtype, identity)
            return WholeModel(found.model, found.tokenizer), found.identity
        base, loaded_identity = self.adapted(plan.base, plan.base_key, identity)
        return _adapter(base, plan, seed), loaded_identity

    def whole(self, name: str, key: str) -> WholeModel:
        """A model that computes with all of its weights."""
        found = load(name, key, self._dtype)
        return WholeModel(found.model, found.tokenizer)

    def adapted(self, name: str, key: str, identity: str | None = None) -> tuple[AdaptedBase, str]:
        """The base of this name for adapters, loaded once, and its identity."""
        place = (name, None if identity is None else revision_of(identity))
        if place not in self._adapted:
            found = load(name, key, self._dtype, identity)
            base = AdaptedBase(found.model, found.tokenizer, name)
            self._adapted[place] = (base, found.identity)
        return self._adapted[place]


def load(name: str, key: str, dtype: torch.dtype, identity: str | None = None) -> LoadedBase:
    """A base on the device that models run on; `key` is the one that named it.

    Raises ConfigurationError for one that is not there or has no chat template.
    """
    revision = None if identity is None else revision_of(identity)
    model, tokenizer = load_or_fault(key, name, lambda: load_base(name, dtype, revision))
    refuse_template(key, name, tokenizer)
    found = load_or_fault(key, name, lambda: base_identity(name, model))
    torch.nn.Module.to(model, accelerator())
    return LoadedBase(name, found, model, tokenizer)


def refuse_template(key: str, name: str, tokenizer: PreTrainedTokenizerBase) -> None:
    """Raises ConfigurationError unless the tokenizer can write a prompt of the usual form."""
    mend = "save one in its folder as chat_template.jinja"
    if tokenizer.chat_template is None:
        allowed = f"its tokenizer has no chat template, so that prompts cannot be written; {mend}"
        raise ConfigurationError([Fault(key, f'"{name}"', allowed)])
    try:
        ids = ChatCodec(tokenizer, (), {}).encode(USUAL)
    except Exception as error:  # a template can raise anything
        allowed = f"its chat template cannot write a system and a user message: {error}; {mend}"
        raise ConfigurationError([Fault(key, f'"{name}"', allowed)]) from error
    if not ids:
        allowed = f"its chat template writes no token; {mend}"
        raise ConfigurationError([Fault(key, f'"{name}"', allowed)])


def policy_on(network: Network, name: str, config: Config) -> CausalPolicy:
    """A sampler on this network, with the limits and template options of a configuration."""
    model, tokenizer = network.model, network.tokenizer
    ends = end_token_ids(model.config, model.generation_config, tokenizer)
    codec = ChatCodec(tokenizer, ends, config.model.chat_template_options)
    max_batch_tokens, seconds = config.sampling.max_batch_tokens, config.limits.reply_seconds
    return CausalPolicy(name, network, codec, max_batch_tokens, seconds)


class BaseUnreachableError(ConfigurationError):
    """A base that only the Hub could know, and the Hub cannot be reached: a plan can go on."""


def load_or_fault(key: str, name: str, loaded: Callable[[], Loaded]) -> Loaded:
    """What `loaded` returns; a model that is not there becomes a fault of the key that named it."""
    try:
        return loaded()
    except ModelNotFoundError as error:
        fault = Fault(key, f'"{name}"', str(error).partition(": ")[2])
        unreachable = isinstance(error, ModelUnreachableError)
        raise (BaseUnreachableError if unreachable else ConfigurationError)([fault]) from error


def _adapter(base: AdaptedBase, plan: PolicyPlan, seed: int) -> Adapter:
    if not isinstance(plan.adapter, AdapterStart):
        assert plan.adapter is not None
        return base.add(AdapterSettings(plan.adapter.rank, plan.adapter.alpha, seed))
    folder = plan.adapter.folder
    try:
        return base.load(folder)
    except (ValueError, OSError) as error:
        raise unfit_start(plan.name, folder, error) from error
