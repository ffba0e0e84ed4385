"""Where problems of maths come from: records, published forms, reasoning-gym."""

import json
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet
import pytest

from cotrain.config.faults import ConfigurationError
from cotrain.environments.base import SPLITS
from cotrain.environments.data.maths import load_maths, read_maths
from cotrain.environments.maths import Maths
from cotrain.environments.maths_options import MathsOptions

EXAMPLES = str(Path(__file__).parents[2] / "examples" / "maths" / "problems.jsonl")


def written(path: Path, *rows: dict[str, Any]) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".parquet":
        pyarrow.parquet.write_table(pyarrow.Table.from_pylist(list(rows)), path)
    else:
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return str(path)


def sums(first: int, last: int, **more: Any) -> list[dict[str, Any]]:
    return [{"problem": f"{n} + {n}?", "answer": 2 * n, **more} for n in range(first, last)]


def test_a_file_without_splits_is_split_by_the_hash_of_its_text(tmp_path: Path) -> None:
    found = load_maths(written(tmp_path / "all.jsonl", *sums(0, 60)), None)
    counts = [len(found.of(split)) for split in SPLITS]
    assert sum(counts) == 60
    assert all(counts)
    moved = written(tmp_path / "moved.jsonl", *reversed(sums(0, 60)))
    again = load_maths(moved, None)
    for split in SPLITS:
        assert {p.text for p in again.of(split)} == {p.text for p in found.of(split)}


def test_published_splits_are_kept_and_training_gives_a_tenth_to_validation(tmp_path: Path) -> None:
    rows = [*sums(0, 60, split="train"), *sums(60, 65, split="test")]
    found = load_maths(written(tmp_path / "split.parquet", *rows), None)
    assert [p.text for p in found.test] == [f"{n} + {n}?" for n in range(60, 65)]
    assert len(found.train) + len(found.validation) == 60
    assert 0 < len(found.validation) < 20


def test_a_test_problem_that_training_has_too_is_dropped_and_counted(tmp_path: Path) -> None:
    training = written(tmp_path / "train.jsonl", *sums(0, 40))
    tests = written(tmp_path / "test.jsonl", {"problem": "  3 +3? ", "answer": "6"}, *sums(50, 52))
    found = load_maths(training, tests)
    assert [p.text for p in found.test] == ["50 + 50?", "51 + 51?"]
    assert found.num_dropped == 1
    assert "1 left out that training has too" in str(found)


def test_tasks_come_once_an_epoch_with_the_hash_of_their_record(tmp_path: Path) -> None:
    maths = Maths(MathsOptions(data=written(tmp_path / "all.jsonl", *sums(0, 30))))
    size = len(maths.problems.train)
    tasks = [maths.task("train", 5, index) for index in range(size)]
    assert len({task.digest for task in tasks}) == size
    assert maths.task("train", 5, 3) == tasks[3]


@pytest.mark.parametrize(
    ("row", "fault"),
    [
        ({"problem": "?", "answer": "\\frac{1}{"}, 'line 2, field answer is "\\frac{1}{"'),
        ({"problem": "?", "answer": " "}, "line 2, field answer is blank"),
        ({"problem": "?"}, "line 2, field answer is missing"),
        ({"problem": "?", "answer": [1]}, "line 2, field answer is [1]"),
        ({"answer": "1"}, "line 2, field problem is missing"),
        ({"problem": "", "answer": "1"}, "line 2, field problem is blank"),
        ({"problem": "?", "answer": "1", "split": "dev"}, 'line 2, field split is "dev"'),
    ],
)
def test_a_fault_in_a_record_names_file_line_and_field(
    tmp_path: Path, row: dict[str, Any], fault: str
) -> None:
    path = written(tmp_path / "mine.jsonl", {"problem": "1 + 1?", "answer": "2"}, row)
    with pytest.raises(ConfigurationError) as caught:
        read_maths(path)
    assert f'environment.options.data = "{path}": {fault}' in str(caught.value)


def test_polaris_serves_training_and_aime_the_tests(tmp_path: Path) -> None:
    polaris = [{"problem": f"{n}?", "answer": f"{n}", "difficulty": "3/8"} for n in range(40)]
    polaris.append({"problem": "unreadable", "answer": "\\frac{1}{", "difficulty": "1/8"})
    written(tmp_path / "polaris" / "polaris-data-53K.parquet", *polaris)
    written(tmp_path / "aime" / "test.jsonl", {"id": "0", "problem": "AIME?", "answer": "070"})
    found = load_maths(f"polaris:{tmp_path / 'polaris'}", f"aime_2025:{tmp_path / 'aime'}")
    assert len(found.train) + len(found.validation) == 40
    assert [(p.text, p.answer) for p in found.test] == [("AIME?", "070")]
    assert found.left_out == (("polaris, its answer cannot be read", 1),)


def test_olympiadbench_gives_text_problems_in_english_with_unit_and_several_answers(
    tmp_path: Path,
) -> None:
    common = {"subject": "Math", "language": "English", "modality": "Text-only", "context": None}
    rows = [
        {**common, "id": 1, "question": "One?", "final_answer": ["$2$"], "unit": None},
        {**common, "id": 2, "question": "Two?", "final_answer": ["$1$,$3$"], "unit": None},
        {**common, "id": 3, "question": "Far?", "final_answer": ["18"], "unit": "cm"},
        {**common, "id": 4, "question": "See?", "final_answer": ["1"], "modality": "Multimodal"},
    ]
    folder = tmp_path / "OlympiadBench" / "OE_TO_maths_en_COMP"
    written(folder / "OE_TO_maths_en_COMP.parquet", *rows)
    found = read_maths(f"olympiadbench:{tmp_path}")
    assert [p.answer for p in found.problems] == ["2", "1$,$3", r"18\text{ cm}"]
    assert found.left_out == (("olympiadbench, it has a picture", 1),)


def test_problems_of_reasoning_gym_are_the_same_for_the_same_place() -> None:
    options = MathsOptions(data="reasoning_gym:gcd", data_options={"max_value": 99})
    maths = Maths(options)
    tasks = {split: [maths.task(split, 3, i) for i in range(20)] for split in SPLITS}
    again = {split: [Maths(options).task(split, 3, i) for i in range(20)] for split in SPLITS}
    assert again == tasks
    texts = [{task.data.text for task in tasks[split]} for split in SPLITS]
    assert not texts[0] & texts[1] | texts[0] & texts[2] | texts[1] & texts[2]


@pytest.mark.parametrize(
    ("options", "fault"),
    [
        ({"data": "reasoning_gym:gdc"}, "nearest known: gcd"),
        ({"data": "reasoning_gym:ransom_note"}, "another problem for the same seed"),
        ({"data": "reasoning_gym:gcd", "data_options": {"size_of": 1}}, "data_options"),
        ({"data": "reasoning_gym:gcd", "data_options": {"min_value": -5}}, "data_options"),
    ],
)
def test_a_wrong_data_set_is_refused(options: dict[str, Any], fault: str) -> None:
    with pytest.raises(ConfigurationError, match=fault):
        Maths(MathsOptions(**options)).task("train", 1, 0)


def test_the_examples_can_be_read() -> None:
    assert [len(load_maths(EXAMPLES, None).of(split)) for split in SPLITS] == [17, 3, 4]
