"""The rewards of Plan-Path: the team's value and the planner's own, in three forms.

`"audited"` pays ground never reached before and few moves, so that nothing out-earns solving;
`"paper"` pays as the paper does, where a walk to and fro earns without end; `"outcome"` pays the
goal alone, beside the parts for the form of a reply and for legal moves.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from cotrain.environments.grid import Walk
from cotrain.environments.plan_path_state import State


def progress_on_best(state: State, end: int) -> float:
    """Team value: only ground never reached before counts, and less than the goal does."""
    left = state.distances[end]
    return 1.0 if left == 0 else 0.9 * max(0, state.best - left) / state.first_distance


def progress_of_turn(state: State, end: int) -> float:
    """Team value in the paper's form: ground won in this turn, whether new or not; 1 at most."""
    won = max(0, state.distance - state.distances[end])
    return min(1.0, won / state.first_distance)


def efficiency(state: State, moves: Sequence[str], played: Walk) -> float:
    """Ground won per move given; at least 0.5 at the goal, and less than 0.5 elsewhere."""
    left, given = state.distances[played.end], max(state.distance, len(moves))
    if left == 0:
        return 0.5 + 0.5 * state.distance / given
    return 0.5 * max(0, state.distance - left) / given


def share_on_shortest_path(state: State, moves: Sequence[str], played: Walk) -> float:
    """The share of the moves given that were played and led nearer: the paper's form."""
    return played.closer / len(moves)


def goal_reached(state: State, end: int) -> float:
    """1 at the goal, else 0."""
    return float(state.distances[end] == 0)


def goal_reached_by(state: State, moves: Sequence[str], played: Walk) -> float:
    """1 at the goal, however many moves, else 0."""
    return goal_reached(state, played.end)


@dataclass(frozen=True, slots=True)
class Reward:
    """One form of the reward: the team's value and the last part of the planner's own."""

    team: Callable[[State, int], float]
    efficiency: Callable[[State, Sequence[str], Walk], float]


REWARDS: Mapping[str, Reward] = MappingProxyType(
    {
        "audited": Reward(progress_on_best, efficiency),
        "paper": Reward(progress_of_turn, share_on_shortest_path),
        "outcome": Reward(goal_reached, goal_reached_by),
    }
)
