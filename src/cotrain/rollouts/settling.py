"""Credit that needs later turns: the rules' `settle`, asked once an episode has ended."""

from dataclasses import replace
from typing import Any

from cotrain.core.episode import Episode, EpisodeStatus, Settled
from cotrain.core.rewards import UNSCORED_ENDINGS
from cotrain.environments.base import Environment
from cotrain.environments.returned import RULE_FAULTS, checked_settlement


def settled(environment: Environment[Any], episode: Episode) -> Episode:
    """The episode with what `settle` gives its agents, in the order of play.

    It stays as it is where the rules define no `settle`, and where a failure ended it, since it
    then has no score to add to. A `settle` that raises, names an agent and turn that did not act,
    or gives what is not a finite number ends it as `environment_error`: a masked member for all of
    its agents.
    """
    if environment.settle is None or episode.status in UNSCORED_ENDINGS:
        return episode
    try:
        rewards = checked_settlement(environment.settle(episode))
        return replace(episode, settled=_credits(episode, rewards))
    except RULE_FAULTS as error:
        return replace(
            episode,
            status=EpisodeStatus.ENVIRONMENT_ERROR,
            success=False,
            message=f"settle: {type(error).__name__}: {error}",
        )


def _credits(episode: Episode, rewards: dict[object, float]) -> tuple[Settled, ...]:
    acted = list(dict.fromkeys((g.key.agent, g.key.turn) for g in episode.groups()))
    if unknown := [key for key in rewards if key not in acted]:
        raise ValueError(
            f"a reward for {', '.join(map(repr, unknown))}; allowed are the (agent, turn) that "
            f"acted: {', '.join(map(repr, acted))}"
        )
    return tuple(Settled(*key, rewards[key]) for key in acted if key in rewards)
