"""What each cell runs, where it lies, and whether it is done.

COMPARISON/
  comparison.json          what is compared
  compare.json             the figures
  table.txt, success.png, success.svg
  cells/ROW/seed_0/        the run folder of a trained cell
  cells/ROW/seed_0.json    the evaluation row of a played cell
  cells/ROW/seed_0.log     what its command printed
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import cast

from cotrain.compare.base import (
    Cell,
    Comparison,
    Imitating,
    Played,
    Row,
    Settings,
    Trained,
    Untrained,
    fixed_settings,
    is_evaluated,
    settings_of,
)
from cotrain.runs.checkpoint_folder import complete_checkpoints
from cotrain.runs.durable import RunFolderError
from cotrain.runs.layout import CONFIG
from cotrain.runs.metrics import EVALUATIONS
from cotrain.runs.rows import Row as Figures
from cotrain.runs.rows import read_document
from cotrain.runs.store import RunFolder


class CellFolder:
    """The places and commands of a comparison's cells."""

    def __init__(self, root: Path, comparison: Comparison) -> None:
        self.root = root
        self.comparison = comparison

    def run_dir(self, name: str, seed: int) -> Path:
        """The run folder of a trained row's cell."""
        return self._place(name, seed, "")

    def result(self, cell: Cell) -> Path:
        """The file with the evaluation row of a played row's cell."""
        return self._place(cell.row.name, cell.seed, ".json")

    def log(self, cell: Cell) -> Path:
        """What the cell's command printed on stderr."""
        return self._place(cell.row.name, cell.seed, ".log")

    def command(self, cell: Cell) -> list[str] | None:
        """The words after `cotrain` that make this cell; None where nothing has to run."""
        match cell.row:
            case Trained():
                return self._training("train", cell, ())
            case Imitating(teacher=teacher):
                episodes = ("--from", str(self.run_dir(teacher, cell.seed)))
                return self._training("sft", cell, episodes)
            case Untrained(settings=settings):
                own = assignments(self._settings(cell))
                return ["evaluate", self.comparison.base, *own, "--json"] if settings else None
            case Played() as played:
                return self._evaluation(played, cell.seed)

    def is_done(self, cell: Cell) -> bool:
        """Whether this cell has its figures."""
        if is_evaluated(cell.row):
            return self.result(cell).is_file()
        return is_finished(self.run_dir(_trained_name(cell.row), cell.seed))

    def has_begun(self, name: str) -> bool:
        """Whether a row has a run folder or a result."""
        found = (self.root / "cells" / name).glob("seed_*")
        return any(path.is_dir() or path.suffix == ".json" for path in found)

    def evaluation(self, cell: Cell) -> Figures:
        """The evaluation row on the test split of a cell that is done.

        Raises RunFolderError for one that cannot be read.
        """
        if is_evaluated(cell.row):
            found = read_document(self.result(cell))
            if not found.keys() >= EVALUATIONS.keys():
                raise RunFolderError(f"{self.result(cell)} is no whole evaluation row: remove it")
            return found
        rows = tested(RunFolder(self.run_dir(_trained_name(cell.row), cell.seed)))
        return rows[0] if isinstance(cell.row, Untrained) else rows[-1]

    def _place(self, name: str, seed: int, suffix: str) -> Path:
        return self.root / "cells" / name / f"seed_{seed}{suffix}"

    def _training(self, command: str, cell: Cell, more: Sequence[str]) -> list[str]:
        folder = self.run_dir(cell.row.name, cell.seed)
        run = ["--run-dir", str(folder)]
        if (folder / CONFIG).exists():
            return [command, "--resume", *more, *run]
        settings = assignments(self._settings(cell))
        return [command, self.comparison.base, *more, *settings, *run]

    def _settings(self, cell: Cell) -> dict[str, object]:
        """The settings of a trained or untrained row's cell over the base."""
        fixed = fixed_settings(f"{self.comparison.name}-{cell.row.name}", cell.seed)
        own = settings_of(self.comparison, cell.row)
        return {**{key: value for key, value in own.items() if key not in fixed}, **fixed}

    def _evaluation(self, row: Played, seed: int) -> list[str]:
        lineup = [
            word
            for role, name in row.policies.items()
            for word in ("--policy", f"{role}={self.run_dir(name, seed)}")
        ]
        swaps = [word for first, other in row.swaps for word in ("--swap", f"{first}={other}")]
        team = str(self.run_dir(row.team, seed))
        return ["evaluate", team, *lineup, *swaps, *assignments(row.settings), "--json"]


def _trained_name(row: Row) -> str:
    return row.team if isinstance(row, Untrained) else row.name


def is_finished(path: Path) -> bool:
    """Whether a run came to its end: the test split is evaluated then, and a checkpoint saved."""
    if not (path / CONFIG).exists():
        return False
    run = RunFolder(path)
    last = max((int(row["step"]) for row in tested(run)), default=0)
    return last > 0 and last in [saved.step for saved in complete_checkpoints(run.checkpoints)]


def tested(run: RunFolder) -> list[Figures]:
    """A cell's evaluation rows on the test split, by step; cells have no baselines."""
    return [row for row in run.evaluations() if row["split"] == "test"]


def assignments(settings: Settings) -> list[str]:
    """The words that set these keys.

    >>> assignments({"run.seed": 1, "environment.options": {"size": 6, "view": "compact"}})
    ['--set', 'run.seed=1', '--set', 'environment.options={"size" = 6, "view" = "compact"}']
    """
    return [word for key, value in settings.items() for word in ("--set", f"{key}={toml(value)}")]


def toml(value: object) -> str:
    """A value as TOML on one line.

    >>> toml([True, "a", {"b": 1.5}])
    '[true, "a", {"b" = 1.5}]'
    """
    if isinstance(value, Mapping):
        table = cast("Mapping[str, object]", value)
        return (
            f"{{{', '.join(f'{json.dumps(key)} = {toml(item)}' for key, item in table.items())}}}"
        )
    if isinstance(value, list | tuple):
        return f"[{', '.join(toml(item) for item in cast('Sequence[object]', value))}]"
    return json.dumps(value, ensure_ascii=False, allow_nan=False)
