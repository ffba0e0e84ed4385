"""The kinds of value that a setting has, and what is true of every table of settings."""

from collections.abc import Mapping
from typing import Annotated, TypeAlias, cast

from pydantic import BaseModel, ConfigDict, Field

AtLeastOne: TypeAlias = Annotated[int, Field(ge=1)]
NotNegative: TypeAlias = Annotated[int, Field(ge=0)]
Fraction: TypeAlias = Annotated[float, Field(ge=0, le=1)]
Temperature: TypeAlias = Annotated[float, Field(gt=0)]
Seconds: TypeAlias = Annotated[float, Field(gt=0)]
Seed: TypeAlias = Annotated[int, Field(ge=0, lt=2**63)]
Text: TypeAlias = Annotated[str, Field(min_length=1)]
# Names become folder names, and keys are split at dots.
Name: TypeAlias = Annotated[str, Field(pattern=r"^[A-Za-z0-9_][A-Za-z0-9_-]*$")]


class Section(BaseModel):
    """A table of the configuration: frozen, no unknown key, no value converted, none NaN.

    >>> class Walk(Section):
    ...     steps: AtLeastOne
    >>> Walk(steps=3).steps
    3
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)


def table_of(value: object) -> Mapping[str, object]:
    """The value where it is a table, else an empty one.

    >>> table_of({"steps": 3}), table_of(3)
    ({'steps': 3}, {})
    """
    return cast("Mapping[str, object]", value) if isinstance(value, Mapping) else {}
