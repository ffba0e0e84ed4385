"""A trained policy as a plain folder that transformers, PEFT and vLLM load."""

from pathlib import Path

import torch
from peft import PeftModel
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from cotrain.policies.adapters import Adapter
from cotrain.policies.networks import Network
from cotrain.policies.weights import cast_parameters


def export_adapter(adapter: Adapter, dtype: torch.dtype, folder: Path) -> None:
    """Writes the adapter alone, in the layout of PEFT, and the tokenizer of its base."""
    tensors = {name: tensor.detach().to(dtype) for name, tensor in adapter.tensors().items()}
    adapter.write(tensors, folder)
    adapter.tokenizer.save_pretrained(folder)


def export_whole(network: Network, dtype: torch.dtype, folder: Path) -> None:
    """Writes weights, configuration and tokenizer of a policy that is a whole model."""
    _save(network.model, network.tokenizer, dtype, folder)


def export_merged(
    base: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    adapter_folder: Path,
    dtype: torch.dtype,
    folder: Path,
) -> None:
    """Writes the base with the adapter added to its weights; `base` is used up.

    The sum is made in the type of `base`: float32 loses nothing of either.
    """
    merged = PeftModel.from_pretrained(base, str(adapter_folder)).merge_and_unload()
    _save(merged, tokenizer, dtype, folder)


def _save(
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    dtype: torch.dtype,
    folder: Path,
) -> None:
    cast_parameters(model.parameters(), dtype)
    model.config.dtype = dtype
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
