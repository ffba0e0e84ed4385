"""From the reply of a judge to its verdict: correct, incorrect, or none at all."""

import re

from cotrain.environments.parsing import hide_thinking

_WORD = re.compile(
    r"(?P<negated>\b(?:not|never|isn'?t|aren'?t|wasn'?t|cannot\s+be|hardly|far\s+from)"
    r"[\s*_\"'`]+(?:(?:at\s+all|entirely|fully|completely|quite|really|be|a|the)\s+)*"
    r"[*_\"'`]*)?"
    r"\b(?P<word>incorrect|correct)\b",
    re.IGNORECASE,
)


def parse_verdict(reply: str) -> bool | None:
    """True for "correct", False for "incorrect" or "not correct", None for a reply without either.

    Whole words, in any case, outside thinking. A negative verdict counts before a positive one, so
    that a reply with both does not pass; nor does "not incorrect", which says too little.

    >>> parse_verdict("Verdict: CORRECT"), parse_verdict("INCORRECT"), parse_verdict("not correct")
    (True, False, False)
    >>> parse_verdict("The steps look fine.") is None
    True
    """
    shown = hide_thinking(reply).replace("\u2019", "'")
    found = [_is_positive(match) for match in _WORD.finditer(shown)]
    return all(found) if found else None


def _is_positive(match: re.Match[str]) -> bool:
    return match["word"].lower() == "correct" and not match["negated"]
