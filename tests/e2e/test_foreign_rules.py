"""Whole runs on environments that are not shipped: rules in workers, and services that are lost."""

import os
from pathlib import Path
from typing import Any

import pytest
from tests.cli.commands import call
from tests.e2e.bases import contents
from tests.e2e.signals import SETTINGS
from tests.rollouts.test_workers import children

from cotrain.assembly.commands import evaluate, train
from cotrain.assembly.training import Run
from cotrain.runs.metrics import timeless
from cotrain.runs.store import RunFolder

IN_WORKERS = {"limits.act_seconds": 60.0}
SHORT = {**SETTINGS, "run.steps": 2, "run.checkpoint_every": 1, "sampling.tasks_per_step": 4}
FORESIGHT = {
    "run.steps": 1,
    "environment.name": "tests.assembly.foresight:Foresight",
    "algorithm.method": "team_grpo",
    "sampling.tasks_per_step": 2,
    "sampling.candidates": 2,
    "team.turns": 2,
    "evaluation.tasks": 2,
    "evaluation.validation_tasks": 2,
    "evaluation.baselines": [],
    "model.threads": 1,
    "logging.console": False,
}

ORACLE = """
from pathlib import Path

from cotrain import Environment, Message, Outcome, Role, Task
from cotrain.core.episode import Request
from cotrain.environments.base import ServiceLostError, split_of


def ask(request):
    if not Path(__file__).with_name("power").exists() and request["task"] > 2:
        raise ServiceLostError("the oracle has no power: switch it on and resume")
    return len(request["reply"]) % 5


class Oracle(Environment):
    name = "oracle"
    roles = (Role("asker", "Ask."),)
    handlers = {"ask": ask}

    def task(self, split, seed, index):
        return Task(split, index, f"{split}-{index}", index)

    def start(self, task, purpose):
        return 0 if purpose == "evaluate" else task.data

    def observe(self, state, agent):
        return [Message("user", f"at {state}")]

    def evidence(self, state, agent, reply):
        return [Request.of("ask", task=state, reply=reply)]

    def act(self, state, agent, reply, evidence):
        return Outcome(state, evidence[0].answer / 4, done=True)

    def success(self, state):
        return False

    def render(self, state):
        return f"at {state}"
"""

ASKER = """
def reply(messages, generator):
    return "?" * generator.randint(1, 9)
"""


def figures(run: Run) -> list[Any]:
    """All that a run leaves which does not depend on the clock: rows, episodes, weights."""
    folder = RunFolder(run.path)
    rows = [[timeless(row) for row in found] for found in (folder.metrics(), folder.evaluations())]
    steps = range(1, len(folder.metrics()) + 1)
    episodes = [[one.episode for one in folder.episodes(step)] for step in steps]
    assert all(episodes)
    return [*rows, episodes, contents(run.checkpoints[-1] / "policies")]


@pytest.mark.parametrize("settings", [SHORT, FORESIGHT], ids=["signals", "foresight"])
def test_a_run_with_its_rules_in_workers_equals_the_run_without(
    tmp_path: Path, settings: dict[str, Any]
) -> None:
    here = train(None, settings, tmp_path / "here")
    workers = train(None, settings | IN_WORKERS, tmp_path / "workers")
    assert figures(here) == figures(workers)
    assert children() == set()


def test_an_evaluation_in_workers_equals_the_one_without_and_leaves_no_process() -> None:
    rows = [evaluate("plan_path_tiny", SHORT | given, tasks=4) for given in ({}, IN_WORKERS)]
    assert rows[0] == rows[1]
    assert children() == set()


@pytest.fixture
def oracle(tmp_path: Path) -> list[str]:
    """The arguments of a run whose handler loses its service in step 4, while there is no power."""
    (tmp_path / "oracle.py").write_text(ORACLE)
    (tmp_path / "asker.py").write_text(ASKER)
    config = tmp_path / "oracle.toml"
    config.write_text(f"""
environment.name = "{tmp_path / "oracle.py"}:Oracle"
team.roles.asker.model = "scripted:{tmp_path / "asker.py"}"
run = {{ steps = 5, checkpoint_every = 1, evaluate_every = 0 }}
sampling = {{ tasks_per_step = 1, candidates = 3, max_prompt_tokens = 100 }}
evaluation = {{ tasks = 1, validation_tasks = 1 }}
logging.console = false
model.threads = 1
""")
    return ["train", str(config)]


@pytest.mark.parametrize("where", [[], ["--set", "limits.act_seconds=60"]], ids=["here", "workers"])
def test_a_service_lost_in_mid_run_stops_it_and_the_resumed_run_equals_the_unbroken_one(
    tmp_path: Path, oracle: list[str], where: list[str]
) -> None:
    broken, whole = tmp_path / "broken", tmp_path / "whole"
    lost = call(*oracle, *where, "--run-dir", broken)
    assert lost.code == 1
    assert lost.lines == [
        f"The run failed: the oracle has no power: switch it on and resume. The log is in {broken}."
    ]
    assert children() == set()
    assert [row["step"] for row in RunFolder(broken).metrics()] == [1, 2, 3]
    still = call(*oracle, *where, "--resume", "--run-dir", broken)
    assert (still.code, len(RunFolder(broken).metrics())) == (1, 3)

    (tmp_path / "power").touch()
    assert call(*oracle, *where, "--resume", "--run-dir", broken, "--json").document["finished"]
    assert call(*oracle, "--run-dir", whole).code == 0
    assert figures(Run(broken, True)) == figures(Run(whole, True))


@pytest.mark.parametrize(
    ("trouble", "said"),
    [
        ("time.sleep(3600)", "no answer within 5.0 s (limits.act_seconds)"),
        ("os._exit(0)", "the worker that ran it ended with exit code 0"),
        ("sys.exit(0)", "SystemExit: 0"),
    ],
)
def test_tasks_that_cannot_be_had_are_told_before_anything_is_loaded_and_end_nothing_else(
    tmp_path: Path, oracle: list[str], trouble: str, said: str
) -> None:
    file = tmp_path / "oracle.py"
    late = f"        if split == 'test' and index == 1:\n            {trouble}\n"
    rule = "    def task(self, split, seed, index):\n"
    file.write_text("import os, sys, time\n" + ORACLE.replace(rule, rule + late))
    where = ["--set", "limits.act_seconds=5", "--run-dir", str(tmp_path / "run")]
    refused = call(*oracle, *where)
    assert refused.code == 2
    [line] = refused.lines
    assert line.startswith("environment.name = ")
    assert ": oracle has no test task 1 (seed 1): " in line
    assert line.endswith(said)
    assert not (tmp_path / "run").exists()
    assert children() == set()


@pytest.mark.parametrize(
    "command",
    [
        ["train", "CONFIG"],
        ["train", "CONFIG", "--dry-run"],
        ["evaluate", "CONFIG"],
        ["play", "CONFIG"],
        ["check", "NAME"],
    ],
    ids=" ".join,
)
def test_an_unknown_service_is_refused_before_anything_is_loaded(
    tmp_path: Path, oracle: list[str], command: list[str]
) -> None:
    file = tmp_path / "oracle.py"
    file.write_text(ORACLE.replace("handlers = ", 'services = ("programm",)\n    handlers = '))
    given = {"CONFIG": oracle[1], "NAME": f"{file}:Oracle"}
    refused = call(*(given.get(word, word) for word in command))
    assert refused.code == 2
    [line] = refused.lines
    assert line.endswith(
        "asks for the service 'programm', which is unknown; allowed are program, calls, check, "
        "program_answer, maths, verify; nearest known: program"
    )
    assert not os.path.exists("runs")
