"""Policies of checkpoints: which one plays a role, found and loaded for evaluation."""

import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cotrain.assembly.networks import Bases, policy_on
from cotrain.assembly.policies import scripted_sampler
from cotrain.assembly.policy_plans import GENERAL_KEY, base_of, policy_of_role
from cotrain.config import Config, config_from_json, replaced
from cotrain.environments.base import Environment
from cotrain.learning.scripted import saved_script
from cotrain.policies.adapters import is_adapter_folder
from cotrain.policies.base import Sampler
from cotrain.policies.loading import COMPUTE_DTYPES
from cotrain.policies.networks import Network
from cotrain.runs import layout
from cotrain.runs.checkpoint_folder import checkpoint_at, complete_checkpoints, latest_complete
from cotrain.runs.durable import RunFolderRefusedError
from cotrain.runs.store import RunFolder
from cotrain.training.checkpoints import SavedState, read_state, refuse_other_base


@dataclass(frozen=True, slots=True)
class SavedPolicy:
    """A policy of a checkpoint, with the configuration that it is loaded with.

    `run` names the run that it is from, None for the target's own.
    """

    checkpoint: Path
    state: SavedState
    name: str
    config: Config
    run: str | None = None

    @property
    def folder(self) -> Path:
        """The folder of its weights."""
        return self.checkpoint / layout.POLICIES / self.name


def saved_roles(
    checkpoint: Path, state: SavedState, config: Config, environment: Environment[Any]
) -> dict[str, SavedPolicy]:
    """The policy of each played role in a checkpoint, under this configuration.

    Raises RunFolderRefusedError when the checkpoint has not the policies that it asks for.
    """
    of_role = policy_of_role(config, environment)
    missing = sorted(set(of_role.values()) - set(state.versions))
    if missing:
        raise RunFolderRefusedError(
            f"{checkpoint} holds policies {', '.join(sorted(state.versions))} and no "
            f"{', '.join(missing)}: its regime or its roles are others (team.policies)"
        )
    return {role: SavedPolicy(checkpoint, state, name, config) for role, name in of_role.items()}


def config_here(state: SavedState, here: Config) -> Config:
    """What a team was saved with, under the evaluation, limits and machine of another run."""
    changes = {
        "evaluation": here.evaluation.model_dump(mode="json"),
        "limits": here.limits.model_dump(mode="json"),
        "sandbox": here.sandbox and here.sandbox.model_dump(mode="json"),
        "model.threads": here.model.threads,
    }
    return replaced(config_from_json(state.config), changes)


def checkpoint_of(target: Path, step: int | None = None) -> Path:
    """The complete checkpoint of a run folder at this step, or its last; or the checkpoint itself.

    Raises RunFolderRefusedError for a folder that is neither, for a step that was not saved, and
    for a damaged checkpoint that was named. Without a step it is the last whole one; later ones
    that are damaged give a warning.
    """
    if not (target / layout.CONFIG).is_file():
        checkpoint = checkpoint_at(target).path
        saved = read_state(checkpoint).progress.step
        if step not in (None, saved):
            raise RunFolderRefusedError(f"{target} is the checkpoint of step {saved}, not {step}")
        return checkpoint
    root = RunFolder(target).checkpoints
    if step is None:
        latest = latest_complete(root)
        for warning in latest.warnings:
            warnings.warn(warning, stacklevel=2)
        if latest.checkpoint is None:
            raise RunFolderRefusedError(f"{target} has no complete checkpoint yet")
        return latest.checkpoint.path
    complete = {checkpoint.step: checkpoint.path for checkpoint in complete_checkpoints(root)}
    if step not in complete:
        steps = ", ".join(map(str, sorted(complete))) or "none"
        raise RunFolderRefusedError(f"{target} has no checkpoint of step {step}; saved: {steps}")
    return checkpoint_at(complete[step]).path


def run_name(checkpoint: Path) -> str:
    """The name of the run that a checkpoint is of, or the checkpoint's own outside of a run."""
    inside = checkpoint.resolve().parent.name == layout.CHECKPOINTS
    return checkpoint.resolve().parent.parent.name if inside else checkpoint.resolve().name


class SavedSamplers:
    """Loads policies of checkpoints, each once. Adapters on the same base share it."""

    def __init__(self) -> None:
        self._bases: dict[str, Bases] = {}
        self._loaded: dict[tuple[Path, str], Sampler] = {}

    def sampler(self, saved: SavedPolicy) -> Sampler:
        """The policy, ready to sample.

        Raises RunFolderRefusedError for a damaged one, and for an adapter whose base has changed.
        """
        place = (saved.checkpoint, saved.name)
        if place not in self._loaded:
            self._loaded[place] = self._load(saved)
        return self._loaded[place]

    def _load(self, saved: SavedPolicy) -> Sampler:
        script = saved_script(saved.folder)
        if script is not None:
            return scripted_sampler(saved.name, script)
        dtype = saved.config.model.dtype
        bases = self._bases.setdefault(dtype, Bases(COMPUTE_DTYPES[dtype]))
        policy = policy_on(_network(bases, saved), saved.name, saved.config)
        policy.version = saved.state.versions[saved.name]
        return policy


def base_of_adapter(saved: SavedPolicy) -> tuple[str, str, str]:
    """Of an adapter's base: its name now, the key that gives it, and the identity it must have.

    Raises RunFolderRefusedError for a checkpoint that does not say the identity.
    """
    needed = saved.state.bases.get(saved.name)
    if needed is None:
        raise RunFolderRefusedError(f"{saved.checkpoint} does not say the base of {saved.name}")
    return *base_of(saved.config, saved.name), needed["identity"]


def refuse_changed_base(saved: SavedPolicy, name: str, identity: str) -> None:
    """Raises RunFolderRefusedError unless this base is the one that an adapter was trained on."""
    # What it started from is no matter here: that is a reference of training alone.
    needed = {what: saved.state.bases[saved.name][what] for what in ("name", "identity")}
    present = {"name": name, "identity": identity}
    refuse_other_base(saved.checkpoint, saved.name, needed, present)


def _network(bases: Bases, saved: SavedPolicy) -> Network:
    if not is_adapter_folder(saved.folder):
        return bases.whole(str(saved.folder), GENERAL_KEY)
    name, key, needed = base_of_adapter(saved)
    base, identity = bases.adapted(name, key, needed)
    refuse_changed_base(saved, name, identity)
    try:
        return base.load(saved.folder)
    except (ValueError, OSError) as error:
        raise RunFolderRefusedError(f"{saved.folder} cannot be loaded: {error}") from error
