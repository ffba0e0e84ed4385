"""Base models in memory, and the networks of policies on them."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

import torch
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from cotrain.assembly.policy_plans import PolicyPlan
from cotrain.config import Config, ConfigurationError, Fault
from cotrain.core.seeds import derive_seed
from cotrain.policies.adapters import AdaptedBase, Adapter, AdapterSettings
from cotrain.policies.causal_lm import CausalPolicy
from cotrain.policies.chat import ChatCodec, end_token_ids
from cotrain.policies.loading import (
    COMPUTE_DTYPES,
    ModelNotFoundError,
    accelerator,
    base_identity,
    load_base,
)
from cotrain.policies.networks import Network, WholeModel

Loaded = TypeVar("Loaded")


@dataclass(frozen=True, slots=True)
class Base:
    """The base that an adapter needs: its name, and the identity of its weights."""

    name: str
    identity: str

    def as_json(self) -> dict[str, str]:
        """The values for `state.json`."""
        return {"name": self.name, "identity": self.identity}


class Bases:
    """Loads models for one configuration. Adapters on the same base share it in memory."""

    def __init__(self, config: Config) -> None:
        self._config = config
        self._dtype = COMPUTE_DTYPES[config.model.dtype]
        self._adapted: dict[str, AdaptedBase] = {}
        self._identities: dict[str, str] = {}

    def network(self, plan: PolicyPlan) -> Network:
        """The network of an untrained policy.

        Raises ConfigurationError for a base that cannot be loaded or has no chat template, and for
        an adapter to start from that does not fit it.
        """
        if plan.adapter is None:
            dtype = torch.float32 if plan.trained else self._dtype
            return self.whole(plan.base, plan.base_key, dtype)
        base = self.adapted(plan.base, plan.base_key)
        if plan.adapter.start is None:
            seed = derive_seed("adapter", self._config.run.seed, plan.name)
            settings = AdapterSettings(plan.adapter.rank, plan.adapter.alpha, seed)
            return base.add(settings)
        try:
            return base.load(plan.adapter.start)
        except (ValueError, OSError) as error:
            start = f'"{plan.adapter.start}"'
            fault = Fault(f"team.roles.{plan.name}.model", start, f"does not fit: {error}")
            raise ConfigurationError([fault]) from error

    def whole(self, name: str, key: str, dtype: torch.dtype | None = None) -> WholeModel:
        """A model that is one policy's alone; its weights have the compute type unless told."""
        return WholeModel(*self._load(name, key, dtype or self._dtype))

    def adapted(self, name: str, key: str) -> AdaptedBase:
        """The base of this name for adapters, loaded once."""
        if name not in self._adapted:
            model, tokenizer = self._load(name, key, self._dtype)
            self._adapted[name] = AdaptedBase(model, tokenizer, name)
            self._identities[name] = base_identity(name, model)
        return self._adapted[name]

    def identity(self, name: str) -> str:
        """What the weights of a loaded base for adapters are."""
        return self._identities[name]

    def base_of(self, network: Network) -> Base | None:
        """The base that has to be there when this network is loaded again; None: it needs none."""
        if not isinstance(network, Adapter):
            return None
        return Base(network.base.source, self.identity(network.base.source))

    def policy(self, name: str, network: Network) -> CausalPolicy:
        """A sampler on this network."""
        model, tokenizer = network.model, network.tokenizer
        ends = end_token_ids(model.config, model.generation_config, tokenizer)
        codec = ChatCodec(tokenizer, ends, self._config.model.chat_template_options)
        sampling, limits = self._config.sampling, self._config.limits
        return CausalPolicy(name, network, codec, sampling.max_batch_tokens, limits.reply_seconds)

    def _load(
        self, name: str, key: str, dtype: torch.dtype
    ) -> tuple[PreTrainedModel, PreTrainedTokenizerBase]:
        model, tokenizer = named_by(key, name, lambda: load_base(name, dtype))
        if tokenizer.chat_template is None:
            allowed = (
                "its tokenizer has no chat template, so that prompts cannot be written; save one "
                "in its folder as chat_template.jinja"
            )
            raise ConfigurationError([Fault(key, f'"{name}"', allowed)])
        torch.nn.Module.to(model, accelerator())
        return model, tokenizer


def named_by(key: str, name: str, load: Callable[[], Loaded]) -> Loaded:
    """What `load` returns; a model that is not there becomes a fault of the key that named it."""
    try:
        return load()
    except ModelNotFoundError as error:
        fault = Fault(key, f'"{name}"', str(error).partition(": ")[2])
        raise ConfigurationError([fault]) from error


def start_tensors(plan: PolicyPlan, network: Network) -> dict[str, torch.Tensor] | None:
    """The saved values that a policy starts from, as precise as they are on disk."""
    if plan.adapter is None or plan.adapter.start is None:
        return None
    return network.read(plan.adapter.start)
