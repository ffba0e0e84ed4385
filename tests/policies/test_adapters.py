"""Adapters on one base: which one computes, which tensors it has, and what is on disk."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import torch
from peft.functional import set_adapter
from tests.policies.lora_policies import (
    PROMPTS,
    SETTINGS,
    adapted,
    add_filled,
    base_tensors,
    changed,
    equal,
    fill,
    identities,
    logits,
    lora_layers,
    lora_pair,
    plain_logits,
    plain_model,
    requiring_gradients,
    toy_base,
    values,
)
from transformers import PreTrainedModel

from cotrain.core.episode import Reply
from cotrain.policies.adapters import (
    Adapter,
    AdapterSettings,
)
from cotrain.policies.base import Decoding, SampleRequest, WeightsError
from cotrain.policies.causal_lm import CausalPolicy

REQUEST = SampleRequest(PROMPTS[0], (1, 2, 3), Decoding(1.0, 8))


def sampled(policy: CausalPolicy) -> tuple[Reply, ...]:
    return policy.sample([REQUEST])[0]


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
