"""Base models from folders, and the type that computes."""

import json
import shutil
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file
from tests.policies.toy_policies import toy_policy

from cotrain.policies.loading import (
    ModelNotFoundError,
    auto_dtype,
    embedded_folder,
    load_base,
    model_folder,
)


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    policy = toy_policy()
    policy.model.save_pretrained(tmp_path)
    policy.codec.tokenizer.save_pretrained(tmp_path)
    return tmp_path


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_a_folder_loads_in_the_type_that_is_asked_for(saved: Path, dtype: torch.dtype) -> None:
    model, tokenizer = load_base(str(saved), dtype)
    right = dict(toy_policy().model.named_parameters())
    assert {p.dtype for p in model.parameters()} == {dtype}
    assert all(torch.equal(p, right[name].to(dtype)) for name, p in model.named_parameters())
    assert tokenizer("a b")["input_ids"] == toy_policy().codec.tokenizer("a b")["input_ids"]


@pytest.mark.parametrize(
    ("file", "lacking"),
    [
        ("config.json", r"config\.json"),
        ("model.safetensors", r"weights \(\*\.safetensors\)"),
        ("tokenizer.json", r"a tokenizer \(tokenizer\.json\)"),
    ],
)
def test_what_a_folder_lacks_is_named(saved: Path, file: str, lacking: str) -> None:
    (saved / file).unlink()
    with pytest.raises(ModelNotFoundError, match=rf"model\.name = .*the folder lacks {lacking}$"):
        load_base(str(saved), torch.float32)


def test_weights_that_were_cut_are_no_model(saved: Path) -> None:
    whole = (saved / "model.safetensors").read_bytes()
    (saved / "model.safetensors").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(ModelNotFoundError, match="the folder could not be loaded"):
        load_base(str(saved), torch.float32)


def test_a_name_that_is_no_folder_is_left_to_the_hub(tmp_path: Path) -> None:
    shutil.rmtree(tmp_path)
    assert model_folder(str(tmp_path)) is None
    assert embedded_folder("tiny") != embedded_folder("tiny/proposer") is not None


def test_small_models_stay_in_float32() -> None:
    assert auto_dtype(toy_policy().model.num_parameters()) == "float32"


def test_weights_of_another_model_are_refused_and_not_drawn_at_random(saved: Path) -> None:
    weights = load_file(saved / "model.safetensors")
    first, last = min(weights), max(weights)
    for changed, said in (
        ({"x": weights[first]}, "is missing"),
        ({name: value for name, value in weights.items() if name != last}, f"{last} is missing"),
        ({**weights, first: torch.zeros(2, 2)}, rf"{first} has shape \(2, 2\) instead of"),
    ):
        save_file(changed, saved / "model.safetensors", metadata={"format": "pt"})
        with pytest.raises(ModelNotFoundError, match=said):
            load_base(str(saved), torch.float32)


@pytest.mark.parametrize("file", ["config.json", "tokenizer.json"])
@pytest.mark.parametrize("content", ["", "{", "{}", "[]"])
def test_a_damaged_file_of_a_folder_is_no_model(saved: Path, file: str, content: str) -> None:
    (saved / file).write_text(content)
    with pytest.raises(ModelNotFoundError, match=r"model\.name = .*could not be loaded"):
        load_base(str(saved), torch.float32)


@pytest.mark.parametrize("file", ["pytorch_model.bin", "pytorch_model-00001-of-00002.bin"])
def test_weights_in_a_pickle_are_refused_with_how_to_convert_them(saved: Path, file: str) -> None:
    torch.save(load_file(saved / "model.safetensors"), saved / file)
    load_base(str(saved), torch.float32)
    (saved / "model.safetensors").unlink()
    with pytest.raises(ModelNotFoundError, match=rf"it has {file}.* never read.*save_pretrained"):
        load_base(str(saved), torch.float32)


def test_a_pickle_is_not_read_where_a_stray_file_is_called_safetensors(saved: Path) -> None:
    weights = load_file(saved / "model.safetensors")
    torch.save(weights, saved / "pytorch_model.bin")
    (saved / "model.safetensors").rename(saved / "other.safetensors")
    with pytest.raises(ModelNotFoundError, match=r"no file named model\.safetensors"):
        load_base(str(saved), torch.float32)


def test_a_list_of_shards_that_names_a_pickle_is_refused(saved: Path) -> None:
    weights = load_file(saved / "model.safetensors")
    torch.save(weights, saved / "shard.bin")
    (saved / "model.safetensors").rename(saved / "other.safetensors")
    index = {"metadata": {}, "weight_map": dict.fromkeys(weights, "shard.bin")}
    (saved / "model.safetensors.index.json").write_text(json.dumps(index))
    with pytest.raises(ModelNotFoundError, match=r"names shard\.bin: .*never read"):
        load_base(str(saved), torch.float32)


def test_a_folder_that_holds_an_adapter_is_refused(saved: Path) -> None:
    (saved / "adapter_config.json").write_text('{"peft_type": "LORA"}')
    torch.save({}, saved / "adapter_model.bin")
    with pytest.raises(ModelNotFoundError, match="it holds an adapter; name the base model"):
        load_base(str(saved), torch.float32)
