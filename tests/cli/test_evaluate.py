"""`cotrain evaluate`: one row, for whatever a team can be taken from, and nothing written."""

from pathlib import Path

import pytest
from tests.cli.commands import call

from cotrain.runs.metrics import EVALUATIONS


def contents(folder: Path) -> dict[str, bytes]:
    files = (path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


def test_a_run_is_evaluated_in_one_row_and_its_folder_stays_as_it_is(run_dir: Path) -> None:
    before = contents(run_dir)
    found = call("evaluate", run_dir, "--tasks", 3, "--split", "validation", "--seed", 5, "--json")
    assert found.code == 0
    row = found.document
    assert {"tasks": 3, "split": "validation", "seed": 5, "step": 1}.items() <= row.items()
    assert row["success_low"] <= row["success"] <= row["success_high"]
    assert set(row["roles"]) == {"proposer", "planner"}
    assert EVALUATIONS.keys() <= row.keys()
    assert contents(run_dir) == before


def test_the_last_checkpoint_of_a_run_is_the_run(run_dir: Path) -> None:
    checkpoint = run_dir / "checkpoints" / "step_000001"
    of_run, of_checkpoint = (call("evaluate", t, "--json") for t in (run_dir, checkpoint))
    assert of_run.document == of_checkpoint.document


def test_an_untrained_preset_is_evaluated_as_step_0(settings: list[str]) -> None:
    found = call("evaluate", "plan_path_tiny", *settings)
    assert found.code == 0
    headings, cells = (line.split() for line in found.stdout.splitlines())
    assert headings[:4] == ["method", "turns", "step", "tasks"]
    assert cells[:4] == ["at_grpo", "2", "0", "2"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["nowhere"], "nowhere: no such file or preset; the presets are "),
        (["plan_path_tny"], "nearest known: plan_path_tiny"),
        (
            ["plan_path_tiny", "--split", "tset"],
            '--split = "tset": must be train, validation, test',
        ),
        (["plan_path_tiny", "--set", "evaluation.temprature=1"], "evaluation.temperature"),
        (["plan_path_tiny", "--set", "seed"], "must be key=value"),
    ],
)
def test_wrong_use_is_refused_in_one_line(arguments: list[str], said: str) -> None:
    found = call("evaluate", *arguments, "--json")
    assert (found.code, found.stdout, len(found.lines)) == (2, "", 1)
    assert said in found.stderr


@pytest.mark.parametrize("command", ["evaluate", "play"])
@pytest.mark.parametrize(
    ("target", "said"),
    [
        ("text", "text, line 1: not valid TOML"),
        ("binary", "must be UTF-8 text"),
        ("text/below", "Not a directory"),
        ("folder", "is no checkpoint"),
        ("a" * 300, "File name too long"),
    ],
)
def test_a_target_of_the_wrong_kind_is_refused_in_one_line(
    tmp_path: Path, command: str, target: str, said: str
) -> None:
    (tmp_path / "text").write_text("Dear reader\n")
    (tmp_path / "binary").write_bytes(bytes(range(256)))
    (tmp_path / "folder").mkdir()
    found = call(command, tmp_path / target)
    assert (found.code, found.stdout, len(found.lines)) == (2, "", 1)
    assert said in found.stderr


@pytest.mark.parametrize(
    "key", ["model.name", "team.roles.planner.model", "team.roles.planner.prompt"]
)
@pytest.mark.parametrize("path", ["a" * 300, "nowhere\\u0000"])
def test_a_file_that_cannot_be_looked_for_is_refused_with_its_key(key: str, path: str) -> None:
    value = f"scripted:{path}" if key.endswith("planner.model") else path
    given = ("--set", f'{key}="{value}"', "--set", 'environment.options.view="text"')
    found = call("evaluate", "plan_path_tiny", *given)
    assert (found.code, len(found.lines)) == (2, 1)
    assert found.stderr.startswith(f"{key} = ")


def test_a_folder_without_run_or_checkpoint_is_refused(tmp_path: Path) -> None:
    found = call("evaluate", tmp_path)
    assert found.code == 2
    assert f"{tmp_path} is no checkpoint" in found.stderr


def test_a_run_without_a_complete_checkpoint_has_no_team_yet(run_dir: Path, tmp_path: Path) -> None:
    (tmp_path / "config.json").write_bytes((run_dir / "config.json").read_bytes())
    found = call("evaluate", tmp_path)
    assert found.code == 2
    assert "no complete checkpoint yet" in found.stderr


@pytest.mark.parametrize("arguments", [["trian"], ["train", "--runs-dir", "x"], ["evaluate"]])
def test_a_wrong_command_or_option_is_wrong_use(arguments: list[str]) -> None:
    found = call(*arguments)
    assert (found.code, found.stdout) == (2, "")
    assert "--help" in found.stderr
