"""The options of the coding environment, its roles and their standing instructions."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

from cotrain.config.faults import show
from cotrain.environments.base import Role
from cotrain.environments.options import require, require_one_of

CODE = """\
You write a Python program that solves a problem. It is judged by tests that you do not see, so \
mind every case that the problem allows. Where a program and tests it fails are shown, mend the \
program, but a shown test may itself be wrong: the problem decides."""
TEAM_CODE = f"""\
You are the coder of a team of two; your partner writes a test of your program.
{CODE}"""
TEST = """\
You are the tester of a team of two; your partner writes a Python program that solves a problem. \
You write one test that a right program passes and a careless one fails. Work the output out from \
the problem with care, and do not repeat an example that the problem gives."""
ANSWER = f"""\
{CODE}
You see a draft with what came of it on the examples: keep it if it is right, else mend it."""

ROLES = MappingProxyType(
    {
        "coder": Role("coder", TEAM_CODE),
        "tester": Role("tester", TEST),
        "solo": Role("solo", CODE),
        "drafter": Role("drafter", CODE),
        "answerer": Role("answerer", ANSWER),
    }
)
VARIANTS: Mapping[str | None, tuple[str, ...]] = MappingProxyType(
    {None: ("coder", "tester"), "plain": ("solo",), "draft": ("drafter", "answerer")}
)
DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")


@dataclass(frozen=True, slots=True)
class CodingOptions:
    """The keys of `environment.options`.

    `data` is where problems come from, `test_data` where test problems do if not from there too:
    `humaneval`, `mbpp`, `apps`, `code_contests`, `livecodebench`, one of these with a place
    (`apps:/data/apps`), or records of your own; `data = "none"` is for evaluations alone.
    `first_date` and `last_date` choose among contest problems that have a date. `single` plays one
    policy instead of the team, `only` one role alone. `reward = "outcome"` leaves the own parts
    out; a tester, whose team value nothing that it writes can change, must then be `untrained`.
    """

    data: str = "humaneval"
    test_data: str | None = None
    first_date: str | None = None
    last_date: str | None = None
    tests_per_candidate: int = 8
    single: Literal["plain", "draft"] | None = None
    only: Literal["coder", "tester", "solo", "drafter", "answerer"] | None = None
    reward: Literal["audited", "outcome"] = "audited"
    untrained: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for key, date in (("first_date", self.first_date), ("last_date", self.last_date)):
            allowed = 'must be a date such as "2024-10-31"'
            require(key, date, date is None or DATE.fullmatch(date) is not None, allowed)
        at_least_one = self.tests_per_candidate >= 1
        require("tests_per_candidate", self.tests_per_candidate, at_least_one, "must be >= 1")
        if self.single is not None:
            require_one_of("single", self.single, ("plain", "draft"))
        if self.only is not None:
            require_one_of("only", self.only, ROLES)
            allowed = f"leave it out with single = {show(self.single)}: one of the two says it"
            require("only", self.only, self.single is None, allowed)
        require_one_of("reward", self.reward, ("audited", "outcome"))
        for role in self.untrained:
            require_one_of("untrained", role, ROLES)
        no_signal = "tester" in self.played and "tester" not in self.untrained
        allowed = (
            'must be "audited": the tester\'s team value is the same whatever it writes, so that '
            'it would learn nothing; or freeze it, with untrained = ["tester"] and '
            "team.roles.tester.trainable = false"
        )
        require("reward", self.reward, self.reward == "audited" or not no_signal, allowed)

    @property
    def played(self) -> tuple[str, ...]:
        """The roles that act."""
        return VARIANTS[self.single] if self.only is None else (self.only,)
