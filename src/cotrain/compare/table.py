"""The figures of a comparison as aligned text: rows, transfer matrix, claims."""

from collections.abc import Iterator, Sequence

from cotrain.compare.base import Imitating, Place, Trained, place_of
from cotrain.compare.figures import ClaimFigures, Findings, RowFigures

HEADINGS = (
    "row",
    "seeds",
    "success",
    "95 % interval",
    "each seed",
    "turns",
    "tokens a task",
    "sampled",
    "trained",
    "steps",
    "optimiser steps",
    "seconds",
)
CLAIM_HEADINGS = ("claim", "difference", "95 % interval", "over tasks", "each seed", "verdict")


def table_of(findings: Findings) -> str:
    """All tables: rows, transfer matrix, claims, and what is to be said of rows."""
    rows = [_cells_of(row) for row in findings.rows if place_of(row.row) is None]
    tables = [[HEADINGS, *rows], _transfer(findings)]
    if findings.claims:
        tables.append([CLAIM_HEADINGS, *map(_claim_cells, findings.claims)])
    parts = [_aligned(table) for table in tables if table]
    return "\n\n".join([*parts, *_remarks(findings)])


def _cells_of(figures: RowFigures) -> tuple[str, ...]:
    found = figures.success
    if not figures.cells:
        return (figures.row.name, "0", *["-"] * (len(HEADINGS) - 2))
    shown = (
        figures.row.name,
        str(len(figures.cells)),
        _share(found["success"]),
        f"{_share(found['success_low'])} to {_share(found['success_high'])}",
        " ".join(_share(cell.success) for cell in figures.cells),
        str(figures.cells[0].turns),
        _whole(figures.mean_of("tokens_mean")),
    )
    if not isinstance(figures.row, Trained | Imitating):
        return (*shown, *["-"] * (len(HEADINGS) - len(shown)))
    imitates = isinstance(figures.row, Imitating)  # its tokens are another row's
    sampled = "-" if imitates else _whole(figures.mean_of("tokens_sampled"))
    names = ("tokens_trained", "steps", "optimizer_steps", "train_seconds")
    return (*shown, sampled, *(_whole(figures.mean_of(name)) for name in names))


def _claim_cells(figures: ClaimFigures) -> tuple[str, ...]:
    found = figures.difference
    if found is None:
        return (figures.claim.says, "-", "-", "-", "-", f"no figures: {figures.why_not}")
    over_tasks = found.verdict_over_tasks
    return (
        figures.claim.says,
        f"{found.mean:+.3f}",
        f"{found.low:+.3f} to {found.high:+.3f}",
        f"{found.task_low:+.3f} to {found.task_high:+.3f}",
        " ".join(f"{mean:+.3f}" for mean in found.by_seed),
        found.verdict + (f" (over tasks: {over_tasks})" if over_tasks != found.verdict else ""),
    )


def _remarks(findings: Findings) -> Iterator[str]:
    for row in findings.rows:
        if row.below_budget:
            yield (
                f"{row.row.name}: {row.below_budget} of {len(row.cells)} cells ended before their "
                "budget of tokens was spent (run.steps)"
            )
        alarms = sum(cell.alarms for cell in row.cells)
        if alarms:
            yield f"{row.row.name}: {alarms} events reward_hacking; see events.jsonl of its runs"


def _share(value: float) -> str:
    """A share without its leading zero.

    >>> _share(0.5), _share(1.0)
    ('.500', '1.000')
    """
    return f"{value:.3f}".removeprefix("0")


def _whole(value: float | None) -> str:
    return "-" if value is None else f"{value:,.0f}"


def _aligned(lines: Sequence[tuple[str, ...]]) -> str:
    widths = [max(len(line[place]) for line in lines) for place in range(len(lines[0]))]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if place == 0 else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    )


def _transfer(findings: Findings) -> list[tuple[str, ...]]:
    """Teams by places; empty where no row is played elsewhere."""
    played = {place: row for row in findings.rows if (place := place_of(row.row)) is not None}
    columns = list(dict.fromkeys(place.column for place in played))
    lines = [("success on", *columns)]
    for row in dict.fromkeys(place.row for place in played):
        shown = (_with_interval(played.get(Place(row, column))) for column in columns)
        lines.append((row, *shown))
    return lines if played else []


def _with_interval(figures: RowFigures | None) -> str:
    if figures is None or not figures.cells:
        return "-"
    found = figures.success
    low, high = _share(found["success_low"]), _share(found["success_high"])
    return f"{_share(found['success'])} ({low} to {high})"
