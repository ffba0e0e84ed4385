"""Sampling from a language model: log-probs, seeds, batches, limits."""

import pytest
import torch
from tests.policies.toy_policies import bpe_tokenizer, gpt2_policy, sharpen, toy_policy

from cotrain.core.episode import Finish, Message, Reply
from cotrain.core.seeds import derive_seed
from cotrain.policies.base import Decoding, SampleRequest
from cotrain.policies.causal_lm import CausalPolicy, split_by_tokens
from cotrain.policies.chat import ChatCodec
from cotrain.policies.networks import WholeModel
from cotrain.policies.toy import ToySize, toy_model
from cotrain.policies.weights import checksum

PROMPT, LONG_PROMPT = (1, 5, 7, 8, 2), (1, 5, 9, 9, 10, 11, 12, 13, 2)


def ask(
    prompt: tuple[int, ...], seeds: range | tuple[int, ...], tokens: int = 8, temperature: float = 1
) -> SampleRequest:
    return SampleRequest(prompt, tuple(seeds), Decoding(temperature, tokens))


def ids_of(replies: tuple[Reply, ...]) -> list[tuple[int, ...]]:
    return [reply.token_ids for reply in replies]


def assert_same(got: tuple[Reply, ...], right: tuple[Reply, ...]) -> None:
    assert ids_of(got) == ids_of(right)
    assert [r.finish for r in got] == [r.finish for r in right]
    for one, other in zip(got, right, strict=True):
        assert one.logprobs == pytest.approx(other.logprobs, abs=1e-5)


def test_log_probs_of_a_padded_prompt_are_those_of_the_prompt_alone() -> None:
    # trl#3722, trl#6800, transformers#18388
    policy = gpt2_policy()
    [many] = policy.sample([ask((5, 6, 7), range(8000), tokens=2)])
    seed = ids_of(many).index((8, 9))
    [[alone]] = policy.sample([ask((5, 6, 7), (seed,), tokens=2)])
    padded = policy.sample([ask((5, 6, 7), (seed,), 2), ask((3, 4, 5, 6, 7, 8, 9), (0,), 2)])
    assert alone.logprobs == pytest.approx((-3.89487, -3.97318), abs=1e-5)
    assert padded[0][0].token_ids == (8, 9)
    assert padded[0][0].logprobs == pytest.approx(alone.logprobs, abs=1e-5)


def test_log_probs_are_the_models_own_at_the_sampling_temperature() -> None:
    policy = toy_policy()
    [replies] = policy.sample([ask(PROMPT, range(6), temperature=0.7)])
    for reply in replies:
        ids = torch.tensor([[*PROMPT, *reply.token_ids]])
        with torch.no_grad():
            logits = policy.model(input_ids=ids).logits[0, len(PROMPT) - 1 : -1]
        right = (logits / 0.7).log_softmax(-1).gather(-1, ids[:, len(PROMPT) :].T).squeeze(-1)
        assert reply.logprobs == pytest.approx(right.tolist(), abs=1e-5)


def test_the_candidates_of_a_group_differ() -> None:
    # trl#2824, Megatron-LM#5983: one seed a run, step, episode, agent, turn and candidate
    policy = toy_policy()

    def group(run: int, step: int, episode: int) -> list[tuple[int, ...]]:
        seeds = tuple(derive_seed(run, "train", step, episode, "solo", 1, c) for c in range(4))
        [replies] = policy.sample([ask(PROMPT, seeds)])
        return ids_of(replies)

    straight = group(5, 1, 0)
    assert len(set(straight)) == 4
    assert group(5, 1, 0) == straight
    for other in (group(6, 1, 0), group(5, 2, 0), group(5, 1, 1)):
        assert not set(other) & set(straight)


def test_what_else_is_in_the_batch_changes_no_reply() -> None:
    policy = toy_policy()
    first, second = ask(PROMPT, range(6), 12), ask(LONG_PROMPT, range(6, 9), 5)
    [alone_first], [alone_second] = policy.sample([first]), policy.sample([second])
    together = policy.sample([second, first])
    assert_same(together[1], alone_first)
    assert_same(together[0], alone_second)


def test_dropping_finished_rows_changes_no_reply() -> None:
    policy = toy_policy()
    [together] = policy.sample([ask(PROMPT, range(40), 24)])
    lengths = sorted(len(reply.token_ids) for reply in together)
    assert lengths[10] < lengths[20] < lengths[-1]  # so that rows were dropped more than once
    alone = tuple(policy.sample([ask(PROMPT, (seed,), 24)])[0][0] for seed in range(40))
    assert_same(together, alone)


def test_cutting_a_wave_into_batches_changes_no_reply() -> None:
    requests = [ask(PROMPT, range(4)), ask(LONG_PROMPT, range(4, 6)), ask(PROMPT, range(6, 9))]
    whole, cut = toy_policy().sample(requests), toy_policy(max_batch_tokens=60).sample(requests)
    for got, right in zip(cut, whole, strict=True):
        assert_same(got, right)


def test_a_wave_is_cut_by_padded_tokens_and_never_inside_a_request() -> None:
    short, long = ask((1,) * 4, range(2), 6), ask((1,) * 14, range(2), 6)
    assert list(split_by_tokens([short, short, long], 40)) == [[short, short], [long]]
    assert list(split_by_tokens([short, long, long], 80)) == [[short, long], [long]]
    assert list(split_by_tokens([long, short], 1)) == [[long], [short]]
    assert list(split_by_tokens([], 40)) == []


def test_a_reply_ends_with_the_end_token_exactly_when_it_stopped() -> None:
    policy = toy_policy()
    [replies] = policy.sample([ask(PROMPT, range(60), 10)])
    assert {reply.finish for reply in replies} == {Finish.STOP, Finish.LENGTH}
    for reply in replies:
        ends = [token in policy.codec.end_ids for token in reply.token_ids]
        assert not any(ends[:-1])
        assert ends[-1] is (reply.finish is Finish.STOP)
        assert len(reply.token_ids) == len(reply.logprobs) <= 10
        assert reply.finish is Finish.STOP or len(reply.token_ids) == 10
        assert "<|im_end|>" not in reply.text
        assert reply.text == policy.codec.decode(reply.token_ids)


def test_sampled_subwords_stay_as_sampled() -> None:
    # trl#5224, verl#3720, NeMo-RL#855, vllm#27515: the text has other ids
    tokenizer = bpe_tokenizer()
    model = toy_model(14, ToySize(32, 1, 1, 1, 32, 16), seed=0, end_id=1)
    network = WholeModel(model, tokenizer)
    policy = CausalPolicy("shared", network, ChatCodec(tokenizer, (1,), {}), 2**20)
    [replies] = policy.sample([ask((2, 3), range(20_000), 3)])
    for sampled, text, encoded in (((6, 8), "hello", [9]), ((11, 12), "Up", [13])):
        reply = next(r for r in replies if r.token_ids == (*sampled, 1))
        assert reply.text == text
        assert tokenizer(reply.text)["input_ids"] == encoded


@pytest.mark.parametrize("prompt", [PROMPT, LONG_PROMPT])
def test_temperature_zero_is_transformers_greedy_search(prompt: tuple[int, ...]) -> None:
    for seed in range(5):
        policy = toy_policy(seed)
        [[reply]] = policy.sample([ask(prompt, (0,), 12, temperature=0)])
        found = policy.model.generate(  # pyright: ignore[reportCallIssue]
            input_ids=torch.tensor([prompt]),
            attention_mask=torch.ones(1, len(prompt), dtype=torch.long),
            do_sample=False,
            max_new_tokens=12,
        )
        assert list(reply.token_ids) == found[0, len(prompt) :].tolist()


def test_greedy_and_sampled_rows_share_a_batch() -> None:
    policy = toy_policy()
    [alone] = policy.sample([ask(PROMPT, (0,), temperature=0)])
    together = policy.sample([ask(PROMPT, range(3)), ask(PROMPT, (0,), temperature=0)])
    assert_same(together[1], alone)


def test_a_finished_row_near_the_end_of_the_context_harms_no_other() -> None:
    policy = gpt2_policy()
    long = ask(tuple(range(2, 50)) + tuple(range(2, 14)), (3,), 4)  # 60 of 64 tokens
    short = ask((5, 6, 7), (0, 1, 4, 6), 40)
    [alone] = policy.sample([short])
    assert min(len(reply.token_ids) for reply in alone) > 6  # so that the long one is not dropped
    assert_same(policy.sample([long, short])[1], alone)


def test_replies_that_are_late_are_timeouts_and_keep_what_was_written() -> None:
    policy = toy_policy(reply_seconds=0.0)
    [replies] = policy.sample([ask(PROMPT, range(60), 10)])
    assert {len(reply.token_ids) for reply in replies} == {1}
    assert {reply.finish for reply in replies} == {Finish.STOP, Finish.TIMEOUT}
    late = next(reply for reply in replies if reply.finish is Finish.TIMEOUT)
    assert late.message == "no end within 0.0 s (limits.reply_seconds)"
    assert all(r.message == "" for r in replies if r.finish is Finish.STOP)


def test_the_context_is_the_models() -> None:
    assert (toy_policy().context_tokens, gpt2_policy().context_tokens) == (64, 64)


def test_a_prompt_goes_through_the_chat_template() -> None:
    policy = toy_policy()
    ids = policy.encode([Message("user", "a b")])
    assert policy.codec.tokenizer.decode(list(ids)) == (
        "<|im_start|> user a b <|im_end|> <|im_start|> assistant"
    )


def test_a_prompt_is_computed_once_for_all_its_replies() -> None:
    model = sharpen(toy_policy().model)
    rows: list[int] = []
    model.register_forward_pre_hook(
        lambda _, args, kwargs: rows.append(len(kwargs["input_ids"])), with_kwargs=True
    )
    codec = toy_policy().codec
    policy = CausalPolicy("shared", WholeModel(model, codec.tokenizer), codec, 2**20)
    policy.sample([ask(PROMPT, range(8), 2), ask(LONG_PROMPT, range(8), 2)])
    assert rows[0] == 2
    assert max(rows[1:]) <= 16


@pytest.mark.parametrize("damage", [float("nan"), float("inf")])
@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_a_model_without_finite_output_gives_failed_calls(
    damage: float, temperature: float
) -> None:
    policy = toy_policy()
    with torch.no_grad():
        policy.model.get_input_embeddings().weight[7] = damage
    policy.seal(checksum(policy.network.tensors().values()))
    [replies] = policy.sample([ask(PROMPT, range(2), temperature=temperature)])
    assert {(reply.finish, reply.token_ids) for reply in replies} == {(Finish.ERROR, ())}
    assert replies[0].message == "the output of policy shared version 0 is not finite"
