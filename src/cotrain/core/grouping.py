"""Groups by key, checked. A violation stops the run and names the key and the members.

The two ways to group are the two families of methods: by turn (the tree: same prompt, same policy
version, exactly K members) and by whole episode.
"""

from collections.abc import Iterable, Sequence

from cotrain.core.episode import EpisodeKey, TurnKey
from cotrain.core.samples import Sample, SampleGroup


class GroupingError(RuntimeError):
    """Samples that must not share a mean were about to."""


def turn_groups(samples: Iterable[Sample]) -> list[SampleGroup]:
    """Groups by (step, episode, agent, turn), in the order of the keys.

    The order of the samples never matters. Raises GroupingError unless every group has exactly its
    width of distinct candidates, drawn from one prompt by one policy version.
    """
    by_key: dict[TurnKey, list[Sample]] = {}
    for sample in samples:
        by_key.setdefault(sample.key, []).append(sample)
    return [_turn_group(key, by_key[key]) for key in sorted(by_key)]


def episode_groups(samples: Iterable[Sample]) -> list[SampleGroup]:
    """Groups by (step, task, agent), in the order of the keys; the members are episodes.

    An episode in which the agent never acted adds no member. Raises GroupingError when a group has
    more members than episodes a task, mixes policy versions, or scores one episode in two ways.
    """
    by_key: dict[EpisodeKey, dict[int, list[Sample]]] = {}
    for sample in samples:
        key = EpisodeKey(sample.key.step, sample.task_number, sample.key.agent)
        by_key.setdefault(key, {}).setdefault(sample.key.episode, []).append(sample)
    return [_episode_group(key, by_key[key]) for key in sorted(by_key)]


def _turn_group(key: TurnKey, found: list[Sample]) -> SampleGroup:
    members = sorted(found, key=lambda sample: sample.candidate)
    first = members[0]
    if [sample.candidate for sample in members] != list(range(first.width)):
        raise GroupingError(
            f"group {key} needs candidates 0 to {first.width - 1} once each, "
            f"got {[sample.candidate for sample in members]}"
        )
    _refuse_others(
        key,
        "another prompt",
        [m.candidate for m in members if m.prompt_ids != first.prompt_ids],
    )
    _refuse_others(
        key,
        f"another policy or version than {first.policy} version {first.version}",
        [m.candidate for m in members if _played_by(m) != _played_by(first)],
    )
    return SampleGroup(key, tuple((m,) for m in members), tuple(m.score for m in members))


def _episode_group(key: EpisodeKey, episodes: dict[int, list[Sample]]) -> SampleGroup:
    numbers = sorted(episodes)
    first = episodes[numbers[0]][0]
    if len(numbers) > first.width:
        raise GroupingError(f"group {key} needs {first.width} episodes, got {numbers}")
    _refuse_others(
        key,
        f"another policy or version than {first.policy} version {first.version}",
        [n for n in numbers if any(_played_by(s) != _played_by(first) for s in episodes[n])],
    )
    _refuse_others(
        key, "two scores", [n for n in numbers if len({s.score for s in episodes[n]}) != 1]
    )
    members = tuple(tuple(sorted(episodes[n], key=lambda sample: sample.key.turn)) for n in numbers)
    return SampleGroup(key, members, tuple(member[0].score for member in members))


def _played_by(sample: Sample) -> tuple[str, int]:
    return sample.policy, sample.version


def _refuse_others(key: TurnKey | EpisodeKey, what: str, members: Sequence[int]) -> None:
    if members:
        raise GroupingError(f"group {key} mixes samples: members {list(members)} have {what}")
