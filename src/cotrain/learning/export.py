"""Weights and optimiser moments on disk: safetensors in the Hugging Face layout."""

import copy
from collections.abc import Mapping
from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor
from torch.optim import Optimizer
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from cotrain.policies.weights import MasterWeights
from cotrain.runs.durable import RunFolderError

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
    config = copy.deepcopy(model.config)
    config.dtype = next(iter(weights.parameters.values())).dtype
    config.save_pretrained(folder)
    if model.generation_config is not None:
        model.generation_config.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    _write(weights.state(), folder / WEIGHTS_FILE)


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
    _write(moments, folder / MOMENTS_FILE)


def load_moments(optimizer: Optimizer, weights: MasterWeights, folder: Path) -> None:
    """Takes over moments that `save_moments` wrote."""
    optimizer.state.clear()
    for key, value in load_file(folder / MOMENTS_FILE).items():
        name, moment = key.rsplit("/", 1)
        parameter = weights.parameters[name]
        optimizer.state[parameter][moment] = value.to(parameter.device)


def _write(tensors: Mapping[str, Tensor], path: Path) -> None:
    """Writes copies without shared memory, which safetensors asks for."""
    plain = {name: torch.clone(value).contiguous() for name, value in tensors.items()}
    try:
        save_file(plain, path, metadata={"format": "pt"})
    except SafetensorError as error:
        raise RunFolderError(f"{path} cannot be written: {error}; is the disk full?") from error
