"""The problems of the maths environment that are read: which source serves which split.

A source is one of the published sets (`polaris`, `aime_2024`, `aime_2025`, `olympiadbench`), read
from the Hub; one of these with another place (`polaris:/data/polaris`); or a file, folder or Hub
data set of records in the plain form (`maths_records.py`).

Gold answers that are no plain numbers are read by the grader's own process when they are loaded,
`MAX_CHECKED` of them at most. One that cannot be read is a fault with file and line; in a published
set, it is left out and counted.
"""

from collections import Counter
from collections.abc import Callable, Generator, Mapping
from contextlib import closing
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType

from cotrain.config.faults import MAX_SHOWN
from cotrain.environments.data.files import Row, find_files, read_rows
from cotrain.environments.data.maths_records import (
    Problem,
    UnusableError,
    aime_problem,
    olympiad_problem,
    plain_problem,
    training_problem,
)
from cotrain.environments.data.splits import Splits, split_problems
from cotrain.environments.graders.maths import MathsGrader, literal

MAX_CHECKED = 2_000
"""So many gold answers are read when they are loaded: a minute at most."""

UNREADABLE = "it must be an answer that can be compared: a number, an expression, a list, or words"


@dataclass(frozen=True, slots=True)
class Form:
    """A published form: where it is on the Hub, which files it has, how a row becomes a problem."""

    place: str
    patterns: tuple[str, ...]
    read: Callable[[Row], Problem]


FORMS: Mapping[str, Form] = MappingProxyType(
    {
        "polaris": Form(
            "POLARIS-Project/Polaris-Dataset-53K",
            ("*.parquet", "*.jsonl", "data/*.parquet"),
            training_problem,
        ),
        "aime_2024": Form("HuggingFaceH4/aime_2024", ("data/train-*.parquet",), aime_problem),
        "aime_2025": Form("math-ai/aime25", ("test.jsonl",), aime_problem),
        "olympiadbench": Form(
            "Hothan/OlympiadBench",
            ("**/OE_TO_maths_en_COMP*.parquet", "**/OE_TO_maths_en_COMP*.json"),
            olympiad_problem,
        ),
    }
)
"""The published sets by name."""

PLAIN = Form("", ("*.jsonl", "*.jsonl.gz", "*.json", "*.parquet", "data/*.parquet"), plain_problem)


@dataclass(frozen=True, slots=True)
class Read:
    """The problems of one source; `left_out` says how many cannot be used, by reason."""

    problems: tuple[Problem, ...]
    left_out: tuple[tuple[str, int], ...]


@lru_cache(maxsize=4)
def load_maths(data: str, test_data: str | None) -> Splits[Problem]:
    """Reads the problems. Raises ConfigurationError for what cannot be read, with file and line."""
    read = read_maths(data)
    if test_data is None:
        return split_problems(read.problems, None, read.left_out)
    tests = read_maths(test_data)
    return split_problems(read.problems, tests.problems, read.left_out + tests.left_out)


@lru_cache(maxsize=8)
def read_maths(source: str) -> Read:
    """The problems of one source, in its order, each with a gold answer that can be compared."""
    name, _, place = source.partition(":")
    form = FORMS.get(name, PLAIN)
    files = find_files(source if form is PLAIN else place or form.place, form.patterns)
    left_out: Counter[str] = Counter()
    found: list[tuple[Row, Problem]] = []
    for row in read_rows(files):
        try:
            found.append((row, form.read(row)))
        except UnusableError as error:
            left_out[f"{name}, {error}"] += 1
    kept = [problem for _, problem in found]
    with closing(_unreadable(found)) as unreadable:
        for row, problem in unreadable:
            if form is PLAIN:
                raise row.fault("answer", f'is "{_cut(problem.answer)}"', UNREADABLE)
            left_out[f"{name}, its answer cannot be read"] += 1
            kept.remove(problem)
    return Read(tuple(kept), tuple(left_out.items()))


def _unreadable(found: list[tuple[Row, Problem]]) -> Generator[tuple[Row, Problem]]:
    """Those whose answer cannot be read, each as soon as it is found: reading may be slow."""
    uncertain = [pair for pair in found if literal(pair[1].answer) is None]
    if not uncertain:
        return
    grader = MathsGrader(num_workers=1)
    try:
        for row, problem in uncertain[:MAX_CHECKED]:
            if not grader.readable(problem.answer):
                yield row, problem
    finally:
        grader.close()


def _cut(answer: str) -> str:
    """An answer as a fault shows it: LaTeX as it is written, on a part of a line."""
    return answer if len(answer) <= MAX_SHOWN else f"{answer[: MAX_SHOWN - 3]}..."
