"""Named tensors on disk: safetensors, and nothing else."""

from collections.abc import Mapping
from pathlib import Path

from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor

from cotrain.runs.durable import RunFolderError


def read_tensors(path: Path) -> dict[str, Tensor]:
    """The tensors of a file; a foreign one raises ValueError, which names it."""
    if not path.is_file():
        raise ValueError(f"{path} is not there")
    try:
        return load_file(path)
    except SafetensorError as error:
        raise ValueError(f"{path} is no safetensors file: {error}") from error


def write_tensors(tensors: Mapping[str, Tensor], path: Path) -> None:
    """Writes copies in main memory that share none, as safetensors asks for.

    Raises RunFolderError when the file cannot be written.
    """
    plain = {name: value.to("cpu", copy=True).contiguous() for name, value in tensors.items()}
    try:
        save_file(plain, path, metadata={"format": "pt"})
    except SafetensorError as error:
        raise RunFolderError(f"{path} cannot be written: {error}; is the disk full?") from error
