r"""From an answer's text to its shape."""

import re

from cotrain.environments.graders.maths.latex_text import NEW_ROW, letters, plain
from cotrain.environments.graders.maths.numbers import literal
from cotrain.environments.graders.maths.shapes import (
    Equation,
    Grid,
    Inequality,
    Joined,
    Labelled,
    Many,
    Named,
    Nothing,
    Ratio,
    Row,
    Shape,
    Value,
    Words,
)
from cotrain.environments.graders.maths.splitting import Enclosed, enclosed, split
from cotrain.environments.graders.maths.units import Measured, without_unit

_INEQUALITIES = ("<", ">", "\\le", "\\ge", "\\ne")
_SET_SIGNS = ("\\cup", "\\cap", "\\setminus")
_NOTHING = {"nosolution", "nosolutions", "norealsolution", "norealsolutions", "emptyset"}
_REALS = {"allrealnumbers", "realnumbers", "allreals"}
_NAME = re.compile(
    r"\\frac\{d[A-Za-z]?\}\{d[A-Za-z]\}|(?:[A-Za-z]|\\[A-Za-z]+)(?:_(?:\{[^{}]*\}|\w))?'?(?:\s*\(\s*[A-Za-z](?:\s*,\s*[A-Za-z])*\s*\))?"
)
_NAMES = re.compile(r"\(\s*[A-Za-z](?:_\{?\w\}?)?(?:\s*,\s*[A-Za-z](?:_\{?\w\}?)?)+\s*\)")
_NAMES_OF_PLACES = re.compile(rf"^{_NAMES.pattern}\s*=\s*")
_THOUSANDS = re.compile(r"[-+]?[1-9]\d{0,2}(?:,\d{3})+(?:\.\d+)?%?")
_WHOLE_TEXT = re.compile(r"⟦([^⟧]*)⟧")
_CHOICE = re.compile(r"(?:⟦\s*\(?([A-H])\)?[.:]?\s*⟧|\(([A-H])\))\s*(\S.*)", re.DOTALL)
_NO_CONTENT = re.compile(
    r"\s*(?:[,;/+|&^!']|⟦?\s*(?:or|and|not|nor|but)\b)|.*(?:\([A-H]\)|⟦\s*\(?[A-H]\)?\s*⟧)",
    re.DOTALL,
)
"""What follows a choice's letter where more than one choice is named, or none."""
_CONSTANTS = ("\\pi", "e")
_WORD = re.compile(
    r"[A-Za-z]{4,}|(?i:yes|no|odd|one|two|six|ten|all|any)|[A-Za-z]+(?:[ -][A-Za-z]+)+"
)
_MATRIX = re.compile(
    r"\\begin\s*\{([pbBvV]?matrix|smallmatrix|array)\}(?:\s*\{[lcr| ]*\})?(.*)"
    r"\\end\s*\{\1\}",
    re.DOTALL,
)
_PRINTED_MATRIX = re.compile(r"(?:Matrix|array)\s*\((.*)\)", re.DOTALL)
_WORD_JOINS = (
    (re.compile(r",?\s*⟦\s*,?\s*or\s*⟧\s*|,?(?<=[\s\d)}])\s*\bor\b\s+"), ";or;"),
    (re.compile(r",?\s*⟦\s*,?\s*and\s*⟧\s*|,?(?<=[\s\d)}])\s*\band\b\s+"), ";and;"),
)


def shapes(answer: str) -> tuple[Shape, ...]:
    r"""The shapes that an answer can be read as, likeliest first.

    >>> shapes("(5,9)")[0] == shapes(r"\left( 5, 9 \right)")[0]
    True
    >>> [type(shape).__name__ for shape in shapes("1,234")]
    ['Value', 'Many']
    """
    text = plain(answer)
    first = _shape(text)
    if _THOUSANDS.fullmatch(without_unit(text).core):
        members = tuple(_shape(part) for part in text.split(","))
        return (first, Many(members))
    return (first,)


def _shape(text: str) -> Shape:
    text = text.strip().rstrip(".,;").strip()
    whole = _WHOLE_TEXT.fullmatch(text)
    if whole is not None:
        return _of_text(whole[1].strip())
    if text.replace(" ", "") in ("\\emptyset", "\\{\\}") or letters(text) in _NOTHING:
        return Nothing()
    if letters(text) in _REALS:
        return Value(Measured("\\mathbb{R}"))
    choice = _CHOICE.fullmatch(text)
    if choice is not None and not _NO_CONTENT.match(choice[3]):
        return Labelled(choice[1] or choice[2], _shape(choice[3]))
    for read in (_joined, _listed, _related, _in_brackets, _matrix, _ratio):
        found = read(text)
        if found is not None:
            return found
    return _single(text)


def _of_text(content: str) -> Shape:
    if letters(content) in _NOTHING:
        return Nothing()
    if letters(content) in _REALS:
        return Value(Measured("\\mathbb{R}"))
    if re.search(r"[\d=]", content) or _has_list(content):
        return _shape(content)
    return Words(content)


def _has_list(content: str) -> bool:
    return bool(re.search(r",|;|\band\b|\bor\b", content)) and len(content) > 3


def _joined(text: str) -> Shape | None:
    parts, signs = split(text, _SET_SIGNS)
    if not signs or not all(parts):
        return None
    if "=" in parts[0] or "\\in" in parts[0]:
        parts[0] = re.split(r"=|\\in(?![A-Za-z])", parts[0])[-1].strip()
    return Joined(tuple(_shape(part) for part in parts), tuple(signs))


def _listed(text: str) -> Shape | None:
    joined_by = ","
    for pattern, mark in _WORD_JOINS:
        text, count = pattern.subn(mark, text)
        joined_by = mark.strip(";") if count else joined_by
    text = text.replace(";or;", ";").replace(";and;", ";")
    if _THOUSANDS.fullmatch(without_unit(text).core):
        return None
    parts, signs = split(text, (",", ";"))
    if not signs:
        return None
    parts = [part for part in parts if part and not _says_whole(part)]
    if len(parts) < 2:
        return _shape(parts[0]) if parts else Words(text)
    parts = [_NAMES_OF_PLACES.sub("", part) for part in parts]
    members = tuple(member for part in parts for member in _spread(_shape(part)))
    return Many(_with_shared_name(members), joined_by=joined_by)


def _spread(shape: Shape) -> tuple[Shape, ...]:
    """The values of a list in a list, as of two signs plus-minus."""
    return shape.members if isinstance(shape, Many) and not shape.braces else (shape,)


def _says_whole(part: str) -> bool:
    """Whether a part only says what kind of number a letter is."""
    return bool(re.fullmatch(r"(?:⟦[^⟧]*⟧\s*)?[A-Za-z]\s*\\in\s*\\mathbb\{?[NZ]\}?.*", part))


def _with_shared_name(members: tuple[Shape, ...]) -> tuple[Shape, ...]:
    """`k = 2, 5, 9` names all of them."""
    first = members[0]
    if isinstance(first, Named) and all(isinstance(one, Value) for one in members[1:]):
        return (first, *(Named(first.name, member) for member in members[1:]))
    return members


def _related(text: str) -> Shape | None:
    parts, signs = split(text, ("=", "\\approx", "\\in", *_INEQUALITIES))
    if not signs or not all(parts):
        return None
    if all(sign in _INEQUALITIES for sign in signs):
        return Inequality(tuple(parts), tuple(signs))
    if "\\approx" in signs:
        place = signs.index("\\approx")
        is_name = place == 0 and _NAME.fullmatch(parts[0]) and parts[0] not in _CONSTANTS
        keep = place if is_name else place - 1
        return _shape(parts[keep + 1])
    if all(sign in ("=", "\\in") for sign in signs):
        return _equated(parts)
    return Words(text)


def _equated(parts: list[str]) -> Shape:
    first, last = parts[0], parts[-1]
    if _NAME.fullmatch(first) or _NAMES.fullmatch(first):
        return _named(first, _shape(last))
    if len(parts) == 2 and _NAME.fullmatch(last) and literal(first) is not None:
        return _named(last, _shape(first))
    if len(parts) == 2 and re.search(r"(?<![\\A-Za-z])[a-zA-Z](?![A-Za-z])", first + " " + last):
        return Equation(first, last)
    return _shape(last)


def _named(name: str, value: Shape) -> Shape:
    names = [part.strip() for part in name.strip("() ").split(",")]
    if _NAMES.fullmatch(name) and isinstance(value, Row) and len(names) == len(value.members):
        pairs = zip(names, value.members, strict=True)
        return Many(tuple(Named(each, member) for each, member in pairs))
    compact = re.sub(r"[\s{}]", "", name)
    members = _spread(value)
    if len(members) == 1:
        return Named(compact, value)
    return Many(tuple(Named(compact, _without_name(member)) for member in members))


def _without_name(shape: Shape) -> Shape:
    return shape.value if isinstance(shape, Named) else shape


def _in_brackets(text: str) -> Shape | None:
    found = enclosed(text)
    if found is None:
        return None
    parts, _ = split(found.inside, (",", ";"))
    if found.left == "\\{":
        return _set(parts, found.inside)
    if found.left == "{" and len(parts) > 1:
        return _set(parts, found.inside)
    if len(parts) == 1 or found.left == "{":
        return _shape(found.inside)
    members = tuple(_shape(part) for part in parts if part)
    if found.left == "[" and all(isinstance(member, Row) for member in members):
        rows = [member.members for member in members if isinstance(member, Row)]
        if len({len(row) for row in rows}) == 1 and _all_square(members):
            return Grid(tuple(rows))
    return _row(found, members)


def _set(parts: list[str], inside: str) -> Shape:
    if re.search(r"\\mid(?![A-Za-z])|\||:", inside):
        condition = re.split(r"\\mid(?![A-Za-z])|\||:", inside, maxsplit=1)[1]
        return _shape(condition)
    return Many(tuple(_shape(part) for part in parts if part), braces=True)


def _all_square(members: tuple[Shape, ...]) -> bool:
    return all(isinstance(member, Row) and member.left == "[" for member in members)


def _row(found: Enclosed, members: tuple[Shape, ...]) -> Shape:
    return members[0] if len(members) == 1 else Row(found.left, found.right, members)


def _matrix(text: str) -> Shape | None:
    printed = _PRINTED_MATRIX.fullmatch(text)
    if printed is not None:
        inner = _shape(printed[1])
        return inner if isinstance(inner, Grid) else None
    match = _MATRIX.fullmatch(text)
    if match is None or match[1] in ("vmatrix", "Vmatrix") or "\\begin" in match[2]:
        return None
    rows = [row for row in split(match[2], (NEW_ROW,))[0] if row.strip()]
    cells = [split(row.replace("\\hline", ""), ("&",))[0] for row in rows]
    return Grid(tuple(tuple(_shape(cell) for cell in row) for row in cells))


def _ratio(text: str) -> Shape | None:
    measured = without_unit(text)
    parts, signs = split(measured.core, (":",))
    if not signs or not all(parts):
        return None
    return Ratio(tuple(parts), measured.unit)


def _single(text: str) -> Shape:
    signs = split(text, ("\\pm", "\\mp"))[1] or re.findall(r"\\[pm]m(?![A-Za-z])", text)
    if signs:
        return Many(tuple(_shape(_with_sign(text, sign)) for sign in "+-"))
    if _WORD.fullmatch(text):
        return Words(text)
    measured = without_unit(text)
    core = enclosed(measured.core)
    if core is not None and core.left in ("(", "{") and not split(core.inside, (",",))[1]:
        measured = Measured(core.inside, measured.unit, measured.percent, measured.degrees)
    return Value(measured)


def _with_sign(text: str, sign: str) -> str:
    other = "-" if sign == "+" else "+"
    text = re.sub(r"\\pm(?![A-Za-z])", sign, text)
    text = re.sub(r"\\mp(?![A-Za-z])", other, text)
    return text.strip().removeprefix("+").strip()
