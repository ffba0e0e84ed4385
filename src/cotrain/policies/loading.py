"""Base models by name: the embedded one, a folder, or the Hub."""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from huggingface_hub.errors import LocalEntryNotFoundError
from transformers import (
    AutoConfig,
    AutoModelForCausalLM,
    AutoTokenizer,
    PreTrainedModel,
    PreTrainedTokenizerBase,
)
from transformers.utils import SAFE_WEIGHTS_INDEX_NAME
from transformers.utils import logging as transformers_logging
from transformers.utils.peft_utils import find_adapter_config_file

from cotrain.policies.weights import has_bfloat16_instructions

COMMIT = "commit:"
IDENTIFYING = (
    *("*.safetensors", "*.json", "*.jinja", "*.model", "*.txt"),
    "additional_chat_templates/*.jinja",
)
EMBEDDED_PREFIX = "tiny"
EMBEDDED_ROOT = Path(__file__).parent.parent / "models"
WEIGHTS = "*.safetensors"
PICKLES = ("*.bin", "*.pt", "*.pth", "*.pkl", "*.ckpt")
ADVICE_ON_PICKLES = (
    "weights in a pickle are never read; convert them in a place where that is safe: "
    "AutoModelForCausalLM.from_pretrained(OLD).save_pretrained(NEW) writes safetensors"
)
TOKENIZERS = ("tokenizer.json", "tokenizer.model", "vocab.json", "vocab.txt")

COMPUTE_DTYPES = {
    "float32": torch.float32,
    "bfloat16": torch.bfloat16,
    "float64": torch.float64,
}


class ModelNotFoundError(ValueError):
    """`model.name` names nothing that can be loaded; the message says what is missing."""


class ModelUnreachableError(ModelNotFoundError):
    """There is no such folder, and the Hub, which may know the name, cannot be reached."""


def embedded_folder(name: str) -> Path | None:
    """The folder of an embedded model, or None for any other name.

    `tiny` is the start of training on Plan-Path, `tiny/sudoku` that on Sudoku; the other
    `tiny/NAME` are baselines.

    >>> embedded_folder("Qwen/Qwen3-1.7B") is None
    True
    """
    if name == EMBEDDED_PREFIX:
        return EMBEDDED_ROOT / "tiny" / "base"
    if name.startswith(f"{EMBEDDED_PREFIX}/"):
        return EMBEDDED_ROOT / name
    return None


def load_base(
    name: str, dtype: torch.dtype, revision: str | None = None
) -> tuple[PreTrainedModel, PreTrainedTokenizerBase]:
    """A causal language model, its weights in this type, with its tokenizer.

    `revision` is a commit of a Hub model. Only safetensors are read. Raises ModelNotFoundError for
    a folder without configuration, weights or tokenizer, for weights in a pickle, for weights that
    leave a part of the model as it was drawn at random, for an adapter, and for a name that is
    neither a folder nor to be had from the Hub.
    """
    folder = model_folder(name)
    source = name if folder is None else str(folder)
    transformers_logging.disable_progress_bar()
    try:
        _refuse_adapter(source)
        tokenizer = AutoTokenizer.from_pretrained(source, revision=revision)
        _refuse_without_attention(AutoConfig.from_pretrained(source, revision=revision))
        loaded: Any = AutoModelForCausalLM.from_pretrained(
            source,
            revision=revision,
            dtype=dtype,
            use_safetensors=True,
            output_loading_info=True,
            ignore_mismatched_sizes=True,
        )
        model, found = loaded
        _refuse_other_weights(found)
    except Exception as error:  # a damaged file makes transformers raise anything
        where = "the folder could not be loaded"
        if folder is None:
            where = "no folder of that name, and it could not be loaded from the Hub"
        raise ModelNotFoundError(f'model.name = "{name}": {where}: {_said(error)}') from error
    return model, tokenizer


def model_folder(name: str) -> Path | None:
    """The folder that a name stands for, or None for one that the Hub must know.

    Raises ModelNotFoundError for a folder without configuration, weights or tokenizer, and for one
    whose weights are a pickle.
    """
    folder = embedded_folder(name) or Path(name)
    try:
        is_there = folder.is_dir()
    except OSError as error:
        raise ModelNotFoundError(f'model.name = "{name}": {error.strerror}') from error
    if not is_there:
        return None
    _refuse_incomplete(folder)
    return folder


def architecture(name: str) -> PreTrainedModel:
    """The model of this name without memory for its weights.

    Raises ModelNotFoundError for a folder that `load_base` would refuse, and for a configuration
    that no causal language model has; its subclass where the Hub would have to be asked and cannot
    be reached.
    """
    try:
        settings = AutoConfig.from_pretrained(str(model_folder(name) or name))
        _refuse_without_attention(settings)
        with torch.device("meta"):
            return AutoModelForCausalLM.from_config(settings)
    except ModelNotFoundError:
        raise
    except (OSError, ValueError) as error:
        if isinstance(error.__cause__, LocalEntryNotFoundError):
            said = "there is no folder of that name, and the Hub cannot be reached"
            raise ModelUnreachableError(f'model.name = "{name}": {said}') from error
        first_line = str(error).strip().partition("\n")[0]
        said = f"must be a folder or a Hub id of a causal language model: {first_line}"
        raise ModelNotFoundError(f'model.name = "{name}": {said}') from error


def auto_dtype(num_parameters: int) -> str:
    """The compute type that `model.dtype = "auto"` stands for on this machine.

    bfloat16 where it pays: on accelerators, and for models from some ten million parameters on
    processors with bfloat16 instructions.
    """
    if accelerator().type != "cpu":
        return "bfloat16"
    large = num_parameters > 10_000_000
    return "bfloat16" if large and has_bfloat16_instructions() else "float32"


def base_identity(name: str, model: PreTrainedModel) -> str:
    """What a base is, whatever its name: its commit on the Hub, or the hash of a folder's files."""
    folder = model_folder(name)
    if folder is not None:
        return folder_identity(folder)
    commit = getattr(model.config, "_commit_hash", None)
    if commit is None:
        raise ModelNotFoundError(f'model.name = "{name}": the Hub did not say its commit')
    return f"{COMMIT}{commit}"


def folder_identity(folder: Path) -> str:
    """The SHA-256 of all that decides what a saved model computes: weights, settings, tokenizer.

    A copy of the folder has the same; the order is that of the files' names.
    """
    digest = hashlib.sha256()
    found = (path for pattern in IDENTIFYING for path in folder.glob(pattern))
    for file in sorted(found, key=lambda path: path.name):
        with file.open("rb") as opened:
            digest.update(file.name.encode())
            digest.update(hashlib.file_digest(opened, "sha256").digest())
    return f"sha256:{digest.hexdigest()}"


def revision_of(identity: str) -> str | None:
    """The commit that an identity names, None for one that is a hash.

    >>> revision_of("commit:3f1"), revision_of("sha256:9a")
    ('3f1', None)
    """
    return identity.removeprefix(COMMIT) if identity.startswith(COMMIT) else None


def accelerator() -> torch.device:
    """The device that models run on: the first accelerator, else the CPU."""
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


def _refuse_other_weights(found: Mapping[str, Any]) -> None:
    """`found` is the loading report of transformers, which draws what does not fit at random."""
    faults = [f"{name} is missing" for name in sorted(found["missing_keys"])]
    faults += [
        f"{name} has shape {tuple(saved)} instead of {tuple(wanted)}"
        for name, saved, wanted in sorted(found["mismatched_keys"])
    ]
    if faults:
        more = f" and {len(faults) - 2} more" if len(faults) > 2 else ""
        shown = ", ".join(faults[:2]) + more
        raise ValueError(f"its weights are not those of its config.json: {shown}")


def _refuse_without_attention(settings: Any) -> None:
    """Replies are sampled with a cache of keys and values, which a recurrent model has not."""
    if getattr(settings.get_text_config(), "num_attention_heads", None) is None:
        raise ValueError("a model without attention heads cannot be sampled here")


def load_tokenizer(name: str) -> PreTrainedTokenizerBase:
    """The tokenizer alone. Raises ModelNotFoundError as `load_base` does."""
    folder = model_folder(name)
    try:
        return AutoTokenizer.from_pretrained(name if folder is None else str(folder))
    except Exception as error:  # a damaged file makes transformers raise anything
        message = f'model.name = "{name}": its tokenizer cannot be loaded: {_said(error)}'
        raise ModelNotFoundError(message) from error


def _refuse_adapter(source: str) -> None:
    """An adapter's weights would be read beside the model's, from a pickle where it has one."""
    if find_adapter_config_file(source) is not None:
        raise ValueError("it holds an adapter; name the base model, or a model it is merged into")


def _refuse_incomplete(folder: Path) -> None:
    missing: list[str] = []
    if not (folder / "config.json").is_file():
        missing.append("config.json")
    if not any(folder.glob(WEIGHTS)):
        missing.append(f"weights ({WEIGHTS})")
    if not any((folder / file).is_file() for file in TOKENIZERS):
        missing.append("a tokenizer (tokenizer.json)")
    if missing:
        lacks = f'model.name = "{folder}": the folder lacks {", ".join(missing)}'
        raise ModelNotFoundError(lacks + _pickles_instead(folder))
    if pickles := _pickles_in_index(folder / SAFE_WEIGHTS_INDEX_NAME):
        named = f"{SAFE_WEIGHTS_INDEX_NAME} names {pickles[0]}"
        raise ModelNotFoundError(f'model.name = "{folder}": {named}: {ADVICE_ON_PICKLES}')


def _pickles_instead(folder: Path) -> str:
    """What to do about weights that are there in a form that is not read; empty where none are."""
    found = sorted(path.name for pattern in PICKLES for path in folder.glob(pattern))
    if not found or any(folder.glob(WEIGHTS)):
        return ""
    return f"; it has {found[0]}, but {ADVICE_ON_PICKLES}"


def _pickles_in_index(index: Path) -> list[str]:
    """The files of a list of shards that are no safetensors."""
    if not index.is_file():
        return []
    try:
        shards = json.loads(index.read_bytes())["weight_map"].values()
        files = sorted({str(name) for name in shards})
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        where = f'model.name = "{index.parent}": {index.name}'
        raise ModelNotFoundError(f"{where} is no list of shards: {error!r}") from error
    return [name for name in files if not name.endswith(".safetensors")]


def _said(error: Exception) -> str:
    """The first line of an error; transformers' own word on pickles advises to read them."""
    first_line = str(error).strip().partition("\n")[0] or type(error).__name__
    if "use_safetensors" in first_line:
        return f"it has no safetensors; {ADVICE_ON_PICKLES}"
    return first_line
