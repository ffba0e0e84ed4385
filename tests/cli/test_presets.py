"""Every shipped configuration says what it would do, also where its model cannot be reached."""

import pytest
from tests.cli.commands import call

from cotrain.config import presets

NAMES = [preset.name for preset in presets()]


@pytest.mark.parametrize("name", NAMES)
def test_every_preset_has_a_plan(name: str) -> None:
    found = call("train", name, "--dry-run", "--json")
    assert found.code == 0, found.stderr
    assert found.document["replies_a_step"] > 0


def test_a_model_that_only_the_hub_could_know_leaves_its_size_open() -> None:
    given = ("--set", "model.name=Qwen/Qwen3-1.7B", "--dry-run")
    found = call("train", *given, "--json").document
    assert found["policies"]["shared"]["parameters"] is None
    assert "the Hub cannot be reached" in found["policies"]["shared"]["unknown"]
    assert found["memory_bytes"] is None
    assert "memory: not known without the model" in call("train", *given).stdout


def test_training_refuses_a_model_that_cannot_be_reached() -> None:
    found = call("train", "--set", "model.name=Qwen/Qwen3-1.7B")
    assert found.code == 2
    assert "the Hub cannot be reached" in found.stderr
