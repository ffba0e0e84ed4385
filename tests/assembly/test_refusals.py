"""What training refuses before any model is loaded."""

from pathlib import Path

import pytest
from tests.assembly.foresight import Foresight

import cotrain
from cotrain.assembly.casting import method_of
from cotrain.assembly.evaluating import check_baselines
from cotrain.config import ConfigurationError, load_config, replaced
from cotrain.rollouts.methods import WholeEpisodeMethod
from cotrain.runs.durable import RunFolderError, RunFolderRefusedError

SHORT = {
    "run.steps": 1,
    "sampling.tasks_per_step": 1,
    "sampling.candidates": 2,
    "team.turns": 1,
    "evaluation.tasks": 1,
    "evaluation.validation_tasks": 1,
    "evaluation.baselines": [],
    "model.threads": 1,
    "logging.console": False,
}


LISTED = """
from pathlib import Path

from cotrain import Task
from tests.rollouts.rated import RatedAlone


class Listed(RatedAlone):
    def task(self, split, seed, index):
        words = Path(__file__).with_name(f"{split}.txt").read_text().split()
        return Task(split, index, words[index % len(words)], index)
"""


@pytest.mark.parametrize("method", ["at_grpo", "single_at_grpo"])
def test_credit_that_needs_later_turns_is_refused_with_the_tree(method: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        method_of(load_config(None, {"algorithm.method": method}), Foresight())
    assert str(caught.value) == (
        f'algorithm.method = "{method}": cannot honour settle(episode) of plan_path, which gives '
        'credit by later turns; allowed are "team_grpo", "single_grpo"'
    )


@pytest.mark.parametrize("method", ["team_grpo", "single_grpo"])
def test_whole_episodes_may_have_credit_that_needs_later_turns(method: str) -> None:
    config = load_config(None, {"algorithm.method": method})
    assert isinstance(method_of(config, Foresight()), WholeEpisodeMethod)


def test_baselines_whose_rows_could_not_be_told_apart_are_refused(tmp_path: Path) -> None:
    saved = str(cotrain.train(None, SHORT, tmp_path / "run").checkpoints[-1])
    config = load_config(None, SHORT | {"evaluation.baselines": [saved]})
    with pytest.raises(ConfigurationError, match="with 1 turns, as this run does"):
        check_baselines(config)
    longer = replaced(config, {"team.turns": 2})
    check_baselines(longer)
    with pytest.raises(ConfigurationError, match=f"as {saved} does"):
        check_baselines(replaced(longer, {"evaluation.baselines": [saved, saved]}))


def test_a_baseline_of_other_tasks_is_refused(tmp_path: Path) -> None:
    smaller = SHORT | {"environment.options.size": 5}
    saved = str(cotrain.train(None, smaller, tmp_path / "run").checkpoints[-1])
    config = load_config(None, SHORT | {"team.turns": 2, "evaluation.baselines": [saved]})
    with pytest.raises(ConfigurationError, match="other tasks"):
        check_baselines(config)


@pytest.fixture
def listed_run(tmp_path: Path) -> Path:
    """A run of 1 of 2 steps on tasks that stand in files beside the environment's."""
    (tmp_path / "listed.py").write_text(LISTED)
    for split in ("train", "validation", "test"):
        (tmp_path / f"{split}.txt").write_text("ab cd ef")
    script = tmp_path / "script.py"
    script.write_text("def reply(messages, generator): return str(generator.random())")
    config = tmp_path / "listed.toml"
    config.write_text(f"""
environment.name = "{tmp_path / "listed.py"}:Listed"
team.roles.solo.model = "scripted:{script}"
""")
    asked = iter([True])
    settings = SHORT | {"run.steps": 2}
    run = cotrain.train(config, settings, tmp_path / "run", stop=lambda: next(asked, True))
    assert not run.finished
    return run.path


def test_a_resume_on_other_tasks_is_refused_and_the_splits_are_named(listed_run: Path) -> None:
    for split in ("train", "test"):
        (listed_run.parent / f"{split}.txt").write_text("ab cd 00")
    before = (listed_run / "metrics.jsonl").read_bytes()
    with pytest.raises(RunFolderRefusedError, match=r"those of train, test are no longer") as told:
        cotrain.train(None, {}, listed_run, resume=True)
    assert len(str(told.value).splitlines()) == 1
    assert "begin a new run with --run-dir" in str(told.value)
    assert (listed_run / "metrics.jsonl").read_bytes() == before


def test_a_resume_on_the_same_tasks_goes_on_and_then_only_prints(listed_run: Path) -> None:
    assert cotrain.train(None, {}, listed_run, resume=True).finished
    (listed_run.parent / "train.txt").write_text("00")
    assert cotrain.train(None, {}, listed_run, resume=True).finished
    with pytest.raises(RunFolderRefusedError, match="those of train are no longer"):
        cotrain.train(None, {"run.steps": 3}, listed_run, resume=True)


def test_a_manifest_without_the_hashes_of_tasks_is_named(listed_run: Path) -> None:
    (listed_run / "manifest.json").write_text("{}")
    with pytest.raises(RunFolderError, match=r"manifest\.json has no table task_hashes"):
        cotrain.train(None, {}, listed_run, resume=True)
