"""Optimiser moments on disk, so that a resumed update is the one that would have come."""

from pathlib import Path

from torch.optim import Optimizer

from cotrain.policies.tensor_files import read_tensors, write_tensors
from cotrain.policies.weights import MasterWeights

MOMENTS_FILE = "moments.safetensors"
MOMENTS = ("exp_avg", "exp_avg_sq", "step")


def save_moments(optimizer: Optimizer, weights: MasterWeights, folder: Path) -> None:
    """Writes the moments of every parameter that has some, under `NAME/MOMENT`."""
    folder.mkdir(parents=True, exist_ok=True)
    moments = {
        f"{name}/{moment}": optimizer.state[parameter][moment]
        for name, parameter in weights.parameters.items()
        if parameter in optimizer.state
        for moment in MOMENTS
    }
    write_tensors(moments, folder / MOMENTS_FILE)


def load_moments(optimizer: Optimizer, weights: MasterWeights, folder: Path) -> None:
    """Takes over moments that `save_moments` wrote.

    Raises ValueError for those of other parameters, and for a parameter that lacks one.
    """
    saved = read_tensors(folder / MOMENTS_FILE)
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
