"""From a TOML file, a shipped comparison or a list of methods to a `Comparison`.

base = "plan_path_tiny"                       a preset or a file
seeds = 3
settings = { "run.max_sampled_tokens" = 300_000 }     of every trained cell

[rows.at_grpo]                                trained
train = { "algorithm.method" = "at_grpo" }
[rows.copied]                                 imitates the solved episodes of a trained row
imitate = "at_grpo"
[rows.team]                                   a trained row before its first step
untrained = "at_grpo"
[rows.mixed]                                  a trained row in another lineup, on other settings
play = "at_grpo"
policies = { planner = "other_row" }
swap = ["planner=proposer"]
settings = { "environment.options.size" = 8 }

[transfer]                                    a matrix: rows x settings
rows = ["at_grpo"]
to.larger = { "environment.options.size" = 8 }

[[claims]]
says = "training beats imitation"
better = "at_grpo"
than = "copied"
"""

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from importlib import resources
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any, TypeAlias, cast

from pydantic import Field, JsonValue, ValidationError
from pydantic_core import ErrorDetails

from cotrain.compare.base import (
    Claim,
    Comparison,
    Imitating,
    Place,
    Played,
    Row,
    Trained,
    Untrained,
    needs,
)
from cotrain.config import ConfigurationError, Fault, nearest, show
from cotrain.config.loading import read_toml
from cotrain.config.values import AtLeastOne, Name, Section, Text

KINDS = ("train", "imitate", "untrained", "play")
SWAP = re.compile("([^=]+)=([^=]+)")
NO_NAME = re.compile(r"^[^A-Za-z0-9_]|[^A-Za-z0-9_-]")
RowName: TypeAlias = Annotated[Name, Field(max_length=100)]
"""Rows name folders."""


class RowTable(Section):
    """`[rows.NAME]`."""

    train: Mapping[str, JsonValue] | None = None
    imitate: Text | None = None
    untrained: Text | None = None
    play: Text | None = None
    policies: Mapping[str, Text] = {}
    swap: tuple[Text, ...] = Field(default=(), strict=False)
    settings: Mapping[str, JsonValue] = {}


class TransferTable(Section):
    """`[transfer]`."""

    rows: list[Text]
    to: Mapping[RowName, Mapping[str, JsonValue]]


class ClaimTable(Section):
    """`[[claims]]`."""

    says: Text
    better: Text
    than: Text


class ComparisonTable(Section):
    """The whole file."""

    base: Text
    seeds: AtLeastOne = 3
    settings: Mapping[str, JsonValue] = {}
    rows: Mapping[RowName, RowTable] = Field(min_length=1)
    transfer: TransferTable | None = None
    claims: tuple[ClaimTable, ...] = Field(default=(), strict=False)


TABLES: Mapping[str, type[Section]] = MappingProxyType(
    {"rows": RowTable, "transfer": TransferTable, "claims": ClaimTable}
)
"""The tables inside the file, by the key that they stand under."""


def load_comparison(source: str | Path) -> Comparison | None:
    """The comparison of a file or of a shipped name; None for what is none, such as a preset.

    A TOML file with `rows` or `base` is a comparison; it is called after the file. Raises
    ConfigurationError with every fault.

    >>> comparison = load_comparison("plan_path_methods")
    >>> comparison.base, comparison.num_seeds
    ('plan_path_tiny', 3)
    >>> load_comparison("plan_path_tiny") is None
    True
    """
    values = _values(source)
    if values is None or not {"rows", "base"} & values.keys():
        return None
    return _comparison(NO_NAME.sub("_", Path(source).stem), values)


def shipped_comparisons() -> dict[str, str]:
    """Their names, and what the first line of each says.

    >>> "plan_path_methods" in shipped_comparisons()
    True
    """
    folder = resources.files("cotrain.compare") / "presets"
    texts = {Path(entry.name).stem: entry.read_text("utf-8") for entry in folder.iterdir()}
    return {name: texts[name].partition("\n")[0].strip("# ") for name in sorted(texts)}


def _values(source: str | Path) -> Mapping[str, Any] | None:
    folder = resources.files("cotrain.compare") / "presets"
    if str(source) in shipped_comparisons():
        return tomllib.loads((folder / f"{source}.toml").read_text("utf-8"))
    try:
        return read_toml(source)
    except (FileNotFoundError, NotADirectoryError):
        return None


def _comparison(name: str, values: Mapping[str, Any]) -> Comparison:
    try:
        table = ComparisonTable.model_validate(dict(values))
    except ValidationError as error:
        raise ConfigurationError([_fault(detail) for detail in error.errors()]) from None
    faults = list(_row_faults(table))
    if faults:
        raise ConfigurationError(faults)
    rows = [_row(name, row) for name, row in table.rows.items()]
    rows += _transfer_rows(table.transfer, {row.name: row for row in rows})
    claims = tuple(Claim(claim.says, claim.better, claim.than) for claim in table.claims)
    comparison = Comparison(name, table.base, table.seeds, table.settings, tuple(rows), claims)
    refuse_unknown_rows(comparison)
    return comparison


def _fault(detail: ErrorDetails) -> Fault:
    """One fault of the file's form, with the keys that are known where it has another."""
    where = [str(part) for part in detail["loc"]]
    if where[-1] == "[key]":
        allowed = (
            "the name must consist of letters, digits, _ and -, not start with -, and have at most "
            "100 characters"
        )
        return Fault(".".join(where[:-1]), "", allowed)
    if detail["type"] != "extra_forbidden":
        return Fault(".".join(where), show(detail["input"]), detail["msg"].lower())
    table = TABLES.get(where[0], ComparisonTable) if len(where) > 1 else ComparisonTable
    known = list(table.model_fields)
    allowed = f"unknown key, allowed are {', '.join(known)}"
    return Fault(".".join(where), show(detail["input"]), allowed, nearest(where[-1], known))


def _row_faults(table: ComparisonTable) -> Iterator[Fault]:
    for name, row in table.rows.items():
        kinds = [kind for kind in KINDS if getattr(row, kind) is not None]
        if len(kinds) != 1:
            yield Fault(f"rows.{name}", ", ".join(kinds), f"must have one of {', '.join(KINDS)}")
        elif kinds == ["play"] and not (row.policies or row.swap or row.settings):
            yield Fault(f"rows.{name}.play", show(row.play), "needs policies, swap or settings")
        elif kinds == ["train"] and row.settings:
            yield Fault(f"rows.{name}.settings", show(row.settings), "belong into train")
        elif kinds != ["play"] and (row.policies or row.swap):
            yield Fault(f"rows.{name}", kinds[0], "only a played row takes policies and swap")
        for text in row.swap:
            if SWAP.fullmatch(text) is None:
                yield Fault(f"rows.{name}.swap", show(text), "must be ROLE=ROLE")


def _row(name: str, row: RowTable) -> Row:
    if row.train is not None:
        return Trained(name, row.train)
    if row.imitate is not None:
        return Imitating(name, row.imitate, row.settings)
    if row.untrained is not None:
        return Untrained(name, row.untrained, row.settings)
    swaps = tuple(cast("tuple[str, str]", tuple(text.split("="))) for text in row.swap)
    return Played(name, str(row.play), row.policies, swaps, row.settings)


def _transfer_rows(transfer: TransferTable | None, rows: Mapping[str, Row]) -> Iterator[Row]:
    """A row a team and place, named `ROW-on-PLACE`."""
    if transfer is None:
        return
    for team in transfer.rows:
        start = rows.get(team)
        for column, settings in transfer.to.items():
            name, place = f"{team}-on-{column}", Place(team, column)
            if isinstance(start, Untrained):
                yield Untrained(name, start.team, {**start.settings, **settings}, place)
            else:
                yield Played(name, team, settings=settings, place=place)


def refuse_unknown_rows(comparison: Comparison) -> None:
    """Raises ConfigurationError for a row or a claim that names what is not there.

    What a row needs must be trained, or imitate, and stand before it.
    """
    faults: list[Fault] = []
    before: list[str] = []
    for row in comparison.rows:
        if row.name in before:
            faults.append(Fault(f"rows.{row.name}", "", "there are two rows of this name"))
        for name in needs(row):
            if name not in before:
                allowed = f"must name a trained row before it: {', '.join(before) or 'none'}"
                faults.append(Fault(f"rows.{row.name}", show(name), allowed, nearest(name, before)))
        if isinstance(row, Trained | Imitating):
            before.append(row.name)
    faults += _claim_faults(comparison)
    if faults:
        raise ConfigurationError(faults)


def _claim_faults(comparison: Comparison) -> Iterator[Fault]:
    names = [row.name for row in comparison.rows]
    for claim in comparison.claims:
        for name in (claim.better, claim.than):
            if name not in names:
                yield _no_row("claims", name, names)
        if claim.better == claim.than:
            allowed = "must name two rows: none solves more than itself"
            yield Fault("claims", show(claim.better), allowed)


def _no_row(key: str, name: str, known: Sequence[str]) -> Fault:
    return Fault(key, show(name), f"no such row; rows: {', '.join(known)}", nearest(name, known))


def reduced(comparison: Comparison, names: Sequence[str]) -> Comparison:
    """The comparison with these rows, what they need, and the claims about them alone.

    Raises ConfigurationError for a name that is not there.
    """
    known = [row.name for row in comparison.rows]
    faults = [_no_row("--methods", name, known) for name in names if name not in known]
    if faults:
        raise ConfigurationError(faults)
    kept = set(names)
    for row in reversed(comparison.rows):
        kept |= set(needs(row)) if row.name in kept else set()
    rows = tuple(row for row in comparison.rows if row.name in kept)
    claims = tuple(c for c in comparison.claims if {c.better, c.than} <= kept)
    return Comparison(
        comparison.name, comparison.base, comparison.num_seeds, comparison.settings, rows, claims
    )
