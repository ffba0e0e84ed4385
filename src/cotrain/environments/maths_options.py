"""The options of the maths environment, its roles and their standing instructions."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Literal

from cotrain.config.faults import show
from cotrain.environments.base import Role
from cotrain.environments.options import require, require_one_of

BOXED = r"""Reason step by step, and give the final answer in \boxed{} at the end."""
REASON = f"""\
You are a reasoner of a team that solves a problem of mathematics; partners solve it too, some of \
them with programs. Where you see what was given before, check it and do not trust it.
{BOXED}"""
PROGRAM = """\
You are a tool user of a team that solves a problem of mathematics; partners solve it by \
reasoning. You write a Python program that works the answer out and prints it, and nothing else, \
on its last line. Where you see what was given before, check it and do not trust it. Reply with \
one program:
```python
...
```"""
JUDGE = f"""\
You are the judge of a team that solves a problem of mathematics. You see the solutions and the \
programs of the others; they may be wrong. Decide, and give the team's answer.
{BOXED}"""
ALONE = f"""\
You solve a problem of mathematics. Where you see your earlier solution, check it.
{BOXED}"""
ANSWER = f"""\
You solve a problem of mathematics. You see a draft: keep its answer if it is right, else mend it.
{BOXED}"""

REASONER, TOOL_USER, DECIDER = "reasoner", "tool_user", "judge"
NAMES = (REASONER, TOOL_USER, DECIDER, "solo", "drafter", "answerer")
PROMPTS: Mapping[str, str] = MappingProxyType(
    dict(zip(NAMES, (REASON, PROGRAM, JUDGE, ALONE, BOXED, ANSWER), strict=True))
)
MAX_SEATS = 16


@dataclass(frozen=True, slots=True)
class MathsOptions:
    """The keys of `environment.options`.

    `data` is where problems come from, `test_data` where test problems do if not from there too: a
    data set of reasoning-gym (`reasoning_gym:NAME`, with its own options in `data_options`),
    `polaris`, `aime_2024`, `aime_2025`, `olympiadbench`, one of these with a place
    (`polaris:/data/polaris`), or records of your own. `reasoners` and `tools` are how many of each
    work at once; a `judge` then decides, by default unless they are one reasoner and one tool user
    at most. `single` plays one policy instead of the team: `"plain"` (role solo) or `"draft"`
    (roles drafter and answerer). `only` plays one role alone.
    """

    data: str = "reasoning_gym:gsm_symbolic"
    test_data: str | None = None
    data_options: Mapping[str, Any] = field(default_factory=dict[str, Any])
    reasoners: int = 1
    tools: int = 1
    judge: bool | None = None
    single: Literal["plain", "draft"] | None = None
    only: Literal["reasoner", "tool_user", "judge", "solo", "drafter", "answerer"] | None = None

    def __post_init__(self) -> None:
        seats = self.reasoners + self.tools
        allowed = f"must be an integer from 1 to {MAX_SEATS}, with tools {MAX_SEATS} at most"
        require("reasoners", self.reasoners, self.reasoners >= 1 and seats <= MAX_SEATS, allowed)
        require("tools", self.tools, self.tools >= 0, "must be an integer >= 0")
        can_do_without = self.reasoners == 1 and self.tools <= 1
        allowed = (
            "must be true, or reasoners = 1 and tools = 0 or 1: else no one's answer is the team's"
        )
        require("judge", self.judge, self.judge is not False or can_do_without, allowed)
        if self.single is not None:
            require_one_of("single", self.single, ("plain", "draft"))
        if self.only is not None:
            require_one_of("only", self.only, NAMES)
            allowed = f"leave it out with single = {show(self.single)}: one of the two says it"
            require("only", self.only, self.single is None, allowed)
        made = self.data.startswith("reasoning_gym:")
        allowed = 'must be left out unless data = "reasoning_gym:NAME"'
        require("data_options", dict(self.data_options), made or not self.data_options, allowed)

    @property
    def phases(self) -> tuple[tuple[Role, ...], ...]:
        """The roles of each phase of a turn, with their seats."""
        if self.only is not None:
            return ((role(self.only),),)
        if self.single is not None:
            names = ("solo",) if self.single == "plain" else ("drafter", "answerer")
            return tuple((role(name),) for name in names)
        members = [role(REASONER, self.reasoners)]
        members += [role(TOOL_USER, self.tools)] if self.tools else []
        judged = self.judge if self.judge is not None else self.reasoners > 1 or self.tools > 1
        return (tuple(members), (role(DECIDER),)) if judged else (tuple(members),)


def role(name: str, seats: int = 1) -> Role:
    """The role of this name.

    >>> role("reasoner", 2).agents
    ('reasoner_1', 'reasoner_2')
    """
    return Role(name, PROMPTS[name], seats)
