"""Small policies on real architectures."""

import torch
from tokenizers import Tokenizer, decoders, models
from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedModel, PreTrainedTokenizerFast

from cotrain.policies.causal_lm import CausalPolicy
from cotrain.policies.chat import ChatCodec, end_token_ids
from cotrain.policies.networks import WholeModel
from cotrain.policies.toy import ToySize, toy_model, toy_tokenizer

WORDS = tuple("abcdefghijklm")
SIZE = ToySize(hidden=32, layers=2, heads=2, key_value_heads=1, feed_forward=48, context_tokens=64)
BPE_VOCABULARY = {
    "<pad>": 0,
    "<eos>": 1,
    "h": 2,
    "e": 3,
    "l": 4,
    "o": 5,
    "he": 6,
    "ll": 7,
    "llo": 8,
    "hello": 9,
    " ": 10,
    "U": 11,
    "p": 12,
    "Up": 13,
}
BPE_MERGES = [("h", "e"), ("l", "l"), ("ll", "o"), ("he", "llo"), ("U", "p")]


def sharpen(model: PreTrainedModel, factor: float = 6.0) -> PreTrainedModel:
    """Makes an untrained model's distributions uneven, by scaling its matrices."""
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() == 2:
                parameter.mul_(factor)
    return model


def toy_policy(
    seed: int = 0, max_batch_tokens: int = 2**20, reply_seconds: float | None = None
) -> CausalPolicy:
    """A Qwen3 policy of two layers over a dozen words, with uneven distributions."""
    tokenizer = toy_tokenizer(WORDS)
    model = sharpen(toy_model(len(tokenizer), SIZE, seed))
    codec = ChatCodec(tokenizer, end_token_ids(model.config, None, tokenizer), {})
    network = WholeModel(model, tokenizer)
    return CausalPolicy("shared", network, codec, max_batch_tokens, reply_seconds)


def gpt2_policy() -> CausalPolicy:
    """The model of trl#3722's case: GPT-2 with absolute positions, a context of 64 tokens."""
    torch.manual_seed(0)
    config = GPT2Config(
        vocab_size=50,
        n_layer=2,
        n_embd=32,
        n_head=2,
        n_positions=64,
        bos_token_id=1,
        eos_token_id=1,
    )
    tokenizer = toy_tokenizer([str(number) for number in range(43)])
    network = WholeModel(GPT2LMHeadModel(config), tokenizer)
    return CausalPolicy("shared", network, ChatCodec(tokenizer, (1,), {}), 2**20)


def bpe_tokenizer() -> PreTrainedTokenizerFast:
    """Subwords that make `hello` and `Up` writable in several ways; no chat template."""
    tokenizer = Tokenizer(models.BPE(BPE_VOCABULARY, BPE_MERGES))
    tokenizer.decoder = decoders.Fuse()
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, pad_token="<pad>", eos_token="<eos>")
