r"""Splits plain LaTeX at its outermost commas and signs, and looks inside its brackets."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

MAX_DEPTH = 40
"""Deeper brackets are no answer."""

_TOKEN = re.compile(
    r"\\begin\s*\{[a-zA-Z]*\*?\}|\\end\s*\{[a-zA-Z]*\*?\}|\\[A-Za-z]+|\\.|⟦[^⟧]*⟧|[A-Za-z]+|\s+|.",
    re.DOTALL,
)
_OPENING = frozenset(("(", "[", "{", "\\{"))
_CLOSING = frozenset((")", "]", "}", "\\}"))


@dataclass(frozen=True, slots=True)
class Token:
    """A piece of the text, and how many brackets it stands in."""

    text: str
    depth: int


def tokens(text: str) -> list[Token]:
    """The pieces of a plain text in order; joined they are the text.

    >>> [token.text for token in tokens(r"(a,\\pi)") if token.depth == 0]
    ['(', ')']
    """
    found: list[Token] = []
    depth = 0
    for match in _TOKEN.finditer(text):
        piece = match[0]
        opens = piece in _OPENING or piece.startswith("\\begin")
        closes = piece in _CLOSING or piece.startswith("\\end")
        depth -= closes
        found.append(Token(piece, depth))
        depth += opens
    return found


def depth_of(text: str) -> int:
    """How deep its brackets are nested.

    >>> depth_of("((a))"), depth_of("a")
    (2, 0)
    """
    pieces = tokens(text)
    depths = [token.depth for token in pieces]
    return max(depths, default=0) - min(0, *depths, 0)


def split(text: str, signs: Sequence[str]) -> tuple[list[str], list[str]]:
    """The parts between outermost signs, and these signs in order.

    >>> split("(1,2), 3", [","])
    (['(1,2)', '3'], [','])
    """
    parts: list[list[str]] = [[]]
    found: list[str] = []
    for token in tokens(text):
        if token.depth == 0 and token.text in signs:
            parts.append([])
            found.append(token.text)
        else:
            parts[-1].append(token.text)
    return ["".join(part).strip() for part in parts], found


@dataclass(frozen=True, slots=True)
class Enclosed:
    """A text that one pair of brackets encloses."""

    left: str
    right: str
    inside: str


def enclosed(text: str) -> Enclosed | None:
    r"""The brackets around the whole text, or None. Ends may differ, as those of intervals do.

    >>> enclosed("[3,\\infty)")
    Enclosed(left='[', right=')', inside='3,\\infty')
    >>> enclosed("(a)(b)") is None
    True
    """
    pieces = tokens(text.strip())
    if len(pieces) < 2 or pieces[0].text not in _OPENING or pieces[-1].text not in _CLOSING:
        return None
    if any(token.depth < 1 for token in pieces[1:-1]) or pieces[-1].depth != 0:
        return None
    inside = "".join(token.text for token in pieces[1:-1]).strip()
    return Enclosed(pieces[0].text, pieces[-1].text, inside)
