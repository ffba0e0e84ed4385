import gzip
import json
from pathlib import Path

import pyarrow
import pyarrow.parquet
import pytest

from cotrain.config import ConfigurationError
from cotrain.environments.data.files import find_files, read_rows

ROWS = [{"id": "a", "prompt": "Add."}, {"id": "b", "prompt": "Take away."}]


def write(file: Path) -> Path:
    lines = "\n".join(json.dumps(row) for row in ROWS)
    if file.suffix == ".parquet":
        pyarrow.parquet.write_table(pyarrow.Table.from_pylist(ROWS), file)
    elif file.suffix == ".gz":
        file.write_bytes(gzip.compress(lines.encode()))
    elif file.suffix == ".json":
        file.write_text(json.dumps(ROWS))
    else:
        file.write_text(lines + "\n\n")
    return file


@pytest.mark.parametrize("name", ["a.jsonl", "a.jsonl.gz", "a.json", "a.parquet"])
def test_every_form_gives_the_same_rows(tmp_path: Path, name: str) -> None:
    rows = list(read_rows(find_files(str(write(tmp_path / name)), [])))
    assert [(row.line, dict(row.values)) for row in rows] == [(1, ROWS[0]), (2, ROWS[1])]


def test_patterns_choose_the_files_of_a_folder_in_the_order_of_their_names(tmp_path: Path) -> None:
    for name in ("test-1.jsonl", "test-0.jsonl", "train-0.jsonl"):
        write(tmp_path / name)
    found = find_files(str(tmp_path), ["test-*.jsonl"])
    assert [file.name for file in found] == ["test-0.jsonl", "test-1.jsonl"]


def test_a_folder_without_such_files_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"has none of the files test-\*\.parquet"):
        find_files(str(tmp_path), ["test-*.parquet"])


@pytest.mark.parametrize("source", ["x" * 5000, "~nobody-is-called-this/x", "a\0b"])
def test_a_place_that_no_system_has_is_one_line_with_the_key(source: str) -> None:
    with pytest.raises(ConfigurationError, match=r"^environment\.options\.data = ") as caught:
        find_files(source, ["*.jsonl"])
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "column",
    [
        pyarrow.array([1_234_567_891], pyarrow.timestamp("ns")),
        pyarrow.array([1_234_567_891], pyarrow.duration("ns")),
        pyarrow.array([2**62], pyarrow.timestamp("us")),
        pyarrow.array([2**40], pyarrow.timestamp("us", tz="Nowhere/Land")),
    ],
    ids=str,
)
def test_a_value_that_python_has_no_form_for_is_told_with_the_file_and_its_lines(
    tmp_path: Path, column: pyarrow.Array
) -> None:
    path = tmp_path / "a.parquet"
    pyarrow.parquet.write_table(pyarrow.table({"prompt": ["Add."], "when": column}), path)
    with pytest.raises(ConfigurationError, match="lines 1 to 1 hold a value that cannot be read"):
        list(read_rows([path]))


@pytest.mark.parametrize("half", ["\\ud800", "\\uDFFF", "a\\ud83d b"])
def test_half_a_character_is_refused_and_a_pair_is_one_character(tmp_path: Path, half: str) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"prompt": "\\ud83d\\ude00"}\n{"prompt": "' + half + '"}\n')
    rows = read_rows([path])
    assert next(rows).text("prompt") == "\U0001f600"
    with pytest.raises(ConfigurationError, match="line 2 is no JSON: it holds half a character"):
        next(rows)


def test_a_file_of_another_form_is_refused(tmp_path: Path) -> None:
    (tmp_path / "tasks.csv").write_text("a,b")
    with pytest.raises(ConfigurationError, match=r"must end in \.jsonl"):
        find_files(str(tmp_path / "tasks.csv"), [])


def test_a_data_set_that_cannot_be_had_is_one_line_with_the_key() -> None:
    with pytest.raises(ConfigurationError) as caught:
        find_files("nobody/has this", ["*.jsonl"])
    assert str(caught.value).startswith('environment.options.data = "nobody/has this": is no file')
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"id": 1}\n{"id": ', "line 2 is no JSON"),
        ('{"id": 1}\n[1]', "line 2 must hold an object"),
        ("[" * 100_000, "line 1 is no JSON"),
    ],
)
def test_a_damaged_line_is_named(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "a.jsonl").write_text(text)
    with pytest.raises(ConfigurationError, match=said):
        list(read_rows([tmp_path / "a.jsonl"]))


@pytest.mark.parametrize("name", ["a.parquet", "a.jsonl.gz"])
def test_a_damaged_file_is_named(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(b"no such form")
    with pytest.raises(ConfigurationError, match=f"{name}.*must be a"):
        list(read_rows([tmp_path / name]))


def test_a_file_with_damage_inside_is_named(tmp_path: Path) -> None:
    content = bytearray(gzip.compress(b'{"id": 1}\n' * 200))
    content[14:17] = b"\xff\x00\xff"
    (tmp_path / "a.jsonl.gz").write_bytes(content)
    with pytest.raises(ConfigurationError, match=r"a\.jsonl\.gz.*must be a readable file"):
        list(read_rows([tmp_path / "a.jsonl.gz"]))


def test_a_byte_order_mark_is_no_part_of_a_record(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"id": 1}\n', encoding="utf-8-sig")
    assert [row.values["id"] for row in read_rows([tmp_path / "a.jsonl"])] == [1]


def test_a_file_that_is_not_text_is_named(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ConfigurationError, match=r"a\.jsonl.*must be text in UTF-8"):
        list(read_rows([tmp_path / "a.jsonl"]))


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({}, "line 7, field prompt is missing"),
        ({"prompt": None}, "line 7, field prompt is not set"),
        ({"prompt": "  "}, "line 7, field prompt is blank"),
    ],
)
def test_a_field_that_is_not_as_it_must_be_is_named(
    tmp_path: Path, values: dict[str, object], said: str
) -> None:
    (tmp_path / "a.jsonl").write_text("\n" * 6 + json.dumps(values))
    row = next(iter(read_rows([tmp_path / "a.jsonl"])))
    with pytest.raises(ConfigurationError, match=said):
        row.text("prompt")
