"""`cotrain compare`, without its command line: begins or goes on with a comparison's folder."""

import json
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from cotrain.compare.base import Comparison
from cotrain.compare.cells import CellFolder
from cotrain.compare.checking import refuse_unfit_rows
from cotrain.compare.figures import Findings, findings_of
from cotrain.compare.loading import load_comparison, reduced
from cotrain.compare.methods import METHODS, comparison_of_methods
from cotrain.compare.plot import can_plot, write_plots
from cotrain.compare.running import Ended, run_cells
from cotrain.compare.table import table_of
from cotrain.config import DEFAULT_PRESET, load_config, show
from cotrain.runs.durable import RunFolderRefusedError, chosen, write_whole
from cotrain.runs.lock import FolderLock
from cotrain.runs.rows import read_document

COMPARISON, FIGURES, TABLE = "comparison.json", "compare.json", "table.txt"


def comparison_of(source: str | None, methods: Sequence[str], num_seeds: int | None) -> Comparison:
    """What `cotrain compare SOURCE --methods M,M --seeds N` compares, checked.

    SOURCE is a comparison, or a configuration or preset whose methods are compared with 3 seeds.
    Raises ConfigurationError with the faults of every row.
    """
    found = None if source is None else load_comparison(source)
    if found is None:
        config = load_config(source)
        base = source or DEFAULT_PRESET
        found = comparison_of_methods(base, config, methods or METHODS, num_seeds or 3)
    elif methods:
        found = reduced(found, methods)
    found = found if num_seeds is None else replace(found, num_seeds=num_seeds)
    refuse_unfit_rows(found)
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
    with chosen(path):
        path.mkdir(parents=True, exist_ok=True)
    folder = CellFolder(path, comparison)
    with ExitStack() as stack:
        stack.callback(FolderLock(path).release)
        _write(path / COMPARISON, _to_remember(folder))
        findings_of(folder)  # what cannot be read is said before hours are spent
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


def _to_remember(folder: CellFolder) -> dict[str, Any]:
    """What `comparison.json` holds: the comparison, the base as it is read, and rows begun before.

    Rows and seeds may be added or left out; what has figures or a run already must be the same.
    Raises RunFolderRefusedError where it is not.
    """
    base = load_config(folder.comparison.base).model_dump(mode="json")
    now: dict[str, Any] = json.loads(json.dumps({**asdict(folder.comparison), "content": base}))
    file = folder.root / COMPARISON
    if not file.exists():
        return now
    before = read_document(file)
    rows = {row["name"]: row for row in now["rows"]}
    begun = [row for row in before.get("rows", ()) if folder.has_begun(row["name"])]
    changed = [key for key in ("base",) if before.get(key) != now[key]]
    changed += _changed_settings(before.get("settings", {}), now["settings"])
    if before.get("content") != base and "base" not in changed:
        changed.append(f"what {now['base']} says")
    changed += [f"row {row['name']}" for row in begun if row != rows.get(row["name"], row)]
    if changed and begun:
        raise RunFolderRefusedError(
            f"{folder.root} holds a comparison that differs in {', '.join(changed)}: choose "
            "another folder with --run-dir, or bring back what it began with"
        )
    return {**now, "rows": [*now["rows"], *(row for row in begun if row["name"] not in rows)]}


def _changed_settings(before: dict[str, Any], now: dict[str, Any]) -> list[str]:
    return [
        f"settings.{key} ({show(before.get(key))} before, {show(now.get(key))} now)"
        for key in dict.fromkeys((*before, *now))
        if before.get(key) != now.get(key)
    ]


def _write(path: Path, values: object) -> None:
    text = json.dumps(values, indent=1, allow_nan=False).encode() + b"\n"
    write_whole(path, lambda file: file.write(text))
