"""Adapters on one base: which one computes, which tensors it has, and what is on disk."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import torch
from peft import LoraConfig, PeftModel, get_peft_model
from peft.functional import set_adapter
from safetensors.torch import load_file, save_file
from tests.policies.lora_policies import (
    PROMPTS,
    SETTINGS,
    adapted,
    add_filled,
    base_tensors,
    fill,
    identities,
    logits,
    lora_layers,
    lora_pair,
    named_base,
    plain_model,
    policy_on,
    requiring_gradients,
    toy_base,
)
from torch import Tensor
from transformers import PreTrainedModel

from cotrain.core.aggregation import sequence_mean
from cotrain.core.episode import Reply
from cotrain.learning.forward import PACKED
from cotrain.learning.update import PolicyLearner, UpdateSettings
from cotrain.policies.adapters import (
    ADAPTER_CONFIG,
    ADAPTER_FILE,
    Adapter,
    AdapterSettings,
)
from cotrain.policies.base import Decoding, SampleRequest, WeightsError
from cotrain.policies.causal_lm import CausalPolicy
from cotrain.policies.weights import MasterWeights

REQUEST = SampleRequest(PROMPTS[0], (1, 2, 3), Decoding(1.0, 8))
TRICKY_LAYERS = ("linear", "weight", "coder", "code", "lora", "model", "adapter_0", "keys", "1")


def sampled(policy: CausalPolicy) -> tuple[Reply, ...]:
    return policy.sample([REQUEST])[0]


def plain_logits(model: PreTrainedModel) -> Tensor:
    with torch.inference_mode():
        return model.eval()(input_ids=torch.tensor(PROMPTS)).logits


def values(adapter: Adapter) -> dict[str, Tensor]:
    """A copy of an adapter's tensors."""
    return {name: tensor.detach().clone() for name, tensor in adapter.tensors().items()}


def equal(found: dict[str, Tensor], right: dict[str, Tensor]) -> bool:
    """Whether names and bits agree."""
    return found.keys() == right.keys() and all(torch.equal(found[n], right[n]) for n in right)


def changed(before: dict[str, Tensor], model: PreTrainedModel) -> list[str]:
    """The tensors of the base that are no longer what they were, whatever wraps them now."""
    now = base_tensors(model)
    return [name for name in before if not torch.equal(before[name], now[name])] + sorted(
        now.keys() - before.keys()
    )


# Which adapter computes


def test_a_new_adapter_changes_nothing_yet_and_leaves_the_global_generator_alone() -> None:
    base = toy_base()
    state = torch.random.get_rng_state()
    adapter = base.add(SETTINGS)
    assert torch.equal(torch.random.get_rng_state(), state)
    assert torch.equal(logits(adapter), plain_logits(plain_model()))


def test_an_adapter_is_drawn_from_its_seed() -> None:
    base = toy_base()
    one, again, other = (values(base.add(AdapterSettings(3, 6.0, seed))) for seed in (1, 1, 2))
    assert equal(one, again)
    assert not equal(one, other)


def test_a_copy_keeps_the_values_that_its_source_had() -> None:
    base = toy_base()
    adapter = add_filled(base, 11)
    copied = adapter.frozen_copy()
    said = logits(adapter)
    fill(adapter, 12)
    assert torch.equal(logits(copied), said)
    with copied.computing():
        assert requiring_gradients(base.model) == set()


def test_a_forward_pass_at_rest_is_refused() -> None:
    policy, _ = lora_pair()
    for use in (
        lambda: policy.model(input_ids=torch.tensor(PROMPTS)),
        lambda: policy.model.generate(torch.tensor(PROMPTS)),  # pyright: ignore
    ):
        with pytest.raises(WeightsError, match="the base toy was about to compute without"):
            use()


def test_an_adapter_switched_inside_a_block_is_switched_back_by_the_next_use() -> None:
    coder, tester = lora_pair()
    alone = sampled(coder)
    assert alone != sampled(tester)
    with coder.computing() as model:
        set_adapter(model, [adapted(tester).name])
        assert sampled(coder) == alone


def test_after_an_error_inside_a_block_nothing_is_active() -> None:
    coder, tester = lora_pair()
    with pytest.raises(KeyError), coder.computing(), tester.computing():
        raise KeyError
    assert adapted(coder).base.active is None
    assert adapted(coder).active() == []


def test_a_block_inside_another_gives_the_outer_adapter_back() -> None:
    coder, tester = lora_pair()
    with coder.computing() as model:
        before = model(input_ids=torch.tensor(PROMPTS)).logits
        logits(tester.network)
        assert torch.equal(model(input_ids=torch.tensor(PROMPTS)).logits, before)
        assert requiring_gradients(model) == identities(coder.network)


# Planted faults


class Planted(Adapter):
    """An adapter with a fault: something happens to the model after it has become active."""

    def __init__(self, adapter: Adapter, fault: Callable[[PreTrainedModel], None]) -> None:
        super().__init__(adapter.base, adapter.name, adapter.config)
        self.fault = fault

    @contextmanager
    def computing(self) -> Iterator[PreTrainedModel]:
        with super().computing() as model:
            self.fault(model)
            yield model


def enable(*names: str) -> Callable[[PreTrainedModel], None]:
    """Makes these adapters active, and no other."""
    return lambda model: set_adapter(model, list(names))


def disable(model: PreTrainedModel) -> None:
    for layer in lora_layers(model):
        layer.enable_adapters(False)


def merge(model: PreTrainedModel) -> None:
    for layer in lora_layers(model):
        layer.merge()


@pytest.mark.parametrize(
    "fault",
    [enable("adapter_1"), enable("adapter_0", "adapter_1"), enable(), disable, merge],
    ids=["swapped", "both", "none", "disabled", "merged"],
)
def test_other_weights_than_the_policys_own_are_refused(
    fault: Callable[[PreTrainedModel], None],
) -> None:
    # verl#7495
    coder, _ = lora_pair()
    coder.network = Planted(adapted(coder), fault)
    with pytest.raises(WeightsError, match=r"policy coder version 0|merged"):
        sampled(coder)


def test_the_network_of_another_role_is_refused() -> None:
    coder, tester = lora_pair()
    coder.network, tester.network = tester.network, coder.network
    for policy in (coder, tester):
        with pytest.raises(WeightsError, match=f"policy {policy.name} version 0"):
            sampled(policy)


def test_adapters_that_somebody_disabled_are_refused() -> None:
    coder, tester = lora_pair()
    disable(coder.model)
    for policy in (coder, tester):
        with pytest.raises(WeightsError, match=f"policy {policy.name} version 0"):
            sampled(policy)


def test_an_adapter_that_somebody_merged_is_refused_and_the_base_is_not_rounded() -> None:
    # To take it out again would leave the base of all roles with other last bits.
    coder, tester = lora_pair()
    enable("adapter_0")(coder.model)
    merge(coder.model)
    merged = base_tensors(coder.model)
    for policy in (tester, coder):
        with pytest.raises(WeightsError, match="merged"):
            sampled(policy)
    assert changed(merged, coder.model) == []


# Which tensors require gradients


@pytest.mark.parametrize("frozen_first", [True, False])
def test_only_the_tensors_of_the_active_trainable_adapter_require_gradients(
    frozen_first: bool,
) -> None:
    # peft#3580, peft#2759
    base = toy_base()
    first, second = add_filled(base, 11), add_filled(base, 12)
    frozen, trained = (first, second) if frozen_first else (second, first)
    frozen.freeze()
    for _ in range(3):
        assert requiring_gradients(base.model) == set()
        with trained.computing():
            assert requiring_gradients(base.model) == identities(trained)
            assert len(identities(trained)) == 2 * 2 * 7
        with frozen.computing():
            assert requiring_gradients(base.model) == set()


@pytest.mark.parametrize("frozen_first", [True, False])
def test_an_adapter_from_a_folder_leaves_the_gradients_of_the_other_as_they_are(
    frozen_first: bool, tmp_path: Path
) -> None:
    # peft#3580
    source = add_filled(toy_base(), 11)
    source.write(source.tensors(), tmp_path)
    base = toy_base()
    first = base.load(tmp_path)
    if frozen_first:
        first.freeze()
    second = base.load(tmp_path)
    if not frozen_first:
        second.freeze()
    frozen, trained = (first, second) if frozen_first else (second, first)
    assert requiring_gradients(base.model) == set()
    with frozen.computing():
        assert requiring_gradients(base.model) == set()
    with trained.computing():
        assert requiring_gradients(base.model) == identities(trained)


# Names


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
