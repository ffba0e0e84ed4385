"""`cotrain compare`: methods, regimes and lineups on the same tasks and budget, with intervals."""

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cotrain.cli.failures import FAILED, explained, stop
from cotrain.cli.interrupts import StopRequest
from cotrain.cli.options import AsJson, print_json
from cotrain.compare.running import Ended

if TYPE_CHECKING:
    from cotrain.compare.cells import CellFolder

HOW_TO_GO_ON = "The same command goes on with it."


def compare(
    config: Annotated[
        str | None,
        typer.Argument(metavar="CONFIG", help="A comparison; or a configuration or preset."),
    ] = None,
    methods: Annotated[
        str | None,
        typer.Option(metavar="M,M,...", help="Of a configuration; or rows of a comparison."),
    ] = None,
    seeds: Annotated[
        int | None,
        typer.Option(min=1, help="Seeds 0 to N - 1 of every row. Default: the file's, else 3."),
    ] = None,
    run_dir: Annotated[
        Path | None,
        typer.Option("--run-dir", help="The folder; done cells are kept. Default: runs/NAME."),
    ] = None,
    jobs: Annotated[int, typer.Option(min=1, help="Cells that run at once.")] = 1,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Prints the commands of all cells and stops.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Compares methods on the same tasks and budget; goes on where it was stopped."""
    from cotrain.compare import command
    from cotrain.compare.cells import CellFolder
    from cotrain.compare.table import table_of

    with explained(str(run_dir or "")):
        chosen = [] if methods is None else [name.strip() for name in methods.split(",")]
        comparison = command.comparison_of(config, chosen, seeds)
        path = run_dir or Path("runs") / comparison.name
        if dry_run:
            _print_commands(CellFolder(path, comparison), as_json)
            return
        request = StopRequest()
        request.install()
        try:
            findings, failed = command.run_comparison(comparison, path, jobs, request, _show)
        except KeyboardInterrupt:
            stop(f"Stopped at once. {HOW_TO_GO_ON}", FAILED)
            return
        print_json(findings.as_json()) if as_json else print(table_of(findings))
        if not as_json:
            print(f"\nThe comparison is in {path}.")
        if failed:
            names = ", ".join(f"{one.cell.row.name}, seed {one.cell.seed}" for one in failed)
            stop(f"The run failed: {names}. The logs are in {path}/cells.", FAILED)
        if request():
            print(f"Stopped. {HOW_TO_GO_ON}", file=sys.stderr)


def _print_commands(folder: "CellFolder", as_json: bool) -> None:
    cells = folder.comparison.cells()
    commands = [["cotrain", *words] for cell in cells if (words := folder.command(cell))]
    if as_json:
        print_json({"commands": commands})
    else:
        print("\n".join(map(shlex.join, commands)))


def _show(ended: Ended) -> None:
    how = "done" if ended.done else "stopped" if ended.stopped else f"failed ({ended.code})"
    name = f"{ended.cell.row.name}, seed {ended.cell.seed}"
    print(f"{name}: {how} after {ended.seconds:.0f} s", file=sys.stderr, flush=True)
