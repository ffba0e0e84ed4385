"""From the reply of a judge to its verdict: correct, incorrect, or none at all."""

import re

from cotrain.environments.parsing import hide_thinking

_WORD = re.compile(r"\b(?:incorrect|correct)\b", re.IGNORECASE)
_NEGATION = re.compile(
    r"(?:\b(?:not|never|neither|nor|cannot|hardly|far\s+from)\b|n't\b)[^.,;:!?\n]*\Z",
    re.IGNORECASE,
)
_CLAUSE_CHARACTERS = 80


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
    found = [_is_positive(shown, match) for match in _WORD.finditer(shown)]
    return all(found) if found else None


def _is_positive(text: str, match: re.Match[str]) -> bool:
    """Whether it is "correct" and no word before it in its clause negates it."""
    before = text[max(0, match.start() - _CLAUSE_CHARACTERS) : match.start()]
    return match[0].lower() == "correct" and not _NEGATION.search(before)
