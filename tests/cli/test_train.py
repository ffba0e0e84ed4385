"""`cotrain train`: what it writes, what it refuses before anything is written, and how it stops."""

import json
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.cli.commands import Result, call, environment_of_process, shell

LIFT = Path(__file__).parent / "lift.py"


def rows(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def copied(folder: Path, to: Path, without: str) -> Path:
    """A copy of a model folder that lacks the files of this pattern."""
    shutil.copytree(folder, to)
    for path in to.glob(without):
        path.unlink()
    return to


def refused(found: Result, *said: str) -> bool:
    """Whether the command ended as wrong use, with one line for each of these faults."""
    lines = found.lines
    agree = all(text in line for text, line in zip(said, lines, strict=False))
    return found.code == 2 and len(lines) == len(said) and agree and found.stdout == ""


def test_a_run_writes_its_rows_and_the_last_checkpoint(run_dir: Path) -> None:
    assert [row["step"] for row in rows(run_dir / "metrics.jsonl")] == [1]
    evaluated = {(row["step"], row["split"]) for row in rows(run_dir / "evaluations.jsonl")}
    assert evaluated == {(step, split) for step in (0, 1) for split in ("validation", "test")}
    assert (run_dir / "checkpoints" / "step_000001" / "COMPLETE").is_file()


def test_an_unknown_key_is_named_with_the_nearest_one_and_nothing_is_written(
    tmp_path: Path,
) -> None:
    found = shell("train", "--set", "run.stps=3", "--run-dir", tmp_path / "run", "--json")
    assert refused(found, "run.stps = 3: unknown key")
    assert found.stderr.endswith("nearest known: run.steps\n")
    assert not (tmp_path / "run").exists()


def test_every_fault_has_a_line_of_its_own() -> None:
    found = call("train", "--set", "run.steps=0", "--set", "team.turns=none", "--dry-run")
    assert refused(
        found,
        "run.steps = 0: must be an integer >= 1",
        'team.turns = "none": must be an integer >= 1',
    )


def test_one_candidate_is_refused(settings: list[str], tmp_path: Path) -> None:
    found = call(
        "train", *settings, "--set", "sampling.candidates=1", "--run-dir", tmp_path / "run"
    )
    assert refused(found, "sampling.candidates = 1: must be >= 2")


@pytest.mark.parametrize(
    ("without", "said"),
    [
        ("*.safetensors", "the folder lacks weights (*.safetensors)"),
        ("tokenizer*", "the folder lacks a tokenizer (tokenizer.json)"),
        ("config.json", "the folder lacks config.json"),
    ],
)
def test_a_model_folder_that_is_not_whole_is_refused_and_the_missing_part_named(
    settings: list[str], model_folder: Path, tmp_path: Path, without: str, said: str
) -> None:
    model = copied(model_folder, tmp_path / "model", without)
    run = ("--run-dir", tmp_path / "run")
    found = call("train", *settings, "--set", f"model.name={model}", *run)
    assert refused(found, f'model.name = "{model}": {said}')
    assert not (tmp_path / "run").exists()


def test_a_folder_that_holds_a_run_is_not_written_into(settings: list[str], run_dir: Path) -> None:
    before = (run_dir / "metrics.jsonl").read_bytes()
    found = call("train", *settings, "--run-dir", run_dir)
    assert found.code == 2
    assert f"{run_dir} already holds a run" in found.stderr
    assert "--resume" in found.stderr
    assert (run_dir / "metrics.jsonl").read_bytes() == before


@pytest.mark.parametrize("place", ["taken", "taken/below", "a" * 300])
@pytest.mark.parametrize("resume", [(), ("--resume",)])
def test_a_run_folder_that_can_be_none_is_wrong_use(
    settings: list[str], tmp_path: Path, place: str, resume: tuple[str, ...]
) -> None:
    (tmp_path / "taken").write_text("a file")
    found = call("train", *(() if resume else settings), *resume, "--run-dir", tmp_path / place)
    assert refused(found, str(tmp_path / place))
    assert (tmp_path / "taken").read_text() == "a file"


def test_a_resume_with_other_settings_lists_each_difference(run_dir: Path) -> None:
    changes = ("--set", "sampling.candidates=3", "--set", "optimizer.learning_rate=0.1")
    found = call("train", "--resume", "--run-dir", run_dir, *changes)
    assert refused(
        found,
        "sampling.candidates = 3: the run has 2",
        "optimizer.learning_rate = 0.1: the run has 0.0004",
    )


def test_a_resume_of_a_finished_run_prints_its_summary(run_dir: Path) -> None:
    found = call("train", "--resume", "--run-dir", run_dir, "--json")
    assert found.code == 0
    assert (found.document["finished"], found.document["step"]) == (True, 1)
    assert found.document["run_dir"] == str(run_dir)


def test_a_run_may_go_on_for_more_steps(run_dir: Path, tmp_path: Path) -> None:
    longer = shutil.copytree(run_dir, tmp_path / "longer")
    found = call("train", "--resume", "--run-dir", longer, "--set", "run.steps=2")
    assert found.code == 0
    assert [row["step"] for row in rows(longer / "metrics.jsonl")] == [1, 2]
    assert "run.steps from 1 to 2" in (longer / "events.jsonl").read_text()


def test_a_resume_needs_the_folder_of_a_run(tmp_path: Path) -> None:
    assert refused(call("train", "--resume"), "--resume: needs --run-dir")
    found = call("train", "--resume", "--run-dir", tmp_path)
    assert refused(found, f"{tmp_path} holds no run")


def test_a_dry_run_prints_the_plan_and_writes_nothing(settings: list[str], tmp_path: Path) -> None:
    run = ("--run-dir", tmp_path / "run", "--dry-run")
    found = call("train", *settings, *run, "--json")
    plan = found.document
    assert (plan["method"], plan["environment"], plan["steps"]) == ("at_grpo", "plan_path", 1)
    assert plan["groups_a_step"] == 2 * 2 * 2
    assert plan["replies_a_step"] == 2 * plan["groups_a_step"]
    assert plan["roles_not_played"] == ["tool", "solo", "drafter", "answerer"]
    assert "role planner: policy shared (trained), 2 replies a prompt" in (
        call("train", *settings, *run).stdout
    )
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("assignment", "said"),
    [
        ("environment.name=plan_pth", "nearest known: plan_path"),
        ("environment.options.sise=4", "nearest known: size"),
        ("team.roles.planer.temperature=0.5", "nearest known: planner"),
        (
            "algorithm.method=team",
            'allowed are "at_grpo", "single_at_grpo", "team_grpo", "single_grpo"',
        ),
        ('evaluation.baselines=["nowhere"]', "must be a checkpoint folder"),
    ],
)
def test_names_are_checked_before_any_model_loads(
    settings: list[str], assignment: str, said: str
) -> None:
    found = call("train", *settings, "--set", assignment, "--dry-run")
    assert (found.code, len(found.lines)) == (2, 1)
    assert said in found.stderr


@pytest.mark.parametrize("command", ["train", "evaluate", "play"])
def test_phases_that_name_nobody_are_refused_before_anything_is_played(
    tmp_path: Path, command: str
) -> None:
    config = tmp_path / "lift.toml"
    config.write_text(f'environment.name = "{LIFT}:Misspelt"\nmodel.name = "tiny"\n')
    found = call(command, config)
    said = "environment.name = \"misspelt\": Misspelt cannot be played: phases names 'drivr'"
    assert refused(found, said)


def test_a_prompt_that_cannot_fit_ends_the_run_with_the_key_and_the_log(
    settings: list[str], tmp_path: Path
) -> None:
    run = ("--run-dir", tmp_path / "run")
    found = call("train", *settings, "--set", "sampling.max_prompt_tokens=5", *run)
    assert found.code == 1
    assert "sampling.max_prompt_tokens" in found.stderr
    assert f"The log is in {tmp_path / 'run'}" in found.stderr


def test_an_interrupt_ends_after_the_step_saves_and_says_how_to_go_on(
    settings: list[str], tmp_path: Path
) -> None:
    run = tmp_path / "run"
    arguments = [*settings, "--set", "run.steps=100000", "--run-dir", str(run)]
    process = subprocess.Popen(
        [sys.executable, "-c", "from cotrain.cli import main; main()", "train", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment_of_process(),
    )
    wait_for(run / "metrics.jsonl", process)
    process.send_signal(signal.SIGINT)
    stdout, stderr = process.communicate(timeout=60)
    assert process.returncode == 0, stderr
    assert f"cotrain train --resume --run-dir {run}" in stdout
    last = rows(run / "metrics.jsonl")[-1]["step"]
    assert (run / "checkpoints" / f"step_{last:06d}" / "COMPLETE").is_file()
    assert "Traceback" not in stderr


def wait_for(path: Path, process: "subprocess.Popen[str]") -> None:
    """Returns once the file is there, or the process has ended."""
    end = time.monotonic() + 60
    while not path.exists() and process.poll() is None and time.monotonic() < end:
        time.sleep(0.05)
