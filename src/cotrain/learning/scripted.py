"""The learner of a scripted policy: it has no weights, so every update is a skipped one."""

import json
from collections.abc import Sequence
from pathlib import Path

from cotrain.core.samples import CreditedSample
from cotrain.learning.base import UpdateReport

SCRIPT_FILE = "script.json"


class ScriptedLearner:
    """Takes samples and learns nothing, so that a whole run can be tried without a model."""

    def __init__(self, script: str) -> None:
        self._script = script

    def update(
        self, samples: Sequence[CreditedSample], step: int, rate_factor: float
    ) -> UpdateReport:
        """A skipped update: the version stays 0."""
        return UpdateReport(version=0, skipped=True, samples=len(samples))

    def save_policy(self, folder: Path) -> None:
        """Writes the name of the script."""
        folder.mkdir(parents=True, exist_ok=True)
        (folder / SCRIPT_FILE).write_text(json.dumps({"script": self._script}) + "\n")

    def save_optimizer(self, folder: Path) -> None:
        """There are no moments; the folder is made, so that all policies look alike."""
        folder.mkdir(parents=True, exist_ok=True)

    def load(self, policy_folder: Path, optimizer_folder: Path, version: int) -> None:
        """There is nothing to take over."""


def saved_script(folder: Path) -> str | None:
    """The script that `save_policy` named in this folder, None where there is none."""
    path = folder / SCRIPT_FILE
    return str(json.loads(path.read_text())["script"]) if path.is_file() else None
