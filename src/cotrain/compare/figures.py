"""The figures of a comparison, read from the folders of its cells."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from cotrain.compare.base import Cell, Claim, Comparison, Imitating, Row, Trained
from cotrain.compare.cells import CellFolder
from cotrain.compare.intervals import Difference, paired_difference
from cotrain.runs.metrics import mean, success_figures
from cotrain.runs.store import RunFolder


@dataclass(frozen=True, slots=True)
class CellFigures:
    """One cell. `curve` holds a pair a validation: tokens sampled so far, success.

    What was not trained has no tokens, steps and curve.
    """

    seed: int
    success: float
    solved: str
    turns: int
    turns_mean: float
    tokens_mean: float
    task_hash: str
    tokens_sampled: int = 0
    tokens_budget: int | None = None
    tokens_trained: int = 0
    steps: int = 0
    optimizer_steps: int = 0
    train_seconds: float = 0.0
    curve: tuple[tuple[int, float], ...] = ()
    alarms: int = 0


@dataclass(frozen=True, slots=True)
class RowFigures:
    """One row over the seeds that are done."""

    row: Row
    cells: tuple[CellFigures, ...]

    @property
    def success(self) -> Mapping[str, Any]:
        """`tasks`, `success`, `success_low`, `success_high`, at the mean over seeds.

        All seeds solve the same tasks, so the interval is that of these tasks alone.
        """
        solved = [float(cell.solved.count("1")) for cell in self.cells]
        tasks = max((len(cell.solved) for cell in self.cells), default=0)
        return success_figures(mean(solved) or 0.0, tasks)

    @property
    def below_budget(self) -> int:
        """How many cells ended before their budget of sampled tokens was spent."""
        return sum(cell.tokens_sampled < (cell.tokens_budget or 0) for cell in self.cells)

    def mean_of(self, name: str) -> float | None:
        """The mean of a figure over the cells."""
        return mean([float(getattr(cell, name)) for cell in self.cells])


@dataclass(frozen=True, slots=True)
class ClaimFigures:
    """A claim with the paired difference over the seeds that both rows have; None without any."""

    claim: Claim
    seeds: tuple[int, ...]
    difference: Difference | None
    why_not: str = ""

    @property
    def verdict(self) -> str:
        """The interval's, or that a claim cannot be looked at."""
        return "no figures" if self.difference is None else self.difference.verdict


@dataclass(frozen=True, slots=True)
class Findings:
    """All rows and claims of a comparison."""

    comparison: Comparison
    rows: tuple[RowFigures, ...]
    claims: tuple[ClaimFigures, ...]

    def as_json(self) -> dict[str, Any]:
        """The document of `compare.json`."""
        comparison = self.comparison
        return {
            "name": comparison.name,
            "base": comparison.base,
            "seeds": comparison.num_seeds,
            "settings": dict(comparison.settings),
            "rows": [_row_document(row) for row in self.rows],
            "claims": [_claim_document(claim) for claim in self.claims],
        }


def findings_of(folder: CellFolder) -> Findings:
    """The figures of every cell that is done."""
    comparison = folder.comparison
    rows = tuple(_row_figures(folder, row) for row in comparison.rows)
    by_name = {row.row.name: row for row in rows}
    claims = tuple(
        claim_figures(claim, by_name[claim.better], by_name[claim.than])
        for claim in comparison.claims
    )
    return Findings(comparison, rows, claims)


def claim_figures(claim: Claim, better: RowFigures, than: RowFigures) -> ClaimFigures:
    """The claim on the seeds that both rows have, if all of these played the same tasks."""
    first = {cell.seed: cell for cell in better.cells}
    second = {cell.seed: cell for cell in than.cells}
    seeds = tuple(sorted(first.keys() & second.keys()))
    if not seeds:
        return ClaimFigures(claim, (), None, "no seed is done in both rows")
    if len({cells[seed].task_hash for cells in (first, second) for seed in seeds}) > 1:
        return ClaimFigures(claim, seeds, None, "the rows played different tasks")
    found = paired_difference([first[s].solved for s in seeds], [second[s].solved for s in seeds])
    return ClaimFigures(claim, seeds, found)


def _row_figures(folder: CellFolder, row: Row) -> RowFigures:
    cells = (Cell(row, seed) for seed in range(folder.comparison.num_seeds))
    return RowFigures(row, tuple(_cell(folder, cell) for cell in cells if folder.is_done(cell)))


def _cell(folder: CellFolder, cell: Cell) -> CellFigures:
    row = folder.evaluation(cell)
    tested = {
        "seed": cell.seed,
        "success": row["success"],
        "solved": row["solved"],
        "turns": row["turns"],
        "turns_mean": row["turns_mean"],
        "tokens_mean": row["tokens_mean"],
        "task_hash": row["task_hash"],
    }
    if not isinstance(cell.row, Trained | Imitating):
        return CellFigures(**tested)
    return CellFigures(**tested, **_training(RunFolder(folder.run_dir(cell.row.name, cell.seed))))


def _training(run: RunFolder) -> dict[str, Any]:
    metrics = run.metrics()
    sampled = {0: 0}
    for row in metrics:
        sampled[row["step"]] = sampled[row["step"] - 1] + row["tokens_sampled"]
    curve = [
        (sampled[row["step"]], row["success"])
        for row in run.evaluations()
        if row["split"] == "validation"
    ]
    return {
        "tokens_sampled": sampled[len(metrics)],
        "tokens_budget": run.config()["run"]["max_sampled_tokens"],
        "tokens_trained": sum(row["tokens_trained"] for row in metrics),
        "steps": len(metrics),
        "optimizer_steps": sum(
            value
            for row in metrics
            for name, value in row.items()
            if name.startswith("policy.") and name.endswith(".optimizer_steps")
        ),
        "train_seconds": sum(row["total_seconds"] for row in metrics),
        "curve": tuple(curve),
        # A resume plays steps again, and events are never cut.
        "alarms": len({e["message"] for e in run.events() if e["kind"] == "reward_hacking"}),
    }


def _row_document(figures: RowFigures) -> dict[str, Any]:
    kind = type(figures.row).__name__.lower()
    cells = [asdict(cell) for cell in figures.cells]
    described = {k: v for k, v in asdict(figures.row).items() if k != "name"}
    return {"name": figures.row.name, "kind": kind, **described, **figures.success, "cells": cells}


def _claim_document(figures: ClaimFigures) -> dict[str, Any]:
    difference = None if figures.difference is None else asdict(figures.difference)
    return {
        **asdict(figures.claim),
        "seeds": figures.seeds,
        "difference": difference,
        "verdict": figures.verdict,
        "verdict_over_tasks": (
            figures.verdict if figures.difference is None else figures.difference.verdict_over_tasks
        ),
        "why_not": figures.why_not,
    }
