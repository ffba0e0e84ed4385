"""From messages to token ids and back, through the tokenizer's own chat template."""

from collections.abc import Mapping, Sequence
from typing import Any

from transformers import PreTrainedTokenizerBase

from cotrain.core.episode import Message


class ChatCodec:
    """Encodes prompts and decodes replies with one tokenizer.

    The chat template alone adds special tokens; a tokenizer without one is refused where models are
    loaded. `template_options` are passed to the template (`enable_thinking = false`, say).
    """

    def __init__(
        self,
        tokenizer: PreTrainedTokenizerBase,
        end_ids: Sequence[int],
        template_options: Mapping[str, Any],
    ) -> None:
        self.tokenizer = tokenizer
        self.end_ids = frozenset(end_ids)
        self._template_options = dict(template_options)

    def encode(self, messages: Sequence[Message]) -> tuple[int, ...]:
        """The ids of a prompt that ends where the reply begins, with one start token at most."""
        text: Any = self.tokenizer.apply_chat_template(
            [{"role": m.role, "content": m.content} for m in messages],
            tokenize=False,
            add_generation_prompt=True,
            **self._template_options,
        )
        return tuple(self.tokenizer(text, add_special_tokens=False)["input_ids"])

    def decode(self, ids: Sequence[int]) -> str:
        """The reply's text: what comes before the end token, special tokens left out."""
        text: Any = self.tokenizer.decode(
            list(ids), skip_special_tokens=True, clean_up_tokenization_spaces=False
        )
        return text

    def encode_reply(self, text: str) -> tuple[int, ...]:
        """The ids of a reply that another tokenizer's policy wrote, without an end token."""
        return tuple(self.tokenizer(text, add_special_tokens=False)["input_ids"])

    @property
    def end_id(self) -> int:
        """The id that ends a written reply: the tokenizer's own, where it has one."""
        own: Any = self.tokenizer.eos_token_id
        return own if own in self.end_ids else min(self.end_ids)


def end_token_ids(model_config: Any, generation_config: Any, tokenizer: Any) -> tuple[int, ...]:
    """Every id that ends a reply: the model's, the generation configuration's, the tokenizer's."""
    found: set[int] = set()
    for owner in (model_config, generation_config, tokenizer):
        value = getattr(owner, "eos_token_id", None)
        found.update([value] if isinstance(value, int) else value or [])
    return tuple(sorted(found))
