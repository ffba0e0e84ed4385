"""The training methods as a user runs them: short runs, resumed runs, and plans."""

import json
from pathlib import Path

import pytest
from tests.cli.commands import Result, call

from cotrain.runs.metrics import timeless
from cotrain.runs.store import RunFolder

TINY: dict[str, object] = {
    "run.steps": 2,
    "run.seed": 11,
    "run.checkpoint_every": 2,
    "run.evaluate_every": 2,
    "team.turns": 2,
    "model.threads": 1,
    "sampling.tasks_per_step": 2,
    "sampling.candidates": 3,
    # a rate that depends on the place in the run would tell a longer run from a shorter one
    "optimizer.schedule": "constant",
    "evaluation.tasks": 2,
    "evaluation.validation_tasks": 2,
    "evaluation.baselines": [],
}


def train(*arguments: object, **settings: object) -> Result:
    """`cotrain train` with tiny settings; `algorithm__method` is the key `algorithm.method`."""
    given = TINY | {key.replace("__", "."): value for key, value in settings.items()}
    assigned = [f"{key}={json.dumps(value)}" for key, value in given.items()]
    return call("train", *arguments, *(p for a in assigned for p in ("--set", a)), "--json")


def files(folder: Path) -> dict[str, bytes]:
    """What the last checkpoint holds of weights and optimisers."""
    found = sorted((folder / "checkpoints" / "step_000004").rglob("*.safetensors"))
    return {str(path.relative_to(folder)): path.read_bytes() for path in found}


@pytest.mark.parametrize("method", ["team_grpo", "single_at_grpo"])
def test_a_method_trains_evaluates_and_saves(method: str, tmp_path: Path) -> None:
    done = train("--run-dir", tmp_path / "run", algorithm__method=method)
    assert done.code == 0, done.stderr
    folder = RunFolder(tmp_path / "run")
    assert [row["policy.shared.version"] for row in folder.metrics()] == [1, 2]
    found = {(row["step"], row["split"], row["method"]) for row in folder.evaluations()}
    assert found == {(step, split, method) for step in (0, 2) for split in ("test", "validation")}
    evaluated = call("evaluate", tmp_path / "run", "--tasks", 2, "--json")
    assert (evaluated.code, evaluated.document["method"]) == (0, method)


def test_whole_episodes_of_a_team_resumed_for_more_steps_equal_the_unbroken_run(
    tmp_path: Path,
) -> None:
    straight, broken = tmp_path / "straight", tmp_path / "broken"
    assert train("--run-dir", straight, algorithm__method="team_grpo", run__steps=4).code == 0
    assert train("--run-dir", broken, algorithm__method="team_grpo", run__steps=2).code == 0
    more = ("--resume", "--run-dir", broken)
    resumed = train(*more, algorithm__method="team_grpo", run__steps=4)
    assert resumed.code == 0, resumed.stderr
    rows = [[timeless(row) for row in RunFolder(f).metrics()] for f in (straight, broken)]
    assert [row["step"] for row in rows[0]] == [1, 2, 3, 4]
    assert rows[0] == rows[1]
    validated = [
        [row for row in RunFolder(f).evaluations() if row["split"] == "validation"]
        for f in (straight, broken)
    ]
    assert validated[0] == validated[1]
    episodes = [list(RunFolder(f).episodes(4)) for f in (straight, broken)]
    assert episodes[0] == episodes[1]
    assert files(straight) == files(broken) != {}


def test_the_plan_of_whole_episodes_counts_groups_by_task_and_agent() -> None:
    plan = train("--dry-run", algorithm__method="team_grpo").document
    assert (plan["episodes_a_step"], plan["groups_a_step"]) == (2 * 3, 2 * 2)
    assert plan["replies_a_step"] == 2 * 3 * 2 * 2
    assert [role["replies"] for role in plan["roles"].values()] == [1, 1]


@pytest.mark.parametrize(
    ("options", "method", "played"),
    [
        ({}, "single_at_grpo", ["solo"]),
        ({"single": "draft"}, "single_at_grpo", ["drafter", "answerer"]),
        ({"only": "planner"}, "at_grpo", ["planner"]),
        ({"only": "proposer"}, "team_grpo", ["proposer"]),
    ],
)
def test_the_plan_lists_the_roles_that_are_not_played(
    options: dict[str, str], method: str, played: list[str]
) -> None:
    given = {f"environment__options__{name}": value for name, value in options.items()}
    plan = train("--dry-run", algorithm__method=method, **given).document
    everyone = ["proposer", "tool", "planner", "solo", "drafter", "answerer"]
    assert list(plan["roles"]) == played
    assert plan["roles_not_played"] == [role for role in everyone if role not in played]


def test_one_role_alone_and_a_single_method_are_refused_together() -> None:
    settings = {"algorithm__method": "single_grpo", "environment__options__only": "planner"}
    refused = train("--dry-run", **settings)
    assert (refused.code, len(refused.lines)) == (2, 1)
    assert "environment.options.only" in refused.stderr
    assert "single methods" in refused.stderr
