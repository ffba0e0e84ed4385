"""Saved policies are folders that transformers loads; moments are safetensors."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file
from tests.learning.batches import SETTINGS, batch, make_trained
from transformers import AutoModelForCausalLM, AutoTokenizer

from cotrain.learning.moments import MOMENTS_FILE
from cotrain.policies.networks import WEIGHTS_FILE


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_a_saved_policy_loads_in_transformers_with_its_float32_masters(
    dtype: torch.dtype, tmp_path: Path
) -> None:
    trained = make_trained(SETTINGS, dtype=dtype)
    trained.policy.model.config.dtype = dtype
    trained.learner.update(batch(trained), step=1, rate_factor=1.0)
    trained.learner.save_policy(tmp_path)
    model = AutoModelForCausalLM.from_pretrained(tmp_path, dtype=torch.float32)
    named = dict(model.named_parameters())
    assert named.keys() == trained.masters().keys()
    assert all(torch.equal(named[name], value) for name, value in trained.masters().items())
    tokenizer = AutoTokenizer.from_pretrained(tmp_path)
    assert tokenizer("a b c")["input_ids"] == trained.policy.codec.tokenizer("a b c")["input_ids"]
    assert tokenizer.chat_template == trained.policy.codec.tokenizer.chat_template
    assert json.loads((tmp_path / "config.json").read_text())["dtype"] == "float32"


def test_saved_files_hold_float32_whatever_computes(tmp_path: Path) -> None:
    trained = make_trained(SETTINGS, dtype=torch.bfloat16)
    trained.learner.update(batch(trained), step=1, rate_factor=1.0)
    trained.learner.save_policy(tmp_path / "p")
    trained.learner.save_optimizer(tmp_path / "o")
    saved = load_file(tmp_path / "p" / WEIGHTS_FILE) | load_file(tmp_path / "o" / MOMENTS_FILE)
    assert {value.dtype for value in saved.values()} == {torch.float32}
    assert {key.rsplit("/", 1)[1] for key in load_file(tmp_path / "o" / MOMENTS_FILE)} == {
        "exp_avg",
        "exp_avg_sq",
        "step",
    }


def test_a_policy_that_never_stepped_has_no_moments_and_loads(tmp_path: Path) -> None:
    trained, other = make_trained(), make_trained(seed=1)
    trained.learner.save_policy(tmp_path / "p")
    trained.learner.save_optimizer(tmp_path / "o")
    assert load_file(tmp_path / "o" / MOMENTS_FILE) == {}
    other.learner.load(tmp_path / "p", tmp_path / "o", version=0)
    assert all(torch.equal(v, other.masters()[n]) for n, v in trained.masters().items())


def test_saving_changes_nothing(tmp_path: Path) -> None:
    trained = make_trained(SETTINGS, dtype=torch.bfloat16)
    before, config = trained.masters(), trained.policy.model.config.to_dict()
    trained.learner.save_policy(tmp_path)
    assert all(torch.equal(v, before[n]) for n, v in trained.masters().items())
    assert trained.policy.model.config.to_dict() == config


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda moments: {"other/step": torch.ones(())}, "other"),
        (lambda moments: {key: v for key, v in moments.items() if "step" not in key}, "/step"),
        (lambda moments: {key: torch.zeros(2, 2) for key in moments}, r"has shape \(2, 2\)"),
    ],
)
def test_moments_of_another_model_are_refused(
    change: Callable[[dict[str, torch.Tensor]], dict[str, torch.Tensor]], said: str, tmp_path: Path
) -> None:
    trained = make_trained(SETTINGS)
    trained.learner.update(batch(trained), step=1, rate_factor=1.0)
    trained.learner.save_policy(tmp_path)
    trained.learner.save_optimizer(tmp_path)
    save_file(change(load_file(tmp_path / MOMENTS_FILE)), tmp_path / MOMENTS_FILE)
    with pytest.raises(ValueError, match=said):
        trained.learner.load(tmp_path, tmp_path, version=1)


@pytest.mark.parametrize("file", [WEIGHTS_FILE, MOMENTS_FILE])
def test_a_file_that_is_no_safetensors_is_named(file: str, tmp_path: Path) -> None:
    trained = make_trained()
    trained.learner.save_policy(tmp_path)
    trained.learner.save_optimizer(tmp_path)
    (tmp_path / file).write_bytes(b"garbage")
    with pytest.raises(ValueError, match=rf"{file} is no safetensors file"):
        trained.learner.load(tmp_path, tmp_path, version=0)
