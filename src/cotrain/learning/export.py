"""A trained policy as a plain folder that transformers, PEFT and vLLM load."""

from pathlib import Path

import torch
from peft import PeftModel
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from cotrain.policies.adapters import read_adapter, read_adapter_config, write_adapter
from cotrain.policies.weights import cast_parameters


def export_whole(
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    dtype: torch.dtype,
    folder: Path,
) -> None:
    """Writes weights in this type, configuration and tokenizer; the model is cast."""
    cast_parameters(model.parameters(), dtype)
    model.config.dtype = dtype
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)


def export_merged(
    base: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    adapter: Path,
    dtype: torch.dtype,
    folder: Path,
) -> None:
    """Writes the base with the adapter of a folder added to its weights; `base` is used up.

    The sum is made in the type of `base`: float32 loses nothing of either.
    """
    merged = PeftModel.from_pretrained(base, str(adapter)).merge_and_unload()
    export_whole(merged, tokenizer, dtype, folder)


def export_adapter(
    adapter: Path,
    base: str,
    tokenizer: PreTrainedTokenizerBase,
    dtype: torch.dtype,
    folder: Path,
) -> None:
    """Writes the adapter of a folder alone, in this type, with the tokenizer of its base."""
    tensors = {name: tensor.to(dtype) for name, tensor in read_adapter(adapter).items()}
    write_adapter(read_adapter_config(adapter), tensors, base, folder)
    tokenizer.save_pretrained(folder)
