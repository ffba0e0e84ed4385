"""From problems as they are published to train, validation and test without a common problem."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from cotrain.config.faults import ConfigurationError, Fault, show
from cotrain.environments.base import SPLITS, split_of


class Splittable(Protocol):
    """What a problem says of itself: the split it was published in, if any, and its text's hash."""

    @property
    def split(self) -> str: ...  # noqa: D102 - named above

    @property
    def text_digest(self) -> str: ...  # noqa: D102 - named above


Problem = TypeVar("Problem", bound=Splittable)


@dataclass(frozen=True, slots=True)
class Splits(Generic[Problem]):
    """The problems of each split, in the order of the source.

    `num_dropped` were left out of validation and test, since training has them too (of test, also
    those that validation has). `left_out` says how many published problems cannot be used, by
    reason.
    """

    train: tuple[Problem, ...]
    validation: tuple[Problem, ...]
    test: tuple[Problem, ...]
    num_dropped: int = 0
    left_out: tuple[tuple[str, int], ...] = ()

    def of(self, split: str) -> tuple[Problem, ...]:
        """The problems of a split."""
        return {"train": self.train, "validation": self.validation, "test": self.test}[split]

    def __str__(self) -> str:
        words = f"{len(self.train)} train, {len(self.validation)} validation, {len(self.test)} test"
        words += f"; {self.num_dropped} left out that training has too"
        return words + "".join(f"; {count} left out: {reason}" for reason, count in self.left_out)


def split_problems(
    problems: Sequence[Problem],
    tests: Sequence[Problem] | None = None,
    left_out: Sequence[tuple[str, int]] = (),
) -> Splits[Problem]:
    """Splits problems as they were published, else by the hash of their text.

    `tests`, where they come from another source, are all the test problems there are; `problems`
    then serve training and validation. A source without training problems of its own gives eight
    parts of ten to training and one each to the others.
    """
    published = {problem.split for problem in problems}
    hashed = _in_three if tests is None else _in_two
    by_split: dict[str, list[Problem]] = {split: [] for split in SPLITS}
    for problem in problems:
        split = _as_published(problem, published) if "train" in published else hashed(problem)
        by_split[split].append(problem)
    if tests is not None:
        by_split["test"] = [one for one in tests if one.split == "test"] or list(tests)
    train = by_split["train"]
    validation = _unseen(by_split["validation"], train)
    test = _unseen(by_split["test"], [*train, *validation])
    kept, found = len(validation) + len(test), len(by_split["validation"]) + len(by_split["test"])
    reasons = tuple(sorted(left_out))
    return Splits(tuple(train), tuple(validation), tuple(test), found - kept, reasons)


def problems_of(
    splits: Splits[Problem], split: str, data: str, test_data: str | None
) -> tuple[Problem, ...]:
    """The problems of a split, one at least; `data` and `test_data` are the options they are from.

    Raises ConfigurationError, with the option that should have given some.
    """
    if problems := splits.of(split):
        return problems
    key, value = ("data", data)
    if split == "test" and test_data is not None:
        key, value = ("test_data", test_data)
    allowed = f"has no {split} problems ({splits})"
    raise ConfigurationError([Fault(f"environment.options.{key}", show(value), allowed)])


def _as_published(problem: Splittable, published: set[str]) -> str:
    """The split it was published in; training gives a tenth to a validation that is not there."""
    if problem.split == "test" or (problem.split and "validation" in published):
        return problem.split
    return _in_two(problem)


def _in_three(problem: Splittable) -> str:
    return split_of(problem.text_digest)


def _in_two(problem: Splittable) -> str:
    """Training or validation, by the hash of the text."""
    return "validation" if _in_three(problem) == "validation" else "train"


def _unseen(problems: list[Problem], seen: list[Problem]) -> list[Problem]:
    texts = {problem.text_digest for problem in seen}
    return [problem for problem in problems if problem.text_digest not in texts]
