"""Weights and optimiser moments on disk: safetensors in the Hugging Face layout."""

from collections.abc import Mapping
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor
from torch.optim import Optimizer
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from cotrain.policies.weights import MasterWeights

WEIGHTS_FILE = "model.safetensors"
MOMENTS_FILE = "moments.safetensors"
MOMENTS = ("exp_avg", "exp_avg_sq", "step")


def save_weights(
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    weights: MasterWeights,
    folder: Path,
) -> None:
    """Writes a folder that transformers loads: masters, configuration, tokenizer."""
    folder.mkdir(parents=True, exist_ok=True)
    model.config.save_pretrained(folder)
    if model.generation_config is not None:
        model.generation_config.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    save_file(_plain(weights.state()), folder / WEIGHTS_FILE, metadata={"format": "pt"})


def load_weights(model: PreTrainedModel, weights: MasterWeights, folder: Path) -> None:
    """Takes over masters that `save_weights` wrote."""
    weights.load(load_file(folder / WEIGHTS_FILE))


def save_moments(optimizer: Optimizer, weights: MasterWeights, folder: Path) -> None:
    """Writes the moments of every parameter that has some, under `NAME/MOMENT`."""
    folder.mkdir(parents=True, exist_ok=True)
    moments = {
        f"{name}/{moment}": optimizer.state[parameter][moment]
        for name, parameter in weights.parameters.items()
        if parameter in optimizer.state
        for moment in MOMENTS
    }
    save_file(_plain(moments), folder / MOMENTS_FILE)


def load_moments(optimizer: Optimizer, weights: MasterWeights, folder: Path) -> None:
    """Takes over moments that `save_moments` wrote."""
    for key, value in load_file(folder / MOMENTS_FILE).items():
        name, moment = key.rsplit("/", 1)
        optimizer.state[weights.parameters[name]][moment] = value


def _plain(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Copies without shared memory, which safetensors asks for."""
    return {name: torch.clone(value).contiguous() for name, value in tensors.items()}
