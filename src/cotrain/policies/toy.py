"""A toy language model in a stock architecture: Qwen3 at toy size with a word-level tokenizer.

It has the parts of a real one (chat template, special tokens, grouped-query attention, tied
embeddings) at a size that trains on a laptop. Head dimension 32, so that vLLM can serve it.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast, Qwen3Config, Qwen3ForCausalLM

SPECIAL = ("<pad>", "<|im_start|>", "<|im_end|>", "<unk>")

# ChatML without blanks around the content, since the tokenizer splits on blanks alone.
CHAT_TEMPLATE = (
    "{% for message in messages %}<|im_start|> {{ message.role }} {{ message.content }} "
    "<|im_end|> {% endfor %}{% if add_generation_prompt %}<|im_start|> assistant {% endif %}"
)


@dataclass(frozen=True, slots=True)
class ToySize:
    """The size of a toy model; the default has about 0.6 million parameters."""

    hidden: int = 128
    layers: int = 4
    heads: int = 4
    key_value_heads: int = 2
    feed_forward: int = 256
    context_tokens: int = 256


def toy_tokenizer(words: Sequence[str]) -> PreTrainedTokenizerFast:
    """A tokenizer that knows these words, separated by blanks, and the chat roles.

    >>> toy_tokenizer(["Up", "Down"]).encode("Up Down Up")
    [7, 8, 7]
    """
    vocabulary = {
        word: i for i, word in enumerate([*SPECIAL, "system", "user", "assistant", *words])
    }
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        pad_token="<pad>",
        eos_token="<|im_end|>",
        unk_token="<unk>",
        additional_special_tokens=["<|im_start|>"],
        chat_template=CHAT_TEMPLATE,
    )


def toy_model(vocabulary: int, size: ToySize, seed: int, end_id: int = 2) -> Qwen3ForCausalLM:
    """A freshly initialised model, float32, the same for the same seed."""
    torch.manual_seed(seed)
    config = Qwen3Config(
        vocab_size=vocabulary,
        hidden_size=size.hidden,
        num_hidden_layers=size.layers,
        num_attention_heads=size.heads,
        num_key_value_heads=size.key_value_heads,
        head_dim=32,
        intermediate_size=size.feed_forward,
        max_position_embeddings=size.context_tokens,
        tie_word_embeddings=True,
        pad_token_id=0,
        eos_token_id=end_id,
        bos_token_id=None,
        dtype="float32",
    )
    return Qwen3ForCausalLM(config)
