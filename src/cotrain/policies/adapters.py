"""LoRA adapters on a frozen base that several policies share, one active at a time.

    base   every weight frozen, in memory once
    |- adapter of policy planner     A and B of every linear layer but the output head
    |- adapter of policy proposer

At rest no adapter is active, and a forward pass is refused: it would compute with the bare base, or
with the adapter that happened to be used last. Inside the model an adapter has a neutral name, and
on disk its tensors bear none, so that a role may be called `linear` or `weight`
(huggingface/peft#2699, huggingface/peft#2772).
"""

import copy
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from peft import LoraConfig
from peft.functional import inject_adapter_in_model, set_adapter
from peft.tuners.lora import LoraLayer
from torch import Tensor, nn
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from cotrain.policies.base import WeightsError
from cotrain.policies.tensor_files import read_tensors, write_tensors
from cotrain.policies.weights import copy_tensors

ADAPTER_FILE = "adapter_model.safetensors"
ADAPTER_CONFIG = "adapter_config.json"
DEFAULT_RANK = 16
PLAIN_STARTS = (True, False, "gaussian")
"""The ways to begin an adapter that leave the base as it is."""
FREE_OPTIONS = {
    *("task_type", "peft_type", "auto_mapping", "peft_version", "inference_mode"),
    *("base_model_name_or_path", "revision", "r", "lora_alpha", "use_rslora", "fan_in_fan_out"),
    *("target_modules", "exclude_modules", "layers_to_transform", "layers_pattern"),
    *("rank_pattern", "alpha_pattern", "lora_dropout", "init_lora_weights"),
}
"""The options of an adapter that may differ from PEFT's defaults; every other one adds a term."""


@dataclass(frozen=True, slots=True)
class AdapterSettings:
    """Size of an adapter: its scale is `alpha / rank`. `seed` draws A; B starts at zero."""

    rank: int
    alpha: float
    seed: int


class AdaptedBase:
    """A frozen base with its adapters. `source` is the name that the base was loaded from."""

    def __init__(
        self, model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, source: str
    ) -> None:
        self.model = model.eval()
        self.model.requires_grad_(False)
        self.tokenizer = tokenizer
        self.source = source
        self._count = 0
        self._active: Adapter | None = None
        self.model.register_forward_pre_hook(self._refuse_bare)

    def add(self, settings: AdapterSettings) -> "Adapter":
        """A new adapter on every linear layer but the output head; it changes nothing yet."""
        return self._inject(new_adapter_config(settings), settings.seed)

    def load(self, folder: Path) -> "Adapter":
        """The adapter of a PEFT folder, whatever base of these shapes it was trained on.

        Raises ValueError when it is none, or more than A and B of linear layers that the base has.
        """
        config, tensors = read_adapter_config(folder), read_adapter(folder)
        _refuse_not_finite(folder, tensors)
        try:
            adapter = self._inject(config, 0)
        except Exception as error:  # PEFT checks few of the fields of a configuration
            raise ValueError(f"{folder / ADAPTER_CONFIG} cannot be used: {error}") from error
        copy_tensors(tensors, adapter.tensors())
        return adapter

    def copy_of(self, adapter: "Adapter") -> "Adapter":
        """Another adapter of the same form, with the present values of this one."""
        copied = self._inject(copy.deepcopy(adapter.config), 0)
        copy_tensors(adapter.tensors(), copied.tensors())
        return copied

    def _inject(self, config: LoraConfig, seed: int) -> "Adapter":
        name = f"adapter_{self._count}"
        self._count += 1
        # PEFT draws new matrices on the processor and moves them.
        with torch.random.fork_rng(devices=[]), warnings.catch_warnings():
            # Several adapters on one model are what a base is for here.
            warnings.filterwarnings("ignore", message="Already found a `peft_config` attribute")
            torch.default_generator.manual_seed(seed)
            inject_adapter_in_model(config, self.model, name)
        # The new layers are made in training mode, in which PEFT's dropout would be drawn.
        self.model.eval()
        self.activate(None)
        return Adapter(self, name, config)

    @property
    def active(self) -> "Adapter | None":
        """The adapter that computes now; None at rest."""
        return self._active

    def activate(self, adapter: "Adapter | None") -> None:
        """Makes this the only adapter that computes, with gradients if it is trained."""
        self._refuse_merged()
        names = [] if adapter is None else [adapter.name]
        set_adapter(self.model, names, inference_mode=adapter is None or adapter.frozen)
        self._active = adapter

    def _refuse_merged(self) -> None:
        # PEFT would take the adapter out again by itself, which leaves the base with other bits.
        if any(layer.merged for _, layer in _lora_layers(self.model)):
            raise WeightsError(
                f"an adapter was merged into the base {self.source}, which other policies share: "
                "load the base again, and merge into a copy of it"
            )

    def _refuse_bare(self, model: nn.Module, inputs: object) -> None:
        if self._active is None:
            raise WeightsError(
                f"the base {self.source} was about to compute without an adapter: every call must "
                "say which policy's adapter it means"
            )


class Adapter:
    """One policy's adapter on a shared base: a network in the layout of PEFT."""

    def __init__(self, base: AdaptedBase, name: str, config: LoraConfig) -> None:
        self.base = base
        self.name = name
        self.config = config
        self.frozen = False

    @property
    def model(self) -> PreTrainedModel:
        """The base, with the layers of all of its adapters."""
        return self.base.model

    @property
    def tokenizer(self) -> PreTrainedTokenizerBase:
        """The base's tokenizer."""
        return self.base.tokenizer

    def freeze(self) -> None:
        """From now on it asks for no gradient, also while it computes."""
        self.frozen = True

    def tensors(self) -> dict[str, nn.Parameter]:
        """A and B of every adapted layer."""
        return {
            name: getattr(layer, f"lora_{letter}")[self.name].weight
            for path, layer in _lora_layers(self.model)
            if self.name in layer.lora_A
            for letter, name in _names(path)
        }

    def active(self) -> Sequence[Tensor]:
        """A and B of what the layers would add now: read from the layers, not from our records."""
        return [
            getattr(layer, f"lora_{letter}")[name].weight
            for _, layer in _lora_layers(self.model)
            if not (layer.disable_adapters or layer.merged)
            for name in layer.active_adapters
            if name in layer.lora_A
            for letter in "AB"
        ]

    @contextmanager
    def computing(self) -> Iterator[PreTrainedModel]:
        """The base with this adapter; afterwards what was active before is active again."""
        before = self.base.active
        self.base.activate(self)
        try:
            yield self.model
        finally:
            self.base.activate(before)

    def frozen_copy(self) -> "Adapter":
        """A copy of the adapter on the same base."""
        copied = self.base.copy_of(self)
        copied.freeze()
        return copied

    def write(self, tensors: Mapping[str, Tensor], folder: Path) -> None:
        """Writes a PEFT folder, which names its base and does not hold it."""
        write_adapter(self.config, tensors, self.base.source, folder)

    def read(self, folder: Path) -> dict[str, Tensor]:
        """A and B alone."""
        return read_adapter(folder)


def is_adapter_folder(folder: Path) -> bool:
    """Whether this is a folder in the layout of PEFT."""
    return (folder / ADAPTER_CONFIG).is_file()


def read_adapter_config(folder: Path) -> LoraConfig:
    """The configuration of an adapter folder, with which its saved values are all there is to it.

    Raises ValueError for anything but LoRA, and for forms that also change the base.
    """
    try:
        config = LoraConfig.from_pretrained(str(folder))
    except Exception as error:  # a damaged file makes PEFT raise anything
        raise ValueError(f"{folder} is no adapter folder: {error}") from error
    if not isinstance(config, LoraConfig):
        raise ValueError(f"{folder} holds an adapter of another kind than LoRA")
    if config.init_lora_weights not in PLAIN_STARTS:
        raise ValueError(
            f"{folder} was begun with init_lora_weights = {config.init_lora_weights!r}, which "
            "changes the base as well"
        )
    _refuse_other_terms(config, folder)
    config.init_lora_weights = True
    config.lora_dropout = 0.0
    return config


def _refuse_other_terms(config: LoraConfig, folder: Path) -> None:
    for key, value, kinds in (("r", config.r, int), ("lora_alpha", config.lora_alpha, int | float)):
        if isinstance(value, bool) or not isinstance(value, kinds) or not 0 < value < 1e6:
            raise ValueError(
                f"{folder / ADAPTER_CONFIG}: {key} = {value!r} must be a number above 0"
            )
    given, plain = config.to_dict(), LoraConfig().to_dict()
    other = [key for key in sorted(given) if key not in FREE_OPTIONS and given[key] != plain[key]]
    if other:
        shown = ", ".join(f"{key} = {given[key]!r}" for key in other)
        raise ValueError(
            f"{folder / ADAPTER_CONFIG}: {shown}: an adapter here is A and B of linear layers and "
            "nothing else"
        )


def _refuse_not_finite(folder: Path, tensors: Mapping[str, Tensor]) -> None:
    for name, tensor in tensors.items():
        limit = torch.finfo(torch.float32).max
        if not tensor.is_floating_point() or not bool((tensor.abs() <= limit).all()):
            raise ValueError(f"{folder / ADAPTER_FILE}: {name} holds what is no finite float32")


def read_adapter(folder: Path) -> dict[str, Tensor]:
    """The tensors of an adapter folder, by their names on disk."""
    return read_tensors(folder / ADAPTER_FILE)


def write_adapter(
    config: LoraConfig, tensors: Mapping[str, Tensor], base: str, folder: Path
) -> None:
    """Writes a folder in the layout of PEFT; `base` is the name of the model it belongs to."""
    folder.mkdir(parents=True, exist_ok=True)
    config = copy.deepcopy(config)
    config.base_model_name_or_path = base
    config.inference_mode = True
    # A set of names has no order, and a folder should be the same each time it is written.
    targets: Any = config.target_modules
    config.target_modules = targets if isinstance(targets, str) else sorted(targets or ())
    config.save_pretrained(str(folder))
    write_tensors(tensors, folder / ADAPTER_FILE)


def new_adapter_config(settings: AdapterSettings) -> LoraConfig:
    """An adapter on every linear layer but the output head."""
    alpha: Any = settings.alpha
    return LoraConfig(
        r=settings.rank,
        lora_alpha=alpha,
        lora_dropout=0.0,
        target_modules="all-linear",
        bias="none",
        task_type="CAUSAL_LM",
    )


def adapter_shapes(model: PreTrainedModel, config: LoraConfig) -> dict[str, torch.Size]:
    """The tensors of such an adapter, by name. `model` is used up; it may be without memory.

    Raises ValueError for a configuration that PEFT cannot use with this model.
    """
    try:
        with torch.device("meta"):
            inject_adapter_in_model(config, model, "adapter")
    except Exception as error:  # PEFT checks few of the fields of a configuration
        raise ValueError(f"the adapter cannot be put on the model: {error}") from error
    return {
        name: getattr(layer, f"lora_{letter}")["adapter"].weight.shape
        for path, layer in _lora_layers(model)
        for letter, name in _names(path)
    }


def _names(path: str) -> list[tuple[str, str]]:
    """A and B of a layer, and what they are called on disk."""
    return [(letter, f"base_model.model.{path}.lora_{letter}.weight") for letter in "AB"]


def _lora_layers(model: nn.Module) -> Iterator[tuple[str, LoraLayer]]:
    for path, module in model.named_modules():
        if isinstance(module, LoraLayer):
            yield path, module
