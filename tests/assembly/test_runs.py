"""Whole runs through the Python interface, on the embedded model and on scripts."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from safetensors.torch import load_file

import cotrain
from cotrain.runs.metrics import timeless
from cotrain.runs.store import RunFolder
from cotrain.training.trainer import TrainingFailedError

SMALL: dict[str, Any] = {
    "run.steps": 4,
    "run.seed": 5,
    "run.checkpoint_every": 2,
    "run.evaluate_every": 2,
    "sampling.tasks_per_step": 2,
    "sampling.candidates": 2,
    "team.turns": 2,
    "evaluation.tasks": 3,
    "evaluation.validation_tasks": 3,
    "evaluation.baselines": [],
    "model.threads": 1,
    "logging.console": False,
}
SCRIPT = """
def reply(messages, generator):
    return f"<answer>{generator.choice(['Up', 'Down', 'Left', 'Right'])}</answer>"
"""


def weights(run: cotrain.Run) -> dict[str, Any]:
    return load_file(run.checkpoints[-1] / "policies" / "shared" / "model.safetensors")


def rows(path: Path) -> list[list[dict[str, Any]]]:
    folder = RunFolder(path)
    return [[timeless(row) for row in found] for found in (folder.metrics(), folder.evaluations())]


def test_the_same_seed_gives_the_same_run(tmp_path: Path) -> None:
    runs = [cotrain.train(None, SMALL, tmp_path / name) for name in ("a", "b")]
    assert rows(runs[0].path) == rows(runs[1].path)
    first, second = weights(runs[0]), weights(runs[1])
    assert all(first[name].equal(second[name]) for name in first)


def test_another_seed_gives_another_run(tmp_path: Path) -> None:
    runs = [
        cotrain.train(None, SMALL | {"run.seed": seed, "run.steps": 1}, tmp_path / str(seed))
        for seed in (1, 2)
    ]
    assert rows(runs[0].path)[0] != rows(runs[1].path)[0]


def test_a_stopped_and_resumed_run_equals_the_unbroken_one(tmp_path: Path) -> None:
    straight = cotrain.train(None, SMALL, tmp_path / "straight")
    asked = iter([True])
    stopped = cotrain.train(None, SMALL, tmp_path / "broken", stop=lambda: next(asked, True))
    assert not stopped.finished
    resumed = cotrain.train(None, SMALL, tmp_path / "broken", resume=True)
    assert resumed.finished
    assert rows(straight.path) == rows(resumed.path)
    before, after = weights(straight), weights(resumed)
    assert all(before[name].equal(after[name]) for name in before)


def test_evaluations_are_made_first_at_every_interval_and_last(tmp_path: Path) -> None:
    run = cotrain.train(None, SMALL, tmp_path / "run")
    assert [(row["step"], row["split"]) for row in run.evaluations] == [
        (0, "test"),
        (0, "validation"),
        (2, "validation"),
        (4, "test"),
        (4, "validation"),
    ]


def test_an_evaluation_does_not_depend_on_the_candidates(tmp_path: Path) -> None:
    few, many = (
        cotrain.evaluate("plan_path_tiny", SMALL | {"sampling.candidates": k}) for k in (2, 6)
    )
    assert few == many


def test_all_groups_without_signal_leave_weights_and_version_and_the_run_goes_on(
    tmp_path: Path,
) -> None:
    # A reply of one token never holds an answer: every candidate of every group earns the same.
    run = cotrain.train(None, SMALL | {"sampling.max_reply_tokens": 1}, tmp_path / "run")
    assert [row["policy.shared.skipped"] for row in run.metrics] == [True] * 4
    assert [row["policy.shared.version"] for row in run.metrics] == [0] * 4
    first, last = (
        load_file(run.path / f"checkpoints/step_{s:06d}/policies/shared/model.safetensors")
        for s in (2, 4)
    )
    assert all(first[name].equal(last[name]) for name in first)


def test_a_run_of_scripts_is_played_recorded_and_resumed(tmp_path: Path) -> None:
    script = tmp_path / "mover.py"
    script.write_text(SCRIPT)
    scripted = SMALL | {
        "environment.options.view": "text",
        "sampling.max_prompt_tokens": 4000,
        "sampling.max_reply_tokens": 200,
        "team.roles.proposer.model": f"scripted:{script}",
        "team.roles.planner.model": f"scripted:{script}",
    }
    asked = iter([True])
    cotrain.train(None, scripted, tmp_path / "run", stop=lambda: next(asked, True))
    run = cotrain.train(None, scripted, tmp_path / "run", resume=True)
    assert run.finished
    assert [row["groups"] > 0 for row in run.metrics] == [True] * 4
    assert json.loads((run.checkpoints[-1] / "policies/planner/script.json").read_text())


def test_a_frozen_role_plays_and_its_replies_are_not_trained(tmp_path: Path) -> None:
    run = cotrain.train(
        None, SMALL | {"run.steps": 1, "team.roles.planner.trainable": False}, tmp_path / "run"
    )
    stored = list(RunFolder(run.path).episodes(1))
    groups = [group for s in stored for group in s.episode.groups()]
    assert {(g.role, g.trained, g.width) for g in groups} == {
        ("proposer", True, 2),
        ("planner", False, 1),
    }


def test_single_grpo_groups_whole_episodes(tmp_path: Path) -> None:
    run = cotrain.train(
        None, SMALL | {"run.steps": 1, "algorithm.method": "single_grpo"}, tmp_path / "run"
    )
    assert run.metrics[0]["groups"] == 2
    assert run.evaluations[0]["method"] == "single_grpo"


def test_stored_episodes_carry_advantages_ids_and_logprobs(tmp_path: Path) -> None:
    run = cotrain.train(None, SMALL | {"run.steps": 1}, tmp_path / "run")
    for stored in RunFolder(run.path).episodes(1):
        for group in stored.episode.groups():
            assert group.prompt_ids
            for candidate in group.candidates:
                assert len(candidate.reply.token_ids) == len(candidate.reply.logprobs) > 0
                assert stored.advantages[group.key, candidate.index] is not None


@pytest.mark.parametrize("method", ["team", "single"])
def test_methods_that_train_nothing_are_evaluated_and_not_trained(
    tmp_path: Path, method: str
) -> None:
    settings = SMALL | {"algorithm.method": method}
    assert cotrain.evaluate("plan_path_tiny", settings)["method"] == method
    with pytest.raises(ValueError, match=r"algorithm\.method"):
        cotrain.train(None, settings, tmp_path / "run")


@pytest.mark.parametrize(
    ("fails_in", "said"),
    [
        ("observe", "episode environment_error (2 times), KeyError: 'observe of round 0'"),
        ("", "candidate error (4 times), ValueError: could not convert string to float"),
    ],
)
def test_a_run_in_which_everything_fails_ends_after_three_steps_and_says_what_failed(
    tmp_path: Path, fails_in: str, said: str
) -> None:
    # The rules of this game read a number, which the embedded model does not write.
    config = tmp_path / "failing.toml"
    config.write_text(f"""
model.name = "tiny"
sampling.max_reply_tokens = 8
[environment]
name = "tests.rollouts.rated:RatedAlone"
options.fails_in = "{fails_in}"
""")
    with pytest.raises(TrainingFailedError, match="3 steps in a row failed") as caught:
        cotrain.train(config, SMALL, tmp_path / "run")
    assert said in str(caught.value)
    assert "checkpoints/step_000002" in str(caught.value)
    assert [row["step"] for row in RunFolder(tmp_path / "run").metrics()] == [1, 2, 3]


FLAKY = """
from cotrain import Request
from tests.rollouts.rated import RatedAlone

TRIED = []


def answer(request):
    TRIED.append(request)
    if len(TRIED) % 2:
        raise ConnectionError("gone")
    return 1


class Flaky(RatedAlone):
    handlers = {"verify": answer}

    def evidence(self, state, agent, reply):
        return (Request.of("verify", reply=reply),)
"""


def test_the_retries_of_a_step_are_one_event(tmp_path: Path) -> None:
    (tmp_path / "flaky.py").write_text(FLAKY)
    (tmp_path / "script.py").write_text("def reply(messages, generator): return '0.5'")
    config = tmp_path / "flaky.toml"
    config.write_text(f"""
limits.retries = 20
environment.name = "{tmp_path / "flaky.py"}:Flaky"
team.roles.solo.model = "scripted:{tmp_path / "script.py"}"
""")
    run = cotrain.train(config, SMALL | {"run.steps": 2}, tmp_path / "run")
    events = [event for event in RunFolder(run.path).events() if event["kind"] == "retries"]
    found = [re.fullmatch(r"step (\d): (\d+) verify", event["message"]) for event in events]
    assert [match[1] for match in found if match] == ["1", "2"]
    stored = [s.episode for step in (1, 2) for s in RunFolder(run.path).episodes(step)]
    retries = [
        e.retries
        for episode in stored
        for g in episode.groups()
        for c in g.candidates
        for e in c.evidence
    ]
    assert sum(retries) == sum(int(match[2]) for match in found if match) > 0
