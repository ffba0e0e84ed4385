"""What graders of cases share: the fields of a case, and why one cannot be graded."""

import json
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

Case: TypeAlias = Mapping[str, Any]
Grader: TypeAlias = Callable[[Case], object]


class CaseError(ValueError):
    """Why a case cannot be graded: the field, what it holds and what is allowed."""


def field_of(case: Case, name: str, kind: type[Any], allowed: str) -> Any:
    """A field of a case. Raises CaseError unless it is there and of this type.

    >>> field_of({"reply": "Up"}, "reply", str, "it must be a text")
    'Up'
    """
    if name not in case:
        raise CaseError(f"{name} is missing: {allowed}")
    if not isinstance(case[name], kind):
        raise CaseError(f"{name} is {shown(case[name])}: {allowed}")
    return case[name]


def shown(value: object) -> str:
    """A value as JSON, cut at 60 characters."""
    text = json.dumps(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
