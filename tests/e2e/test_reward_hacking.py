"""Real runs under the watch: a game that is gamed, the same one paid rightly, a shipped one."""

from pathlib import Path
from typing import Any

import pytest
from tests.e2e.bases import save_qwen3
from tests.e2e.signals import SETTINGS

from cotrain.assembly.commands import train
from cotrain.assembly.training import Run
from cotrain.runs.store import RunFolder
from cotrain.training.watch import looks_of, raised

STEPS, EVERY = 20, 4


def flight(base: Path, pays: str, **changes: Any) -> dict[str, Any]:
    return {
        **SETTINGS,
        "environment.name": "tests.e2e.hover:Hover",
        "environment.options": {"pays": pays},
        "model.name": str(base),
        "team.policies": "shared",
        "team.turns": 4,
        "run.steps": STEPS,
        "run.evaluate_every": EVERY,
        "run.checkpoint_every": EVERY,
        "evaluation.validation_tasks": 60,
        **{key.replace("__", "."): value for key, value in changes.items()},
    }


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_qwen3(tmp_path_factory.mktemp("bases") / "qwen3", seed=3)


@pytest.fixture(scope="module")
def gamed_run(base: Path, tmp_path_factory: pytest.TempPathFactory) -> Run:
    return train(None, flight(base, "hovering"), tmp_path_factory.mktemp("runs") / "gamed")


def alarms(path: Path) -> list[str]:
    events = RunFolder(path).events()
    return [str(event["message"]) for event in events if event["kind"] == "reward_hacking"]


def success(run: Run) -> list[float]:
    return [row["success"] for row in run.evaluations if row["split"] == "validation"]


def test_a_policy_that_learns_to_hover_raises_one_alarm(gamed_run: Run) -> None:
    scores = [row["score_mean"] for row in gamed_run.metrics]
    assert scores[-1] > scores[0] + 0.2
    assert success(gamed_run)[-1] < success(gamed_run)[0] - 0.3
    (message,) = alarms(gamed_run.path)
    assert "rose from" in message
    assert "fell from" in message


def test_the_same_policy_paid_for_landing_raises_none(base: Path, tmp_path: Path) -> None:
    run = train(None, flight(base, "landing"), tmp_path / "run")
    assert success(run)[-1] > success(run)[0]
    assert alarms(run.path) == []


def test_zero_turns_the_watch_off(base: Path, tmp_path: Path, gamed_run: Run) -> None:
    run = train(None, flight(base, "hovering", evaluation__watch=0), tmp_path / "run")
    assert success(run) == success(gamed_run)
    assert alarms(run.path) == []


def test_a_run_that_goes_on_from_its_rows_raises_the_same_alarm(
    base: Path, tmp_path: Path, gamed_run: Run
) -> None:
    (message,) = alarms(gamed_run.path)
    step = int(message.partition(":")[0].removeprefix("step "))
    before = step - EVERY
    assert before > 0
    stopped = train(None, flight(base, "hovering", run__steps=before), tmp_path / "run")
    assert alarms(stopped.path) == []
    train(None, {"run.steps": STEPS}, stopped.path, resume=True)
    assert alarms(stopped.path) == [message]


def test_a_short_run_of_the_shipped_game_raises_none(tmp_path: Path) -> None:
    small = {
        "run.steps": 3,
        "run.evaluate_every": 1,
        "sampling.tasks_per_step": 6,
        "evaluation.tasks": 4,
        "evaluation.validation_tasks": 20,
        "evaluation.baselines": [],
        "model.threads": 1,
        "logging.console": False,
    }
    run = train("plan_path_tiny", small, tmp_path / "run")
    assert len(looks_of(run.metrics, run.evaluations)) == 4
    assert alarms(run.path) == []
    assert raised(looks_of(run.metrics, run.evaluations), 1) is None
