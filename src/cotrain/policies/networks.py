"""A computing model, and which of its tensors are a policy's own.

A network is what a policy computes with: a whole model (here), or a base that other policies share,
with an adapter of its own (`adapters.py`). Nothing computes outside `computing()`, so that which
weights are meant is said at every call.
"""

import copy
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Protocol

from torch import Tensor, nn
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from cotrain.policies.tensor_files import read_tensors, write_tensors

WEIGHTS_FILE = "model.safetensors"


class Network(Protocol):
    """What a policy computes with. `model` may be asked for its configuration at any time."""

    @property
    def model(self) -> PreTrainedModel:
        """The model, whatever weights are active in it."""
        ...

    @property
    def tokenizer(self) -> PreTrainedTokenizerBase:
        """The tokenizer of the model."""
        ...

    def freeze(self) -> None:
        """From now on its tensors ask for no gradient."""
        ...

    def tensors(self) -> dict[str, nn.Parameter]:
        """The policy's own tensors, by their names on disk."""
        ...

    def active(self) -> Sequence[Tensor]:
        """The tensors that a forward pass would use now in the place of `tensors()`."""
        ...

    def computing(self) -> AbstractContextManager[PreTrainedModel]:
        """The model with this network's tensors active in it, until the block ends."""
        ...

    def frozen_copy(self) -> "Network":
        """A network with the same weights that does not change when this one is trained."""
        ...

    def write(self, tensors: Mapping[str, Tensor], folder: Path) -> None:
        """Writes these values of its tensors, with what it takes to load them, into a folder."""
        ...

    def read(self, folder: Path) -> dict[str, Tensor]:
        """The tensors that `write` wrote. Raises ValueError for a damaged file."""
        ...


class WholeModel:
    """A model that is one policy's alone, with all of its weights: a plain Hugging Face folder."""

    def __init__(self, model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase) -> None:
        self.model = model.eval()
        self.tokenizer = tokenizer

    def freeze(self) -> None:
        """From now on no parameter asks for a gradient."""
        self.model.requires_grad_(False)

    def tensors(self) -> dict[str, nn.Parameter]:
        """Every parameter of the model; one that two layers share is there once."""
        return dict(self.model.named_parameters())

    def active(self) -> Sequence[Tensor]:
        """The parameters: there are no others."""
        return list(self.model.parameters())

    @contextmanager
    def computing(self) -> Iterator[PreTrainedModel]:
        """The model; its weights are always active."""
        yield self.model

    def frozen_copy(self) -> "WholeModel":
        """A copy of the whole model."""
        copied = WholeModel(copy.deepcopy(self.model), self.tokenizer)
        copied.freeze()
        return copied

    def write(self, tensors: Mapping[str, Tensor], folder: Path) -> None:
        """Writes weights, configuration and tokenizer."""
        folder.mkdir(parents=True, exist_ok=True)
        config = copy.deepcopy(self.model.config)
        config.dtype = next(iter(tensors.values())).dtype
        config.save_pretrained(folder)
        if self.model.generation_config is not None:
            self.model.generation_config.save_pretrained(folder)
        self.tokenizer.save_pretrained(folder)
        write_tensors(tensors, folder / WEIGHTS_FILE)

    def read(self, folder: Path) -> dict[str, Tensor]:
        """The weights alone."""
        return read_tensors(folder / WEIGHTS_FILE)
