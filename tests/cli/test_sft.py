"""`cotrain sft`: a run that imitates another, and what is wrong use of it."""

from pathlib import Path

from tests.cli.commands import call

SMALL = (
    *("--set", "run.steps=1", "--set", "sampling.tasks_per_step=2"),
    *("--set", "evaluation.tasks=2", "--set", "evaluation.validation_tasks=1"),
    *("--set", "evaluation.baselines=[]", "--set", "model.threads=1"),
)


def test_nothing_to_imitate_is_wrong_use_and_leaves_no_folder(tmp_path: Path) -> None:
    found = call("sft", *SMALL, "--run-dir", tmp_path / "run")
    assert (found.code, found.stdout) == (2, "")
    assert "imitation.episodes" in found.stderr
    assert "cotrain sft --from" in found.stderr
    assert not (tmp_path / "run").exists()


def test_a_source_that_is_not_there_is_wrong_use(tmp_path: Path) -> None:
    found = call("sft", *SMALL, "--from", tmp_path / "nowhere", "--run-dir", tmp_path / "run")
    assert (found.code, found.stdout) == (2, "")
    assert "neither a run folder nor a file of episodes" in found.stderr
    assert not (tmp_path / "run").exists()


def test_a_dry_run_of_imitation_has_no_plan_of_sampling() -> None:
    chosen = ("--set", "algorithm.method=sft", "--set", 'imitation.episodes=["runs/a"]')
    found = call("train", "--dry-run", *chosen, "--set", "run.max_sampled_tokens=5")
    assert found.code == 2
    assert 'run.max_sampled_tokens = 5: must not be set with algorithm.method = "sft"' in (
        found.stderr
    )
