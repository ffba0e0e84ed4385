"""Builders of base models as folders: untrained, and as unlike each other as two bases can be.

Their matrices are scaled up, so that what an untrained model says depends on its prompt: one that
says the same to every prompt learns the likeliest answer before it learns to read.

       architecture                             tokenizer                template
qwen3  Qwen3: rotary positions, grouped heads   whole words              ChatML
gpt2   GPT-2: learnt positions, a context of 64  byte-level BPE, subwords  one of its own
"""

from pathlib import Path

import torch
from tests.policies.toy_policies import sharpen
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast

from cotrain.policies.toy import ToySize, toy_model, toy_tokenizer

WORDS = (
    *["flag", "lamp", "wind", "from", "to", "where", "?", ":"],
    *["North", "East", "South", "West"],
)
QWEN3_SIZE = ToySize(
    hidden=64, layers=2, heads=2, key_value_heads=1, feed_forward=128, context_tokens=64
)
GPT2_SPECIAL = ("<stop>", "<pad>", "<turn>", "<unk>")
GPT2_CONTEXT_TOKENS = 64
BPE_MERGES = 24
SHARPNESS = 4.0
BPE_CORPUS = (
    "flag : from where ?",
    "lamp : to where ?",
    *(f"wind {direction}" for direction in WORDS[-4:]),
    "system user assistant",
)
BPE_TEMPLATE = (
    "{% for message in messages %}<turn>{{ message.role }}:{{ message.content }}<stop>{% endfor %}"
    "{% if add_generation_prompt %}<turn>assistant:{% endif %}"
)


def save_qwen3(folder: Path, seed: int) -> Path:
    """A Qwen3 of two layers that reads one token a word; returns its folder."""
    tokenizer = toy_tokenizer(WORDS)
    model = toy_model(len(tokenizer), QWEN3_SIZE, seed)
    sharpen(model, SHARPNESS).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def save_gpt2(folder: Path, seed: int) -> Path:
    """A GPT-2 of two layers that reads subwords of the same words; returns its folder."""
    tokenizer = subword_tokenizer()
    torch.manual_seed(seed)
    config = GPT2Config(
        vocab_size=len(tokenizer),
        n_positions=GPT2_CONTEXT_TOKENS,
        n_embd=64,
        n_layer=2,
        n_head=2,
        resid_pdrop=0.0,
        embd_pdrop=0.0,
        attn_pdrop=0.0,
        bos_token_id=None,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
    )
    sharpen(GPT2LMHeadModel(config), SHARPNESS).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def contents(folder: Path) -> dict[str, bytes]:
    """Every file under a folder, by its path in it."""
    files = (path for path in sorted(folder.rglob("*")) if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


def subword_tokenizer() -> PreTrainedTokenizerFast:
    """Byte-level BPE over the letters of the game's words, with a few merges.

    >>> subword_tokenizer().tokenize("<turn>user:wind North<stop>")
    ['<turn>', 'u', 's', 'er', ':', 'wind', 'Ġ', 'No', 'r', 'th', '<stop>']
    """
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    letters = {letter for text in BPE_CORPUS for letter in text.replace(" ", "Ġ")}
    trainer = trainers.BpeTrainer(
        vocab_size=len(GPT2_SPECIAL) + len(letters) + BPE_MERGES,
        special_tokens=list(GPT2_SPECIAL),
        show_progress=False,
    )
    tokenizer.train_from_iterator(BPE_CORPUS, trainer)
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        eos_token="<stop>",
        pad_token="<pad>",
        unk_token="<unk>",
        additional_special_tokens=["<turn>"],
        chat_template=BPE_TEMPLATE,
    )
