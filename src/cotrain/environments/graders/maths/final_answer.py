"""Where the final answer stands in a reply: the last box, or else the last stated answer."""

import re
from itertools import pairwise

from cotrain.environments.parsing import hide_thinking, last_answer

MAX_ANSWER_CHARACTERS = 4000
"""A longer text is no answer."""

_MAX_BETWEEN = 40
_MAX_STATEMENT = 2000

_BOX = re.compile(r"\\(?:boxed|fbox)\s*")
_BARE_BOX = re.compile(r"-?\d+(?:\.\d+)?|[A-Za-z](?![A-Za-z])")
_BETWEEN = re.compile(
    r"[\s$,;&)]*(?:\\text\{)?\s*(?:and|or|,|;|&)\s*\}?[\s$,;]*(?:\\quad)?\s*"
    r"(?:[A-Za-z](?:_\{?\w+\}?)?\s*=\s*)?\$?\s*",
    re.IGNORECASE,
)
_ASSIGNED = re.compile(r"(?<![A-Za-z\\])([A-Za-z](?:_\{?\w+\}?)?)\s*=\s*\$?\s*\Z")
_SENTENCE_END = re.compile(r"\n\s*\n|[.!?](?:\s|\Z)")
_STATED = re.compile(
    r"\banswers?\b(?:\s+(?:to\s+[^.\n:=]{0,80}?))?\s*\**\s*(?:is|are|:|=)\s*:?|^\s*####",
    re.IGNORECASE | re.MULTILINE,
)
_ERROR_LINE = re.compile(r"^\s*(?:\w+\.)*\w*(?:Error|Exception|Interrupt|Warning)\b\s*(?::|$)")
_SEGMENT = re.compile(
    r"\$\$(?P<a>[^$]+)\$\$|\$(?P<b>[^$]+)\$|\\\((?P<c>.+?)\\\)|\\\[(?P<d>.+?)\\\]"
    r"|\*\*(?P<e>[^*]+)\*\*",
    re.DOTALL,
)
_NUMBER = re.compile(r"(?<![\w.])[-+]?(?:\d+(?:,\d{3})*(?:\.\d+)?|\.\d+)(?:\s*/\s*\d+)?%?")
_PROSE = re.compile(r"(?<![A-Za-z])[A-Za-z]{2,}+[,;:]?\s++[A-Za-z]{2}")
_FINISHED = re.compile(r"[.!?]?[\s*$]*\Z")


def final_answer(reply: str) -> str | None:
    r"""The text of the answer that counts, or None where the reply states none.

    Boxes come first, and of these the last closed one; several that only commas, `and`, `or` or an
    assignment part are one answer together. Without a box: the last answer tag, else what follows
    the last "answer is", else what the last line states. Thinking, tracebacks and error messages
    state nothing.

    >>> final_answer(r"Try \boxed{5}. No, hence \boxed{\frac{3}{7}}.")
    '\\frac{3}{7}'
    >>> final_answer(r"So $x=\boxed{2}$ and $y=\boxed{3}$."), final_answer("Answer: **24**")
    ('x=2, y=3', '24')
    >>> final_answer("ValueError: 24") is None
    True
    """
    shown = hide_thinking(reply)
    found = _boxed(shown)
    if found is None:
        found = last_answer(reply)
    if found is None:
        found = _stated(shown)
    if found is None:
        return None
    found = found.strip()
    return found if 0 < len(found) <= MAX_ANSWER_CHARACTERS else None


def has_box(reply: str) -> bool:
    r"""Whether a reply has a closed box with something in it, outside thinking.

    >>> has_box(r"\boxed{5}"), has_box(r"\boxed{}"), has_box("5")
    (True, False, False)
    """
    found = _boxed(hide_thinking(reply))
    return found is not None and bool(found.strip())


def _boxed(text: str) -> str | None:
    boxes = _boxes(text)
    if not boxes:
        return None
    first = len(boxes) - 1
    for before, after in reversed(list(pairwise(boxes))):
        between = text[before[1] : after[0]]
        if len(between) > _MAX_BETWEEN or not _BETWEEN.fullmatch(between):
            break
        first -= 1
    together = boxes[first:]
    contents = [content for _, _, content in together]
    if len(set(contents)) == 1:
        return contents[0]
    names = [_ASSIGNED.search(text[max(0, start - 24) : start]) for start, _, _ in together]
    if all(names):
        contents = [f"{name[1]}={text}" for name, text in zip(names, contents, strict=True) if name]
    return ", ".join(contents)


def _boxes(text: str) -> list[tuple[int, int, str]]:
    """Start, end and content of each closed box that no other holds, in order."""
    closing = _closing_braces(text)
    boxes: list[tuple[int, int, str]] = []
    place = 0
    while match := _BOX.search(text, place):
        place = match.end()
        if text[place : place + 1] != "{":
            bare = _BARE_BOX.match(text, place)
            boxes += [(match.start(), bare.end(), bare[0])] if bare else []
        elif place in closing:
            end = closing[place]
            boxes.append((match.start(), end + 1, text[place + 1 : end]))
            place = end
    return boxes


def _closing_braces(text: str) -> dict[int, int]:
    """The place of the closing brace of each opening one; escaped ones are none."""
    closing: dict[int, int] = {}
    opened: list[int] = []
    for match in re.finditer(r"\\.|[{}]", text, re.DOTALL):
        if match[0] == "{":
            opened.append(match.start())
        elif match[0] == "}" and opened:
            closing[opened.pop()] = match.start()
    return closing


def _stated(text: str) -> str | None:
    if "Traceback (most recent call last)" in text:
        return None
    text = text.strip()[-_MAX_STATEMENT:]
    lines = [line for line in text.splitlines() if line.strip()]
    if not lines or _ERROR_LINE.match(lines[-1]):
        return None
    marks = list(_STATED.finditer(text))
    if marks:
        return _first_statement(text[marks[-1].end() :])
    return _last_statement(lines[-1].strip())


def _first_statement(text: str) -> str | None:
    lines = [line.strip() for line in text.splitlines() if line.strip(" *$\t")]
    if not lines:
        return None
    segment = _SEGMENT.match(lines[0])
    if segment:
        return _inside(segment)
    end = _SENTENCE_END.search(lines[0])
    sentence = lines[0][: end.start()] if end else lines[0]
    segments = list(_SEGMENT.finditer(sentence))
    if segments and _PROSE.search(sentence[: segments[-1].start()]):
        return _inside(segments[-1])
    return sentence.strip(" *")


def _last_statement(line: str) -> str | None:
    if "\\boxed" in line:
        return None
    segments = list(_SEGMENT.finditer(line))
    if segments and _FINISHED.fullmatch(line, segments[-1].end()):
        return _inside(segments[-1])
    if not _PROSE.search(line):
        return line.strip(" *.")
    if segments:
        return _inside(segments[-1])
    numbers = _NUMBER.findall(line)
    return numbers[-1] if numbers else None


def _inside(segment: re.Match[str]) -> str:
    return next(text for text in segment.groups() if text is not None).strip(" *")
