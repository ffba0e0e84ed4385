"""Two hands lift a tray to a shelf, both at once: a small game that uses the whole contract.

A reply is a height. A scale measures it (`evidence`), and a spirit level the tilt of both hands
together (`joint_evidence`). A tilt of more than `max_tilt` drops the tray: done, and no success.
`measure` answers the requests; the scale runs out of time at 13 and breaks above.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random

from cotrain.core.episode import CandidateStatus, Evidence, Message, Part, Request, Task
from cotrain.environments.base import Environment, Judged, Outcome, Role
from cotrain.environments.procedural import draw_task


@dataclass(frozen=True, slots=True)
class TwoHandsOptions:
    """`max_tilt` is the largest difference of heights at which the tray stays on the hands."""

    max_tilt: int = 5


@dataclass(frozen=True, slots=True)
class State:
    """Where the hands are and should be."""

    shelf: int
    left: int
    right: int
    dropped: bool = False


def measure(request: Request) -> Evidence:
    """The answer of the scale or the spirit level, the same every time."""
    if request.kind == "tilt":
        left, right = request["left"], request["right"]
        assert isinstance(left, int)
        assert isinstance(right, int)
        return Evidence(request, {"tilt": abs(left - right)})
    height = request["height"]
    assert isinstance(height, int)
    if height == 13:
        return Evidence(request, None, CandidateStatus.TIMEOUT, "the scale gave no answer")
    if height > 13:
        return Evidence(request, None, CandidateStatus.ERROR, "the scale broke")
    return Evidence(request, {"height": height})


class TwoHands(Environment[State]):
    """Both hands act in one phase, each judged with the other where it last stood."""

    name = "two_hands"
    Options = TwoHandsOptions
    roles = (Role("left", "Say the height of the left hand."), Role("right", "Say yours."))
    phases = (("left", "right"),)

    def task(self, split: str, seed: int, index: int) -> Task:
        def draw(generator: Random) -> tuple[int, int, int] | None:
            left, right = generator.randint(0, 9), generator.randint(0, 9)
            shelf = generator.randint(0, 12)
            return (shelf, left, right) if shelf not in (left, right) else None

        return draw_task(self.name, split, seed, index, draw)

    def start(self, task: Task, purpose: str) -> State:
        assert isinstance(task.data, tuple)
        return State(*task.data)

    def observe(self, state: State, agent: str) -> Sequence[Message]:
        shown = f"shelf {state.shelf} left {state.left} right {state.right} hand {agent}"
        return (Message("system", self.prompt(agent)), Message("user", shown))

    def evidence(self, state: State, agent: str, reply: str) -> Sequence[Request]:
        height = read_height(reply)
        return () if height is None else (Request.of("measure", hand=agent, height=height),)

    def act(
        self, state: State, agent: str, reply: str, evidence: Sequence[Evidence]
    ) -> Outcome[State]:
        if not evidence:
            return Outcome(state, 0.0, (Part("format", 0.2, 0.0), Part("aim", 0.8, 0.0)))
        after = replace(state, **{agent: measured(evidence)})
        aim = 1.0 / (1 + abs(measured(evidence) - state.shelf))
        team = 1.0 if self.success(after) else 0.0
        return Outcome(after, team, (Part("format", 0.2, 1.0), Part("aim", 0.8, aim)))

    def joint_evidence(self, state: State, replies: Mapping[str, str]) -> Sequence[Request]:
        heights = {"left": state.left, "right": state.right}
        said = {agent: read_height(reply) for agent, reply in replies.items()}
        heights |= {agent: height for agent, height in said.items() if height is not None}
        return (Request.of("tilt", **heights),)

    def commit(
        self, state: State, replies: Mapping[str, Judged], joint_evidence: Sequence[Evidence]
    ) -> tuple[State, bool]:
        heights = {a: measured(judged.evidence) for a, judged in replies.items() if judged.evidence}
        answer = joint_evidence[0].answer
        assert isinstance(answer, Mapping)
        tilt = answer["tilt"]
        assert isinstance(tilt, int)
        after = replace(state, **heights, dropped=tilt > self.options.max_tilt)
        return after, after.dropped or self.success(after)

    def success(self, state: State) -> bool:
        return not state.dropped and state.left == state.right == state.shelf

    def render(self, state: State) -> str:
        held = "dropped" if state.dropped else "held"
        return f"shelf {state.shelf} left {state.left} right {state.right} {held}"

    def solve(self, state: State, agent: str) -> str | None:
        other = state.right if agent == "left" else state.left
        return str(state.shelf) if other == state.shelf else None

    def would_solve(self, agent: str, outcome: Outcome[State]) -> bool:
        return self.success(outcome.state)

    def attempts(self, state: State, agent: str, generator: Random) -> list[str]:
        return [str(height) for height in range(13)]


def read_height(reply: str) -> int | None:
    """The height that a reply says, or None."""
    text = reply.strip()
    return int(text) if text.isascii() and text.isdigit() and len(text) <= 2 else None


def measured(evidence: Sequence[Evidence]) -> int:
    """The height that the scale showed."""
    answer = evidence[0].answer
    assert isinstance(answer, Mapping)
    height = answer["height"]
    assert isinstance(height, int)
    return height
