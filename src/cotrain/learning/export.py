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
    weights.load(_read(folder / WEIGHTS_FILE))


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
    """Takes over moments that `save_moments` wrote.

    Raises ValueError for those of other parameters, and for a parameter that lacks one.
    """
    saved = _read(folder / MOMENTS_FILE)
    stepped = {key.rpartition("/")[0] for key in saved}
    wanted = {f"{name}/{moment}" for name in stepped for moment in MOMENTS}
    if other := sorted((stepped - set(weights.parameters)) | (wanted ^ set(saved))):
        raise ValueError(f"saved moments do not fit the model: {other[:5]} are on one side only")
    for key, value in saved.items():
        shape = weights.parameters[key.rpartition("/")[0]].shape
        if not key.endswith("/step") and value.shape != shape:
            raise ValueError(
                f"saved moments do not fit the model: {key} has shape {tuple(value.shape)}, the "
                f"model's is {tuple(shape)}"
            )
    optimizer.state.clear()
    for key, value in saved.items():
        name, _, moment = key.rpartition("/")
        parameter = weights.parameters[name]
        optimizer.state[parameter][moment] = value.to(parameter.device)


def _read(path: Path) -> dict[str, Tensor]:
    """The tensors of a file; a foreign one raises ValueError, which names it."""
    try:
        return load_file(path)
    except SafetensorError as error:
        raise ValueError(f"{path} is no safetensors file: {error}") from error


def _write(tensors: Mapping[str, Tensor], path: Path) -> None:
    """Writes copies without shared memory, which safetensors asks for."""
    plain = {name: torch.clone(value).contiguous() for name, value in tensors.items()}
    try:
        save_file(plain, path, metadata={"format": "pt"})
    except SafetensorError as error:
        raise RunFolderError(f"{path} cannot be written: {error}; is the disk full?") from error
