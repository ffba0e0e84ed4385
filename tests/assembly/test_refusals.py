"""What training refuses before any model is loaded."""

from pathlib import Path

import pytest

import cotrain
from cotrain.assembly.casting import method_of
from cotrain.assembly.evaluating import check_baselines
from cotrain.config import ConfigurationError, load_config, replaced
from cotrain.core.episode import Episode
from cotrain.environments.plan_path import PlanPath

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


class LateCredit(PlanPath):
    def settle(self, episode: Episode) -> dict[tuple[str, int], float]:
        return {}


def test_an_environment_with_credit_that_needs_later_turns_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="settle"):
        method_of(load_config(), LateCredit())


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
