"""Units of measurement: taken off as whole words, and converted where both sides name one."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from types import MappingProxyType

_TABLE = """
length mm=1/1000 millimeter=1/1000 millimetre=1/1000 cm=1/100 centimeter=1/100 centimetre=1/100
length dm=1/10 m=1 meter=1 metre=1 km=1000 kilometer=1000 kilometre=1000
length in=254/10000 inch=254/10000 inche=254/10000 ft=3048/10000 foot=3048/10000 feet=3048/10000
length yd=9144/10000 yard=9144/10000 mi=1609344/1000 mile=1609344/1000
mass mg=1/1000000 milligram=1/1000000 g=1/1000 gram=1/1000 kg=1 kilogram=1
mass lb=45359237/100000000 pound=45359237/100000000 oz=45359237/1600000000
mass ounce=45359237/1600000000
time s=1 sec=1 second=1 min=60 minute=60 h=3600 hr=3600 hour=3600 day=86400 week=604800
months month=1 year=12 yr=12
volume ml=1/1000 milliliter=1/1000 millilitre=1/1000 l=1 liter=1 litre=1
dollar dollar=1 usd=1 cent=1/100
euro euro=1 eur=1
sterling sterling=1 gbp=1
yen yen=1
rupee rupee=1 rs=1
celsius celsius=1
fahrenheit fahrenheit=1
before_noon am=1
after_noon pm=1
"""


def _read_table(table: str) -> dict[str, tuple[str, Fraction]]:
    known: dict[str, tuple[str, Fraction]] = {}
    for line in table.strip().splitlines():
        dimension, *entries = line.split()
        for name, _, factor in (entry.partition("=") for entry in entries):
            known[name] = (dimension, Fraction(factor))
    return known


KNOWN: Mapping[str, tuple[str, Fraction]] = MappingProxyType(_read_table(_TABLE))

_POWER_WORDS = {"square": 2, "sq": 2, "cubic": 3, "cu": 3}
_AFTER_WORDS = {"squared": 2, "cubed": 3}
_TOKEN = re.compile(r"[A-Za-z]+|\^\s*\{?\s*-?\d+\s*\}?|/")

_TRAILING_TEXT = re.compile(
    r"(?P<core>.*?[^\s⟧])\s*(?:\\cdot\s*)?(?P<unit>⟦[^⟧]*⟧\s*(?:\^\s*\{?-?\d\}?)?"
    r"(?:\s*(?:/|\\cdot)?\s*⟦[^⟧]*⟧\s*(?:\^\s*\{?-?\d\}?)?)*)\s*",
    re.DOTALL,
)
_TRAILING_FRACTION = re.compile(
    r"(?P<core>.*?[^\s⟧])\s*(?:\\cdot\s*)?\\frac\{\s*⟦(?P<over>[^⟧]*)⟧\s*\}"
    r"\{\s*⟦(?P<under>[^⟧]*)⟧\s*(?P<power>\^\s*\{?\d\}?)?\s*\}",
    re.DOTALL,
)
_LEADING = re.compile(r"(?P<sign>[-+]?)\s*⟦(?P<unit>[^⟧]*)⟧\s*(?P<core>[-+.\d\\(].*)", re.DOTALL)
_TRAILING_WORDS = re.compile(
    r"(?P<core>.*[\d})])(?P<gap>\s*)(?P<unit>[A-Za-z]{2,}(?:[ .]+[A-Za-z]+)*\.?(?:\^\{?\d\}?)?)",
    re.DOTALL,
)
_DEGREES = re.compile(r"(?P<core>.+?)\s*\^\\circ\s*(?:⟦?\s*(?P<scale>[CF])\s*⟧?)?", re.DOTALL)
_NO_ANGLE = re.compile(r"\\circ|\\(?:sin|cos|tan|cot|sec|csc)")
_SCALES = {"C": "celsius", "F": "fahrenheit"}
_SAYS_MORE = re.compile(r"(?<![\w^{-])(?<!mod )\d|\b(?:or|not|but|maybe|else)\b", re.IGNORECASE)
"""In a unit: another answer, or a doubt."""
_NO_UNIT = re.compile(r"(?:a?(?:sin|cos|tan|log|ln|exp|mod|pi|sqrt|and|or))\b")


@dataclass(frozen=True, slots=True)
class Measured:
    """An answer without its unit. `percent` and `degrees` say that it bore that sign."""

    core: str
    unit: str = ""
    percent: bool = False
    degrees: bool = False


def without_unit(text: str) -> Measured:
    r"""Takes the unit off a plain answer, whole words only.

    >>> without_unit("18⟦ cm⟧^2"), without_unit("5 apples").core, without_unit("50%").percent
    (Measured(core='18', unit=' cm^2', percent=False, degrees=False), '5', True)
    >>> without_unit("3s+2").core
    '3s+2'
    """
    text = text.strip()
    if text.endswith("%") and len(text) > 1:
        return Measured(text[:-1].strip(), percent=True)
    degrees = _DEGREES.fullmatch(text)
    if degrees is not None and not _NO_ANGLE.search(degrees["core"]):
        scale = degrees["scale"]
        return Measured(degrees["core"], _SCALES.get(scale, ""), degrees=scale is None)
    fraction = _TRAILING_FRACTION.fullmatch(text)
    if fraction is not None:
        unit = f"{fraction['over']}/{fraction['under']}{fraction['power'] or ''}"
        return Measured(fraction["core"], unit)
    leading = _LEADING.fullmatch(text)
    if leading is not None and measure(leading["unit"]) is not None:
        inner = without_unit(leading["core"])
        unit = f"{leading['unit']} {inner.unit}" if measure(inner.unit) else leading["unit"]
        return Measured(leading["sign"] + inner.core, unit)
    return _without_trailing(text)


def _without_trailing(text: str) -> Measured:
    trailing = _TRAILING_TEXT.fullmatch(text)
    if trailing is not None:
        unit = re.sub("[⟦⟧]", "", trailing["unit"])
        if unit.strip() in ("degrees", "degree"):
            return Measured(trailing["core"], degrees=True)
        return Measured(text) if _SAYS_MORE.search(unit) else Measured(trailing["core"], unit)
    words = _TRAILING_WORDS.fullmatch(text)
    if words is None or _NO_UNIT.match(words["unit"]):
        return Measured(text)
    if words["unit"].strip(". ") in ("degrees", "degree"):
        return Measured(words["core"], degrees=True)
    long_word = bool(words["gap"]) and len(words["unit"].split()[0]) > 2
    is_counted = long_word and not _SAYS_MORE.search(words["unit"])
    if measure(words["unit"]) is None and not is_counted:
        return Measured(text)
    return Measured(words["core"], words["unit"])


@dataclass(frozen=True, slots=True)
class Measure:
    """What a unit measures: exponents by dimension, and how many base units it is."""

    dimensions: tuple[tuple[str, int], ...]
    factor: Fraction


def measure(unit: str) -> Measure | None:
    """The measure that these words name; None where a word of them is no known unit.

    >>> measure(" cm^2") == measure("square centimeters"), measure("km/h").dimensions
    (True, (('length', 1), ('time', -1)))
    >>> measure("apples") is None
    True
    """
    dimensions: dict[str, int] = {}
    factor, sign, power = Fraction(1), 1, 1
    last: tuple[str, Fraction] | None = None
    for token in _TOKEN.findall(_with_short_forms(unit)):
        if token == "/":
            sign = -1
        elif token.startswith("^") or token in _AFTER_WORDS:
            more = _exponent(token) - 1
            if last is None:
                return None
            dimensions[last[0]] += sign * more
            factor *= last[1] ** (sign * more)
        elif token in _POWER_WORDS:
            power = _POWER_WORDS[token]
        else:
            last = KNOWN.get(token) or KNOWN.get(token.removesuffix("s"))
            if last is None:
                return None
            dimensions[last[0]] = dimensions.get(last[0], 0) + sign * power
            factor *= last[1] ** (sign * power)
            power = 1
    if last is None:
        return None
    return Measure(tuple(sorted(dimensions.items())), factor)


def conversion(unit: str, other: str) -> Fraction | None:
    """How many of the other unit one of this is; 1 where one is not known, None in conflict.

    >>> conversion("m", "cm"), conversion("", "cm"), conversion("m", "kg") is None
    (Fraction(100, 1), Fraction(1, 1), True)
    """
    if "mod" in unit and "mod" in other and unit.split() != other.split():
        return None
    one, two = measure(unit), measure(other)
    if one is None or two is None:
        return Fraction(1)
    return one.factor / two.factor if one.dimensions == two.dimensions else None


def _exponent(token: str) -> int:
    return _AFTER_WORDS.get(token) or int(re.sub(r"[^-\d]", "", token))


def _with_short_forms(unit: str) -> str:
    unit = unit.lower().replace("a.m.", "am").replace("p.m.", "pm").replace("pound sterling", "gbp")
    unit = re.sub(r"\bkmh\b|\bkph\b", "km/h", re.sub(r"\bmph\b", "mi/h", unit))
    return re.sub(r"\bper\b", "/", unit)
