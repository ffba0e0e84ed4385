"""The toy model and the prompts that both sides of the training-step benchmark load.

The model is a randomly initialised Qwen3 of about 0.6 million parameters with a vocabulary of 64
words, one word a token. Its chat template adds nothing, so that the three ways to give a prompt
(token ids, text, one user message) reach a trainer as the same token ids. Token 0 pads, token 1
ends a reply, and neither occurs in a prompt.

    python bench/toy_batch.py FOLDER --prompts-to prompts.json --num-prompts 48 --prompt-tokens 45
"""

import argparse
import json
import random
from pathlib import Path

import torch
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast, Qwen3Config, Qwen3ForCausalLM

VOCABULARY = 64
PAD_TOKEN, END_TOKEN = "<pad>", "<end>"
FIRST_WORD = 2
CHAT_TEMPLATE = "{% for message in messages %}{{ message['content'] }} {% endfor %}"


def word(token_id: int) -> str:
    """The text of one token.

    >>> [word(0), word(1), word(2), word(63)]
    ['<pad>', '<end>', 't2', 't63']
    """
    return (PAD_TOKEN, END_TOKEN)[token_id] if token_id < FIRST_WORD else f"t{token_id}"


def toy_tokenizer() -> PreTrainedTokenizerFast:
    """A tokenizer that splits at spaces, one word a token.

    >>> toy_tokenizer()("t7 t2 t63")["input_ids"]
    [7, 2, 63]
    """
    vocabulary = {word(token_id): token_id for token_id in range(VOCABULARY)}
    backend = Tokenizer(models.WordLevel(vocabulary, unk_token=PAD_TOKEN))
    backend.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=backend, pad_token=PAD_TOKEN, eos_token=END_TOKEN, padding_side="left"
    )
    tokenizer.chat_template = CHAT_TEMPLATE
    return tokenizer


def toy_model(seed: int = 0) -> Qwen3ForCausalLM:
    """A float32 Qwen3: 4 layers, hidden size 128, 4 query and 2 key-value heads of 32."""
    config = Qwen3Config(
        vocab_size=VOCABULARY,
        hidden_size=128,
        intermediate_size=256,
        num_hidden_layers=4,
        num_attention_heads=4,
        num_key_value_heads=2,
        head_dim=32,
        max_position_embeddings=1024,
        tie_word_embeddings=True,
        pad_token_id=0,
        eos_token_id=1,
        bos_token_id=None,
    )
    torch.manual_seed(seed)
    return Qwen3ForCausalLM(config)


def write_model(folder: Path, seed: int = 0) -> None:
    """Write model and tokenizer as one Hugging Face folder."""
    toy_model(seed).save_pretrained(folder)
    toy_tokenizer().save_pretrained(folder)


def make_prompts(num_prompts: int, prompt_tokens: int, seed: int = 0) -> list[list[int]]:
    """Random prompts, all of the same length, as lists of token ids.

    >>> [len(prompt) for prompt in make_prompts(2, 45)]
    [45, 45]
    """
    generator = random.Random(seed)
    words = range(FIRST_WORD, VOCABULARY)
    return [generator.choices(words, k=prompt_tokens) for _ in range(num_prompts)]


def main() -> None:
    """Write the folder and the prompts that the command line names."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--prompts-to", type=Path, required=True)
    parser.add_argument("--num-prompts", type=int, default=48)
    parser.add_argument("--prompt-tokens", type=int, default=45)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    write_model(options.folder, options.seed)
    prompts = make_prompts(options.num_prompts, options.prompt_tokens, options.seed)
    options.prompts_to.write_text(json.dumps(prompts))


if __name__ == "__main__":
    main()
