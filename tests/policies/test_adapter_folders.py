"""Adapters on disk: what is written, what it means to PEFT, and what is refused."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from peft import LoraConfig, PeftModel, get_peft_model
from safetensors.torch import load_file, save_file
from tests.policies.lora_policies import (
    add_filled,
    base_tensors,
    changed,
    equal,
    fill,
    logits,
    named_base,
    plain_logits,
    plain_model,
    policy_on,
    requiring_gradients,
    toy_base,
    values,
)
from torch import Tensor

from cotrain.core.aggregation import sequence_mean
from cotrain.learning.forward import PACKED
from cotrain.learning.steps import UpdateSettings
from cotrain.learning.update import PolicyLearner
from cotrain.policies.adapters import (
    ADAPTER_CONFIG,
    ADAPTER_FILE,
)
from cotrain.policies.weights import MasterWeights

TRICKY_LAYERS = ("linear", "weight", "coder", "code", "lora", "model", "adapter_0", "keys", "1")


@pytest.mark.parametrize(
    "names",
    [
        ("coder", "tester"),
        ("code", "coder"),
        ("a", "ab"),
        ("1", "11"),
        ("lora", "lora_2"),
        ("linear", "tester"),
        ("weight", "tester"),
        ("adapter_0", "adapter_1"),
        ("base_model", "model"),
        ("keys", "values"),
    ],
)
def test_a_save_and_a_load_give_every_role_back_to_the_bit(
    names: tuple[str, str], tmp_path: Path
) -> None:
    # peft#2699, peft#2772
    base = named_base(TRICKY_LAYERS)
    learners: dict[str, PolicyLearner] = {}
    adapters = {name: add_filled(base, 11 + i) for i, name in enumerate(names)}
    for name, adapter in adapters.items():
        weights = MasterWeights(adapter.tensors(), torch.float32)
        settings = UpdateSettings(sequence_mean, 8, 1e-3)
        learners[name] = PolicyLearner(policy_on(adapter, name), weights, PACKED, settings)
    right = {name: values(adapter) for name, adapter in adapters.items()}
    for name, learner in learners.items():
        learner.save_policy(tmp_path / name)
        learner.save_optimizer(tmp_path / "optimizers" / name)
        assert equal(load_file(tmp_path / name / ADAPTER_FILE), right[name])
        assert len(right[name]) == 2 * len(TRICKY_LAYERS)
    for name, adapter in adapters.items():
        fill(adapter, 13)
        others = {other: values(adapters[other]) for other in names if other != name}
        learners[name].load(tmp_path / name, tmp_path / "optimizers" / name, 1)
        assert equal(values(adapter), right[name])
        assert all(equal(values(adapters[other]), others[other]) for other in others)
        assert equal(values(base.load(tmp_path / name)), right[name])


# Folders


def test_a_saved_folder_means_the_same_to_peft(tmp_path: Path) -> None:
    base = toy_base()
    for number in range(2):
        adapter = add_filled(base, 11 + number)
        adapter.write(adapter.tensors(), tmp_path / str(number))
        theirs = PeftModel.from_pretrained(plain_model(), str(tmp_path / str(number)))
        difference = (plain_logits(theirs) - logits(adapter)).abs().max()  # pyright: ignore
        assert float(difference) < 1e-6


def test_an_adapter_written_twice_gives_the_same_bytes(tmp_path: Path) -> None:
    base = toy_base()
    adapter = add_filled(base, 11)
    for name in ("one", "two"):
        adapter.write(adapter.tensors(), tmp_path / name)
        add_filled(base, 12)
    files = {p.name: p.read_bytes() for p in (tmp_path / "one").iterdir()}
    assert files == {p.name: p.read_bytes() for p in (tmp_path / "two").iterdir()}
    targets = json.loads(files[ADAPTER_CONFIG])["target_modules"]
    assert targets == sorted(targets)


def folder_with(tmp_path: Path, **options: Any) -> Path:
    """A folder that PEFT itself writes for an adapter with these options, B drawn."""
    chosen = {"r": 4, "lora_alpha": 6, "target_modules": "all-linear", **options}
    model = get_peft_model(plain_model(), LoraConfig(task_type="CAUSAL_LM", **chosen))
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for name, tensor in model.named_parameters():
            if ".lora_B." in name:
                tensor.copy_(0.1 * torch.randn(tensor.shape, generator=generator))
    model.save_pretrained(str(tmp_path))
    return tmp_path


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"use_rslora": True},
        {"rank_pattern": {"q_proj": 2}},
        {"alpha_pattern": {"q_proj": 1, "up_proj": 20}},
        {"target_modules": ["q_proj", "v_proj"]},
        {"layers_to_transform": [1], "target_modules": ["q_proj"]},
        {"lora_dropout": 0.5},
        {"init_lora_weights": "gaussian"},
    ],
    ids=lambda options: ",".join(options) or "plain",
)
def test_an_adapter_that_peft_wrote_means_the_same_here(
    options: dict[str, Any], tmp_path: Path
) -> None:
    folder = folder_with(tmp_path, **options)
    base = toy_base()
    before = base_tensors(base.model)
    adapter = base.load(folder)
    right = plain_logits(PeftModel.from_pretrained(plain_model(), str(folder)))  # pyright: ignore
    assert float((logits(adapter) - right).abs().max()) < 1e-6
    assert float((logits(base.copy_of(adapter)) - right).abs().max()) < 1e-6
    assert equal(adapter.read(folder), values(adapter))
    assert changed(before, base.model) == []


@pytest.mark.parametrize(
    "options",
    [
        {"use_dora": True},
        {"modules_to_save": ["lm_head"]},
        {"lora_bias": True},
        {"trainable_token_indices": [5, 6]},
        {"init_lora_weights": "pissa"},
        {"init_lora_weights": "olora"},
        {"alora_invocation_tokens": [5]},
    ],
    ids=str,
)
def test_more_than_low_rank_terms_of_linear_layers_is_refused(
    options: dict[str, Any], tmp_path: Path
) -> None:
    folder = folder_with(tmp_path, **options)
    base = toy_base()
    before = base_tensors(base.model)
    with pytest.raises(ValueError, match=next(iter(options))):
        base.load(folder)
    assert changed(before, base.model) == []


def edit_config(**changes: Any) -> Callable[[Path], None]:
    def edit(folder: Path) -> None:
        config = json.loads((folder / ADAPTER_CONFIG).read_text())
        (folder / ADAPTER_CONFIG).write_text(json.dumps(config | changes))

    return edit


def edit_tensors(change: Callable[[dict[str, Tensor]], object]) -> Callable[[Path], None]:
    def edit(folder: Path) -> None:
        tensors = load_file(folder / ADAPTER_FILE)
        change(tensors)
        save_file(tensors, folder / ADAPTER_FILE)

    return edit


def cut(folder: Path) -> None:
    file = folder / ADAPTER_FILE
    file.write_bytes(file.read_bytes()[:500])


Q_PROJ = "base_model.model.model.layers.0.self_attn.q_proj"
DAMAGES: dict[str, tuple[Callable[[Path], object], str]] = {
    "another rank": (edit_config(r=5), r"q_proj.lora_A.weight has shape \(3, 32\)"),
    "other layers": (edit_config(target_modules=["nowhere"]), "nowhere"),
    "fewer layers": (edit_config(target_modules=["q_proj"]), "one side only"),
    "another kind": (edit_config(peft_type="IA3"), "another kind than LoRA"),
    "an unknown kind": (edit_config(peft_type="NONE"), "no adapter folder"),
    "a rank in words": (edit_config(r="three"), ADAPTER_CONFIG),
    "DoRA without its tensors": (edit_config(use_dora=True), "use_dora"),
    "more layers than the base has": (edit_config(layer_replication=[[0, 2]]), "layer_replication"),
    "an embedding": (edit_config(target_modules=["q_proj", "embed_tokens"]), "one side only"),
    "a missing tensor": (edit_tensors(lambda t: t.pop(f"{Q_PROJ}.lora_B.weight")), "q_proj.lora_B"),
    "an extra tensor": (
        edit_tensors(lambda t: t.update({f"{Q_PROJ}.bias": torch.ones(64)})),
        "q_proj.bias",
    ),
    "a cut file": (cut, f"{ADAPTER_FILE} is no safetensors file"),
    "no weights": (lambda folder: (folder / ADAPTER_FILE).unlink(), ADAPTER_FILE),
    "no configuration": (lambda folder: (folder / ADAPTER_CONFIG).unlink(), "no adapter folder"),
    "a cut configuration": (
        lambda folder: (folder / ADAPTER_CONFIG).write_text('{"r": '),
        "no adapter folder",
    ),
    "a list": (lambda folder: (folder / ADAPTER_CONFIG).write_text("[]"), "no adapter folder"),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_folder_that_does_not_fit_is_refused_with_its_reason(damage: str, tmp_path: Path) -> None:
    source = add_filled(toy_base(), 11)
    source.write(source.tensors(), tmp_path)
    spoil, message = DAMAGES[damage]
    spoil(tmp_path)
    base = toy_base()
    before = base_tensors(base.model)
    with pytest.raises(ValueError, match=message):
        base.load(tmp_path)
    assert changed(before, base.model) == []
    assert requiring_gradients(base.model) == set()
