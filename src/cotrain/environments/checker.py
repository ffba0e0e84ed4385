"""Every broken promise of an environment in one report.

The promises are those of `base.py`. Nothing is assumed about the form of replies: an environment
may define `attempts(state, agent, generator) -> list of str`, well-formed replies of all worths,
and its states are then also tried with these; without it only garbage is tried.
"""

import copy
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from random import Random
from types import MappingProxyType
from typing import Any, TypeAlias

from cotrain.config.faults import ConfigurationError, told
from cotrain.core.episode import Episode, Task
from cotrain.core.rewards import local_reward
from cotrain.core.seeds import derive_seed
from cotrain.environments.base import SPLITS, Environment, Outcome
from cotrain.environments.mutable import is_frozen_dataclass, mutable_parts
from cotrain.environments.playing import (
    GARBAGE,
    Answer,
    UnansweredError,
    Writer,
    judge,
    play,
    shortened,
    unanswered,
)
from cotrain.environments.returned import RULE_FAULTS, PhasesError, phase_faults

NUM_EPISODES = 3
MAX_TURNS = 6
NUM_TASKS = 20
NUM_SPLIT_TASKS = 100
MAX_DETAILS = 3


@dataclass(frozen=True, slots=True)
class Broken:
    """One broken promise: which rule, and where it broke."""

    rule: str
    detail: str


@dataclass(frozen=True, slots=True)
class Report:
    """What the checker found. `not_checked` says what it could not look at, and why."""

    environment: str
    rules: tuple[str, ...]
    broken: tuple[Broken, ...]
    not_checked: tuple[str, ...]

    @property
    def passed(self) -> bool:
        """Whether no promise is broken."""
        return not self.broken


@dataclass(frozen=True, slots=True)
class Scene:
    """A state in which an agent acts, and a copy of it from before anything was tried."""

    state: Any
    agent: str
    before: Any


@dataclass(frozen=True, slots=True)
class Subject:
    """The environment under check, and what answers its requests."""

    environment: Environment[Any]
    answer: Answer

    def anew(self) -> "Subject":
        """The same environment in a fresh object."""
        environment = self.environment
        fresh = type(environment)(environment.options, environment.prompts)
        return Subject(fresh, self.answer)

    def replies(self, state: Any, agent: str) -> list[str]:
        """Replies worth trying in this state: the environment's own, or else garbage."""
        attempts = getattr(self.environment, "attempts", None)
        if attempts is None:
            return list(GARBAGE)
        return list(attempts(state, agent, Random(derive_seed("attempts", agent))))

    def judge(self, state: Any, agent: str, reply: str) -> Outcome[Any] | None:
        """The outcome of one reply, None where its evidence could not be had."""
        return judge(self.environment, state, agent, reply, self.answer)[0]

    def play(self, index: int, write: Writer) -> Episode:
        """An episode on the training task at this place."""
        task = self.environment.task("train", 1, index)
        return play(self.environment, task, write, MAX_TURNS, self.answer)

    def scenes(self, index: int) -> list[Scene]:
        """The scenes of an episode of random replies, in the order of play."""
        scenes: list[Scene] = []
        generator = Random(derive_seed("scenes", index))

        def write(state: Any, agent: str, turn: int) -> str:
            scenes.append(Scene(state, agent, copy.deepcopy(state)))
            return generator.choice(self.replies(state, agent))

        self.play(index, write)
        return scenes


class UncheckedError(RuntimeError):
    """Why a promise could not be looked at."""


Rule: TypeAlias = Callable[[Subject], Iterator[str]]


def check(environment: Environment[Any], answer: Answer = unanswered) -> Report:
    """Tries every promise on a few tasks and episodes; `answer` fulfils requests for evidence.

    >>> from cotrain.environments.plan_path import PlanPath
    >>> check(PlanPath()).broken
    ()
    """
    subject = Subject(environment, answer)
    broken: list[Broken] = []
    not_checked: list[str] = []
    for name, rule in RULES.items():
        try:
            details = list(dict.fromkeys(rule(subject)))
        except (UnansweredError, UncheckedError, PhasesError) as error:
            not_checked.append(f"{name}: {error}")
            continue
        except ConfigurationError:
            raise  # no promise is broken: the data or an option is not as it must be
        except RULE_FAULTS as error:
            details = [f"stopped by {told(error)}"]
        broken += [Broken(name, detail) for detail in details[:MAX_DETAILS]]
    if not hasattr(environment, "attempts"):
        not_checked.append("well-formed replies: it has no attempts(state, agent, generator)")
    return Report(environment.name, tuple(RULES), tuple(broken), tuple(not_checked))


def _each_scene(subject: Subject) -> Iterator[Scene]:
    for index in range(NUM_EPISODES):
        yield from subject.scenes(index)


def options_are_frozen(subject: Subject) -> Iterator[str]:
    """Options are a frozen dataclass."""
    options: object = subject.environment.options
    if not is_frozen_dataclass(type(options)):
        yield f"{type(options).__name__} is no frozen dataclass"


def every_agent_acts_once(subject: Subject) -> Iterator[str]:
    """Every agent acts in exactly one phase of a turn."""
    yield from phase_faults(subject.environment.roles, subject.environment.phases)


def tasks_follow_from_the_seed(subject: Subject) -> Iterator[str]:
    """Equal split, seed and index give an equal task, another index another task."""
    for split in SPLITS:
        tasks = [subject.environment.task(split, 1, index) for index in range(NUM_TASKS)]
        again = [subject.anew().environment.task(split, 1, i) for i in reversed(range(NUM_TASKS))]
        if again[::-1] != tasks:
            yield f"{split} tasks with equal seed and index are not equal"
        if any((task.split, task.index) != (split, i) for i, task in enumerate(tasks)):
            yield f"{split} tasks do not carry the split and index that were asked for"
        repeated = sum(one.digest == two.digest for one, two in pairwise(tasks))
        if repeated * 4 >= NUM_TASKS:
            yield f"{repeated} of {NUM_TASKS} {split} tasks are the same as the one before"


def splits_are_disjoint(subject: Subject) -> Iterator[str]:
    """No problem is in two of train, validation and test."""
    digests = {split: {task.digest for task in _some(subject, split)} for split in SPLITS}
    for one, two in (("train", "validation"), ("train", "test"), ("validation", "test")):
        shared = sorted(digests[one] & digests[two])
        if shared:
            yield f"{len(shared)} problems are in {one} and in {two}, for example {shared[0]}"


def _some(subject: Subject, split: str) -> list[Task]:
    return [subject.environment.task(split, 1, index) for index in range(NUM_SPLIT_TASKS)]


def states_are_values(subject: Subject) -> Iterator[str]:
    """Nothing changes a state, equal calls give equal outcomes, siblings share nothing mutable."""
    for scene in _each_scene(subject):
        if copy.deepcopy(scene.before) != scene.before:
            yield f"a copy of a {type(scene.state).__name__} does not equal it"
            return
        if scene.state != scene.before:
            yield "an episode that went on changed an earlier state"
            return
        yield from _siblings_are_apart(subject, scene)


def _siblings_are_apart(subject: Subject, scene: Scene) -> Iterator[str]:
    replies = subject.replies(scene.state, scene.agent)
    outcomes = [subject.judge(scene.state, scene.agent, reply) for reply in replies]
    if scene.state != scene.before:
        yield f"act changed the opening state of {scene.agent}"
        return
    again = [subject.judge(scene.state, scene.agent, reply) for reply in reversed(replies)]
    if again[::-1] != outcomes:
        yield f"act gives {scene.agent} unequal outcomes for equal arguments"
    seen = mutable_parts(scene.state)
    for outcome in outcomes:
        parts = mutable_parts(None if outcome is None else outcome.state)
        for shared in parts.keys() & seen.keys():
            yield f"states of {scene.agent}'s siblings share a mutable {parts[shared]}"
        seen |= parts


def rewards_are_in_range(subject: Subject) -> Iterator[str]:
    """Team value, gate and part values are in [0, 1], weights sum to 1, the gate is the state's."""
    for scene in _each_scene(subject):
        tried = [*subject.replies(scene.state, scene.agent), *GARBAGE]
        outcomes = [subject.judge(scene.state, scene.agent, reply) for reply in tried]
        scored = [outcome for outcome in outcomes if outcome is not None]
        for outcome in scored:
            yield from _out_of_range(scene.agent, outcome)
        gates = sorted({outcome.gate for outcome in scored})
        if len(gates) > 1:
            yield f"{scene.agent}'s siblings have unequal gates: {gates}"


def _out_of_range(agent: str, outcome: Outcome[Any]) -> Iterator[str]:
    named = {"team": outcome.team, "gate": outcome.gate}
    named |= {f"part {part.name}": part.value for part in outcome.local}
    for name, value in named.items():
        if not 0.0 <= value <= 1.0:
            yield f"{agent}'s {name} is {value}: allowed is 0 to 1"
    weights = [part.weight for part in outcome.local]
    if weights and not math.isclose(sum(weights), 1.0):
        yield f"{agent}'s weights {weights} sum to {sum(weights)}: allowed is 1"


def garbage_is_an_outcome(subject: Subject) -> Iterator[str]:
    """A reply that answers nothing is a scored outcome, never an exception."""
    for scene in subject.scenes(0):
        for reply in GARBAGE:
            try:
                outcome = subject.judge(scene.state, scene.agent, reply)
            except UnansweredError:
                raise
            except RULE_FAULTS as error:
                yield f"{scene.agent}: {shortened(reply)} raises {told(error)}"
                continue
            own = 0.0 if outcome is None else local_reward(outcome.local)
            if not math.isfinite(own):
                yield f"{scene.agent}: {shortened(reply)} has the score {own}"


def success_is_not_done(subject: Subject) -> Iterator[str]:
    """A task is not solved at its start, and no episode of garbage solves it, however it ends."""
    for index in range(NUM_EPISODES):
        task = subject.environment.task("train", 1, index)
        if subject.environment.success(subject.environment.start(task, "train")):
            yield f"training task {index} is solved before anyone acts"
    for reply in GARBAGE:
        episode = subject.play(0, lambda state, agent, turn, said=reply: said)
        if episode.success:
            yield f"an episode of nothing but {shortened(reply)} ends {episode.status} and solved"


def prompts_show_the_state(subject: Subject) -> Iterator[str]:
    """What an agent reads changes when the state does."""
    environment, changed = subject.environment, False
    for index in range(NUM_EPISODES):
        scenes = subject.scenes(index)
        for agent in dict.fromkeys(scene.agent for scene in scenes):
            own = [scene.state for scene in scenes if scene.agent == agent]
            shown = {environment.render(state) for state in own}
            read = {tuple(environment.observe(state, agent)) for state in own}
            changed = changed or len(shown) > 1
            if len(shown) > 1 and len(read) == 1:
                yield f"{agent} reads the same prompt in {len(shown)} different states"
    if not changed:
        raise UncheckedError("no reply that was tried changed what render shows")


def replays_are_equal(subject: Subject) -> Iterator[str]:
    """An episode played again from its replies is the same episode."""
    for index in range(NUM_EPISODES):
        if not _replays(subject, index):
            yield f"the episode on training task {index} differs when it is played again"


def _replays(subject: Subject, index: int) -> bool:
    generator = Random(derive_seed("replay", index))
    said: dict[tuple[str, int], str] = {}

    def write(state: Any, agent: str, turn: int) -> str:
        said[agent, turn] = generator.choice(subject.replies(state, agent))
        return said[agent, turn]

    first = subject.play(index, write)
    return first == subject.anew().play(index, lambda state, agent, turn: said[agent, turn])


RULES: Mapping[str, Rule] = MappingProxyType(
    {
        "options are frozen": options_are_frozen,
        "every agent acts once a turn": every_agent_acts_once,
        "tasks follow from the seed": tasks_follow_from_the_seed,
        "splits are disjoint": splits_are_disjoint,
        "states are values": states_are_values,
        "rewards are in range": rewards_are_in_range,
        "garbage is an outcome": garbage_is_an_outcome,
        "success is not done": success_is_not_done,
        "prompts show the state": prompts_show_the_state,
        "replays are equal": replays_are_equal,
    }
)
"""The promises by name, in the order of the report."""
