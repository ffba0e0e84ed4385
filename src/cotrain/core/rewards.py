"""From the parts of a reward to the score of a candidate, and to the score of a whole episode."""

from collections.abc import Sequence

from cotrain.core.episode import Episode, EpisodeStatus, Group, Part, Turn

MAX_SCORE = 3.4028234663852886e38


def local_reward(parts: Sequence[Part], gate: float = 1.0) -> float:
    """An agent's own reward, `gate * sum(weight * value)`; 0.0 without parts.

    >>> local_reward([Part("format", 0.2, 1.0), Part("answer", 0.8, 0.5)])
    0.6000000000000001
    """
    return gate * sum(part.weight * part.value for part in parts)


def turn_score(team: float, parts: Sequence[Part], gate: float, team_weight: float) -> float | None:
    """The score of one candidate, `alpha * team + local` (paper, Eq. 3; alpha = `team_weight`).

    Returns None when the score is NaN or infinite, or would be in float32, the type of the loss:
    such a candidate is unscored, not worth 0.

    >>> turn_score(0.5, [Part("format", 1.0, 1.0)], 1.0, team_weight=1.0)
    1.5
    """
    score = team_weight * team + local_reward(parts, gate)
    return score if abs(score) <= MAX_SCORE else None


def episode_score(episode: Episode, agent: str, team_weight: float, max_turns: int) -> float | None:
    """The score of a whole episode for one agent, one number for all of the agent's turns.

    `alpha * max_t team_t + (1 / T) * sum_t local_t + sum_t settled_t`, T the turn limit. `team_t`
    is the team value of the turn's last phase (of its first followed agent, which is the same for
    all); a turn that was broken off before its last phase has none. Turns that a success made
    unnecessary for the agent count local 1; turns lost otherwise count 0. `settled_t` is what the
    environment's `settle` gave the agent for the turn, 0 where it gave nothing. An episode that
    ended for an unscored reply has no score: it is a masked member for all of its agents. Nor has
    one whose score would not be finite in float32, the type of the loss.
    """
    if episode.status in UNSCORED_ENDINGS:
        return None
    team, local, played = 0.0, 0.0, 0
    for turn in episode.turns:
        if not _broken_off(turn, episode):
            team = max(team, _team_value(turn.phases[-1].groups))
        own = [g for phase in turn.phases for g in phase.groups if g.key.agent == agent]
        local += sum(local_reward(c.local, c.gate) for g in own if (c := g.chosen) is not None)
        played += len(own)
    if episode.success:
        local += max_turns - played
    settled = sum(credit.reward for credit in episode.settled if credit.agent == agent)
    score = team_weight * team + local / max_turns + settled
    return score if abs(score) <= MAX_SCORE else None


UNSCORED_ENDINGS = frozenset(
    {EpisodeStatus.UNSCORED, EpisodeStatus.TIMEOUT, EpisodeStatus.ENVIRONMENT_ERROR}
)


def _broken_off(turn: Turn, episode: Episode) -> bool:
    """Whether a prompt of this turn found no room, so that its last phase was not played."""
    ended_here = episode.status is EpisodeStatus.CONTEXT_LENGTH and turn is episode.turns[-1]
    return ended_here and len(turn.phases) < len(episode.turns[0].phases)


def _team_value(groups: Sequence[Group]) -> float:
    values = [c.team for group in groups if (c := group.chosen) is not None and c.team is not None]
    return values[0] if values else 0.0
