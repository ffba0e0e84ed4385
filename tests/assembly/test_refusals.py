"""What training refuses before any model is loaded."""

from pathlib import Path

import pytest
from tests.assembly.foresight import Foresight

import cotrain
from cotrain.assembly.casting import method_of
from cotrain.assembly.evaluating import check_baselines
from cotrain.config import ConfigurationError, load_config, replaced
from cotrain.rollouts.methods import WholeEpisodeMethod

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
