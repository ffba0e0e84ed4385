"""The rewards of Sokoban: the team's value and the push progress, in two forms.

`"audited"` pays only what is better than the best so far, so that nothing out-earns solving;
`"paper"` pays the boxes at home and the pushes won in the turn, whether new or not.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

from cotrain.core.episode import Part
from cotrain.environments.sokoban_room import Played
from cotrain.environments.sokoban_search import least_pushes
from cotrain.environments.sokoban_state import State


@dataclass(frozen=True, slots=True)
class Result:
    """What a list of moves led to.

    `home` boxes stand on targets; `pushes_left` are needed still, None where a box cannot come
    home; `deadlocked` tells whether a box stands on a dead cell.
    """

    played: Played
    home: int
    pushes_left: int | None
    deadlocked: bool


def result_of(state: State, played: Played) -> Result:
    """The result of moves that were played on this state's board."""
    position = played.position
    return Result(
        played=played,
        home=(position.boxes & state.room.goals).bit_count(),
        pushes_left=least_pushes(state.room, state.pushes, position),
        deadlocked=state.pushes.deadlocked(position.boxes),
    )


def after(state: State, result: Result) -> State:
    """The state once the moves count."""
    left = state.best_pushes if result.pushes_left is None else result.pushes_left
    return replace(
        state,
        position=result.played.position,
        best_pushes=min(state.best_pushes, left),
        best_home=max(state.best_home, result.home),
        moves_played=state.moves_played + result.played.moves,
        proposal=None,
        fault="",
    )


def new_boxes_home(state: State, result: Result) -> float:
    """Team value: 1 with all boxes home, else 0.9 a box above the best so far, of all boxes."""
    if result.home == state.num_boxes:
        return 1.0
    return 0.9 * max(0, result.home - state.best_home) / state.num_boxes


def boxes_home(state: State, result: Result) -> float:
    """Team value in the paper's form: the share of boxes at home, whether new or not."""
    return result.home / state.num_boxes


def progress_on_best(state: State, result: Result) -> float:
    """Pushes fewer than the fewest so far, of those needed from the opening."""
    return _share(state, state.best_pushes, result.pushes_left)


def progress_of_turn(state: State, result: Result) -> float:
    """The same against the opening of the turn: the paper's form; 1 at most."""
    before = least_pushes(state.room, state.pushes, state.position)
    return min(1.0, _share(state, before, result.pushes_left))


def safe(result: Result) -> float:
    """1 where a box was pushed and none stands on a dead cell."""
    return float(result.played.pushes > 0 and not result.deadlocked)


@dataclass(frozen=True, slots=True)
class Reward:
    """One form of the reward: the team's value and the push progress."""

    team: Callable[[State, Result], float]
    progress: Callable[[State, Result], float]

    def of_plan(self, state: State, result: Result) -> tuple[Part, Part]:
        """A decider's own parts."""
        progress = self.progress(state, result)
        return Part("safe", 0.4, safe(result)), Part("progress", 0.4, progress)

    def of_proposal(self, state: State, result: Result) -> tuple[Part]:
        """A proposer's own part: what the list would earn if it were played."""
        worth = self.team(state, result) + self.progress(state, result)
        return (Part("proposal", 0.8, min(1.0, worth)),)


REWARDS: Mapping[str, Reward] = MappingProxyType(
    {
        "audited": Reward(new_boxes_home, progress_on_best),
        "paper": Reward(boxes_home, progress_of_turn),
    }
)


def _share(state: State, before: int | None, left: int | None) -> float:
    if before is None or left is None:
        return 0.0
    return max(0, before - left) / max(1, state.first_pushes)
