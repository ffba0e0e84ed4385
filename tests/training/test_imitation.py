"""Which solved episodes are imitated, in what order, and in whose ids."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import pytest
from tests.builders import make_candidate, make_episode, make_group, make_reply, make_task
from tests.policies.toy_policies import toy_policy

from cotrain.core.episode import Episode, Finish, Group, Message, TurnKey
from cotrain.policies.causal_lm import CausalPolicy
from cotrain.training.imitation import (
    KEEPING,
    Demonstrations,
    ImitationCredit,
    Reader,
    encoded,
)


def episode(task: int, turns: int = 1, tokens: int = 3, number: int = 0) -> Episode:
    """A solved episode of this task, with replies of as many tokens."""
    reply = make_reply(ids=(5,) * tokens)
    groups = [
        make_group([make_candidate(0, 1.0, reply=reply)], turn=turn, episode=number)
        for turn in range(1, turns + 1)
    ]
    found = make_episode([[[group]] for group in groups], success=True, number=number)
    return replace(found, task=make_task(task))


@pytest.mark.parametrize(
    ("solved", "best"),
    [
        ([], []),
        ([(0, 2, 3), (0, 1, 9)], [1]),
        ([(0, 1, 3), (0, 1, 2)], [1]),
        ([(0, 1, 3), (0, 1, 3)], [0]),
        ([(0, 3, 1), (1, 1, 1), (0, 2, 1)], [2, 1]),
        ([(0, 1, 1), (1, 6, 9), (2, 2, 2)], [0, 1, 2]),
    ],
)
def test_of_each_task_the_episode_with_the_least_effort_is_kept(
    solved: Sequence[tuple[int, int, int]], best: Sequence[int]
) -> None:
    episodes = [episode(*one, number=n) for n, one in enumerate(solved)]
    assert [found.number for found in KEEPING["best"](episodes)] == best
    assert KEEPING["solved"](episodes) == episodes


def test_every_epoch_shows_each_episode_once_in_an_order_of_its_own() -> None:
    source = Demonstrations([episode(task) for task in range(6)], episodes_per_step=4, seed=3)
    shown = [e.task.index for step in range(1, 4) for e in source.play(step)]
    first, second = shown[:6], shown[6:]
    assert sorted(first) == sorted(second) == list(range(6))
    assert first != second
    other = replace(source, seed=4)
    assert [e.task.index for e in other.play(1)] != shown[:4]


def test_a_step_has_keys_of_its_own_and_says_who_had_played() -> None:
    stored = episode(0, turns=2, number=40)
    source = Demonstrations([stored, stored], episodes_per_step=2, seed=0)
    played = source.play(9)
    keys = [g.key for e in played for g in e.groups()]
    assert keys == [TurnKey(9, n, "planner", turn) for n in (0, 1) for turn in (1, 2)]
    assert [(e.step, e.number, e.task_number) for e in played] == [(9, 0, 0), (9, 1, 1)]
    assert played[0].groups()[0].version == stored.groups()[0].version
    assert source.play(9) == played


def test_followed_replies_alone_are_imitated_by_the_policies_of_their_roles() -> None:
    followed = make_reply(ids=(7, 2))
    group = make_group([make_candidate(0, 1.0), make_candidate(1, 0.2, reply=followed)], followed=1)
    lost = make_group([make_candidate(0, None)], agent="planner", turn=2, followed=None)
    other = make_group([make_candidate(0, 1.0)], agent="proposer")
    played = make_episode([[[other], [group]], [[lost]]], success=True)
    credit = ImitationCredit(lambda step: {"planner": "mine"}, "train")
    groups, [sample] = credit([played])
    assert groups == []
    assert (sample.sample.policy, sample.sample.reply_ids) == ("mine", (7, 2))
    assert (sample.advantage, sample.has_signal, sample.sample.temperature) == (1.0, True, 1.0)


def test_roles_that_take_turns_are_imitated_by_turns() -> None:
    both = [make_group([make_candidate(0, 1.0)], agent=agent) for agent in ("proposer", "planner")]
    played = make_episode([[[group] for group in both]], success=True)
    names = {1: {"proposer": "proposer"}, 2: {"planner": "planner"}}
    credit = ImitationCredit(lambda step: names[step], "train")
    found = [credit([replace(played, step=step)])[1] for step in (1, 2)]
    assert [[s.sample.role for s in samples] for samples in found] == [["proposer"], ["planner"]]


@pytest.mark.parametrize(("cut_replies", "count"), [("train", 1), ("mask", 0)])
def test_replies_that_were_cut_follow_the_configuration(cut_replies: str, count: int) -> None:
    cut = make_candidate(0, 1.0, reply=make_reply(finish=Finish.LENGTH))
    played = make_episode([[[make_group([cut])]]], success=True)
    credit = ImitationCredit(lambda step: {"planner": "shared"}, cut_replies)
    assert len(credit([played])[1]) == count


def toy_reader(policy: CausalPolicy, **limits: int) -> Reader:
    values = {"max_prompt_tokens": 64, "max_reply_tokens": 16, "context_tokens": 128} | limits
    return Reader(policy.codec, **values)


def as_written(policy: CausalPolicy, text: str) -> Group:
    """A group with the ids that this policy itself would have."""
    messages = (Message("user", "a b"),)
    ids = (*policy.codec.encode_reply(text), policy.codec.end_id)
    reply = make_reply(policy.codec.decode(ids[:-1]), ids)
    group = make_group([make_candidate(0, 1.0, reply=reply)])
    return replace(group, messages=messages, prompt_ids=policy.codec.encode(messages))


def test_ids_of_the_policys_own_tokenizer_are_used_as_stored() -> None:
    policy = toy_policy(0)
    played = make_episode([[[as_written(policy, "a b")]]], success=True)
    found = encoded([played], {"planner": toy_reader(policy)})
    assert found.episodes == [played]
    assert (dict(found.encoded_anew), found.num_too_long) == ({}, 0)


@pytest.mark.parametrize("what", ["prompt", "reply", "end"])
def test_ids_of_another_tokenizer_are_encoded_anew_and_counted(what: str) -> None:
    policy = toy_policy(0)
    own = as_written(policy, "a b")
    [candidate] = own.candidates
    ids = candidate.reply.token_ids
    foreign = {"prompt": ids, "reply": (ids[-2], *ids), "end": (*ids[:-1], ids[0])}[what]
    changed = replace(candidate, reply=replace(candidate.reply, token_ids=foreign))
    group = replace(own, candidates=(changed,))
    if what == "prompt":
        group = replace(own, prompt_ids=(*own.prompt_ids, 1))
    played = make_episode([[[group]]], success=True)
    found = encoded([played], {"planner": toy_reader(policy)})
    [after] = found.episodes[0].groups()
    assert after.prompt_ids == own.prompt_ids
    assert after.chosen is not None
    assert after.chosen.reply.token_ids == ids
    assert after.chosen.reply.logprobs == ()
    assert Counter(found.encoded_anew) == {"planner": 1}


@pytest.mark.parametrize("limit", ["max_prompt_tokens", "max_reply_tokens", "context_tokens"])
def test_an_episode_that_does_not_fit_is_left_out_and_counted(limit: str) -> None:
    policy = toy_policy(0)
    played = make_episode([[[as_written(policy, "a b")]]], success=True)
    found = encoded([played], {"planner": toy_reader(policy, **{limit: 1})})
    assert (found.episodes, found.num_too_long) == ([], 1)
    assert encoded([played], {}).episodes == [played]
