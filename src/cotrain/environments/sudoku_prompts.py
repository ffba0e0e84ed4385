"""The roles of Sudoku with their standing instructions, for a size and a form of replies."""

from collections.abc import Mapping

from cotrain.environments.base import Role
from cotrain.environments.sudoku_grid import BOX_OF_SIZE

CELLS = "<answer>(1, 2, 4) (3, 1, 2)</answer>"
"""A reply with single fills, as prompts show it."""

RULES = """\
A grid of {size} rows and {size} columns has empty cells (.) and clues. Every row, every column \
and every box of {box} x {box} cells must hold each of the digits 1 to {size} once; there is \
exactly one solution. Clues stay as they are; fills of earlier turns may be overwritten. If any \
fill of a reply breaks a rule, nothing of the reply is filled. Rows are counted from 1 at the top, \
columns from 1 at the left.
"""
REPLY_IN_CELLS = f"""
Reply with the fills in one answer tag, each as (row, column, value), with little or no text \
before it, in this form:
{CELLS}"""
REPLY_IN_EITHER = f"""{REPLY_IN_CELLS}
or with all {{size}} rows of the grid, one on a line:
<answer>
{{grid}}
</answer>"""
PROGRAM = """
Write a Python program that solves the grid, in one block that begins with ```python. It reads the \
clues from its standard input, {size} lines of {size} digits each, 0 for an empty cell, and prints \
the solved grid in the same form, and nothing else."""

PROPOSE = """\
You are the first of a team of two that solves a Sudoku. You propose fills, your partner checks \
them and decides.
{rules}Propose the fills that you are sure of.{reply}"""
WRITE = """\
You are the first of a team of two that solves a Sudoku. You write a program; what it prints is \
your proposal, which your partner checks.
{rules}{program}"""
DECIDE = """\
You are the second of a team of two that solves a Sudoku. Your partner may propose fills; you see \
what they would lead to, and your own fills are the ones that count.
{rules}Keep the proposal if it is right, mend or replace it if not.{reply}"""
ALONE = """\
You solve a Sudoku.
{rules}Give the fills that you are sure of.{reply}"""

TEXTS = {
    "proposer": PROPOSE,
    "tool": WRITE,
    "reasoner": DECIDE,
    "solo": ALONE,
    "drafter": PROPOSE,
    "answerer": DECIDE,
}


def roles_of(size: int, max_fills: int | None, program_roles: tuple[str, ...]) -> dict[str, Role]:
    """Every role by name; with a limit of fills, whole grids are not spoken of.

    >>> list(roles_of(4, 2, ("tool",)))
    ['proposer', 'tool', 'reasoner', 'solo', 'drafter', 'answerer']
    """
    box = BOX_OF_SIZE[size]
    reply = REPLY_IN_CELLS if max_fills is not None else REPLY_IN_EITHER
    parts = {
        "rules": RULES.format(size=size, box=box),
        "reply": reply.format(size=size, grid=_pattern(size, box)),
        "program": PROGRAM.format(size=size),
    }
    texts: Mapping[str, str] = TEXTS | dict.fromkeys(program_roles, WRITE)
    return {name: Role(name, text.format(**parts)) for name, text in texts.items()}


def _pattern(size: int, box: int) -> str:
    """A full grid, as an example of the form."""
    starts = [row % box * box + row // box for row in range(size)]
    return "\n".join(
        "".join(str((start + column) % size + 1) for column in range(size)) for start in starts
    )
