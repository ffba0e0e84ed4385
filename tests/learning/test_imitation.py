"""Supervised training on demonstrated replies."""

import pytest
import torch
from tests.builders import make_sample
from tests.learning.batches import plain_logprobs
from tests.policies.toy_policies import toy_policy

from cotrain.learning.forward import PACKED, PLAIN, Form
from cotrain.learning.imitation import Demonstration, Imitation, Schedule
from cotrain.policies.base import Decoding, SampleRequest
from cotrain.policies.causal_lm import CausalPolicy
from cotrain.policies.weights import MasterWeights

SCHEDULE = Schedule(learning_rate=0.01, num_steps=40, warmup_steps=5)
LESSONS = (
    Demonstration((1, 5, 7, 8, 2), ((9, 10, 2), (9, 11, 12, 2))),
    Demonstration((1, 6, 7), ((13, 2),)),
)


def learner(policy: CausalPolicy, form: Form = PACKED) -> Imitation:
    return Imitation(policy, MasterWeights(policy.network.tensors(), torch.float32), form, SCHEDULE)


@pytest.mark.parametrize("form", [PACKED, PLAIN], ids=lambda form: form.name)
def test_the_loss_is_the_mean_surprise_of_a_reply_token_averaged_over_replies(form: Form) -> None:
    policy = toy_policy()
    with torch.no_grad():
        tokens = [
            plain_logprobs(policy.model, make_sample(prompt=lesson.prompt_ids, reply=reply))
            for lesson in LESSONS
            for reply in lesson.replies
        ]
    right = -torch.stack([reply.mean() for reply in tokens]).mean().item()
    assert learner(policy, form).step(1, LESSONS) == pytest.approx(right, abs=1e-4)


def test_what_was_demonstrated_is_what_the_policy_says() -> None:
    policy = toy_policy()
    imitation = learner(policy)
    losses = [imitation.step(number, LESSONS[1:]) for number in range(1, 41)]
    assert losses[-1] < 0.05 < losses[0]
    [[reply]] = policy.sample([SampleRequest((1, 6, 7), (0,), Decoding(0.0, 8))])
    assert reply.token_ids == (13, 2)


def test_the_rate_falls_to_zero_at_the_end() -> None:
    policy = toy_policy()
    imitation = learner(policy)
    before = {n: p.detach().clone() for n, p in policy.model.named_parameters()}
    imitation.step(SCHEDULE.num_steps + 1, LESSONS)
    assert all(torch.equal(p, before[n]) for n, p in policy.model.named_parameters())
