"""From a reply to the answer in it: thinking is hidden, the last valid `<answer>` tag counts.

One tolerant parser a format, linear in the length of the reply. Only the reply is parsed, never a
prompt, and nothing is ever evaluated.
"""

import json
import re
from collections.abc import Sequence
from typing import Any, cast

MOVES = ("Up", "Down", "Left", "Right")
"""The canonical moves, in the order in which prompts name them."""

_THINK_TAG = re.compile(r"<(/?)think>", re.IGNORECASE)
_ANSWER_TAG = re.compile(r"<(/?)answer\s*>", re.IGNORECASE)
_MOVE_OF = {
    **{name.lower(): name for name in MOVES},
    **{name[0].lower(): name for name in MOVES},
    **dict(zip("↑↓←→⬆⬇⬅➡^v<>", MOVES * 3, strict=True)),
}
_FENCE = re.compile(r"^[ \t]*(```+|~~~+)[ \t]*([\w+-]*)[^\n]*$", re.MULTILINE)
_PYTHON = ("python", "python3", "py")
_ARROW = re.compile("([↑↓←→⬆⬇⬅➡^<>])")
_RIGHT_ARROWS = ("→", "➡")
_WORDS_BETWEEN_ARROWS = re.compile(r"\s*[a-z]+(?:\s*[→➡]\s*[a-z]+)+\s*", re.IGNORECASE)
_EMOJI_STYLE = "\ufe0f"


def hide_thinking(reply: str) -> str:
    """The reply without its think blocks.

    An unclosed `<think>` hides all that follows. A bare `</think>` hides all before it, since chat
    templates often open the block in the prompt.

    >>> hide_thinking("<think>Up?</think>Left")
    '\\nLeft'
    >>> hide_thinking("Up?</think>Left"), hide_thinking("Left<think>or Up")
    ('Left', 'Left\\n')
    """
    shown: list[str] = []
    place, thinking = 0, False
    for tag in _THINK_TAG.finditer(reply):
        closes = bool(tag[1])
        if closes and not thinking:
            shown.clear()
        if not closes and not thinking:
            shown += [reply[place : tag.start()], "\n"]
        thinking = not closes
        place = tag.end()
    if not thinking:
        shown.append(reply[place:])
    return "".join(shown)


def answers(reply: str) -> list[str]:
    """The texts of all closed answer tags outside thinking, in order, blanks at the ends removed.

    A tag that is opened anew before it is closed starts again there; an unclosed one is no answer.

    >>> answers("<answer>Up</answer> no: <answer> Down </answer> or <answer>Left")
    ['Up', 'Down']
    """
    shown = hide_thinking(reply)
    found: list[str] = []
    opened: int | None = None
    for tag in _ANSWER_TAG.finditer(shown):
        if not tag[1]:
            opened = tag.end()
        elif opened is not None:
            found.append(shown[opened : tag.start()].strip())
            opened = None
    return found


def last_answer(reply: str) -> str | None:
    """The text of the last closed answer tag outside thinking, or None.

    >>> last_answer("<think><answer>1</answer></think>"), last_answer("<ANSWER> 2 </ANSWER>")
    (None, '2')
    """
    found = answers(reply)
    return found[-1] if found else None


def parse_moves(reply: str) -> tuple[str, ...] | None:
    """The moves of the last answer tag that holds moves and nothing else, or None.

    Words, letters or arrows in any case, separated by blanks, commas, `->` or list numbers; or a
    list; or an object with one list. `→` is a move, except where it alone stands between words
    (`Up → Left`): there it separates. An unknown word or an empty list makes a tag invalid.

    >>> parse_moves("<answer>Up</answer> a wall. <answer>1. down 2. R</answer>")
    ('Down', 'Right')
    >>> parse_moves('<answer>{"moves": ["Up", "left"]}</answer> (form: <answer>[moves]</answer>)')
    ('Up', 'Left')
    >>> parse_moves("I would go up.") is None
    True
    """
    read = (_moves_of_answer(answer) for answer in reversed(answers(reply)))
    return next((moves for moves in read if moves), None)


def parse_printed_moves(text: str) -> tuple[str, ...] | None:
    """The moves that a program printed, or None.

    A valid answer tag counts as in a reply. Without one it is the last line that holds moves and
    nothing else, in any of the forms of `parse_moves`; moves printed one a line count together. A
    list that spans lines is read where it is all that was printed.

    >>> parse_printed_moves("length 2\\n['up', 'right']\\ndone in 0.1 s")
    ('Up', 'Right')
    >>> parse_printed_moves("Left\\nUp\\nRight\\n"), parse_printed_moves("no way")
    (('Left', 'Up', 'Right'), None)
    """
    whole = text.strip()
    read = parse_moves(text) or (_moves_of_answer(whole) if whole.startswith(("[", "{")) else None)
    return read or _moves_of_last_lines(whole)


def parse_code(reply: str) -> str | None:
    """The program of a reply: its last fenced block, without a trailing newline, or None.

    Blocks marked as Python come before others; an unclosed fence runs to the end of the reply; what
    stands in thinking is none. A block without a word in it is none.

    >>> parse_code("Try:\\n```python\\nprint(1)\\n```\\nor\\n```py\\nprint(2)")
    'print(2)'
    >>> parse_code("print(1)") is None
    True
    """
    found = [(language, code) for language, code in _blocks(hide_thinking(reply)) if code.strip()]
    python = [code for language, code in found if language in _PYTHON]
    codes = python or [code for _, code in found]
    return codes[-1].rstrip("\n") if codes else None


def _blocks(text: str) -> list[tuple[str, str]]:
    """The fenced blocks of a text as language and content."""
    blocks: list[tuple[str, str]] = []
    opened: re.Match[str] | None = None
    for fence in _FENCE.finditer(text):
        if opened is None:
            opened = fence
        elif fence[1].startswith(opened[1]) and not fence[2]:
            blocks.append((opened[2].lower(), text[opened.end() + 1 : fence.start()]))
            opened = None
    if opened is not None:
        blocks.append((opened[2].lower(), text[opened.end() + 1 :]))
    return blocks


def format_moves(moves: Sequence[str]) -> str:
    """The plainest reply that says these moves.

    >>> format_moves(["Up", "Right"])
    '<answer>Up Right</answer>'
    """
    return f"<answer>{' '.join(moves)}</answer>"


def _moves_of_last_lines(text: str) -> tuple[str, ...] | None:
    one_a_line: list[str] = []
    for line in reversed([line.strip() for line in text.splitlines() if line.strip()]):
        moves = _moves_of_answer(line) or ()
        if len(moves) == 1:
            one_a_line.append(moves[0])
        elif one_a_line:
            break
        elif moves:
            return moves
    return tuple(reversed(one_a_line)) or None


def _moves_of_answer(answer: str) -> tuple[str, ...] | None:
    text = _unfenced(answer)
    if not text.startswith(("[", "{")):
        return _moves_of_words(text)
    try:
        return _moves_of_json(json.loads(text))
    except (ValueError, RecursionError):
        is_list = text.startswith("[") and text.endswith("]")
        return _moves_of_words(text[1:-1]) if is_list else None


def _unfenced(answer: str) -> str:
    if not answer.startswith("```"):
        return answer
    opening, newline, rest = answer.partition("\n")
    body = rest if newline else opening.strip("`")
    return body.partition("```")[0].strip()


def _moves_of_json(value: Any) -> tuple[str, ...] | None:
    inside = [value]
    if isinstance(value, dict):
        inside = list(cast("dict[str, Any]", value).values())
    lists: list[list[Any]] = [item for item in inside if isinstance(item, list)]
    if len(lists) != 1:
        return None
    moves: list[str] = []
    for item in lists[0]:
        parsed = _moves_of_words(item) if isinstance(item, str) else None
        if not parsed:
            return None
        moves.extend(parsed)
    return tuple(moves)


def _moves_of_words(text: str) -> tuple[str, ...] | None:
    text = text.replace("->", " ").replace(",", " ").replace(_EMOJI_STYLE, "")
    if _WORDS_BETWEEN_ARROWS.fullmatch(text):
        for arrow in _RIGHT_ARROWS:
            text = text.replace(arrow, " ")
    words = (_without_number(word) for word in _ARROW.sub(r" \1 ", text).split())
    moves = [_MOVE_OF.get(word.strip("\"'`").lower(), "") for word in words if word]
    return tuple(moves) if all(moves) else None


def _without_number(word: str) -> str:
    rest = word.lstrip("0123456789")
    return rest[1:] if rest != word and rest.startswith((".", ")")) else word
