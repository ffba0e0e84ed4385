"""Teams put together for an evaluation: swapped roles, and policies of other runs."""

import shutil
from pathlib import Path
from typing import Any

import pytest

import cotrain
from cotrain.assembly.lineup import parse_pairs
from cotrain.config import ConfigurationError
from cotrain.runs.store import RunFolder

SMALL: dict[str, Any] = {
    "run.steps": 2,
    "run.seed": 6,
    "run.checkpoint_every": 1,
    "run.evaluate_every": 0,
    "sampling.tasks_per_step": 2,
    "sampling.candidates": 4,
    "team.turns": 2,
    "optimizer.learning_rate": 5e-3,
    "evaluation.tasks": 6,
    "evaluation.validation_tasks": 1,
    "evaluation.baselines": [],
    "model.threads": 1,
    "logging.console": False,
}
ROLES = ("proposer", "planner")


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Finished runs of each regime; no test changes one."""
    root = tmp_path_factory.mktemp("runs")
    regimes = ("shared", "lora_per_role", "model_per_role")
    return {
        regime: cotrain.train(None, SMALL | {"team.policies": regime}, root / regime).path
        for regime in regimes
    }


def tree(folder: Path) -> dict[str, bytes]:
    files = (path for path in folder.rglob("*") if path.is_file())
    return {str(path): path.read_bytes() for path in files}


def said(caught: pytest.ExceptionInfo[ConfigurationError]) -> str:
    return str(caught.value)


@pytest.mark.parametrize("regime", ["lora_per_role", "model_per_role"])
def test_swapped_roles_play_with_each_others_policies(runs: dict[str, Path], regime: str) -> None:
    plain = cotrain.evaluate(runs[regime])
    swapped = cotrain.evaluate(runs[regime], swaps=[("planner", "proposer")])
    assert {role: p["policy"] for role, p in plain["policies"].items()} == {r: r for r in ROLES}
    assert {role: p["policy"] for role, p in swapped["policies"].items()} == {
        "proposer": "planner",
        "planner": "proposer",
    }
    assert swapped["roles"] != plain["roles"]


@pytest.mark.parametrize("regime", ["lora_per_role", "model_per_role"])
def test_swapping_twice_over_two_runs_is_naming_the_policies(
    runs: dict[str, Path], regime: str
) -> None:
    swapped = cotrain.evaluate(runs[regime], swaps=[("planner", "proposer")])
    named = cotrain.evaluate(
        runs[regime],
        policies={
            "planner": f"{runs[regime]}:proposer",
            "proposer": f"{runs[regime]}:planner@2",
        },
    )
    assert named["roles"] == swapped["roles"]
    assert {p["run"] for p in named["policies"].values()} == {regime}
    assert {p["run"] for p in swapped["policies"].values()} == {None}


def test_policies_of_any_regime_can_form_a_team(runs: dict[str, Path]) -> None:
    row = cotrain.evaluate(
        runs["model_per_role"],
        policies={"planner": str(runs["lora_per_role"]), "proposer": f"{runs['shared']}@1"},
    )
    assert row["policies"] == {
        "proposer": {"policy": "shared", "version": 1, "run": "shared"},
        "planner": {"policy": "planner", "version": 2, "run": "lora_per_role"},
    }


def test_a_policy_of_a_run_plays_beside_an_untrained_one(runs: dict[str, Path]) -> None:
    overrides = SMALL | {"team.policies": "lora_per_role"}
    row = cotrain.evaluate(
        "plan_path_tiny", overrides, policies={"planner": str(runs["lora_per_role"])}
    )
    assert row["policies"]["proposer"] == {"policy": "proposer", "version": 0, "run": None}
    assert row["policies"]["planner"]["version"] == 2


def test_a_run_may_be_named_by_its_checkpoint(runs: dict[str, Path]) -> None:
    checkpoint = runs["lora_per_role"] / "checkpoints" / "step_000001"
    row = cotrain.evaluate(runs["shared"], policies={"planner": f"{checkpoint}:proposer"})
    assert row["policies"]["planner"] == {
        "policy": "proposer",
        "version": 1,
        "run": "lora_per_role",
    }


def test_an_evaluation_of_a_mixed_team_writes_nothing(runs: dict[str, Path]) -> None:
    before = {name: tree(path) for name, path in runs.items()}
    cotrain.evaluate(runs["lora_per_role"], policies={"planner": str(runs["shared"])})
    assert {name: tree(path) for name, path in runs.items()} == before


@pytest.mark.parametrize(
    ("reference", "line"),
    [
        ("{run}:planer", "has no policy planer, allowed are proposer, planner; nearest known: pla"),
        ("{run}@7", "has no checkpoint of step 7; saved: 1, 2"),
        ("{run}/checkpoints/step_000001@2", "is the checkpoint of step 1, not 2"),
        ("{run}_elsewhere", "is no checkpoint"),
        ("", "must be RUN"),
    ],
)
def test_a_run_a_policy_or_a_step_that_is_not_there_is_named(
    runs: dict[str, Path], reference: str, line: str
) -> None:
    given = reference.format(run=runs["lora_per_role"])
    with pytest.raises(ConfigurationError) as caught:
        cotrain.evaluate(runs["shared"], policies={"planner": given})
    assert said(caught).startswith(f'--policy planner = "{given}": ')
    assert line in said(caught)


@pytest.mark.parametrize(
    ("swaps", "policies", "line"),
    [
        ([("planner", "critic")], [], '--swap = "critic": no role that is played'),
        ([], [("planer", "x")], "no role that is played, allowed are proposer, planner; nearest"),
        ([("planner", "planner")], [], '--swap = "planner": must be named once'),
        ([("planner", "proposer")], [("planner", "x")], '--swap = "planner": must be named once'),
        ([], [("planner", "x"), ("planner", "y")], '--policy = "planner": must be named once'),
    ],
)
def test_a_lineup_that_contradicts_itself_is_refused(
    runs: dict[str, Path],
    swaps: list[tuple[str, str]],
    policies: list[tuple[str, str]],
    line: str,
) -> None:
    with pytest.raises(ConfigurationError) as caught:
        cotrain.evaluate(runs["lora_per_role"], swaps=swaps, policies=policies)
    assert line in said(caught)


def test_a_swap_of_one_shared_policy_with_itself_is_refused(runs: dict[str, Path]) -> None:
    with pytest.raises(ConfigurationError, match="changes nothing: one policy plays both roles"):
        cotrain.evaluate(runs["shared"], swaps=[("planner", "proposer")])


@pytest.mark.parametrize("text", ["planner", "=x", "planner="])
def test_half_an_assignment_is_refused(text: str) -> None:
    with pytest.raises(ConfigurationError, match=r"must be ROLE="):
        parse_pairs("--policy", [text])


def test_the_rows_of_a_run_say_whose_policies_played(runs: dict[str, Path]) -> None:
    last = RunFolder(runs["lora_per_role"]).evaluations()[-1]
    assert last["policies"] == {role: {"policy": role, "version": 2, "run": None} for role in ROLES}


def damaged(run: Path, step: int, to: Path) -> Path:
    """A copy of a run in which an adapter of this step has other bytes and the same size."""
    shutil.copytree(run, to)
    folder = to / "checkpoints" / f"step_{step:06d}" / "policies" / "planner"
    [file] = folder.glob("*.safetensors")
    content = bytearray(file.read_bytes())
    content[-4000:] = bytes(4000)
    file.write_bytes(content)
    return to


def test_a_damaged_checkpoint_that_is_named_is_refused(
    runs: dict[str, Path], tmp_path: Path
) -> None:
    run = damaged(runs["lora_per_role"], 1, tmp_path / "run")
    with pytest.raises(ConfigurationError, match="safetensors"):
        cotrain.evaluate(runs["shared"], policies={"planner": f"{run}@1"})


def test_an_evaluation_of_an_earlier_checkpoint_is_said(
    runs: dict[str, Path], tmp_path: Path
) -> None:
    run = damaged(runs["lora_per_role"], 2, tmp_path / "run")
    with pytest.warns(UserWarning, match="step_000002 is passed over"):
        assert cotrain.evaluate(run)["step"] == 1


def test_a_folder_whose_name_looks_like_a_step_is_found(
    runs: dict[str, Path], tmp_path: Path
) -> None:
    run = tmp_path / "run:planner@1"
    shutil.copytree(runs["lora_per_role"], run)
    row = cotrain.evaluate(runs["shared"], policies={"planner": str(run)})
    assert row["policies"]["planner"]["version"] == 2
    plain = tmp_path / "other:planner"
    shutil.copytree(runs["lora_per_role"], plain)
    for named, version in ((f"{plain}@1", 1), (str(plain), 2), (f"{plain}:planner", 2)):
        row = cotrain.evaluate(runs["shared"], policies={"planner": named})
        assert row["policies"]["planner"]["version"] == version
    row = cotrain.evaluate(runs["shared"], policies={"planner": f"{run}:proposer@1"})
    assert row["policies"]["planner"]["version"] == 1
