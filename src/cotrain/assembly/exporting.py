"""One policy of a run as a folder for other programs, with a card that says what it is."""

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

import torch

from cotrain.assembly.model_card import model_card
from cotrain.assembly.networks import load
from cotrain.assembly.policy_plans import GENERAL_KEY
from cotrain.assembly.saved import (
    SavedPolicy,
    base_of_adapter,
    checkpoint_of,
    refuse_changed_base,
)
from cotrain.config import ConfigurationError, Fault, config_from_json, show
from cotrain.config.keys import nearest
from cotrain.learning.export import export_adapter, export_merged, export_whole
from cotrain.learning.scripted import saved_script
from cotrain.policies.adapters import is_adapter_folder
from cotrain.policies.loading import COMPUTE_DTYPES
from cotrain.runs import layout
from cotrain.runs.durable import chosen
from cotrain.training.checkpoints import read_state

Form: TypeAlias = Literal["merged", "adapter"]
CARD = "README.md"


@dataclass(frozen=True, slots=True)
class Exported:
    """What was written: the folder, the policy with its version, and the form of the weights."""

    folder: Path
    policy: str
    version: int
    step: int
    form: str
    dtype: str

    def as_json(self) -> dict[str, object]:
        """The values as one document."""
        return {
            "folder": str(self.folder),
            "policy": self.policy,
            "version": self.version,
            "step": self.step,
            "form": self.form,
            "dtype": self.dtype,
        }

    def as_text(self) -> str:
        """The values for a person."""
        return (
            f"policy {self.policy}, version {self.version} of step {self.step}: {self.form} "
            f"weights, {self.dtype}, in {self.folder}"
        )


def export(
    run_dir: str | Path,
    policy: str,
    to: str | Path,
    form: Form = "merged",
    dtype: str | None = None,
    step: int | None = None,
) -> Exported:
    """Writes a policy of a run folder, or of a checkpoint, as a plain Hugging Face folder.

    `form` is `"merged"`, whole weights in any case, or `"adapter"`, for a policy that is one.
    Without `dtype` whole weights have the type that the run computed in, and an adapter float32;
    without `step` the last complete checkpoint is taken. Raises ConfigurationError for a policy
    that is not there or has no such form and for a folder that is not empty, RunFolderRefusedError
    for a folder without a checkpoint.
    """
    checkpoint = checkpoint_of(Path(run_dir), step)
    state = read_state(checkpoint)
    saved = SavedPolicy(checkpoint, state, policy, config_from_json(state.config))
    _refuse_unknown(policy, list(state.versions))
    written = _form(saved, form)
    dtype = _dtype(saved, written, dtype)
    with chosen(Path(to)):
        folder = _empty(Path(to).resolve())
    card = model_card(saved, written)
    with chosen(folder), _whole_or_absent(folder) as partial:
        _write(saved, written, COMPUTE_DTYPES[dtype], partial)
        (partial / CARD).write_text(card, "utf-8")
    return Exported(folder, policy, state.versions[policy], state.progress.step, written, dtype)


def _form(saved: SavedPolicy, form: Form) -> str:
    """What will be written: `whole` for a policy that is no adapter, else what was asked for."""
    if saved_script(saved.folder) is not None:
        raise _fault("--policy", saved.name, "is a script, which has no weights")
    if is_adapter_folder(saved.folder):
        return form
    if form == "adapter":
        raise _fault("--policy", saved.name, "is a whole model and no adapter")
    return "whole"


def _write(saved: SavedPolicy, form: str, dtype: torch.dtype, folder: Path) -> None:
    wide = torch.promote_types(COMPUTE_DTYPES[saved.config.model.dtype], torch.float32)
    if form == "whole":
        model = load(str(saved.folder), GENERAL_KEY, wide)
        export_whole(model.model, model.tokenizer, dtype, folder)
        return
    name, key, needed = base_of_adapter(saved)
    base = load(name, key, wide, needed)
    refuse_changed_base(saved, name, base.identity)
    if form == "adapter":
        export_adapter(saved.folder, name, base.tokenizer, dtype, folder)
    else:
        export_merged(base.model, base.tokenizer, saved.folder, dtype, folder)


@contextmanager
def _whole_or_absent(folder: Path) -> Iterator[Path]:
    """A folder to fill, which gets its name once it is full, and is removed if it never is."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    partial = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.parent))
    partial.chmod(0o755)
    try:
        yield partial
        partial.replace(folder)
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def _refuse_unknown(policy: str, known: list[str]) -> None:
    if policy not in known:
        allowed = f"no policy of this run, allowed are {', '.join(known)}"
        raise _fault("--policy", policy, allowed, nearest(policy, known))


def _dtype(saved: SavedPolicy, form: str, asked: str | None) -> str:
    """The type to write: the one asked for, else an adapter's own and a model's as it computed."""
    if asked is None and form == "adapter":
        return "float64" if saved.config.model.dtype == "float64" else "float32"
    name = asked or saved.config.model.dtype
    if name not in COMPUTE_DTYPES:
        raise _fault("--dtype", name, f"must be {', '.join(COMPUTE_DTYPES)}")
    return name


def _empty(folder: Path) -> Path:
    taken = folder.exists() and (not folder.is_dir() or any(folder.iterdir()))
    if taken:
        raise _fault("--to", str(folder), "is there and not empty; choose another folder")
    if any((above / layout.MANIFEST).is_file() for above in folder.resolve().parents):
        raise _fault("--to", str(folder), "lies in a run folder, which only its run writes")
    return folder


def _fault(option: str, got: str, allowed: str, nearest_known: str = "") -> ConfigurationError:
    return ConfigurationError([Fault(option, show(got), allowed, nearest_known)])
