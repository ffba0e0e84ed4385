"""Float32 masters beside a cast copy that computes."""

import pytest
import torch
from tests.policies.toy_policies import SIZE

from cotrain.policies.toy import toy_model
from cotrain.policies.weights import MasterWeights, checksum


def tensors(model: torch.nn.Module) -> dict[str, torch.nn.Parameter]:
    return dict(model.named_parameters())


def backward(model: torch.nn.Module, token: int = 5) -> None:
    ids = torch.tensor([[1, token, 3]])
    model(input_ids=ids).logits.log_softmax(-1)[0, :, 4].sum().backward()


def test_in_float32_masters_and_model_are_one() -> None:
    model = toy_model(20, SIZE, seed=0)
    weights = MasterWeights(tensors(model), torch.float32)
    assert weights.shares_tensors
    named = dict(model.named_parameters())
    assert all(weights.parameters[name] is parameter for name, parameter in named.items())


def test_in_float64_the_masters_are_float64() -> None:
    weights = MasterWeights(tensors(toy_model(20, SIZE, seed=0)), torch.float64)
    assert {p.dtype for p in weights.parameters.values()} == {torch.float64}


def test_in_bfloat16_the_masters_keep_what_the_model_rounds() -> None:
    model = toy_model(20, SIZE, seed=0)
    before = {name: p.detach().clone() for name, p in model.named_parameters()}
    weights = MasterWeights(tensors(model), torch.bfloat16)
    for name, computing in model.named_parameters():
        assert computing.dtype is torch.bfloat16
        assert torch.equal(weights.parameters[name], before[name])
        assert torch.equal(computing, before[name].bfloat16())


def test_gradients_of_micro_batches_are_added_in_float32() -> None:
    model = toy_model(20, SIZE, seed=0)
    weights = MasterWeights(tensors(model), torch.bfloat16)
    single: list[torch.Tensor] = []
    for token in (5, 6):
        backward(model, token)
        single.append(model.lm_head.weight.grad.float())  # pyright: ignore
        weights.collect_gradients()
    [gradient] = [p.grad for n, p in weights.parameters.items() if n.endswith("tokens.weight")]
    assert gradient is not None
    assert torch.equal(gradient, single[0] + single[1])
    assert gradient.dtype is torch.float32
    weights.clear_gradients()
    assert all(p.grad is None for p in (*weights.parameters.values(), *model.parameters()))


def test_publishing_casts_the_masters_into_the_model() -> None:
    model = toy_model(20, SIZE, seed=0)
    weights = MasterWeights(tensors(model), torch.bfloat16)
    with torch.no_grad():
        for master in weights.parameters.values():
            master.add_(0.5)
    weights.publish()
    for name, computing in model.named_parameters():
        assert torch.equal(computing, weights.parameters[name].bfloat16())


def test_only_the_tensors_that_are_given_have_masters_and_are_cast() -> None:
    model = toy_model(20, SIZE, seed=0)
    weights = MasterWeights({"norm": model.model.norm.weight}, torch.bfloat16)
    assert list(weights.parameters) == ["norm"]
    assert model.model.norm.weight.dtype is torch.bfloat16
    assert model.lm_head.weight.dtype is torch.float32


def test_rotary_frequencies_keep_their_precision_when_weights_are_cast() -> None:
    model = toy_model(20, SIZE, seed=0)
    before = model.model.rotary_emb.inv_freq.clone()
    MasterWeights(tensors(model), torch.bfloat16)
    assert torch.equal(model.model.rotary_emb.inv_freq, before)
    assert before.dtype is torch.float32


def test_a_checksum_tells_any_single_change_of_a_bit() -> None:
    found = tensors(toy_model(20, SIZE, seed=0))
    before = checksum(found.values())
    for parameter in found.values():
        flat, kept = parameter.data.view(-1), parameter.data.view(-1)[-1].clone()
        flat[-1] = torch.nextafter(kept, torch.tensor(9.0))
        assert checksum(found.values()) != before
        flat[-1] = kept
    assert checksum(found.values()) == before


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_the_masters_know_the_checksum_of_what_they_publish(dtype: torch.dtype) -> None:
    model = toy_model(20, SIZE, seed=0)
    weights = MasterWeights(tensors(model), dtype)
    with torch.no_grad():
        for master in weights.parameters.values():
            master.add_(0.5)
    promised = weights.checksum()
    weights.publish()
    assert checksum(tensors(model).values()) == promised


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_saved_masters_are_taken_over_and_published(dtype: torch.dtype) -> None:
    model, other = toy_model(20, SIZE, seed=0), toy_model(20, SIZE, seed=1)
    weights, source = MasterWeights(tensors(model), dtype), MasterWeights(tensors(other), dtype)
    weights.load(source.state())
    for name, computing in model.named_parameters():
        assert torch.equal(weights.parameters[name], source.parameters[name])
        assert torch.equal(computing, source.parameters[name].to(dtype))


def test_saved_masters_that_do_not_fit_are_refused_and_change_nothing() -> None:
    weights = MasterWeights(tensors(toy_model(20, SIZE, seed=0)), torch.float32)
    before = {name: value.clone() for name, value in weights.state().items()}
    fewer = {name: torch.zeros_like(value) for name, value in before.items()}
    del fewer["model.norm.weight"]
    with pytest.raises(ValueError, match=r"model\.norm\.weight.*on one side only"):
        weights.load(fewer)
    wrong = fewer | {"model.norm.weight": torch.zeros(1)}
    with pytest.raises(ValueError, match=r"norm\.weight has shape \(1,\), the model's is \(32,"):
        weights.load(wrong)
    assert all(torch.equal(value, before[name]) for name, value in weights.state().items())


def test_a_tensor_without_gradient_gets_none() -> None:
    weights = MasterWeights(tensors(toy_model(20, SIZE, seed=0)), torch.bfloat16)
    weights.collect_gradients()
    assert all(master.grad is None for master in weights.parameters.values())
