"""The rules of an environment, each asked as one call whose answer is held to the contract.

Every function takes the environment and plain values, so that a call can be made here or in
another process. What the rules raise comes through, and what they returned in a wrong type raises
TypeError (`returned.py`).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from cotrain.core.episode import Episode, Evidence, Message, Request, Task
from cotrain.environments.base import Environment, Judged, Outcome
from cotrain.environments.returned import (
    checked_bool,
    checked_commit,
    checked_messages,
    checked_outcome,
    checked_requests,
    checked_settlement,
    checked_task,
    checked_text,
)


@dataclass(frozen=True, slots=True)
class Committed:
    """A state that an episode goes on from, whether the episode is over, and the state as text."""

    state: Any
    done: bool
    rendering: str


def task(environment: Environment[Any], split: str, seed: int, index: int) -> Task:
    """The problem at this place of the split's order."""
    return checked_task(environment.task(split, seed, index))


def start(environment: Environment[Any], task: Task, purpose: str) -> Committed:
    """The opening state of a task."""
    return render(environment, (environment.start(task, purpose), False))


def observe(
    environment: Environment[Any], state: Any, agents: Sequence[str]
) -> tuple[tuple[Message, ...], ...]:
    """What each of these agents reads in this state."""
    return tuple(checked_messages(environment.observe(state, agent)) for agent in agents)


def evidence(
    environment: Environment[Any], state: Any, agent: str, reply: str
) -> tuple[Request, ...]:
    """What must be run or checked before this reply can be judged."""
    return checked_requests("evidence", environment.evidence(state, agent, reply))


def act(
    environment: Environment[Any], state: Any, agent: str, reply: str, found: Sequence[Evidence]
) -> Outcome[Any]:
    """What one reply would lead to."""
    return checked_outcome(environment.act(state, agent, reply, tuple(found)))


def joint_evidence(
    environment: Environment[Any], state: Any, replies: Mapping[str, str]
) -> tuple[Request, ...]:
    """What must be run on the followed replies of a phase of several agents."""
    return checked_requests("joint_evidence", environment.joint_evidence(state, replies))


def commit(
    environment: Environment[Any],
    state: Any,
    replies: Mapping[str, Judged],
    found: Sequence[Evidence],
) -> Committed:
    """The state after a phase of several agents."""
    return render(environment, checked_commit(environment.commit(state, replies, tuple(found))))


def render(environment: Environment[Any], reached: tuple[Any, bool]) -> Committed:
    """A state, and whether the episode is over, with the state's text for a person.

    After a phase of one agent it is asked with what the followed outcome has reached.
    """
    state, done = reached
    return Committed(state, done, checked_text("render", environment.render(state)))


def success(environment: Environment[Any], state: Any) -> bool:
    """Whether the task is solved in this state."""
    return checked_bool("success", environment.success(state))


def settle(environment: Environment[Any], episode: Episode) -> dict[object, float]:
    """What `settle` gives for an episode; nothing where the rules define none."""
    return {} if environment.settle is None else checked_settlement(environment.settle(episode))
