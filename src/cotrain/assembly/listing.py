"""The environments that are there: what each is, its roles, its data and its options."""

import dataclasses
from collections.abc import Mapping
from typing import Any, Literal, cast, get_args, get_origin, get_type_hints

from cotrain.config import show, told
from cotrain.environments.registry import (
    environment_names,
    load_environment_class,
    make_environment,
    refuse_wrong_phases,
)

NO_DATA = "none: tasks are generated"


@dataclasses.dataclass(frozen=True, slots=True)
class ListedRole:
    """A role with the agents that it has; `played` tells whether the default options play it."""

    name: str
    seats: int
    played: bool


@dataclasses.dataclass(frozen=True, slots=True)
class ListedOption:
    """A key of `environment.options`; one that is `required` has no default."""

    name: str
    allowed: str
    default: object
    required: bool


@dataclasses.dataclass(frozen=True, slots=True)
class Listed:
    """One environment. `problem` says why it cannot be used, and is empty where it can."""

    name: str
    description: str = ""
    roles: tuple[ListedRole, ...] = ()
    data: str = ""
    options: tuple[ListedOption, ...] = ()
    problem: str = ""

    def as_json(self) -> dict[str, Any]:
        """The environment as JSON values."""
        return dataclasses.asdict(self)

    def as_text(self) -> str:
        """The environment for a person."""
        if self.problem:
            return f"{self.name}\n  cannot be used: {self.problem}"
        played = ", ".join(_role(role) for role in self.roles if role.played)
        others = ", ".join(_role(role) for role in self.roles if not role.played)
        lines = [self.name, f"  {self.description}", f"  roles    {played}"]
        lines += [f"           in other variants: {others}"] if others else []
        lines += [f"  data     {self.data}"]
        heads = ["options", *[""] * len(self.options)]
        lines += [
            f"  {head:8} {option.name} = {_shown_default(option)}  ({option.allowed})"
            for head, option in zip(heads, self.options, strict=False)
        ]
        return "\n".join(lines)


def listed_environments() -> list[Listed]:
    """Every environment that needs no file: shipped ones, then those of installed packages.

    >>> [role.name for role in listed_environments()[0].roles][:3]
    ['proposer', 'tool', 'planner']
    """
    return [_listed(name) for name in environment_names()]


def _listed(name: str) -> Listed:
    try:
        return _described(name)
    except Exception as error:  # noqa: BLE001 - one broken package does not hide the others
        return Listed(name, problem=told(error))


def _described(name: str) -> Listed:
    environment = make_environment(name)
    refuse_wrong_phases(environment)
    environment_class = load_environment_class(name)
    played = {role.name for role in environment.roles}
    return Listed(
        name=name,
        description=(environment_class.__doc__ or "").strip().partition("\n")[0],
        roles=tuple(
            ListedRole(role.name, role.seats, role.name in played)
            for role in environment.all_roles()
        ),
        data=getattr(environment_class, "data_needs", NO_DATA),
        options=_options(environment_class.Options),
    )


def _options(options_class: type) -> tuple[ListedOption, ...]:
    hints = get_type_hints(options_class)
    fields = dataclasses.fields(cast("Any", options_class))
    return tuple(_option(field, hints[field.name]) for field in fields)


def _option(field: "dataclasses.Field[Any]", hint: object) -> ListedOption:
    default: object = None if field.default is dataclasses.MISSING else field.default
    if field.default_factory is not dataclasses.MISSING:
        default = field.default_factory()
    given = (field.default, field.default_factory)
    required = all(value is dataclasses.MISSING for value in given)
    return ListedOption(field.name, _allowed(hint), default, required)


def _shown_default(option: ListedOption) -> str:
    return "must be given" if option.required else show(option.default)


def _allowed(hint: Any) -> str:
    """A type in words.

    >>> _allowed(int | None), _allowed(Literal["text", "compact"])
    ('an integer or not set', '"text" or "compact"')
    """
    if get_origin(hint) is Literal:
        return " or ".join(show(value) for value in get_args(hint))
    members = get_args(hint)
    if type(None) in members:
        named = [_allowed(member) for member in members if member is not type(None)]
        return " or ".join([*named, "not set"])
    return _WORDS.get(hint, getattr(hint, "__name__", str(hint)))


def _role(role: ListedRole) -> str:
    return role.name if role.seats == 1 else f"{role.name} ({role.seats} seats)"


_WORDS: Mapping[Any, str] = {
    int: "an integer",
    float: "a number",
    str: "a text",
    bool: "true or false",
}
