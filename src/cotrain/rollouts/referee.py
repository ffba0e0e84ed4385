"""The seam between play and the rules: calls in, answers or failures out, in order.

The engine asks for a whole wave at once; a referee decides where the rules run. Where they are
trusted to return, that is here.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from cotrain.config.faults import told
from cotrain.core.episode import CandidateStatus, EpisodeStatus
from cotrain.environments.base import Environment, ServiceLostError
from cotrain.environments.returned import RULE_FAULTS

Value = TypeVar("Value")


@dataclass(frozen=True, slots=True)
class Call(Generic[Value]):
    """One question to the rules: a function of `environments/rules.py`, called with these.

    The environment is the function's first argument and is added by the referee.
    """

    rule: Callable[..., Value]
    arguments: tuple[object, ...]


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a call has no answer: `error` with what was raised, or `timeout`."""

    status: CandidateStatus
    message: str

    @property
    def ending(self) -> EpisodeStatus:
        """How an episode ends that cannot go on without this answer."""
        late = self.status is CandidateStatus.TIMEOUT
        return EpisodeStatus.TIMEOUT if late else EpisodeStatus.ENVIRONMENT_ERROR


class Referee(Protocol):
    """Applies the rules of one environment."""

    @property
    def environment(self) -> Environment[Any]:
        """The environment, for what describes it: its name, roles and phases."""
        ...

    def ask(self, calls: Sequence[Call[Value]]) -> list[Value | Failure]:
        """The answer to each call, in order; raises ServiceLostError, and nothing else."""
        ...

    def close(self) -> None:
        """Ends what the rules run in."""
        ...


@dataclass(frozen=True, slots=True)
class LocalReferee:
    """Applies the rules in this process, one call after the other."""

    environment: Environment[Any]

    def ask(self, calls: Sequence[Call[Value]]) -> list[Value | Failure]:
        """The answer to each call, in order."""
        return [answered(self.environment, call) for call in calls]

    def close(self) -> None:
        """Nothing was opened."""


def answered(environment: Environment[Any], call: Call[Value]) -> Value | Failure:
    """The answer to one call; what the rules raise is a failure with its type and message.

    >>> from cotrain.environments.registry import make_environment
    >>> from cotrain.environments.rules import success
    >>> answered(make_environment("plan_path"), Call(success, (None,))).message
    "AttributeError: 'NoneType' object has no attribute 'position'"
    """
    try:
        return call.rule(environment, *call.arguments)
    except ServiceLostError:
        raise
    except RULE_FAULTS as error:
        return Failure(CandidateStatus.ERROR, told(error))
