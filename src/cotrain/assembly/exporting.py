"""One policy of a run as a folder for other programs, with a card that says what it is."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

import torch

from cotrain.assembly.model_card import model_card
from cotrain.assembly.saved import SavedPolicy, checkpoint_of, load_network
from cotrain.config import ConfigurationError, Fault, config_from_json, show
from cotrain.config.keys import nearest
from cotrain.learning.export import export_adapter, export_merged, export_whole
from cotrain.learning.scripted import saved_script
from cotrain.policies.adapters import Adapter
from cotrain.policies.loading import COMPUTE_DTYPES, load_base
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
    `dtype` is that of the run's model unless it is given; without `step` the last complete
    checkpoint is taken. Raises ConfigurationError for a policy that is not there or has no such
    form and for a folder that is not empty, RunFolderRefusedError for a folder without a
    checkpoint.
    """
    checkpoint = checkpoint_of(Path(run_dir), step)
    state = read_state(checkpoint)
    config = config_from_json(state.config)
    saved = SavedPolicy(checkpoint, state, policy, config)
    _refuse_unknown(policy, list(state.versions))
    if saved_script(saved.folder) is not None:
        raise _fault("--policy", policy, "is a script, which has no weights")
    folder = _empty(Path(to))
    dtype = _dtype(dtype or config.model.dtype)
    is_adapter = _write(saved, form, COMPUTE_DTYPES[dtype], folder)
    written = "whole" if not is_adapter else form
    exported = Exported(folder, policy, state.versions[policy], state.progress.step, written, dtype)
    (folder / CARD).write_text(model_card(saved, written), "utf-8")
    return exported


def _write(saved: SavedPolicy, form: Form, dtype: torch.dtype, folder: Path) -> bool:
    """Writes the weights; whether the policy is an adapter."""
    network = load_network(saved)
    if not isinstance(network, Adapter):
        if form == "adapter":
            raise _fault("--policy", saved.name, "is a whole model and no adapter")
        export_whole(network, dtype, folder)
        return False
    if form == "adapter":
        export_adapter(network, dtype, folder)
        return True
    base, tokenizer = load_base(network.base.source, torch.float32)
    export_merged(base, tokenizer, saved.folder, dtype, folder)
    return True


def _refuse_unknown(policy: str, known: list[str]) -> None:
    if policy not in known:
        allowed = f"no policy of this run, allowed are {', '.join(known)}"
        raise _fault("--policy", policy, allowed, nearest(policy, known))


def _dtype(name: str) -> str:
    if name not in COMPUTE_DTYPES:
        raise _fault("--dtype", name, f"must be {', '.join(COMPUTE_DTYPES)}")
    return name


def _empty(folder: Path) -> Path:
    taken = folder.exists() and (not folder.is_dir() or any(folder.iterdir()))
    if taken:
        raise _fault("--to", str(folder), "is there and not empty; choose another folder")
    return folder


def _fault(option: str, got: str, allowed: str, nearest_known: str = "") -> ConfigurationError:
    return ConfigurationError([Fault(option, show(got), allowed, nearest_known)])
