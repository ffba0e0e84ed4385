"""A game for the rollouts' tests: a reply says its own score, or what shall go wrong.

Replies: a number is the team value; `done` ends the episode solved; `boom` makes the rules fail;
`nan` scores no number; `nothing` makes the rules forget their outcome; `wait` asks for evidence
that is late, `unheard` for evidence of a kind that nobody answers, `object` for an answer that
cannot be stored, `odd` makes asking fail; `text` scores text, `leave` ends the program.
`fails_in` names a rule that raises KeyError from round `fails_at` on (counted from 0).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from cotrain.core.episode import Evidence, Message, Part, Request, Task
from cotrain.environments.base import Environment, Judged, Outcome, Role


@dataclass(frozen=True, slots=True)
class RatedOptions:
    """`words[n]` is the length of the prompts of round n, the last one of all later rounds."""

    words: tuple[int, ...] = (3,)
    fails_in: str = ""
    fails_at: int = 0


@dataclass(frozen=True, slots=True)
class State:
    """What was followed so far: one mapping of agent to reply a phase, as text."""

    task: int
    followed: tuple[str, ...] = ()


class RatedAlone(Environment[State]):
    """One role."""

    name = "rated"
    Options = RatedOptions
    roles = (Role("solo"),)

    def task(self, split: str, seed: int, index: int) -> Task:
        self._fail("task", index)
        return Task(split, index, f"{split}-{seed}-{index}", index)

    def start(self, task: Task, purpose: str) -> State:
        self._fail("start", 0)
        assert isinstance(task.data, int)
        return State(task.data)

    def observe(self, state: State, agent: str) -> Sequence[Message]:
        turn = len(state.followed) // len(self.phases)
        self._fail("observe", turn)
        count = self.options.words[min(turn, len(self.options.words) - 1)]
        shown = f"task{state.task} {'|'.join(state.followed) or '-'} {agent}"
        return (Message("user", " ".join([shown, *["x"] * (count - 3)])),)

    def evidence(self, state: State, agent: str, reply: str) -> Sequence[Request]:
        if reply == "odd":
            raise KeyError(reply)
        return (Request.of(reply),) if reply in {"wait", "unheard", "object"} else ()

    def act(
        self, state: State, agent: str, reply: str, evidence: Sequence[Evidence]
    ) -> Outcome[State]:
        if reply == "boom":
            raise KeyError("boom")
        if reply == "nothing":
            return None  # pyright: ignore[reportReturnType] - what a careless author does
        if reply == "leave":
            raise SystemExit(0)
        if reply == "text":
            return Outcome(state, reply)  # pyright: ignore[reportArgumentType] - another one
        value = 1.0 if reply == "done" else float(reply)
        after = State(state.task, (*state.followed, reply))
        return Outcome(after, value, (Part("own", 0.0, 1.0),), done=reply == "done")

    def success(self, state: State) -> bool:
        self._fail("success", len(state.followed))
        return any("done" in said for said in state.followed)

    def render(self, state: State) -> str:
        self._fail("render", len(state.followed))
        return "|".join(state.followed)

    def _fail(self, rule: str, turn: int) -> None:
        if self.options.fails_in == rule and turn >= self.options.fails_at:
            raise KeyError(f"{rule} of round {turn}")


class RatedInOrder(RatedAlone):
    """Two roles, one after the other."""

    roles = (Role("left"), Role("right"))


class RatedTogether(RatedInOrder):
    """Two roles at once; they are tied up by joint evidence of kind `tie`."""

    @property
    def phases(self) -> tuple[tuple[str, ...], ...]:
        return (("left", "right"),)

    def joint_evidence(self, state: State, replies: Mapping[str, str]) -> Sequence[Request]:
        self._fail("joint_evidence", len(state.followed))
        return (Request.of("tie", **replies),)

    def commit(
        self, state: State, replies: Mapping[str, Judged], joint_evidence: Sequence[Evidence]
    ) -> tuple[State, bool]:
        self._fail("commit", len(state.followed))
        said = ",".join(f"{agent}={judged.reply}" for agent, judged in sorted(replies.items()))
        return State(state.task, (*state.followed, said)), "done" in said


def answer_tie(request: Request) -> Any:
    """The replies of a tie, in order."""
    return tuple(value for _, value in request.arguments)
