"""`cotrain compare`, without its command line: begins or goes on with a comparison's folder."""

import json
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from cotrain.compare.base import Comparison, Imitating, Trained
from cotrain.compare.cells import CellFolder
from cotrain.compare.figures import Findings, findings_of
from cotrain.compare.loading import load_comparison, reduced
from cotrain.compare.methods import METHODS, comparison_of_methods
from cotrain.compare.plot import can_plot, write_plots
from cotrain.compare.running import Ended, run_cells
from cotrain.compare.table import table_of
from cotrain.config import DEFAULT_PRESET, ConfigurationError, Fault, load_config
from cotrain.runs.durable import RunFolderRefusedError, write_whole
from cotrain.runs.lock import FolderLock

COMPARISON, FIGURES, TABLE = "comparison.json", "compare.json", "table.txt"


def comparison_of(source: str | None, methods: Sequence[str], num_seeds: int | None) -> Comparison:
    """What `cotrain compare SOURCE --methods M,M --seeds N` compares, checked.

    SOURCE is a comparison, or a configuration or preset whose methods are compared. Raises
    ConfigurationError with the faults of every row.
    """
    found = None if source is None else load_comparison(source)
    if found is None:
        config = load_config(source)
        base = source or DEFAULT_PRESET
        found = comparison_of_methods(base, config, methods or METHODS, num_seeds or 3)
    elif methods:
        found = reduced(found, methods)
    found = found if num_seeds is None else replace(found, num_seeds=num_seeds)
    _refuse_unfit_rows(found)
    return found


def run_comparison(
    comparison: Comparison,
    path: Path,
    jobs: int,
    stop: Callable[[], bool],
    show: Callable[[Ended], None],
) -> tuple[Findings, list[Ended]]:
    """Runs what is not done yet, writes the figures, and returns them with the cells that failed.

    Raises RunFolderRefusedError where the folder holds another comparison, or is being written.
    """
    path.mkdir(parents=True, exist_ok=True)
    folder = CellFolder(path, comparison)
    with ExitStack() as stack:
        stack.callback(FolderLock(path).release)
        _refuse_other_comparison(folder)
        _write(path / COMPARISON, asdict(comparison))
        failed = run_cells(folder, jobs, stop, show)
        return write_findings(folder), failed


def write_findings(folder: CellFolder) -> Findings:
    """Reads the cells that are done and writes `compare.json`, the table and the plots."""
    findings = findings_of(folder)
    _write(folder.root / FIGURES, findings.as_json())
    text = f"{table_of(findings)}\n".encode()
    write_whole(folder.root / TABLE, lambda file: file.write(text))
    if can_plot():
        write_plots(findings, folder.root)
    return findings


def _refuse_unfit_rows(comparison: Comparison) -> None:
    """Every trained row must be a valid configuration with a budget of tokens."""
    faults: list[Fault] = []
    for row in comparison.rows:
        if not isinstance(row, Trained | Imitating):
            continue
        try:
            config = load_config(comparison.base, {**comparison.settings, **row.settings})
        except ConfigurationError as error:
            faults += [replace(f, key=f"row {row.name}: {f.key}") for f in error.faults]
            continue
        if config.run.max_sampled_tokens is None and isinstance(row, Trained):
            key = f"row {row.name}: run.max_sampled_tokens"
            faults.append(Fault(key, "not set", "must be set: the budget of every cell"))
    if faults:
        raise ConfigurationError(faults)


def _refuse_other_comparison(folder: CellFolder) -> None:
    """Rows and seeds may be added; what has figures or a run already must be the same."""
    file = folder.root / COMPARISON
    if not file.exists():
        return
    before: dict[str, Any] = json.loads(file.read_text("utf-8"))
    now = json.loads(json.dumps(asdict(folder.comparison)))
    changed = [key for key in ("base", "settings") if before[key] != now[key]]
    rows = {row["name"]: row for row in now["rows"]}
    changed += [
        f"row {row['name']}"
        for row in before["rows"]
        if row != rows.get(row["name"], row) and folder.has_begun(row["name"])
    ]
    if changed:
        raise RunFolderRefusedError(
            f"{folder.root} holds a comparison that differs in {', '.join(changed)}: choose "
            "another folder with --run-dir, or bring back what it began with"
        )


def _write(path: Path, values: object) -> None:
    text = json.dumps(values, indent=1, allow_nan=False).encode() + b"\n"
    write_whole(path, lambda file: file.write(text))
