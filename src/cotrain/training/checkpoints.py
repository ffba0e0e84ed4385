"""What a checkpoint holds, and how a run goes on from one. `runs.layout` draws the folder."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cotrain.learning.base import Learner
from cotrain.runs.durable import RunFolderRefusedError
from cotrain.runs.layout import OPTIMIZERS, POLICIES, STATE
from cotrain.training.progress import Progress


@dataclass(frozen=True, slots=True)
class SavedState:
    """The contents of `state.json`.

    `bases` says, for each policy that is an adapter, the name and identity of the base it needs.
    """

    progress: Progress
    versions: Mapping[str, int]
    config: Mapping[str, Any]
    bases: Mapping[str, Mapping[str, str]] = field(default_factory=dict[str, Mapping[str, str]])

    def as_json(self) -> dict[str, object]:
        """The values for `state.json`."""
        return {
            "progress": self.progress.as_json(),
            "versions": dict(self.versions),
            "bases": {policy: dict(base) for policy, base in self.bases.items()},
            "config": dict(self.config),
        }


def fill_checkpoint(folder: Path, learners: Mapping[str, Learner], state: SavedState) -> None:
    """Writes policies, optimisers and state into an empty folder."""
    for name, learner in learners.items():
        learner.save_policy(folder / POLICIES / name)
        learner.save_optimizer(folder / OPTIMIZERS / name)
    (folder / STATE).write_text(json.dumps(state.as_json(), indent=2) + "\n")


def read_state(folder: Path) -> SavedState:
    """The state of a checkpoint. Raises RunFolderRefusedError, which names the file, for others."""
    path = folder / STATE
    try:
        values = json.loads(path.read_text())
        versions = {str(name): int(version) for name, version in values["versions"].items()}
        progress = Progress.from_json(values["progress"])
        bases = {
            str(policy): {"name": str(base["name"]), "identity": str(base["identity"])}
            for policy, base in values.get("bases", {}).items()
        }
        return SavedState(progress, versions, dict[str, Any](values["config"]), bases)
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise RunFolderRefusedError(f"{path} is not the state of a checkpoint: {error}") from error


def restore(
    folder: Path, learners: Mapping[str, Learner], bases: Mapping[str, Mapping[str, str]]
) -> Progress:
    """Puts the weights, moments and versions of a checkpoint into the learners.

    `bases` are those of the run's adapters now. Raises RunFolderRefusedError unless the checkpoint
    holds exactly these policies, on these bases, and fits them.
    """
    state = read_state(folder)
    if set(state.versions) != set(learners):
        raise RunFolderRefusedError(
            f"{folder} holds policies {_listed(state.versions)}, this run has {_listed(learners)}: "
            "it is a checkpoint of another team or regime (team.policies)"
        )
    for name, learner in learners.items():
        refuse_other_base(folder, name, state.bases.get(name), bases.get(name))
        try:
            learner.load(folder / POLICIES / name, folder / OPTIMIZERS / name, state.versions[name])
        except (ValueError, KeyError, OSError) as error:
            raise RunFolderRefusedError(
                f"{folder} does not fit policy {name} of this run: {error}"
            ) from error
    return state.progress


def refuse_other_base(
    folder: Path, policy: str, saved: Mapping[str, str] | None, present: Mapping[str, str] | None
) -> None:
    """Raises RunFolderRefusedError unless an adapter's base has the weights it was trained on.

    Both are None for a policy that needs no base.
    """
    if _identity(saved) != _identity(present):
        raise RunFolderRefusedError(
            f"policy {policy} in {folder} was trained on {_described(saved)}; here is "
            f"{_described(present)}"
        )


def _identity(base: Mapping[str, str] | None) -> str | None:
    return None if base is None else base["identity"]


def _described(base: Mapping[str, str] | None) -> str:
    return "no base" if base is None else f"the base {base['name']} ({base['identity']})"


def _listed(names: Iterable[str]) -> str:
    return ", ".join(sorted(names))
