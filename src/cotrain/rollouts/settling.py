"""Credit that needs later turns: the rules' `settle`, asked once an episode has ended."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from cotrain.core.episode import CandidateStatus, Episode, Settled
from cotrain.core.rewards import UNSCORED_ENDINGS
from cotrain.environments import rules as ask
from cotrain.rollouts.referee import Call, Failure, Referee


def settled(referee: Referee, episodes: Sequence[Episode]) -> list[Episode]:
    """The episodes with what `settle` gives their agents, each in the order of play.

    One stays as it is where the rules define no `settle`, and where a failure ended it, since it
    then has no score to add to. A `settle` that raises, names an agent and turn that did not act,
    or gives what is not a finite number ends its episode as `environment_error`, one that is late
    as `timeout`: a masked member for all of its agents.
    """
    if referee.environment.settle is None:
        return list(episodes)
    open_ones = [episode for episode in episodes if episode.status not in UNSCORED_ENDINGS]
    answers = iter(referee.ask([Call(ask.settle, (episode,)) for episode in open_ones]))
    return [
        episode if episode.status in UNSCORED_ENDINGS else _with_credits(episode, next(answers))
        for episode in episodes
    ]


def _with_credits(episode: Episode, answer: Mapping[object, float] | Failure) -> Episode:
    found = answer if isinstance(answer, Failure) else _credits(episode, answer)
    if not isinstance(found, Failure):
        return replace(episode, settled=found)
    message = f"settle: {found.message}"
    return replace(episode, status=found.ending, success=False, message=message)


def _credits(episode: Episode, rewards: Mapping[object, float]) -> tuple[Settled, ...] | Failure:
    acted = list(dict.fromkeys((g.key.agent, g.key.turn) for g in episode.groups()))
    if unknown := [key for key in rewards if key not in acted]:
        return Failure(
            CandidateStatus.ERROR,
            f"a reward for {', '.join(map(repr, unknown))}; allowed are the (agent, turn) that "
            f"acted: {', '.join(map(repr, acted))}",
        )
    return tuple(Settled(*key, rewards[key]) for key in acted if key in rewards)
