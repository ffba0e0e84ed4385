"""Policies that share a base: a toy model with an adapter for each, moved away from their start."""

from collections.abc import Iterator
from typing import Any, ClassVar

import torch
from peft.tuners.lora import LoraLayer
from tests.policies.toy_policies import SIZE, WORDS, sharpen
from torch import Tensor, nn
from transformers import PretrainedConfig, PreTrainedModel
from transformers.modeling_outputs import CausalLMOutput

from cotrain.policies.adapters import AdaptedBase, Adapter, AdapterSettings
from cotrain.policies.causal_lm import CausalPolicy
from cotrain.policies.chat import ChatCodec, end_token_ids
from cotrain.policies.networks import Network
from cotrain.policies.toy import toy_model, toy_tokenizer

PROMPTS = ((1, 5, 7, 8, 2, 1, 6), (1, 5, 9, 10, 11, 12, 2))
SETTINGS = AdapterSettings(rank=3, alpha=6.0, seed=0)


def plain_model(seed: int = 0) -> PreTrainedModel:
    """The toy model that the bases here are made of, without any adapter."""
    return sharpen(toy_model(len(toy_tokenizer(WORDS)), SIZE, seed), factor=3.0)


def toy_base(seed: int = 0, dtype: torch.dtype = torch.float32) -> AdaptedBase:
    """A Qwen3 base of two layers, seven linear ones in each."""
    model = plain_model(seed)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.data = parameter.data.to(dtype)
    return AdaptedBase(model, toy_tokenizer(WORDS), "toy")


def fill(network: Network, seed: int, scale: float = 0.1) -> None:
    """Draws every B anew, so that the adapter is far from doing nothing."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, tensor in network.tensors().items():
            if ".lora_B." in name:
                tensor.copy_(torch.randn(tensor.shape, generator=generator) * scale)


def add_filled(base: AdaptedBase, seed: int) -> Adapter:
    """A new adapter with A and B drawn from this seed."""
    adapter = base.add(AdapterSettings(SETTINGS.rank, SETTINGS.alpha, seed))
    fill(adapter, seed)
    return adapter


def policy_on(network: Network, name: str) -> CausalPolicy:
    """A policy of this name that computes with the network."""
    ends = end_token_ids(network.model.config, None, network.tokenizer)
    codec = ChatCodec(network.tokenizer, ends, {})
    return CausalPolicy(name, network, codec, 2**20)


def lora_pair(
    names: tuple[str, str] = ("coder", "tester"), dtype: torch.dtype = torch.float32
) -> tuple[CausalPolicy, CausalPolicy]:
    """Two trainable policies on one base, each with an adapter far from zero."""
    base = toy_base(dtype=dtype)
    first, second = (policy_on(add_filled(base, 11 + i), names[i]) for i in range(2))
    return first, second


def adapted(policy: CausalPolicy) -> Adapter:
    """The adapter that a policy computes with."""
    assert isinstance(policy.network, Adapter)
    return policy.network


@torch.inference_mode()
def logits(network: Network) -> Tensor:
    """What a network says after each token of the fixed prompts."""
    with network.computing() as model:
        return model(input_ids=torch.tensor(PROMPTS)).logits.clone()


def lora_layers(model: nn.Module) -> list[LoraLayer]:
    """The layers that hold adapters."""
    return [module for module in model.modules() if isinstance(module, LoraLayer)]


def base_tensors(model: PreTrainedModel) -> dict[str, Tensor]:
    """A copy of the base's own weights, by the names that they had before it got adapters."""
    return {
        name.replace(".base_layer.", "."): parameter.detach().clone()
        for name, parameter in model.named_parameters()
        if ".lora_" not in name
    }


def requiring_gradients(model: PreTrainedModel) -> set[int]:
    """The identities of the parameters that a backward pass would reach."""
    return {id(parameter) for parameter in model.parameters() if parameter.requires_grad}


def identities(network: Network) -> set[int]:
    """The identities of a network's own parameters."""
    return {id(parameter) for parameter in network.tensors().values()}


class NamedConfig(PretrainedConfig):
    """A model whose linear layers bear the given names."""

    model_type = "named_layers"

    def __init__(self, layers: tuple[str, ...] = (), **options: Any) -> None:
        self.layers = list(layers)
        self.hidden_size = 8
        self.vocab_size = 20
        self.max_position_embeddings = 64
        super().__init__(**options)


class NamedModel(PreTrainedModel):
    """Embedding, then the named linear layers one after the other, then the head."""

    config_class = NamedConfig
    _tied_weights_keys: ClassVar[Any] = {}

    def __init__(self, config: NamedConfig) -> None:
        super().__init__(config)
        self.embedding = nn.Embedding(config.vocab_size, config.hidden_size)
        for name in config.layers:
            self.add_module(name, nn.Linear(config.hidden_size, config.hidden_size))
        self.head = nn.Linear(config.hidden_size, config.vocab_size, bias=False)
        self.post_init()

    def get_input_embeddings(self) -> nn.Module:
        return self.embedding

    def get_output_embeddings(self) -> nn.Module:
        return self.head

    def _in_order(self) -> Iterator[nn.Module]:
        return (self.get_submodule(name) for name in self.config.layers)

    def forward(self, input_ids: Tensor, **_: Any) -> CausalLMOutput:
        state = self.embedding(input_ids)
        for layer in self._in_order():
            state = state + layer(state)
        return CausalLMOutput(logits=self.head(state))


def named_base(layers: tuple[str, ...]) -> AdaptedBase:
    """A base whose linear layers bear these names."""
    torch.manual_seed(0)
    return AdaptedBase(NamedModel(NamedConfig(layers)), toy_tokenizer(WORDS), "named")


def plain_logits(model: PreTrainedModel) -> Tensor:
    """The logits of a plain model on the prompts."""
    with torch.inference_mode():
        return model.eval()(input_ids=torch.tensor(PROMPTS)).logits


def values(adapter: Adapter) -> dict[str, Tensor]:
    """A copy of an adapter's tensors."""
    return {name: tensor.detach().clone() for name, tensor in adapter.tensors().items()}


def equal(found: dict[str, Tensor], right: dict[str, Tensor]) -> bool:
    """Whether names and bits agree."""
    return found.keys() == right.keys() and all(torch.equal(found[n], right[n]) for n in right)


def changed(before: dict[str, Tensor], model: PreTrainedModel) -> list[str]:
    """The tensors of the base that are no longer what they were, whatever wraps them now."""
    now = base_tensors(model)
    return [name for name in before if not torch.equal(before[name], now[name])] + sorted(
        now.keys() - before.keys()
    )
