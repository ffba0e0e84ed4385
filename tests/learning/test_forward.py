"""Log-probs of replies: packed and plain, whatever shares the batch."""

from dataclasses import replace

import pytest
import torch
from tests.builders import make_credited, make_sample
from tests.learning.batches import draw, plain_logprobs
from tests.policies.toy_policies import gpt2_policy, sharpen, toy_policy
from transformers import MistralConfig, MistralForCausalLM

from cotrain.core.samples import Sample
from cotrain.learning.batching import WeightedSample
from cotrain.learning.forward import PACKED, PLAIN, Form, Layout, lay_out, reply_logprobs, tree_mask
from cotrain.learning.probe import choose_form
from cotrain.policies.causal_lm import CausalPolicy

CPU = torch.device("cpu")
PROMPTS = ((1, 5, 7, 8, 2), (1, 6), (2, 0, 9, 9, 0, 2, 7))


def layout_of(samples: list[Sample], form: Form) -> tuple[Layout, list[int]]:
    """The layout of one micro-batch, and the samples' places in its order."""
    weighted = [WeightedSample(p, make_credited(s, 1.0), 1.0) for p, s in enumerate(samples)]
    packs = form.packing(weighted)
    return lay_out(packs, form.mask, CPU), [s.place for pack in packs for s in pack.samples]


@torch.no_grad()
def logprobs(model: object, samples: list[Sample], form: Form) -> dict[int, torch.Tensor]:
    layout, places = layout_of(samples, form)
    flat = reply_logprobs(model, layout)  # pyright: ignore[reportArgumentType]
    lengths = [len(samples[place].reply_ids) for place in places]
    return dict(zip(places, flat.split(lengths), strict=True))


def three_groups(policy: CausalPolicy, temperature: float = 1.0) -> list[Sample]:
    return draw(policy, [(0.0, 1.0, 0.5), (1.0,), (0.0, 1.0)], temperature)


@pytest.mark.parametrize("form", [PACKED, PLAIN], ids=lambda form: form.name)
@pytest.mark.parametrize("temperature", [1.0, 0.6])
def test_packed_and_plain_log_probs_are_those_of_the_reply_alone(
    form: Form, temperature: float
) -> None:
    policy = toy_policy()
    samples = three_groups(policy, temperature)
    found = logprobs(policy.model, samples, form)
    for place, sample in enumerate(samples):
        right = plain_logprobs(policy.model, sample)
        torch.testing.assert_close(found[place], right, atol=1e-5, rtol=0)
        sampled = torch.tensor(sample.sampler_logprobs)
        torch.testing.assert_close(found[place], sampled, atol=1e-5, rtol=0)


@pytest.mark.parametrize("form", [PACKED, PLAIN], ids=lambda form: form.name)
def test_absolute_positions_go_on_from_the_prompt(form: Form) -> None:
    # trl#3722, trl#6800: padding on either side must not shift positions
    policy = gpt2_policy()
    samples = [
        make_sample(episode=episode, candidate=c, prompt=prompt, reply=(8, 9, 3)[: 1 + c])
        for episode, prompt in enumerate(PROMPTS)
        for c in range(3)
    ]
    found = logprobs(policy.model, samples, form)
    for place, sample in enumerate(samples):
        right = plain_logprobs(policy.model, sample)
        torch.testing.assert_close(found[place], right, atol=1e-5, rtol=0)


@pytest.mark.parametrize("form", [PACKED, PLAIN], ids=lambda form: form.name)
def test_the_public_numbers_of_the_padded_prompt(form: Form) -> None:
    # trl#3722: 4 pads before the prompt, and pads after the shorter replies
    samples = [
        make_sample(episode=0, prompt=(5, 6, 7), reply=(8, 9)),
        make_sample(episode=1, prompt=(3, 4, 3, 4, 5, 6, 7), reply=(8, 9, 4, 4)),
    ]
    found = logprobs(gpt2_policy().model, samples, form)
    assert found[0].tolist() == pytest.approx([-3.89487, -3.97318], abs=1e-5)


def test_a_reply_does_not_see_its_siblings() -> None:
    policy = toy_policy()
    samples = draw(policy, [(0.0, 1.0, 0.5)])
    found = logprobs(policy.model, samples, PACKED)
    other = [replace(samples[0], reply_ids=(9,) * len(samples[0].reply_ids)), *samples[1:]]
    changed = logprobs(policy.model, other, PACKED)
    assert not torch.equal(found[0], changed[0])
    assert torch.equal(found[1], changed[1])
    assert torch.equal(found[2], changed[2])


@pytest.mark.parametrize("form", [PACKED, PLAIN], ids=lambda form: form.name)
def test_tokens_are_counted_by_length_and_never_by_the_pad_id(form: Form) -> None:
    # trl#4970, trl#6357, MemGen#33: two replies of length 3 and 5, full of token 0 and 2
    samples = [
        make_sample(prompt=(2, 0, 2), reply=(5, 6, 0)),
        make_sample(candidate=1, prompt=(2, 0, 2), reply=(2, 0, 0, 0, 2)),
    ]
    layout, _ = layout_of(samples, form)
    assert layout.targets.tolist() == [5, 6, 0, 2, 0, 0, 0, 2]
    found = logprobs(toy_policy().model, samples, form)
    assert [len(found[place]) for place in (0, 1)] == [3, 5]


def test_the_shared_prompt_is_laid_out_once() -> None:
    samples = [make_sample(candidate=c, prompt=(1,) * 6, reply=(5, 6)) for c in range(4)]
    packed, plain = layout_of(samples, PACKED)[0], layout_of(samples, PLAIN)[0]
    assert packed.ids.shape == (1, 6 + 4 * 2)
    assert plain.ids.shape == (4, 6 + 2)
    assert packed.positions[0].tolist() == [*range(6), *[6, 7] * 4]


def test_a_padded_row_has_prompts_that_end_in_one_column() -> None:
    samples = [make_sample(prompt=(1, 4), reply=(5,)), make_sample(episode=1, prompt=(1, 4, 4, 3))]
    layout, _ = layout_of(samples, PACKED)
    assert layout.ids.tolist() == [[0, 0, 1, 4, 5, 0, 0], [1, 4, 4, 3, 5, 6, 2]]
    assert layout.first_logit == 3
    assert layout.columns.tolist() == [0, 0, 1, 2]


def test_the_tree_mask_by_hand() -> None:
    mask = tree_mask(torch.tensor([[-1, 0, 0, 1, 1, 2, -1]]))[0, 0].int().tolist()
    assert mask == [
        [1, 0, 0, 0, 0, 0, 0],
        [0, 1, 0, 0, 0, 0, 0],
        [0, 1, 1, 0, 0, 0, 0],
        [0, 1, 1, 1, 0, 0, 0],
        [0, 1, 1, 1, 1, 0, 0],
        [0, 1, 1, 0, 0, 1, 0],
        [0, 0, 0, 0, 0, 0, 1],
    ]


def test_the_form_is_packed_where_the_architecture_takes_the_mask() -> None:
    assert choose_form(toy_policy().model) is PACKED
    assert choose_form(gpt2_policy().model) is PACKED


def test_the_form_is_plain_where_a_sliding_window_needs_its_own_mask() -> None:
    torch.manual_seed(0)
    config = MistralConfig(
        vocab_size=50,
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=1,
        intermediate_size=32,
        sliding_window=4,
        max_position_embeddings=64,
    )
    assert choose_form(sharpen(MistralForCausalLM(config).eval())) is PLAIN
