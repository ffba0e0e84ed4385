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

    `bases` says what each policy began as: `name` and `identity` of its base, and `start`, the
    identity of the adapter that it started from, where that is a reference.
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
            str(policy): {"identity": str(base["identity"]), **_texts(base)}
            for policy, base in values.get("bases", {}).items()
        }
        return SavedState(progress, versions, dict[str, Any](values["config"]), bases)
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise RunFolderRefusedError(f"{path} is not the state of a checkpoint: {error}") from error


def restore(
    folder: Path, learners: Mapping[str, Learner], bases: Mapping[str, Mapping[str, str]]
) -> Progress:
    """Puts the weights, moments and versions of a checkpoint into the learners.

    `bases` say what the run's policies begin as now. Raises RunFolderRefusedError unless the
    checkpoint holds exactly these policies, begun as the same, and fits them.
    """
    state = read_state(folder)
    if set(state.versions) != set(learners):
        raise RunFolderRefusedError(
            f"{folder} holds policies {_listed(state.versions)}, this run has {_listed(learners)}: "
            "it is a checkpoint of another team or regime (team.policies)"
        )
    for name, learner in learners.items():
        if name in state.bases:
            refuse_other_base(folder, name, state.bases[name], bases.get(name, {}))
        try:
            learner.load(folder / POLICIES / name, folder / OPTIMIZERS / name, state.versions[name])
        except (ValueError, KeyError, OSError) as error:
            raise RunFolderRefusedError(
                f"{folder} does not fit policy {name} of this run: {error}"
            ) from error
    return state.progress


def refuse_other_base(
    folder: Path, policy: str, saved: Mapping[str, str], present: Mapping[str, str]
) -> None:
    """Raises RunFolderRefusedError unless a policy's base has the weights that it had.

    Names may differ: a base can be moved, or fetched from elsewhere.
    """
    for what in (name for name in saved if name != "name"):
        if present.get(what) != saved[what]:
            raise RunFolderRefusedError(
                f"policy {policy} in {folder} began as {saved['name']} with the {what} "
                f"{saved[what]}; here is {present.get('name', 'nothing')} with {present.get(what)}"
            )


def _texts(base: Mapping[str, object]) -> dict[str, str]:
    return {str(what): str(value) for what, value in base.items()}


def _listed(names: Iterable[str]) -> str:
    return ", ".join(sorted(names))
