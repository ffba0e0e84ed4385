"""What a checkpoint holds, and how a run goes on from one. `runs.layout` draws the folder."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cotrain.learning.base import Learner
from cotrain.runs.durable import RunFolderRefusedError
from cotrain.runs.layout import OPTIMIZERS, POLICIES, STATE
from cotrain.training.progress import Progress


@dataclass(frozen=True, slots=True)
class SavedState:
    """The contents of `state.json`."""

    progress: Progress
    versions: Mapping[str, int]
    config: Mapping[str, Any]


def fill_checkpoint(
    folder: Path,
    progress: Progress,
    learners: Mapping[str, Learner],
    versions: Mapping[str, int],
    config: Mapping[str, object],
) -> None:
    """Writes policies, optimisers and state into an empty folder."""
    for name, learner in learners.items():
        learner.save_policy(folder / POLICIES / name)
        learner.save_optimizer(folder / OPTIMIZERS / name)
    state = {"progress": progress.as_json(), "versions": dict(versions), "config": dict(config)}
    (folder / STATE).write_text(json.dumps(state, indent=2) + "\n")


def read_state(folder: Path) -> SavedState:
    """The state of a checkpoint. Raises RunFolderRefusedError, which names the file, for others."""
    path = folder / STATE
    try:
        values = json.loads(path.read_text())
        versions = {str(name): int(version) for name, version in values["versions"].items()}
        progress = Progress.from_json(values["progress"])
        return SavedState(progress, versions, dict[str, Any](values["config"]))
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise RunFolderRefusedError(f"{path} is not the state of a checkpoint: {error}") from error


def restore(folder: Path, learners: Mapping[str, Learner]) -> Progress:
    """Puts the weights, moments and versions of a checkpoint into the learners.

    Raises RunFolderRefusedError when it lacks one of these policies, or does not fit it.
    """
    state = read_state(folder)
    missing = sorted(set(learners) - set(state.versions))
    if missing:
        raise RunFolderRefusedError(f"{folder} holds no policy {', '.join(missing)}")
    for name, learner in learners.items():
        try:
            learner.load(folder / POLICIES / name, folder / OPTIMIZERS / name, state.versions[name])
        except (ValueError, KeyError, OSError) as error:
            raise RunFolderRefusedError(
                f"{folder} does not fit policy {name} of this run: {error}"
            ) from error
    return state.progress
