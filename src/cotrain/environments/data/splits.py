"""From problems as they are published to train, validation and test without a common problem."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

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
    those that validation has).
    """

    train: tuple[Problem, ...]
    validation: tuple[Problem, ...]
    test: tuple[Problem, ...]
    num_dropped: int = 0

    def of(self, split: str) -> tuple[Problem, ...]:
        """The problems of a split."""
        return {"train": self.train, "validation": self.validation, "test": self.test}[split]

    def __str__(self) -> str:
        words = f"{len(self.train)} train, {len(self.validation)} validation, {len(self.test)} test"
        return f"{words}; {self.num_dropped} left out that training has too"


def split_problems(
    problems: Sequence[Problem], tests: Sequence[Problem] | None = None
) -> Splits[Problem]:
    """Splits problems as they were published, else by the hash of their text.

    `tests`, where they come from another source, are all the test problems there are; `problems`
    then serve training and validation. A source without training problems of its own gives eight
    parts of ten to training and one each to the others.
    """
    published = {problem.split for problem in problems}
    by_split: dict[str, list[Problem]] = {split: [] for split in SPLITS}
    for problem in problems:
        by_split[_split_of(problem, published, tests is not None)].append(problem)
    if tests is not None:
        by_split["test"] = [one for one in tests if one.split == "test"] or list(tests)
    train = by_split["train"]
    validation = _unseen(by_split["validation"], train)
    test = _unseen(by_split["test"], [*train, *validation])
    kept, found = len(validation) + len(test), len(by_split["validation"]) + len(by_split["test"])
    return Splits(tuple(train), tuple(validation), tuple(test), found - kept)


def _split_of(problem: Splittable, published: set[str], has_tests: bool) -> str:
    hashed = split_of(problem.text_digest)
    if "train" not in published:
        return "train" if has_tests and hashed == "test" else hashed
    if problem.split in ("validation", "test"):
        return problem.split
    if problem.split and "validation" in published:
        return problem.split
    return "validation" if hashed == "validation" else "train"


def _unseen(problems: list[Problem], seen: list[Problem]) -> list[Problem]:
    texts = {problem.text_digest for problem in seen}
    return [problem for problem in problems if problem.text_digest not in texts]
