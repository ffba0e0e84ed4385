"""`cotrain compare` as a user sees it: real processes, real runs of a toy model."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.cli.commands import call
from tests.cli.conftest import SETTINGS

from cotrain import config
from cotrain.runs.store import RunFolder

ROWS = """
[rows.a]
train = {}
[rows.b]
train = { "algorithm.method" = "team_grpo" }
[rows.start]
untrained = "a"
[rows.swapped]
play = "a"
swap = ["planner=proposer"]
[[claims]]
says = "a > b"
better = "a"
than = "b"
[[claims]]
says = "swapped > start"
better = "swapped"
than = "start"
"""


@pytest.fixture
def write(tmp_path: Path, model_folder: Path) -> Callable[..., Path]:
    """Writes a comparison of the toy model, of one step a cell; more settings replace those."""

    def written(rows: str = ROWS, seeds: int = 1, **more: object) -> Path:
        small = {**SETTINGS, "run.max_sampled_tokens": 1, "team.policies": "model_per_role"}
        values = {**small, "model.name": str(model_folder), **more}
        lines = [f"{json.dumps(key)} = {json.dumps(value)}" for key, value in values.items()]
        path = tmp_path / "toy.toml"
        head = f'base = "plan_path_tiny"\nseeds = {seeds}\n[settings]\n'
        path.write_text("\n".join([head, *lines, rows]), "utf-8")
        return path

    return written


def test_rows_are_trained_and_played_and_what_is_done_is_kept(
    tmp_path: Path, write: Callable[..., Path]
) -> None:
    folder = tmp_path / "comparison"
    first = call("compare", write(), "--run-dir", folder, "--jobs", 2, "--json")
    assert first.code == 0, first.stderr
    found = {row["name"]: row for row in first.document["rows"]}
    assert [len(found[name]["cells"]) for name in ("a", "b", "start", "swapped")] == [1, 1, 1, 1]
    assert found["a"]["cells"][0]["tokens_sampled"] > 0
    assert found["start"]["cells"][0]["steps"] == 0
    run = RunFolder(folder / "cells" / "a" / "seed_0")
    assert run.evaluations()[-1]["solved"] == found["a"]["cells"][0]["solved"]
    a, b = (found[name]["cells"][0]["solved"] for name in "ab")
    difference = first.document["claims"][0]["difference"]
    assert difference["mean"] == (a.count("1") - b.count("1")) / len(a)
    assert difference["discordant"] == sum(x != y for x, y in zip(a, b, strict=True))
    for name in ("compare.json", "comparison.json", "table.txt", "success.png", "success.svg"):
        assert (folder / name).stat().st_size > 0

    again = call("compare", write(), "--run-dir", folder)
    assert again.code == 0, again.stderr
    assert "done after" not in again.stderr
    assert json.loads((folder / "compare.json").read_text()) == first.document

    changed = write(**{"sampling.candidates": 3})
    refused = call("compare", changed, "--run-dir", folder)
    assert refused.code == 2
    assert "differs in settings.sampling.candidates (2 before, 3 now)" in refused.stderr

    some = call("compare", write(), "--run-dir", folder, "--methods", "a")
    assert some.code == 0, some.stderr
    another = write(ROWS.replace('"team_grpo"', '"at_grpo"'))
    refused = call("compare", another, "--run-dir", folder)
    assert refused.code == 2  # although row b was left out in between
    assert "differs in row b" in refused.stderr


def test_a_base_that_says_something_else_now_is_another_comparison(
    tmp_path: Path, write: Callable[..., Path]
) -> None:
    base = tmp_path / "base.toml"
    preset = (Path(config.__file__).parent / "presets" / "plan_path_tiny.toml").read_text("utf-8")
    base.write_text(preset, "utf-8")
    rows = write("[rows.a]\ntrain = {}\n")
    rows.write_text(rows.read_text().replace('"plan_path_tiny"', f'"{base}"'), "utf-8")
    folder = tmp_path / "comparison"
    done = call("compare", rows, "--run-dir", folder)
    assert done.code == 0, done.stderr
    base.write_text(preset.replace("[evaluation]\n", "[evaluation]\nseed = 9\n"), "utf-8")
    refused = call("compare", rows, "--run-dir", folder)
    assert refused.code == 2
    assert f"differs in what {base} says" in refused.stderr


def test_a_row_imitates_the_solved_episodes_of_the_row_it_names(
    tmp_path: Path, write: Callable[..., Path]
) -> None:
    rows = "[rows.taught]\ntrain = {}\n[rows.copied]\nimitate = 'taught'\n"
    more = {"sampling.tasks_per_step": 8, "sampling.max_reply_tokens": 12, "team.turns": 6}
    path = write(rows, **{**more, "model.name": "tiny"})
    folder = tmp_path / "comparison"
    done = call("compare", path, "--run-dir", folder, "--json")
    assert done.code == 0, done.stderr
    copied = RunFolder(folder / "cells" / "copied" / "seed_0")
    assert copied.evaluations()[-1]["method"] == "sft"
    assert copied.metrics()[-1]["policy.planner.optimizer_steps"] == 1
    assert done.document["rows"][1]["kind"] == "imitating"


def test_a_cell_that_fails_is_named_and_the_others_are_done(
    tmp_path: Path, write: Callable[..., Path]
) -> None:
    rows = ROWS.replace('"algorithm.method" = "team_grpo"', '"model.name" = "nowhere/at-all"')
    folder = tmp_path / "comparison"
    done = call("compare", write(rows), "--run-dir", folder, "--jobs", 2)
    assert done.code == 1
    assert "b, seed 0" in done.stderr
    assert "swapped, seed 0: done" in done.stderr
    assert "nowhere/at-all" in (folder / "cells" / "b" / "seed_0.log").read_text()
    assert "no figures" in done.stdout


def test_an_interrupt_saves_what_runs_and_the_same_command_goes_on(
    tmp_path: Path, write: Callable[..., Path]
) -> None:
    rows = "[rows.a]\ntrain = {}\n"
    path = write(rows, **{"run.max_sampled_tokens": 10**9, "run.steps": 10**6})
    folder = tmp_path / "comparison"
    words = [sys.executable, "-m", "cotrain", "compare", str(path), "--run-dir", str(folder)]
    process = subprocess.Popen(words, stderr=subprocess.PIPE, text=True)
    metrics = folder / "cells" / "a" / "seed_0" / "metrics.jsonl"
    deadline = time.monotonic() + 120
    while not metrics.exists() and time.monotonic() < deadline:
        time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    _, stderr = process.communicate(timeout=120)
    assert process.returncode == 0, stderr
    assert "a, seed 0: stopped" in stderr
    run = RunFolder(folder / "cells" / "a" / "seed_0")
    steps = len(run.metrics())
    assert steps > 0
    assert [path.name for path in run.checkpoints.iterdir()][-1].startswith("step_")
    assert "--resume" in call("compare", path, "--run-dir", folder, "--dry-run").stdout


@pytest.mark.skipif(sys.platform != "linux", reason="the system tells children on Linux alone")
def test_a_comparison_that_is_killed_leaves_no_training_behind(
    tmp_path: Path, write: Callable[..., Path]
) -> None:
    path = write("[rows.a]\ntrain = {}\n", **{"run.max_sampled_tokens": 10**9, "run.steps": 10**6})
    folder = tmp_path / "comparison"
    words = [sys.executable, "-m", "cotrain", "compare", str(path), "--run-dir", str(folder)]
    process = subprocess.Popen(words, stderr=subprocess.DEVNULL)
    lock = folder / "cells" / "a" / "seed_0" / ".lock"
    deadline = time.monotonic() + 120
    while not (lock.exists() and lock.read_text()) and time.monotonic() < deadline:
        time.sleep(0.1)
    child = int(lock.read_text())
    process.kill()
    process.wait()
    while Path(f"/proc/{child}").exists() and time.monotonic() < deadline:
        time.sleep(0.1)
    with pytest.raises(ProcessLookupError):
        os.kill(child, 0)


def test_a_dry_run_prints_commands_and_writes_nothing(
    tmp_path: Path, write: Callable[..., Path]
) -> None:
    done = call("compare", write(seeds=2), "--run-dir", tmp_path / "comparison", "--dry-run")
    assert done.code == 0
    lines = done.stdout.splitlines()
    assert [line.split()[1] for line in lines] == ["train", "train", "evaluate"] * 2
    assert not (tmp_path / "comparison").exists()
