"""A policy moves in a step only if its own role is trained in it and its own replies earn."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from safetensors.torch import load_file
from tests.e2e.bases import contents, save_qwen3
from tests.e2e.signals import SETTINGS

from cotrain.assembly.commands import train
from cotrain.assembly.evaluating import team_of
from cotrain.assembly.training import Run
from cotrain.core.episode import Group
from cotrain.runs.metrics import timeless
from cotrain.runs.store import RunFolder

ROLES = ("flag", "lamp")
OTHER = {"flag": "lamp", "lamp": "flag"}
REGIMES = ("lora_per_role", "model_per_role")
RATES = {"lora_per_role": 5e-3, "model_per_role": 5e-3}
STEPS, EARLY = 24, 4
PERIOD = 2
PERIODS = 4


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_qwen3(tmp_path_factory.mktemp("bases") / "qwen3", seed=3)


def settings(base: Path, regime: str, **changes: Any) -> dict[str, Any]:
    """A short run of this regime; `run__steps` is the key `run.steps`."""
    given = {key.replace("__", "."): value for key, value in changes.items()}
    general = {
        "model.name": str(base),
        "team.policies": regime,
        "optimizer.learning_rate": RATES[regime],
    }
    return {**SETTINGS, **general, **given}


def one_sided(base: Path, regime: str, earner: str, **changes: Any) -> dict[str, Any]:
    """A short run in which one role alone can earn."""
    return {
        **settings(base, regime, **changes),
        "environment.options": {"scored": earner},
    }


def saved(run: Run, step: int, role: str) -> dict[str, bytes]:
    """Every file of a role's policy and of its optimiser in the checkpoint of a step."""
    checkpoint = run.path / "checkpoints" / f"step_{step:06d}"
    parts = {part: contents(checkpoint / part / role) for part in ("policies", "optimizers")}
    return {f"{part}/{name}": data for part, files in parts.items() for name, data in files.items()}


def replies(team: str | Path, changes: Mapping[str, object], role: str) -> list[object]:
    """What a role reads and replies on test tasks."""
    played = team_of(team, changes).contender.episodes.play("test", range(12), step=0)
    groups = [g for episode in played for g in episode.groups() if g.role == role]
    return [(group.prompt_ids, group.candidates[0].reply) for group in groups]


@pytest.mark.parametrize("earner", ROLES)
@pytest.mark.parametrize("regime", REGIMES)
def test_a_role_that_cannot_earn_stays_as_it_was_while_the_other_one_learns(
    base: Path, tmp_path: Path, regime: str, earner: str
) -> None:
    idle = OTHER[earner]
    given = one_sided(base, regime, earner, run__steps=STEPS, run__checkpoint_every=EARLY)
    run = train(None, given | {"evaluation.tasks": 40}, tmp_path / "run")

    assert saved(run, EARLY, idle) == saved(run, STEPS, idle)
    assert saved(run, EARLY, earner) != saved(run, STEPS, earner)
    assert {row[f"policy.{idle}.version"] for row in run.metrics} == {0}
    assert {row[f"policy.{idle}.skipped"] for row in run.metrics} == {True}
    assert run.metrics[-1][f"policy.{earner}.version"] > STEPS // 2

    first, last = (row["roles"] for row in run.evaluations if row["split"] == "test")
    assert last[earner]["score_mean"] - first[earner]["score_mean"] > 0.25
    assert replies(run.path, {}, idle) == replies("plan_path_tiny", given, idle)
    assert replies(run.path, {}, earner) != replies("plan_path_tiny", given, earner)


@pytest.mark.parametrize("earner", ROLES)
def test_candidates_of_a_role_that_cannot_earn_differ_and_score_the_same(
    base: Path, tmp_path: Path, earner: str
) -> None:
    run = train(None, one_sided(base, "lora_per_role", earner, run__steps=1), tmp_path / "run")
    groups = [g for one in RunFolder(run.path).episodes(1) for g in one.episode.groups()]
    found = [group.candidates for group in groups if group.role == OTHER[earner]]
    assert len(found) == SETTINGS["sampling.tasks_per_step"]
    assert all(len({candidate.score for candidate in siblings}) == 1 for siblings in found)
    assert all(len({candidate.reply.text for candidate in siblings}) > 1 for siblings in found)


@pytest.mark.parametrize("idle", ROLES)
def test_the_adapter_of_a_role_that_cannot_earn_still_adds_nothing_to_its_base(
    base: Path, tmp_path: Path, idle: str
) -> None:
    given = one_sided(base, "lora_per_role", OTHER[idle], run__steps=2)
    run = train(None, given, tmp_path / "run")
    folders = {role: run.checkpoints[-1] / "policies" / role for role in ROLES}
    moved = {
        role: any(
            bool(tensor.any())
            for name, tensor in load_file(folder / "adapter_model.safetensors").items()
            if "lora_B" in name
        )
        for role, folder in folders.items()
    }
    assert moved == {idle: False, OTHER[idle]: True}


@pytest.mark.parametrize("idle", ROLES)
def test_a_whole_model_that_cannot_earn_still_has_the_weights_of_its_base(
    base: Path, tmp_path: Path, idle: str
) -> None:
    given = one_sided(base, "model_per_role", OTHER[idle], run__steps=2)
    run = train(None, given, tmp_path / "run")
    start = load_file(base / "model.safetensors")
    kept = {}
    for role in ROLES:
        found = load_file(run.checkpoints[-1] / "policies" / role / "model.safetensors")
        assert found.keys() == start.keys()
        kept[role] = all(start[name].equal(found[name]) for name in start)
    assert kept == {idle: True, OTHER[idle]: False}


# by turns: `team.alternate_every`


def by_turns(base: Path, regime: str, **changes: Any) -> dict[str, Any]:
    given = {"team__alternate_every": PERIOD, "run__steps": PERIOD * PERIODS, **changes}
    return settings(base, regime, **given)


def trained_in(step: int) -> str:
    """The role whose turn it is, steps counted from 1."""
    return ROLES[(step - 1) // PERIOD % len(ROLES)]


@pytest.fixture(scope="module", params=REGIMES)
def alternating(
    request: pytest.FixtureRequest, base: Path, tmp_path_factory: pytest.TempPathFactory
) -> Run:
    """A run of four periods that saves every step."""
    folder = tmp_path_factory.mktemp("runs") / "alternating"
    return train(None, by_turns(base, request.param, run__checkpoint_every=1), folder)


def test_in_each_step_the_version_of_the_role_whose_turn_it_is_goes_up_alone(
    alternating: Run,
) -> None:
    before = dict.fromkeys(ROLES, 0)
    raised = []
    for row in alternating.metrics:
        now = {role: row[f"policy.{role}.version"] for role in ROLES}
        raised.append({role: now[role] - before[role] for role in ROLES})
        assert [row[f"policy.{role}.skipped"] for role in ROLES] == [
            role != trained_in(row["step"]) for role in ROLES
        ]
        before = now
    assert raised == [
        {role: int(role == trained_in(step)) for role in ROLES}
        for step in range(1, PERIOD * PERIODS + 1)
    ]
    assert [trained_in(step) for step in (1, 2, 3, 4, 5)] == [
        "flag",
        "flag",
        "lamp",
        "lamp",
        "flag",
    ]


def test_weights_and_moments_of_the_idle_role_do_not_change_in_its_idle_steps(
    alternating: Run,
) -> None:
    for step in range(2, PERIOD * PERIODS + 1):
        changed = {
            role: saved(alternating, step, role) != saved(alternating, step - 1, role)
            for role in ROLES
        }
        assert changed == {role: role == trained_in(step) for role in ROLES}, step


def test_the_idle_role_gives_one_reply_and_forms_no_group(alternating: Run) -> None:
    tasks = SETTINGS["sampling.tasks_per_step"]
    for row in alternating.metrics:
        now, stored = trained_in(row["step"]), RunFolder(alternating.path).episodes(row["step"])
        assert row["groups"] == tasks
        for one in stored:
            found = {group.role: shape(group) for group in one.episode.groups()}
            assert found == {now: (8, 8, True), OTHER[now]: (1, 1, False)}
            assert {key.agent for key, _ in one.advantages} == {now}


def shape(group: Group) -> tuple[int, int, bool]:
    return group.width, len(group.candidates), group.trained


@pytest.mark.parametrize("regime", REGIMES)
@pytest.mark.parametrize("stopped_after", [1, 3])
def test_a_run_stopped_within_a_period_goes_on_as_if_it_had_not_been(
    base: Path, tmp_path: Path, regime: str, stopped_after: int
) -> None:
    given = by_turns(base, regime, run__steps=5, run__checkpoint_every=0, run__evaluate_every=2)
    straight = train(None, given, tmp_path / "straight")
    asked = iter([False] * (stopped_after - 1) + [True])
    stopped = train(None, given, tmp_path / "broken", stop=lambda: next(asked))
    assert [row["step"] for row in stopped.metrics][-1] == stopped_after
    resumed = train(None, given, tmp_path / "broken", resume=True)
    assert rows(straight) == rows(resumed)
    assert all(saved(straight, 5, role) == saved(resumed, 5, role) for role in ROLES)


def rows(run: Run) -> list[list[dict[str, Any]]]:
    return [[timeless(row) for row in found] for found in (run.metrics, run.evaluations)]
