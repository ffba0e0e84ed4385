"""Samples: replies on their way from an episode to the loss.

    episodes -> samples -> groups (core.grouping) -> credited samples -> learner

A sample carries all that grouping, checking and the loss need; nothing depends on its place in a
list.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace

from cotrain.core.advantages import Estimator, group_advantages, has_signal
from cotrain.core.episode import Candidate, Episode, EpisodeKey, Finish, Group, TurnKey


@dataclass(frozen=True, slots=True)
class Sample:
    """One reply with its prompt, as sampled. `score` is what its group compares; None is unscored.

    `width` is the number of members that its group must have.
    """

    key: TurnKey
    candidate: int
    width: int
    task_number: int
    role: str
    policy: str
    version: int
    prompt_ids: tuple[int, ...]
    reply_ids: tuple[int, ...]
    sampler_logprobs: tuple[float, ...]
    temperature: float
    finish: Finish
    score: float | None


@dataclass(frozen=True, slots=True)
class SampleGroup:
    """Samples that are compared with each other.

    `members` are tuples of samples: of one sample in tree sampling, of all the agent's turns of one
    episode in whole-episode sampling. `scores` holds one score a member.
    """

    key: TurnKey | EpisodeKey
    members: tuple[tuple[Sample, ...], ...]
    scores: tuple[float | None, ...]

    @property
    def has_signal(self) -> bool:
        """Whether its advantages are not all zero."""
        return has_signal(self.scores)


@dataclass(frozen=True, slots=True)
class CreditedSample:
    """A scored sample with its advantage. Without `has_signal` it is in the denominator only."""

    sample: Sample
    group: TurnKey | EpisodeKey
    advantage: float
    has_signal: bool


def turn_samples(episode: Episode) -> list[Sample]:
    """Every candidate of the trained groups of an episode, scored by its own turn.

    Followed or not, all scored candidates are trained on (paper, Algorithm 1).
    """
    return [
        _sample(episode, group, candidate, group.width, candidate.score)
        for group in episode.groups()
        if group.trained
        for candidate in group.candidates
    ]


def episode_samples(
    episode: Episode, width: int, score: Callable[[str], float | None]
) -> list[Sample]:
    """The replies of an episode's trained agents, each scored by the agent's whole episode.

    `width` is the number of episodes a task; `score(agent)` gives `core.rewards.episode_score`.
    """
    return [
        _sample(episode, group, candidate, width, score(group.key.agent))
        for group in episode.groups()
        if group.trained
        for candidate in group.candidates
    ]


def credit(
    groups: Iterable[SampleGroup], estimator: Estimator, cut_replies: str
) -> list[CreditedSample]:
    """Gives each scored sample the advantage of its member.

    Unscored samples are left out. With `cut_replies = "mask"` a reply that was cut at the length
    limit counts in its group's mean and std, and is left out as well.
    """
    credited: list[CreditedSample] = []
    for group in groups:
        advantages = group_advantages(group.scores, estimator)
        for member, advantage in zip(group.members, advantages, strict=True):
            if advantage is None:
                continue
            credited.extend(
                CreditedSample(sample, group.key, advantage, group.has_signal)
                for sample in member
                if cut_replies == "train" or sample.finish is not Finish.LENGTH
            )
    return credited


def demonstrated(
    episode: Episode, learners: Mapping[str, str], cut_replies: str
) -> list[CreditedSample]:
    """The followed replies of an episode as demonstrations, each of advantage 1.

    `learners` names the policy that learns a role's replies; those of other roles are left out, and
    so is what no policy followed. Log-probs are taken at temperature 1, whatever a reply was
    sampled at. With `cut_replies = "mask"` a reply that was cut at the length limit is left out.
    """
    samples = [
        replace(
            _sample(episode, group, chosen, 1, chosen.score),
            policy=learners[group.role],
            temperature=1.0,
        )
        for group in episode.groups()
        if (chosen := group.chosen) is not None and group.role in learners
    ]
    return [
        CreditedSample(sample, sample.key, advantage=1.0, has_signal=True)
        for sample in samples
        if sample.reply_ids and (cut_replies == "train" or sample.finish is not Finish.LENGTH)
    ]


def _sample(
    episode: Episode, group: Group, candidate: Candidate, width: int, score: float | None
) -> Sample:
    return Sample(
        key=group.key,
        candidate=candidate.index,
        width=width,
        task_number=episode.task_number,
        role=group.role,
        policy=group.policy,
        version=group.version,
        prompt_ids=group.prompt_ids,
        reply_ids=candidate.reply.token_ids,
        sampler_logprobs=candidate.reply.logprobs,
        temperature=group.temperature,
        finish=candidate.reply.finish,
        score=score,
    )
