"""The checker: sound environments pass, and each promise that is broken is found."""

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Any

import pytest
from tests.environments.two_hands import TwoHands, measure

from cotrain.core.episode import Evidence, Message, Part, Task
from cotrain.environments.base import Environment, Outcome, Role
from cotrain.environments.checker import RULES, check
from cotrain.environments.mutable import mutable_parts
from cotrain.environments.plan_path import PlanPath, PlanPathOptions
from cotrain.environments.procedural import draw_task


@dataclass(frozen=True)
class Rung:
    """Where the climber is on a ladder of `top` rungs; above the top is a fall."""

    top: int
    height: int = 0


class Ladder(Environment[Any]):
    """A sound environment of one role: climb 1 to 3 rungs a turn, and end on the top one."""

    name = "ladder"
    roles = (Role("climber", "Say how many rungs to climb."),)

    def task(self, split: str, seed: int, index: int) -> Task:
        return draw_task(self.name, split, seed, index, lambda drawn: drawn.randint(5, 10**6))

    def start(self, task: Task, purpose: str) -> Any:
        assert isinstance(task.data, int)
        return Rung(5 + task.data % 4)

    def observe(self, state: Any, agent: str) -> Sequence[Message]:
        return (Message("user", f"rung {state.height} of {state.top}"),)

    def act(self, state: Any, agent: str, reply: str, evidence: Sequence[Evidence]) -> Outcome[Any]:
        if reply not in ("1", "2", "3"):
            return Outcome(state, 0.0, (Part("format", 1.0, 0.0),))
        after = replace(state, height=state.height + int(reply))
        team = float(self.success(after))
        return Outcome(after, team, (Part("format", 1.0, 1.0),), done=after.height >= after.top)

    def success(self, state: Any) -> bool:
        return state.height == state.top

    def render(self, state: Any) -> str:
        return f"{state.height}/{state.top}"

    def attempts(self, state: Any, agent: str, generator: Random) -> list[str]:
        return ["1", "2", "3", "4", "one"]


@dataclass
class Loose:
    """Options that can be changed."""

    rungs: int = 5


class LooseOptions(Ladder):
    Options = Loose


class SeatedTwice(Ladder):
    phases = (("climber",), ("climber",))


class Idle(Ladder):
    roles = (*Ladder.roles, Role("helper"))
    phases = (("climber",),)


class Misspelt(Ladder):
    phases = (("climbr",),)


class FlatPhases(Ladder):
    phases = ("climber",)  # type: ignore[assignment]


class RandomTasks(Ladder):
    def task(self, split: str, seed: int, index: int) -> Task:
        return super().task(split, random.randrange(10**9), index)


class OneTask(Ladder):
    def task(self, split: str, seed: int, index: int) -> Task:
        return replace(super().task(split, seed, 0), index=index)


class AlwaysTrain(Ladder):
    def task(self, split: str, seed: int, index: int) -> Task:
        return super().task("train", seed, index)


class SharedSplits(Ladder):
    def task(self, split: str, seed: int, index: int) -> Task:
        return replace(super().task("train", seed, index), split=split)


@dataclass
class Notes:
    """A state that can be changed."""

    top: int
    height: int
    replies: list[str]


class Changes(Ladder):
    def start(self, task: Task, purpose: str) -> Any:
        return Notes(super().start(task, purpose).top, 0, [])

    def act(self, state: Any, agent: str, reply: str, evidence: Sequence[Evidence]) -> Outcome[Any]:
        state.replies.append(reply)
        return super().act(replace(state, replies=list(state.replies)), agent, reply, evidence)


class Shares(Ladder):
    def start(self, task: Task, purpose: str) -> Any:
        return Notes(super().start(task, purpose).top, 0, [])


class Incomparable(Ladder):
    class Bare:
        """A state without equality."""

        def __init__(self, top: int) -> None:
            self.top, self.height = top, 0

    def start(self, task: Task, purpose: str) -> Any:
        return self.Bare(super().start(task, purpose).top)

    def act(self, state: Any, agent: str, reply: str, evidence: Sequence[Evidence]) -> Outcome[Any]:
        return Outcome(self.Bare(state.top), 0.0)


class Remembers(Ladder):
    acts = 0

    def act(self, state: Any, agent: str, reply: str, evidence: Sequence[Evidence]) -> Outcome[Any]:
        self.acts += 1
        outcome = super().act(state, agent, reply, evidence)
        return replace(outcome, team=outcome.team * (self.acts % 2))


class RendersAnew(Ladder):
    renders = 0

    def render(self, state: Any) -> str:
        self.renders += 1
        return f"{super().render(state)} {random.random()} {self.renders}"


class Judges(Ladder):
    """Rewards of a subclass's own."""

    def outcome(self, outcome: Outcome[Any], reply: str) -> Outcome[Any]:
        raise NotImplementedError

    def act(self, state: Any, agent: str, reply: str, evidence: Sequence[Evidence]) -> Outcome[Any]:
        return self.outcome(super().act(state, agent, reply, evidence), reply)


class TooMuch(Judges):
    def outcome(self, outcome: Outcome[Any], reply: str) -> Outcome[Any]:
        return replace(outcome, team=1.5)


class NotANumber(Judges):
    def outcome(self, outcome: Outcome[Any], reply: str) -> Outcome[Any]:
        return replace(outcome, local=(Part("format", 1.0, float("nan")),))


class LightWeights(Judges):
    def outcome(self, outcome: Outcome[Any], reply: str) -> Outcome[Any]:
        return replace(outcome, local=(Part("format", 0.9, 1.0),))


class UnequalGates(Judges):
    def outcome(self, outcome: Outcome[Any], reply: str) -> Outcome[Any]:
        return replace(outcome, gate=1.0 if reply == "1" else 0.5)


class Strict(Ladder):
    def act(self, state: Any, agent: str, reply: str, evidence: Sequence[Evidence]) -> Outcome[Any]:
        int(reply.removeprefix("one") or "1")
        return super().act(state, agent, reply, evidence)


class DoneIsSuccess(Ladder):
    def act(self, state: Any, agent: str, reply: str, evidence: Sequence[Evidence]) -> Outcome[Any]:
        outcome = super().act(state, agent, reply, evidence)
        fallen = replace(state, height=state.top + 1)
        return outcome if outcome.local[0].value else replace(outcome, state=fallen, done=True)

    def success(self, state: Any) -> bool:
        return state.height >= state.top


class SolvedAtOnce(Ladder):
    def start(self, task: Task, purpose: str) -> Any:
        return Rung(5, 5)


class StalePrompt(Ladder):
    def observe(self, state: Any, agent: str) -> Sequence[Message]:
        return (Message("user", f"rung 0 of {state.top}"),)


@pytest.mark.parametrize(
    ("environment", "rule", "said"),
    [
        (LooseOptions(), "options are frozen", "Loose is no frozen dataclass"),
        (SeatedTwice(), "every agent acts once a turn", "phases names climber 2 times"),
        (Idle(), "every agent acts once a turn", "phases leaves helper out"),
        (Misspelt(), "every agent acts once a turn", "phases names 'climbr', which is no agent"),
        (FlatPhases(), "every agent acts once a turn", "'climber' (str); it must be a sequence"),
        (RandomTasks(), "tasks follow from the seed", "equal seed and index are not equal"),
        (OneTask(), "tasks follow from the seed", "are the same as the one before"),
        (AlwaysTrain(), "tasks follow from the seed", "do not carry the split"),
        (SharedSplits(), "splits are disjoint", "problems are in train and in validation"),
        (Changes(), "states are values", "changed"),
        (Shares(), "states are values", "siblings share a mutable"),
        (Incomparable(), "states are values", "a copy of a Bare does not equal it"),
        (Remembers(), "states are values", "unequal outcomes for equal arguments"),
        (RendersAnew(), "replays are equal", "differs when it is played again"),
        (TooMuch(), "rewards are in range", "team is 1.5: allowed is 0 to 1"),
        (NotANumber(), "rewards are in range", "part format is nan"),
        (LightWeights(), "rewards are in range", "sum to 0.9"),
        (UnequalGates(), "rewards are in range", "unequal gates"),
        (Strict(), "garbage is an outcome", "raises ValueError"),
        (DoneIsSuccess(), "success is not done", "ends done and solved"),
        (SolvedAtOnce(), "success is not done", "is solved before anyone acts"),
        (StalePrompt(), "prompts show the state", "reads the same prompt"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Ladder) else "",
)
def test_a_broken_promise_is_found(environment: Ladder, rule: str, said: str) -> None:
    report = check(environment)
    assert not report.passed
    details = [broken.detail for broken in report.broken if broken.rule == rule]
    assert any(said in detail for detail in details), report.broken


@pytest.mark.parametrize("environment", [SeatedTwice(), Idle(), Misspelt(), FlatPhases()])
def test_what_cannot_be_played_is_one_finding_and_the_rest_is_not_checked(
    environment: Ladder,
) -> None:
    report = check(environment)
    assert {broken.rule for broken in report.broken} == {"every agent acts once a turn"}
    assert any(gap.startswith("replays are equal: phases") for gap in report.not_checked)


@pytest.mark.parametrize(
    "environment",
    [
        Ladder(),
        PlanPath(),
        PlanPath(PlanPathOptions(size=6, view="compact", max_moves=4, single="draft")),
        PlanPath(PlanPathOptions(only="proposer", reward="paper")),
    ],
    ids=["ladder", "plan_path", "compact_draft", "proposer_alone"],
)
def test_a_sound_environment_passes_every_rule(environment: Environment[Any]) -> None:
    report = check(environment)
    assert report.broken == ()
    assert report.not_checked == ()
    assert report.rules == tuple(RULES)


def test_requests_are_fulfilled_by_the_given_function() -> None:
    report = check(TwoHands(), measure)
    assert (report.broken, report.not_checked) == ((), ())


def test_what_cannot_be_looked_at_is_said() -> None:
    unfulfilled = check(TwoHands())
    assert unfulfilled.passed
    assert any("evidence of kind 'measure'" in gap for gap in unfulfilled.not_checked)

    class Silent(Ladder):
        attempts = property()  # type: ignore[assignment]

    gaps = check(Silent()).not_checked
    assert any("attempts" in gap for gap in gaps)
    assert any("prompts show the state" in gap for gap in gaps)


def test_an_exception_of_the_environment_is_a_finding_of_its_rule() -> None:
    class Unfinished(Ladder):
        def render(self, state: Any) -> str:
            raise KeyError("no rendering")

    report = check(Unfinished())
    assert "stopped by KeyError: 'no rendering'" in [broken.detail for broken in report.broken]


def test_mutable_parts_are_found_wherever_they_hide() -> None:
    hidden = (Rung(1), frozenset({2}), {"a": (3, [4])}, Notes(1, 2, []), Random(5))
    assert sorted(mutable_parts(hidden).values()) == ["Notes", "Random", "dict", "list", "list"]
    assert mutable_parts((1, "a", b"b", None, Rung(2), frozenset({(1, 2)}))) == {}
