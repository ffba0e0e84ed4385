r"""Maths: reasoners and tool users work on a problem, and the team gives one answer.

    Problem: what is 3/4 of 18?
    reasoner   Half of 18 is 9, and half     tool_user   ```python
               of that is 4.5. Together                  print(3 * 18 / 4)
               \boxed{13.5}                              ```

Both act at once, and each reads in the next turn what both gave: answers, programs, what these
printed, or how they failed. The reasoner's answer is the team's. With more of them (`reasoners`,
`tools`) or with `judge = true` a judge acts in a second phase, reads all that was given, and gives
the team's answer.

The episode is done when those who act agree: two agree when both are right, or wrong and written
alike. With a judge, all who gave an answer must agree with the judge; an agent that plays alone
must agree with its own last answer. That is not success: success is that the team's last answer
equals the gold answer, or has the full score of the data set's own verifier.

    team               1 if the answer is right, else 0; each is judged as if it were the team's
    in words, own      0.2 a closed \boxed{} + 0.8 the answer is right
    tool user's own    0.1 ran to its end + 0.1 printed an answer + 0.8 it is right

A program runs in the sandbox and gets no input; what it printed is compared elsewhere, and the gold
answer is shown to no agent and to no program. A comparison that cannot be decided is no wrong
answer in training: that reply's status is `unknown`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from random import Random
from typing import ClassVar

from cotrain.core.episode import Evidence, Message, Part, Request, Task
from cotrain.environments.base import Environment, Judged, Outcome, Role, epoch_position
from cotrain.environments.data.maths import load_maths, read_maths
from cotrain.environments.data.maths_records import Problem
from cotrain.environments.data.procedural_maths import PREFIX, generated_task
from cotrain.environments.data.splits import Splits, problems_of
from cotrain.environments.graders.maths import final_answer, has_box
from cotrain.environments.maths_attempts import program_attempts, text_attempts
from cotrain.environments.maths_options import NAMES, TOOL_USER, MathsOptions, role
from cotrain.environments.maths_state import (
    Given,
    State,
    agree,
    given_program,
    given_text,
    state_in_words,
    with_member,
)
from cotrain.environments.parsing import parse_code
from cotrain.environments.requests import MATHS, PROGRAM_ANSWER, VERIFY, program_answer_request


class Maths(Environment[State]):
    """A team works on a problem of mathematics; the module says the rules and rewards."""

    name: ClassVar[str] = "maths"
    Options: ClassVar[type] = MathsOptions
    options: MathsOptions
    data_needs: ClassVar[str] = (
        'reasoning-gym by default: pip install "cotrain[maths]"; Polaris, AIME, OlympiadBench and '
        "records of your own by options.data"
    )

    def __init__(
        self, options: MathsOptions | None = None, prompts: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(options, prompts)
        self.roles = tuple(each for phase in self.options.phases for each in phase)
        self.services = self._services()

    @property
    def phases(self) -> tuple[tuple[str, ...], ...]:
        """Reasoners and tool users act at once; a judge after them."""
        return tuple(
            tuple(agent for each in phase for agent in each.agents) for phase in self.options.phases
        )

    @property
    def problems(self) -> Splits[Problem]:
        """The problems that are read, by split, with what was left out of them."""
        return load_maths(self.options.data, self.options.test_data)

    def all_roles(self) -> tuple[Role, ...]:
        """The team's roles and those of the variants with one policy."""
        seats = {each.name: each.seats for each in self.roles}
        return tuple(role(name, seats.get(name, 1)) for name in NAMES)

    def task(self, split: str, seed: int, index: int) -> Task:
        """A problem of this split: made for the place, or each of a file once an epoch."""
        data = self.options.data
        from_tests = split == "test" and self.options.test_data is not None
        if data.startswith(PREFIX) and not from_tests:
            return generated_task(data, self.options.data_options, split, seed, index)
        problems = self._of_files(split)
        problem = problems[epoch_position(len(problems), seed, index)]
        return Task(split, index, problem.digest, problem)

    def start(self, task: Task, purpose: str) -> State:
        """Nothing given yet; training and evaluation begin alike."""
        assert isinstance(task.data, Problem)
        return State(task.data)

    def observe(self, state: State, agent: str) -> tuple[Message, ...]:
        """The standing instruction, the problem, and what everyone gave last."""
        name = next(each.name for each in self.roles if agent in each.agents)
        return (
            Message("system", self.prompt(name)),
            Message("user", state_in_words(state, agent)),
        )

    def evidence(self, state: State, agent: str, reply: str) -> tuple[Request, ...]:
        """Whether the answer of the reply, or what its program prints, is right."""
        problem = state.problem
        if self._writes_program(agent):
            source = parse_code(reply)
            asked = problem.question("")
            return () if source is None else (program_answer_request(source, asked),)
        return () if final_answer(reply) is None else (problem.question(reply),)

    def act(
        self, state: State, agent: str, reply: str, evidence: Sequence[Evidence]
    ) -> Outcome[State]:
        """Judges an answer or a program. A reply without either has every part 0."""
        given = self._given(agent, reply, tuple(evidence))
        team, parts = float(given.right), self._parts(given, reply)
        after = with_member(state, given)
        if agent != self._decider:
            return Outcome(after, team, parts)
        after = replace(state, decided=given)
        return Outcome(after, team, parts, done=self._is_settled(state, given))

    def commit(
        self, state: State, replies: Mapping[str, Judged], joint_evidence: Sequence[Evidence]
    ) -> tuple[State, bool]:
        """What everyone gave; where there is no judge, whether reasoner and tool user agree."""
        after = state
        for agent in (agent for phase in self.phases for agent in phase if agent in replies):
            judged = replies[agent]
            after = with_member(after, self._given(agent, judged.reply, judged.evidence))
        if len(self.phases) > 1:
            return after, False
        first, *others = map(after.of, [agent for phase in self.phases for agent in phase])
        done = first is not None and all(one is not None and agree(first, one) for one in others)
        return replace(after, decided=first), done

    def success(self, state: State) -> bool:
        """The team's last answer is right."""
        return state.decided is not None and state.decided.right

    def render(self, state: State) -> str:
        """What agents read, and which answers are right, which they do not."""
        marks = [f"{one.agent}: {'right' if one.right else 'wrong'}" for one in state.standing]
        return "\n\n".join([state_in_words(state), *([", ".join(marks)] if marks else [])])

    def solve(self, state: State, agent: str) -> str | None:
        """A reply with the known answer, None where the data set gives none."""
        answer = state.problem.answer
        if not answer:
            return None
        printed = f"```python\nprint({answer!r})\n```"
        return printed if self._writes_program(agent) else rf"\boxed{{{answer}}}"

    def would_solve(self, agent: str, outcome: Outcome[State]) -> bool:
        """Whether the answer is right, be it the team's or not."""
        return outcome.team == 1.0

    def attempts(self, state: State, agent: str, generator: Random) -> list[str]:
        """Answers and programs of all worths: boxed, unboxed, several, wrong, nothing printed."""
        if self._writes_program(agent):
            return program_attempts(state.problem.answer, generator)
        return text_attempts(state.problem.answer, generator)

    @property
    def _decider(self) -> str:
        """Whose answer is the team's: the first agent of the last phase."""
        return next(iter(self.phases[-1]))

    def _services(self) -> tuple[str, ...]:
        made = self.options.data.startswith(PREFIX)
        asked = [VERIFY] if made else [MATHS]
        asked += [MATHS] if made and self.options.test_data is not None else []
        runs = any(each.name == TOOL_USER for each in self.roles)
        return (*asked, *([PROGRAM_ANSWER] if runs else []))

    def _of_files(self, split: str) -> tuple[Problem, ...]:
        data, test_data = self.options.data, self.options.test_data
        if data.startswith(PREFIX):
            assert test_data is not None
            return read_maths(test_data).problems
        return problems_of(self.problems, split, data, test_data)

    def _writes_program(self, agent: str) -> bool:
        return any(each.name == TOOL_USER and agent in each.agents for each in self.roles)

    def _given(self, agent: str, reply: str, evidence: tuple[Evidence, ...]) -> Given:
        read = given_program if self._writes_program(agent) else given_text
        return read(agent, reply, evidence)

    def _parts(self, given: Given, reply: str) -> tuple[Part, ...]:
        answer = Part("answer", 0.8, float(given.right))
        if not given.is_program:
            return (Part("format", 0.2, float(has_box(reply))), answer)
        ran = bool(given.answer) or given.error == "it printed no answer"
        return (
            Part("ran", 0.1, float(ran)),
            Part("printed", 0.1, float(bool(given.answer))),
            answer,
        )

    def _is_settled(self, state: State, given: Given) -> bool:
        """Whether all who gave an answer agree with it, or the same agent before."""
        if len(self.phases) == 1:
            before = state.of(given.agent)
            return before is not None and agree(before, given)
        answers = [member for member in state.members if member.answer]
        return bool(answers) and all(agree(member, given) for member in answers)
