"""What a comparison is: rows, each played with several seeds, and claims about pairs of rows."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

Settings: TypeAlias = Mapping[str, object]
"""Dotted keys of a configuration, and their values."""


@dataclass(frozen=True, slots=True)
class Trained:
    """A team that is trained: the base configuration with these settings."""

    name: str
    settings: Settings


@dataclass(frozen=True, slots=True)
class Imitating:
    """A team that imitates the solved training episodes of a trained row."""

    name: str
    teacher: str
    settings: Settings


@dataclass(frozen=True, slots=True)
class Place:
    """Where a row stands in the transfer matrix: the row of the table it is of, and its column."""

    row: str
    column: str


@dataclass(frozen=True, slots=True)
class Untrained:
    """A trained row before its first step, on its own tasks or under other settings."""

    name: str
    team: str
    settings: Settings = field(default_factory=dict[str, object])
    place: Place | None = None


@dataclass(frozen=True, slots=True)
class Played:
    """A trained row's team, evaluated in another lineup or under other settings.

    `policies` says for a role from which row its policy is; `swaps` are pairs of roles. Settings
    are those of an evaluation; without any the tasks are the same as in the other rows.
    """

    name: str
    team: str
    policies: Mapping[str, str] = field(default_factory=dict[str, str])
    swaps: tuple[tuple[str, str], ...] = ()
    settings: Settings = field(default_factory=dict[str, object])
    place: Place | None = None


Row: TypeAlias = Trained | Imitating | Untrained | Played


def needs(row: Row) -> tuple[str, ...]:
    """The rows that must be there first.

    >>> needs(Played("mixed", "a", {"planner": "b"}))
    ('a', 'b')
    """
    match row:
        case Trained():
            return ()
        case Imitating():
            return (row.teacher,)
        case Untrained():
            return (row.team,)
        case Played():
            return tuple(dict.fromkeys((row.team, *row.policies.values())))


def is_evaluated(row: Row) -> bool:
    """Whether a row takes an evaluation of its own, because no run folder has its figures.

    >>> is_evaluated(Untrained("team", "a")), is_evaluated(Played("b", "a", swaps=(("x", "y"),)))
    (False, True)
    """
    match row:
        case Played():
            return True
        case Untrained(settings=settings):
            return bool(settings)
        case _:
            return False


def place_of(row: Row) -> Place | None:
    """Where a row stands in the transfer matrix; None for a row of the table.

    >>> place_of(Played("b", "a", place=Place("a", "7x7")))
    Place(row='a', column='7x7')
    """
    return row.place if isinstance(row, Played | Untrained) else None


@dataclass(frozen=True, slots=True)
class Claim:
    """That one row solves more tasks than another."""

    says: str
    better: str
    than: str


@dataclass(frozen=True, slots=True)
class Cell:
    """One row with one seed."""

    row: Row
    seed: int


@dataclass(frozen=True, slots=True)
class Comparison:
    """What is compared. `base` is a preset or a file; `settings` are those of all trained cells."""

    name: str
    base: str
    num_seeds: int
    settings: Settings
    rows: tuple[Row, ...]
    claims: tuple[Claim, ...] = ()

    def cells(self) -> Iterator[Cell]:
        """Seed by seed, so that the first seed is whole early."""
        for seed in range(self.num_seeds):
            yield from (Cell(row, seed) for row in self.rows)

    def row(self, name: str) -> Row:
        """The row of this name; raises KeyError without one."""
        return {row.name: row for row in self.rows}[name]


def fixed_settings(name: str | None, seed: int | None) -> dict[str, object]:
    """What a comparison itself sets in each cell; None stands for what every cell has its own of.

    A row may set these keys to nothing else.
    """
    return {"run.seed": seed, "run.name": name, "evaluation.baselines": []}


def settings_of(comparison: Comparison, row: Row) -> dict[str, object]:
    """The settings over the base of a row that is trained or imitates, or of a team's start.

    What imitates samples nothing, so that method and budget of all rows are none of its settings. A
    played row's settings are those of its evaluation. A row's own come last, and so win.
    """
    match row:
        case Played():
            shared: Settings = {}
        case Untrained():
            shared = settings_of(comparison, comparison.row(row.team))
        case Trained():
            shared = comparison.settings
        case Imitating():
            others = ("run.max_sampled_tokens", "algorithm.method")
            shared = {k: v for k, v in comparison.settings.items() if k not in others}
    return {**{k: v for k, v in shared.items() if k not in row.settings}, **row.settings}
