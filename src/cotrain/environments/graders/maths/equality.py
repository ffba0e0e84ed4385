r"""Whether two answers are the same answer.

Order counts in tuples and matrices and not in lists and sets; the ends of intervals are open or
closed; a unit that only one side names is no difference, and two units are converted. Which side
is the gold one does not matter.
"""

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import sympy

from cotrain.environments.base import UndecidedError
from cotrain.environments.graders.maths import expressions
from cotrain.environments.graders.maths.latex_text import compact, letters, plain
from cotrain.environments.graders.maths.reading import shapes
from cotrain.environments.graders.maths.sets import as_set, is_region, variable_of
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
from cotrain.environments.graders.maths.splitting import MAX_DEPTH, depth_of
from cotrain.environments.graders.maths.units import conversion

MAX_MEMBERS = 200
_HUNDREDTH = Fraction(1, 100)


def same_answer(gold: str, answer: str) -> bool:
    r"""Whether these two texts give the same answer. Nothing in them is ever run.

    Raises UndecidedError where that cannot be told.

    >>> same_answer(r"(-\infty,6)", "x<6"), same_answer(r"x=4 \text{ or } x=-7", "-7, 4")
    (True, True)
    >>> same_answer("2,3", "2"), same_answer("(5,9)", "(9,5)"), same_answer("50\\%", "0.5")
    (False, False, True)
    """
    if compact(plain(gold)) == compact(plain(answer)):
        return True
    if max(depth_of(gold), depth_of(answer)) > MAX_DEPTH:
        return False
    undecided: UndecidedError | None = None
    for one in shapes(gold):
        for two in shapes(answer):
            try:
                if same(one, two):
                    return True
            except UndecidedError as error:
                undecided = error
    if undecided is not None:
        raise undecided
    return False


def same(one: Shape, two: Shape) -> bool:
    """Whether two shapes are the same answer."""
    if isinstance(one, Labelled) or isinstance(two, Labelled):
        return _same_choice(one, two)
    if is_region(one) or is_region(two):
        return _same_region(one, two)
    one, two = _without_lone_name(one, two), _without_lone_name(two, one)
    for kind, compare in _COMPARED:
        if isinstance(one, kind) or isinstance(two, kind):
            return compare(one, two)
    return False


def _without_lone_name(shape: Shape, other: Shape) -> Shape:
    """`x = 5` is 5 where the other side gives no name."""
    if isinstance(shape, Named) and not isinstance(other, Named | Equation):
        named = isinstance(other, Many) and any(isinstance(m, Named) for m in other.members)
        return shape if named else shape.value
    return shape


def _same_relation(one: Shape, two: Shape) -> bool:
    """Equal names of equal values, or equations that say the same."""
    if isinstance(one, Named) and isinstance(two, Named):
        same_name = letters(one.name) == letters(two.name)
        if same_name and same(one.value, two.value):
            return True
    sides = _sides(one), _sides(two)
    if sides[0] is None or sides[1] is None:
        return False
    return expressions.equations_equal(sides[0], sides[1])


def _sides(shape: Shape) -> tuple[str, str] | None:
    if isinstance(shape, Equation):
        return shape.left, shape.right
    if isinstance(shape, Named) and isinstance(shape.value, Value):
        return shape.name, shape.value.core
    return None


def _same_choice(one: Shape, two: Shape) -> bool:
    if isinstance(one, Labelled) and isinstance(two, Labelled):
        return one.letter == two.letter and same(one.content, two.content)
    choice, other = (one, two) if isinstance(one, Labelled) else (two, one)
    assert isinstance(choice, Labelled)
    letter = _text_of(other)
    if letter is not None and len(letters(letter)) == 1 and letters(letter).isalpha():
        return letters(letter) == letters(choice.letter)
    return same(choice.content, other)


def _text_of(shape: Shape) -> str | None:
    if isinstance(shape, Words):
        return shape.text
    if isinstance(shape, Value) and not set(shape.core) & set("-+*/^_\\"):
        return shape.core
    return None


def _same_words(one: Shape, two: Shape) -> bool:
    texts = [_text_of(shape) for shape in (one, two)]
    if texts[0] is None or texts[1] is None:
        return False
    first, second = letters(texts[0]), letters(texts[1])
    return bool(first) and first == second


def _same_value(one: Shape, two: Shape) -> bool:
    if not isinstance(one, Value) or not isinstance(two, Value):
        return False
    left, right = one.measured, two.measured
    factor = conversion(left.unit, right.unit)
    if factor is None:
        return False
    alike = left.core.isalpha() and left.core.casefold() == right.core.casefold()
    if alike or expressions.equal(left.core, right.core, factor):
        return True
    if left.percent != right.percent:
        share = _HUNDREDTH if left.percent else 1 / _HUNDREDTH
        return expressions.equal(left.core, right.core, share)
    if left.degrees != right.degrees:
        angle, other = (left, right) if left.degrees else (right, left)
        in_radians = f"\\frac{{({angle.core}) \\pi}}{{180}}"
        return "\\pi" in other.core and expressions.equal(in_radians, other.core)
    return False


def _same_grid(one: Shape, two: Shape) -> bool:
    if not isinstance(one, Grid) or not isinstance(two, Grid):
        return False
    if [len(row) for row in one.rows] != [len(row) for row in two.rows]:
        return False
    cells = [[cell for row in grid.rows for cell in row] for grid in (one, two)]
    return _same_in_order(cells[0], cells[1])


def _same_row(one: Shape, two: Shape) -> bool:
    if not isinstance(one, Row) or not isinstance(two, Row):
        return False
    ends = (one.left, one.right) == (two.left, two.right)
    return ends and _same_in_order(one.members, two.members)


def _same_in_order(one: Sequence[Shape], two: Sequence[Shape]) -> bool:
    return len(one) == len(two) and all(map(same, one, two))


def _same_members(one: Shape, two: Shape) -> bool:
    """Lists and sets in any order; a list without brackets and a tuple in the given order."""
    for first, second in ((one, two), (two, one)):
        if isinstance(first, Many) and isinstance(second, Row):
            return _same_as_row(first, second)
    left, right = _members(one), _members(two)
    if left is None or right is None or len(left) != len(right) or len(left) > MAX_MEMBERS:
        return False
    names = _names(left), _names(right)
    alike = not _tell_apart((*(names[0] or ()), *(names[1] or ())))
    if names[0] is None or names[1] is None or alike:
        unnamed = [_value_of(m) for m in left], [_value_of(m) for m in right]
        if _tell_apart(names[0] or names[1] or ()):
            return _same_in_order(_by_name(left), _by_name(right))
        left, right = unnamed
    return _matched(left, right)


def _members(shape: Shape) -> list[Shape] | None:
    if not isinstance(shape, Many):
        return None if isinstance(shape, Nothing) else [shape]
    if not shape.braces:
        return list(shape.members)
    kept: list[Shape] = []
    for member in shape.members[:MAX_MEMBERS]:
        if not any(same(member, known) for known in kept):
            kept.append(member)
    return kept + list(shape.members[MAX_MEMBERS:])


def _names(members: Sequence[Shape]) -> tuple[str, ...] | None:
    names = [member.name for member in members if isinstance(member, Named)]
    return tuple(names) if len(names) == len(members) else None


def _tell_apart(names: Sequence[str]) -> bool:
    """Whether names say which value is whose: x_1 and x_2 are two solutions in any order."""
    return len({name.partition("_")[0] for name in names}) > 1


def _value_of(shape: Shape) -> Shape:
    return shape.value if isinstance(shape, Named) else shape


def _by_name(members: Sequence[Shape]) -> list[Shape]:
    if _names(members) is None:
        return list(members)
    ordered = sorted(members, key=lambda m: m.name if isinstance(m, Named) else "")
    return [_value_of(member) for member in ordered]


def _same_as_row(many: Many, row: Row) -> bool:
    if len(many.members) == 1:
        return same(many.members[0], row)
    if many.braces and row.left != "[":
        return False
    if row.left == "[" and row.right == "]":
        return len(many.members) == len(row.members) and _matched(
            [_value_of(member) for member in many.members], row.members
        )
    return (row.left, row.right) == ("(", ")") and _same_in_order(
        _by_name(many.members), row.members
    )


def _matched(one: Sequence[Shape], two: Sequence[Shape]) -> bool:
    """Whether the members can be paired off."""
    left = list(two)
    for member in one:
        place = next((i for i, other in enumerate(left) if same(member, other)), None)
        if place is None:
            return False
        left.pop(place)
    return True


def _same_region(one: Shape, two: Shape) -> bool:
    names = variable_of(one), variable_of(two)
    if all(names) and letters(names[0]) != letters(names[1]):
        return False
    sets = as_set(one), as_set(two)
    if sets[0] is not None and sets[1] is not None:
        difference = sympy.SymmetricDifference(sets[0], sets[1])
        return sets[0] == sets[1] or bool(difference.is_empty)
    if isinstance(one, Inequality) and isinstance(two, Inequality):
        return expressions.inequalities_equal(one.sides, one.signs, two.sides, two.signs)
    if isinstance(one, Joined) and isinstance(two, Joined) and set(one.signs) == set(two.signs):
        in_order = "\\setminus" in one.signs
        return (_same_in_order if in_order else _same_number_matched)(one.sets, two.sets)
    if isinstance(one, Many) and isinstance(two, Many):
        return one.joined_by == two.joined_by and _same_number_matched(one.members, two.members)
    return False


def _same_number_matched(one: Sequence[Shape], two: Sequence[Shape]) -> bool:
    return len(one) == len(two) and _matched(one, two)


def _same_ratio(one: Shape, two: Shape) -> bool:
    if isinstance(one, Ratio) and isinstance(two, Ratio):
        if conversion(one.unit, two.unit) is None or len(one.terms) != len(two.terms):
            return False
        if one.is_time and two.is_time:
            return [int(term) for term in one.terms] == [int(term) for term in two.terms]
        return _proportional(one.terms, two.terms)
    ratio, other = (one, two) if isinstance(one, Ratio) else (two, one)
    if not isinstance(ratio, Ratio) or not isinstance(other, Value) or len(ratio.terms) != 2:
        return False
    return expressions.equal(f"\\frac{{{ratio.terms[0]}}}{{{ratio.terms[1]}}}", other.core)


def _proportional(one: Sequence[str], two: Sequence[str]) -> bool:
    return all(
        expressions.equal(f"({one[0]}) \\cdot ({b})", f"({two[0]}) \\cdot ({a})")
        for a, b in zip(one[1:], two[1:], strict=True)
    )


def _same_nothing(one: Shape, two: Shape) -> bool:
    return isinstance(one, Nothing) and isinstance(two, Nothing)


_COMPARED: tuple[tuple[Any, Callable[[Shape, Shape], bool]], ...] = (
    (Named | Equation, _same_relation),
    (Many, _same_members),
    (Words, _same_words),
    (Ratio, _same_ratio),
    (Nothing, _same_nothing),
    (Grid, _same_grid),
    (Row, _same_row),
    (Value, _same_value),
)
"""How shapes of a kind are compared, the first that one of the two is of."""
