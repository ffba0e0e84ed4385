r"""One plain spelling for the many ways to write the same LaTeX, or the same printed Python.

`\text{...}` and its kin become `⟦...⟧`; a fraction has braces; spaces, sizes and delimiters that
mean nothing are gone; `**`, `sqrt(2)`, `Fraction(1, 2)` and `≤` are written as LaTeX.
"""

import re

TEXT_OPEN, TEXT_CLOSE = "⟦", "⟧"
NEW_ROW = "⏎"
"""Where a row of a matrix ends."""

_UNICODE = {
    "\u2212": "-",
    "\u2013": "-",
    "\u00d7": r"\times ",
    "÷": "/",
    "·": r"\cdot ",
    "⋅": r"\cdot ",
    "π": r"\pi ",
    "∞": r"\infty ",
    "≤": r"\le ",
    "≥": r"\ge ",
    "≠": r"\ne ",
    "≈": r"\approx ",
    "°": r"^\circ ",
    "\u222a": r"\cup ",
    "∩": r"\cap ",
    "∅": r"\emptyset ",
    "∈": r"\in ",
    "±": r"\pm ",
    "∓": r"\mp ",
    "\u211d": r"\mathbb{R}",
    "²": "^{2}",
    "³": "^{3}",
    "½": r"\frac{1}{2}",
    "⅓": r"\frac{1}{3}",
    "⅔": r"\frac{2}{3}",
    "¼": r"\frac{1}{4}",
    "¾": r"\frac{3}{4}",
    "θ": r"\theta ",
    "√": r"\sqrt ",
    "€": "⟦euro⟧",
    "£": "⟦pound sterling⟧",
    "¥": "⟦yen⟧",
    "\u2019": "'",
    "\u00a0": " ",
    "\u2009": " ",
    "\u202f": " ",
}
_UNICODE_TABLE = str.maketrans(_UNICODE)

_SPELLINGS: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(pattern), replacement)
    for pattern, replacement in (
        (r"\\(?:boxed|fbox)\s*(?=\{)", ""),
        (r"\\(?:left|right|middle)(?![A-Za-z])\.?", ""),
        (r"\\(?:big|Big|bigg|Bigg)[lrm]?(?![A-Za-z])", ""),
        (r"\\(?:displaystyle|textstyle|limits|nolimits|rm|bf|it)(?![A-Za-z])", ""),
        (r"(?<=\d)\s*(?:\\[,!;: ]|~|\{,\}|\\thinspace)\s*(?=\d{3}(?!\d))", ""),
        (r"\\!", ""),
        (r"\{([-+])\}", r"\1"),
        (r"(^|[,(\[<>=])\s*\+", r"\1"),
        (r"\\(?:[,;: ]|thinspace|medspace|quad|qquad|enspace)|~", " "),
        (r"\\[dtc]frac(?![A-Za-z])", r"\\frac"),
        (r"\\[dt]binom(?![A-Za-z])", r"\\binom"),
        (r"\\(?:leqslant|leq)(?![A-Za-z])|<=", r"\\le "),
        (r"\\(?:geqslant|geq)(?![A-Za-z])|>=", r"\\ge "),
        (r"\\lt(?![A-Za-z])", "<"),
        (r"\\gt(?![A-Za-z])", ">"),
        (r"\\neq(?![A-Za-z])|!=", r"\\ne "),
        (r"==", "="),
        (r"\\(?:lbrace)(?![A-Za-z])", r"\\{"),
        (r"\\(?:rbrace)(?![A-Za-z])", r"\\}"),
        (r"\\(?:lbrack)(?![A-Za-z])", "["),
        (r"\\(?:rbrack)(?![A-Za-z])", "]"),
        (r"\\(?:langle|lparen)(?![A-Za-z])", "("),
        (r"\\(?:rangle|rparen)(?![A-Za-z])", ")"),
        (r"\\[lr]vert(?![A-Za-z])|\\vert(?![A-Za-z])", "|"),
        (r"\\colon(?![A-Za-z])", ":"),
        (r"\\div(?![A-Za-z])", "/"),
        (r"\\(?:varnothing|empty)(?![A-Za-z])", r"\\emptyset "),
        (r"\\(?:degree|degrees)(?![A-Za-z])", r"^\\circ "),
        (r"\^\s*\{\s*\\circ\s*\}|\^\s*\\circ(?![A-Za-z])", r"^\\circ "),
        (r"\\%", "%"),
        (r"\\\$", "⟦dollars⟧"),
        (r"\\(?:mathrm|text|mathbf|operatorname)\s*\{\s*([ie])\s*\}", r"\1 "),
        (r"\\equiv(?![A-Za-z])", "="),
        (r"\(\s*\\[pb]?mod\s*(\w+)\s*\)|\\pmod\s*\{?\s*(\w+)\s*\}?", r"⟦mod \1\2⟧"),
        (r"(?<=\d)(?:\s|\\text\s*\{)\s*thousand\s*\}?", r"\\cdot 10^{3}"),
        (r"(?<=\d)(?:\s|\\text\s*\{)\s*million\s*\}?", r"\\cdot 10^{6}"),
        (r"(?<=\d)(?:\s|\\text\s*\{)\s*billion\s*\}?", r"\\cdot 10^{9}"),
        (r"\\(?:vec|mathbf|boldsymbol|bm|mathit|mathcal|mathsf)\s*\{([A-Za-z])\}", r"\1"),
        (r"\\(?:Re|R|reals)(?![A-Za-z])", r"\\mathbb{R}"),
        (r"\\mathbf\{R\}|\\mathbb\s+R", r"\\mathbb{R}"),
        (r"\\(?:backslash)(?![A-Za-z])", r"\\setminus "),
        (r"\\(?:lor|vee)(?![A-Za-z])", " ⟦or⟧ "),
        (r"\\(?:land|wedge)(?![A-Za-z])", " ⟦and⟧ "),
        (r"\\arc(sin|cos|tan)h?(?![A-Za-z])", r"\\arc\1 "),
        (r"\*\*", "^"),
    )
)
_NEW_ROW = re.compile(r"\\\\(?:\s*\[[\d.]*(?:ex|em|pt)\])?|\\cr(?![A-Za-z])")
_TEXT = re.compile(
    r"\\(?:text(?:bf|it|rm|sf|tt|normal|up)?|mathrm|mathbf|mathsf|mathit|mbox|hbox|operatorname\*?)"
    r"\s*\{([^{}]*)\}"
)
_FUNCTIONS = (
    "sin|cos|tan|cot|sec|csc|sinh|cosh|tanh|arcsin|arccos|arctan|exp|ln|log|min|max|gcd|lcm"
)
_FUNCTION = re.compile(rf"(?<![\\A-Za-z])(a?(?:{_FUNCTIONS}))(?=\s*\()")
_NATURAL_LOG = re.compile(r"(?<![\\A-Za-z])log(?=\s*\()")
_QUOTIENT = re.compile(r"(?<![\\A-Za-z])(?:Fraction|Rational)\(\s*(-?\d+)\s*,\s*(-?\d+)\s*\)")
_WORD_INFINITY = re.compile(r"(?<![\\A-Za-z])(?:infinity|infty|inf|oo)(?![A-Za-z])")
_TEXT_INFINITY = re.compile(r"⟦\s*infinity\s*⟧", re.IGNORECASE)
_WORD_PI = re.compile(r"(?<![\\A-Za-z])pi(?![A-Za-z])")
_WORD_PERCENT = re.compile(r"⟦\s*(?:percent|per cent|pct)\s*⟧|(?<![\\A-Za-z])percent(?![A-Za-z])")
_SHORT_FRACTION = re.compile(
    r"\\frac\s*(?:\{([^{}]*)\}\s*([0-9A-Za-z])|([0-9A-Za-z])\s*(?:\{([^{}]*)\}|([0-9A-Za-z])))"
)
_SHORT_ROOT = re.compile(r"\\sqrt\s*(\[[^\[\]]*\])?\s*([0-9A-Za-z])")
_ROOT_OF_BRACKET = re.compile(r"(?:\\|(?<![\\A-Za-z]))sqrt\s*(?=\()")
_POWER_OF_BRACKET = re.compile(r"\^\s*(?=\()")
_LONG_POWER = re.compile(r"\^\s*(-\d+|\d{2,})(?![\d.])")
_PYTHON_STAR = re.compile(r"\*")
_SPACES = re.compile(r"\s+")
_IDLE_SPACES = re.compile(r"(?<!\d)\s+|\s+(?!\d)|\{\}")
_PRODUCT = re.compile(r"\\(?:cdot|times)(?![A-Za-z])|\*")


def plain(answer: str) -> str:
    r"""The answer in the plain spelling. Linear in its length; nothing is evaluated.

    >>> plain(r"$\left(3,\dfrac12\right)$"), plain("2*sqrt(3)"), plain(r"18\text{ cm}^2.")
    ('(3,\\frac{1}{2})', '2\\cdot \\sqrt{3}', '18⟦ cm⟧^2')
    """
    text = _undelimited(_NEW_ROW.sub(NEW_ROW, answer.translate(_UNICODE_TABLE)))
    for pattern, replacement in _SPELLINGS:
        text = pattern.sub(replacement, text)
    text = _TEXT.sub(_bracketed, text)
    text = _printed_as_latex(text)
    text = _SHORT_FRACTION.sub(_full_fraction, text)
    text = _SHORT_ROOT.sub(r"\\sqrt\1{\2}", text)
    text = _SPACES.sub(" ", text).strip()
    return text.rstrip(".,;: ").removeprefix("=").strip()


def compact(text: str) -> str:
    r"""The text without what never matters, so that equal forms are equal texts.

    >>> compact(r"2 \times x") == compact(r"2\cdot x")
    True
    """
    return _IDLE_SPACES.sub("", _PRODUCT.sub(r"\\cdot", text))


def letters(text: str) -> str:
    """What words are compared by: small letters and digits.

    >>> letters("⟦ (B) ⟧"), letters("No solution.")
    ('b', 'nosolution')
    """
    return re.sub(r"[\W_]+", "", text).casefold()


def _undelimited(text: str) -> str:
    r"""Without `$`, `\(` and `\[` around formulas; a lone `$` before a number is a currency."""
    text = re.sub(r"\\[()\[\]]", " ", text).strip()
    if text.count("$") - text.count("\\$") == 1:
        return re.sub(r"(?<!\\)\$(?=\s*[\d.])", "⟦dollars⟧", text).replace("$", " ")
    return re.sub(r"(?<!\\)\$", " ", text)


def _bracketed(match: re.Match[str]) -> str:
    content = match[1]
    if re.fullmatch(r"\s*(?:sin|cos|tan|cot|sec|csc|arcsin|arccos|arctan|ln|log)\s*", content):
        return f"\\{content.strip()} "
    if not re.search(r"[A-Za-z%]", content):
        return content
    return f"{TEXT_OPEN}{content}{TEXT_CLOSE}"


def _printed_as_latex(text: str) -> str:
    text = _QUOTIENT.sub(r"\\frac{\1}{\2}", text)
    text = _NATURAL_LOG.sub(r"\\ln ", text)
    text = _FUNCTION.sub(lambda match: f"\\{_latex_name(match[1])} ", text)
    text = _TEXT_INFINITY.sub(r"\\infty ", text)
    text = _WORD_INFINITY.sub(r"\\infty ", text)
    text = _WORD_PI.sub(r"\\pi ", text)
    text = _WORD_PERCENT.sub("%", text)
    text = _with_braces(text, _ROOT_OF_BRACKET, "\\sqrt")
    text = _with_braces(text, _POWER_OF_BRACKET, "^")
    text = _LONG_POWER.sub(r"^{\1}", text)
    return _PYTHON_STAR.sub(r"\\cdot ", text)


def _latex_name(name: str) -> str:
    return f"arc{name[1:]}" if name in ("asin", "acos", "atan") else name


def _with_braces(text: str, opening: re.Pattern[str], command: str, levels: int = 20) -> str:
    """`sqrt(...)`, or what else the pattern finds, with braces for its brackets."""
    if levels == 0:
        return text
    closing = _closing_brackets(text)
    pieces: list[str] = []
    place = 0
    for match in opening.finditer(text):
        end = closing.get(match.end())
        if match.start() < place or end is None:
            continue
        inner = _with_braces(text[match.end() + 1 : end], opening, command, levels - 1)
        pieces += [text[place : match.start()], f"{command}{{{inner}}}"]
        place = end + 1
    return "".join([*pieces, text[place:]])


def _closing_brackets(text: str) -> dict[int, int]:
    """The place of the closing bracket of each opening one."""
    closing: dict[int, int] = {}
    opened: list[int] = []
    for place, character in enumerate(text):
        if character == "(":
            opened.append(place)
        elif character == ")" and opened:
            closing[opened.pop()] = place
    return closing


def _full_fraction(match: re.Match[str]) -> str:
    over = match[1] if match[1] is not None else match[3]
    under = next(text for text in (match[2], match[4], match[5]) if text is not None)
    return f"\\frac{{{over}}}{{{under}}}"
