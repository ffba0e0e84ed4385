"""The figures of a comparison as a picture: success of each row, and validation over tokens."""

from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from cotrain.compare.base import Trained, place_of
from cotrain.compare.figures import Findings, RowFigures

FORMATS = ("png", "svg")


def can_plot() -> bool:
    """Whether matplotlib is installed (`pip install 'cotrain[plot]'`)."""
    return find_spec("matplotlib") is not None


def write_plots(findings: Findings, folder: Path) -> list[Path]:
    """Writes `success.png` and `success.svg` and returns their paths."""
    from matplotlib.figure import Figure  # noqa: PLC0415, an extra that may be missing

    rows = [row for row in findings.rows if row.cells and place_of(row.row) is None]
    figure = Figure(figsize=(11, 0.42 * len(rows) + 2.2), layout="constrained")
    bars, curves = figure.subplots(1, 2)
    _draw_bars(bars, rows)
    _draw_curves(curves, rows)
    figure.suptitle(findings.comparison.name)
    paths = [folder / f"success.{ending}" for ending in FORMATS]
    for path in paths:
        figure.savefig(path, dpi=150)
    return paths


def _draw_bars(axes: Any, rows: Sequence[RowFigures]) -> None:
    """A bar a row, its interval, and a point a seed."""
    for place, row in enumerate(rows):
        found = row.success
        share, low, high = (found[name] for name in ("success", "success_low", "success_high"))
        axes.barh(place, share, color="#9bb8d3")
        axes.errorbar(
            share, place, xerr=[[share - low], [high - share]], color="#1f3b57", capsize=3
        )
        axes.plot([cell.success for cell in row.cells], [place] * len(row.cells), "k.", ms=4)
    axes.set_yticks(range(len(rows)), [row.row.name for row in rows])
    axes.invert_yaxis()
    axes.set_xlim(0, 1)
    axes.set_xlabel("success on the test split, 95 % interval; a point a seed")


def _draw_curves(axes: Any, rows: Sequence[RowFigures]) -> None:
    """The mean over seeds of the success on the validation split."""
    for row in (row for row in rows if isinstance(row.row, Trained)):
        curves = [cell.curve for cell in row.cells if cell.curve]
        length = min(map(len, curves), default=0)
        points = [[curve[place] for curve in curves] for place in range(length)]
        tokens = [sum(point[0] for point in at) / len(at) for at in points]
        success = [sum(point[1] for point in at) / len(at) for at in points]
        if curves:
            axes.plot(tokens, success, marker=".", label=row.row.name)
    axes.set_ylim(0, 1)
    axes.set_xlabel("sampled training tokens")
    axes.set_ylabel("success on the validation split, mean over seeds")
    if axes.get_legend_handles_labels()[0]:
        axes.legend(fontsize="small")
