"""From messages to ids: one start token, the template's separators, and text as it was written."""

from tests.policies.toy_policies import SIZE
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from tokenizers.processors import TemplateProcessing
from transformers import PreTrainedTokenizerFast

from cotrain.core.episode import Message
from cotrain.policies.chat import ChatCodec, end_token_ids
from cotrain.policies.toy import toy_model, toy_tokenizer

CHATML = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
    "{% if enable_thinking is defined and not enable_thinking %}<think></think>{% endif %}"
)


def with_start_token(template: str | None) -> PreTrainedTokenizerFast:
    """A word-level tokenizer that puts a start token before every text that it encodes."""
    words = {word: i for i, word in enumerate(["<s>", "</s>", "<unk>", "hello", "there", "user"])}
    tokenizer = Tokenizer(models.WordLevel(words, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer.post_processor = TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 0)])
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, bos_token="<s>", eos_token="</s>", chat_template=template
    )


def bytes_with_chatml() -> PreTrainedTokenizerFast:
    """One token a byte, and the two ChatML marks."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    tokenizer = Tokenizer(models.BPE({letter: i for i, letter in enumerate(alphabet)}, []))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        eos_token="<|im_end|>",
        additional_special_tokens=["<|im_start|>"],
        chat_template=CHATML,
    )


def test_a_prompt_has_one_start_token() -> None:
    template = "{{ bos_token }} {% for m in messages %}{{ m.content }} {% endfor %}"
    # trl#5224: a template that holds the start token is not given another
    codec = ChatCodec(with_start_token(template), (1,), {})
    assert codec.encode([Message("user", "hello"), Message("user", "there")]) == (0, 3, 4)


def test_a_turn_begins_after_the_end_mark_and_a_new_line() -> None:
    # verl#3720: the separator after an assistant's turn is kept
    codec = ChatCodec(bytes_with_chatml(), (1,), {})
    before = codec.encode([Message("user", "go")])
    messages = [Message("user", "go"), Message("assistant", "Up"), Message("user", "on")]
    after = codec.encode(messages)
    reply = codec.tokenizer("Up", add_special_tokens=False)["input_ids"]
    assert after[: len(before)] == before
    rest = after[len(before) + len(reply) :]
    text = codec.tokenizer.decode(list(rest))
    assert text == "<|im_end|>\n<|im_start|>user\non<|im_end|>\n<|im_start|>assistant\n"


def test_template_options_reach_the_template() -> None:
    tokenizer = bytes_with_chatml()
    plain = ChatCodec(tokenizer, (1,), {}).encode([Message("user", "go")])
    quiet = ChatCodec(tokenizer, (1,), {"enable_thinking": False}).encode([Message("user", "go")])
    assert tokenizer.decode(list(quiet[len(plain) :])) == "<think></think>"


def test_the_text_is_what_was_written_blanks_included() -> None:
    tokenizer = toy_tokenizer(["a", ".", "do", "n't"])
    tokenizer.clean_up_tokenization_spaces = True
    ids = tokenizer("do n't a .")["input_ids"]
    assert ChatCodec(tokenizer, (2,), {}).decode(ids) == "do n't a ."


def test_special_tokens_are_left_out_of_the_text() -> None:
    tokenizer = bytes_with_chatml()
    ids = tokenizer("Up<|im_start|>", add_special_tokens=False)["input_ids"]
    assert ChatCodec(tokenizer, (1,), {}).decode(ids) == "Up"


def test_every_owner_of_an_end_token_is_heard() -> None:
    tokenizer = toy_tokenizer(["a"])
    model = toy_model(len(tokenizer), SIZE, seed=0, end_id=5)
    model.generation_config.eos_token_id = [5, 6]  # pyright: ignore
    assert end_token_ids(model.config, model.generation_config, tokenizer) == (2, 5, 6)
    assert end_token_ids(model.config, None, tokenizer) == (2, 5)
