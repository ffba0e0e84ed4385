"""The state of the maths environment, and what agents read of it."""

from dataclasses import dataclass, replace
from typing import Any

from cotrain.core.episode import Evidence
from cotrain.environments.data.maths_records import Problem
from cotrain.environments.graders.maths import compact, final_answer, literal, plain
from cotrain.environments.parsing import hide_thinking, parse_code

MAX_SHOWN_CHARACTERS = 2_000
"""Longer texts are cut in their middle when another agent reads them."""


@dataclass(frozen=True, slots=True)
class Given:
    """What an agent gave: its text or program, the answer it came to, and whether that is right.

    `answer` is empty where there is none. `error` says why a program printed nothing that counts.
    """

    agent: str
    text: str
    answer: str = ""
    right: bool = False
    is_program: bool = False
    error: str = ""


@dataclass(frozen=True, slots=True)
class State:
    """The problem and what stands: `members` of the last turn, or of this one once they acted.

    `decided` is the last answer of the team, which the judge gives, or else the first reasoner.
    """

    problem: Problem
    members: tuple[Given, ...] = ()
    decided: Given | None = None

    @property
    def standing(self) -> tuple[Given, ...]:
        """What everyone gave last, once each."""
        if self.decided is None or self.decided in self.members:
            return self.members
        return (*self.members, self.decided)

    def of(self, agent: str) -> Given | None:
        """What this agent gave last."""
        return next((given for given in self.standing if given.agent == agent), None)


def with_member(state: State, given: Given) -> State:
    """The state with this in place of what the agent gave before."""
    others = [member for member in state.members if member.agent != given.agent]
    return replace(state, members=(*others, given))


def is_right(answer: Any) -> bool:
    """Whether an answered question says so: true, or the full score of a verifier.

    >>> is_right(True), is_right(1.0), is_right(0.99), is_right(None)
    (True, True, False, False)
    """
    return answer is not None and float(answer) >= 1.0


def given_text(agent: str, reply: str, evidence: tuple[Evidence, ...]) -> Given:
    """What a reply in words gives."""
    answer = final_answer(reply) or ""
    right = bool(evidence) and is_right(evidence[0].answer)
    return Given(agent, hide_thinking(reply).strip(), answer, right)


def given_program(agent: str, reply: str, evidence: tuple[Evidence, ...]) -> Given:
    """What a reply with a program gives, by what it printed."""
    source = parse_code(reply)
    if source is None or not evidence:
        return Given(agent, "", is_program=True, error="there is no program")
    run: Any = evidence[0].answer
    if run["status"] != "finished":
        last = str(run["stderr"]).strip().rpartition("\n")[2][:200]
        return Given(agent, source, is_program=True, error=last or str(run["status"]))
    answer = final_answer(run["stdout"]) or ""
    error = "" if answer else "it printed no answer"
    return Given(agent, source, answer, is_right(run["answer"]), True, error)


def agree(one: Given, two: Given) -> bool:
    r"""Whether two gave the same answer: both right, or written alike.

    >>> agree(Given("a", "", r"\frac{1}{2}", True), Given("b", "", "0.5", True))
    True
    >>> agree(Given("a", "", "1,000"), Given("b", "", "1000"))
    True
    >>> agree(Given("a", ""), Given("b", ""))
    False
    """
    if not one.answer or not two.answer or one.right != two.right:
        return False
    return one.right or _alike(one.answer, two.answer)


def _alike(one: str, two: str) -> bool:
    first, second = plain(one), plain(two)
    numbers = literal(first), literal(second)
    if numbers[0] is not None and numbers[1] is not None:
        return numbers[0].value == numbers[1].value
    return compact(first) == compact(second)


def state_in_words(state: State, reader: str = "") -> str:
    """The problem, and what every agent gave last; `reader` is the agent who reads it, if any."""
    sections = [f"Problem:\n{state.problem.text.strip()}"]
    sections += [in_words(given, reader) for given in state.standing]
    return "\n\n".join(sections)


def in_words(given: Given, reader: str) -> str:
    """One agent's text or program, and what it came to.

    >>> in_words(Given("solo", "", ""), "solo")
    'Your last solution: none.'
    """
    kind = "program" if given.is_program else "solution"
    title = f"Your last {kind}" if given.agent == reader else f"The last {kind} of {given.agent}"
    if not given.text:
        return f"{title}: none."
    body = cut(given.text)
    if given.is_program:
        printed = f"printed {cut(given.answer)}" if given.answer else f"failed: {given.error}"
        return f"{title}:\n```python\n{body}\n```\nIt {printed}"
    answer = f"Its answer: {cut(given.answer)}" if given.answer else "It gives no answer."
    return f"{title}:\n{body}\n{answer}"


def cut(text: str) -> str:
    """The text, without its middle where it is long.

    >>> len(cut("a" * 10_000)) < 2_100
    True
    """
    if len(text) <= MAX_SHOWN_CHARACTERS:
        return text
    half = MAX_SHOWN_CHARACTERS // 2
    return f"{text[:half]}\n[...]\n{text[-half:]}"
