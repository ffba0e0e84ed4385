"""The record of a maths problem, and how published sets become such records.

The plain form is one JSON object a line (or a row of Parquet):

    {"id": "1", "problem": "What is 2 + 3?", "answer": "5", "source": "mine", "split": "train"}

`answer` is LaTeX or plain text, or a number; `id`, `source` and `split` may be left out.
"""

import hashlib
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from cotrain.config.faults import show
from cotrain.core.episode import Request
from cotrain.environments.base import SPLITS
from cotrain.environments.data.files import Row
from cotrain.environments.requests import maths_request, verify_request

ANSWER = "it must be a text or a number that is not blank"


class UnusableError(ValueError):
    """Why a published row is no problem that can be asked here."""


@dataclass(frozen=True, slots=True)
class Generated:
    """The place of a problem that a reasoning-gym data set makes; `options` are JSON."""

    dataset: str
    options: str
    seed: int
    digest: str


@dataclass(frozen=True, slots=True)
class Problem:
    """One problem with its gold answer. A `generated` one is judged by its own data set.

    Then `answer` is one that is known to be right, empty where none is.
    """

    id: str
    text: str
    answer: str
    source: str = ""
    split: str = ""
    generated: Generated | None = field(default=None, repr=False)

    @property
    def digest(self) -> str:
        """The hash of the whole record."""
        return hashlib.blake2b(repr(self).encode("utf-8", "backslashreplace")).hexdigest()[:32]

    @property
    def text_digest(self) -> str:
        """The hash of the text without blanks and case, so that a copy laid out otherwise has it.

        >>> Problem("a", "What is 2+3?", "5").text_digest == Problem("b", "what is 2 + 3?", "5")\\
        ...     .text_digest
        True
        """
        return digest_of("".join(self.text.casefold().split()))

    def question(self, reply: str) -> Request:
        """What tells whether this reply is right."""
        made = self.generated
        if made is None:
            return maths_request(self.answer, reply)
        return verify_request(made.dataset, made.options, made.seed, made.digest, reply)


def digest_of(text: str) -> str:
    """The hash of a text.

    >>> digest_of("a") == digest_of("a"), len(digest_of("a"))
    (True, 32)
    """
    return hashlib.blake2b(text.encode("utf-8", "backslashreplace"), digest_size=16).hexdigest()


def plain_problem(row: Row) -> Problem:
    """The problem of a row in the plain form, or of a published set whose fields are these.

    Raises ConfigurationError with file, line and field.
    """
    name = "problem" if "problem" in row.values or "question" not in row.values else "question"
    split = row.optional_text("split")
    if split and split not in SPLITS:
        raise row.fault("split", f'is "{split}"', f"it must be {', '.join(SPLITS)}")
    return Problem(
        id=row.identity("id"),
        text=row.text(name),
        answer=_answer(row, "answer", row.values.get("answer")),
        source=row.optional_text("source") or row.file.name,
        split=split,
    )


def olympiad_problem(row: Row) -> Problem:
    """A problem of OlympiadBench: its answers as one list, with the unit if it has one.

    Raises UnusableError for one with a picture, and for one that is no English maths.
    """
    _refuse_other(row, "modality", "Text-only", "it has a picture")
    _refuse_other(row, "subject", "Math", "it is no maths")
    _refuse_other(row, "language", "English", "it is not in English")
    answers = row.values.get("final_answer")
    if answers is None:
        raise UnusableError("it has no final answer")
    texts = cast("list[object]", list(answers) if isinstance(answers, list | tuple) else [answers])
    listed = [_answer(row, "final_answer", text).strip(" $") for text in texts]
    unit = row.optional_text("unit").strip(" $")
    answer = ", ".join(listed) + (rf"\text{{ {unit}}}" if unit and len(listed) == 1 else "")
    context = row.optional_text("context").strip()
    text = f"{context}\n\n{row.text('question')}" if context else row.text("question")
    return Problem(row.identity("id"), text, answer, "olympiadbench", "test")


def aime_problem(row: Row) -> Problem:
    """A problem of the AIME, which is a test problem wherever it stands."""
    plain = plain_problem(row)
    return Problem(plain.id, plain.text, plain.answer, plain.source, "test")


def training_problem(row: Row) -> Problem:
    """A problem of a set that is for training."""
    plain = plain_problem(row)
    return Problem(plain.id, plain.text, plain.answer, plain.source, "train")


def _refuse_other(row: Row, name: str, allowed: str, reason: str) -> None:
    values: Mapping[str, Any] = row.values
    if values.get(name) not in (None, allowed):
        raise UnusableError(reason)


def _answer(row: Row, name: str, value: object) -> str:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        found = "is missing" if value is None else f"is {show(value)}"
        raise row.fault(name, found, ANSWER)
    if isinstance(value, float) and not math.isfinite(value):
        raise row.fault(name, f"is {value}", ANSWER)
    text = str(value).strip()
    if not text:
        raise row.fault(name, "is blank", ANSWER)
    return text
