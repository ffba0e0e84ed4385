"""A tiny model folder, and a run of one step with it."""

import json
from pathlib import Path

import pytest
from tests.cli.commands import call

from cotrain.environments.parsing import MOVES
from cotrain.policies.toy import ToySize, toy_model, toy_tokenizer

ROLES = ("proposer", "planner", "solo", "drafter", "answerer")
STATE_WORDS = ("legal", "at", "goal", "moves", "grid", "proposal", "none", "ends", "illegal")
SIGNS = ("-", ".", "#", "A", "G", "<answer>", "</answer>", *map(str, range(10)))
SIZE = ToySize(hidden=32, layers=1, heads=2, key_value_heads=1, feed_forward=32, context_tokens=128)
SETTINGS: dict[str, object] = {
    "run.steps": 1,
    "run.evaluate_every": 0,
    "team.turns": 2,
    "model.threads": 1,
    "sampling.candidates": 2,
    "sampling.tasks_per_step": 2,
    "sampling.max_reply_tokens": 6,
    "algorithm.minibatches": 1,
    "evaluation.tasks": 2,
    "evaluation.validation_tasks": 2,
    "evaluation.baselines": [],
}


@pytest.fixture(scope="session")
def model_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A random model that knows the words of Plan-Path's compact view."""
    folder = tmp_path_factory.mktemp("models") / "toy"
    tokenizer = toy_tokenizer([*ROLES, *MOVES, *STATE_WORDS, *SIGNS])
    toy_model(len(tokenizer), SIZE, seed=0).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


@pytest.fixture(scope="session")
def settings(model_folder: Path) -> list[str]:
    """The arguments that make of the default preset a run of a second with the toy model."""
    values = {**SETTINGS, "model.name": str(model_folder)}
    return [
        part for key, value in values.items() for part in ("--set", f"{key}={json.dumps(value)}")
    ]


@pytest.fixture(scope="session")
def run_dir(tmp_path_factory: pytest.TempPathFactory, settings: list[str]) -> Path:
    """A finished run of one step; no test changes it."""
    folder = tmp_path_factory.mktemp("runs") / "finished"
    done = call("train", *settings, "--run-dir", folder, "--json")
    assert done.code == 0, done.stderr
    return folder
