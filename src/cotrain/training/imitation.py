"""Imitation of solved episodes: which are kept, in what order they come, and as whose replies.

episodes as stored -> kept -> encoded for the policies that learn -> a step's episodes
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TypeAlias

from cotrain.core.episode import Episode, Finish, Group, Reply
from cotrain.core.samples import demonstrated
from cotrain.environments.base import epoch_position
from cotrain.policies.chat import ChatCodec
from cotrain.training.trainer import Credited

Keeping: TypeAlias = Callable[[Iterable[Episode]], list[Episode]]


def best_of_each_task(solved: Iterable[Episode]) -> list[Episode]:
    """One episode a task: the fewest turns, then the fewest tokens, then the first.

    Tasks come in the order of their first episode.
    """
    best: dict[str, Episode] = {}
    for episode in solved:
        found = best.setdefault(episode.task.digest, episode)
        if _effort(episode) < _effort(found):
            best[episode.task.digest] = episode
    return list(best.values())


KEEPING: Mapping[str, Keeping] = MappingProxyType({"best": best_of_each_task, "solved": list})
"""The rules of selection by the values of `imitation.keep`."""


@dataclass(frozen=True, slots=True)
class Demonstrations:
    """The episodes of supervised steps. Each epoch is a seeded permutation of all that are kept.

    Step s imitates the places (s - 1) n to s n - 1 of that endless order.
    """

    episodes: Sequence[Episode]
    episodes_per_step: int
    seed: int

    def play(self, step: int) -> list[Episode]:
        """The episodes of this step, under its keys; policy and version stay those that played."""
        first = (step - 1) * self.episodes_per_step
        size = len(self.episodes)
        return [
            _in_step(self.episodes[epoch_position(size, self.seed, first + number)], step, number)
            for number in range(self.episodes_per_step)
        ]


@dataclass(frozen=True, slots=True)
class ImitationCredit:
    """Every followed reply of a role that learns in the step, for the role's own policy.

    Nothing is compared, so there are no groups. `learners_of(step)` maps roles to policies.
    """

    learners_of: Callable[[int], Mapping[str, str]]
    cut_replies: str

    def __call__(self, episodes: Sequence[Episode]) -> Credited:
        """The demonstrations of a step's episodes."""
        return [], [
            sample
            for episode in episodes
            for sample in demonstrated(episode, self.learners_of(episode.step), self.cut_replies)
        ]


@dataclass(frozen=True, slots=True)
class Reader:
    """How a role's policy reads: its codec, and what fits."""

    codec: ChatCodec
    max_prompt_tokens: int
    max_reply_tokens: int
    context_tokens: int

    def fits(self, group: Group) -> bool:
        """Whether the policy could be given this prompt and could write this reply."""
        reply = 0 if group.chosen is None else len(group.chosen.reply.token_ids)
        prompt = len(group.prompt_ids)
        return (
            prompt <= self.max_prompt_tokens
            and reply <= self.max_reply_tokens
            and prompt + reply <= self.context_tokens
        )

    def knows(self, group: Group) -> bool:
        """Whether the stored ids are what this policy would have read and written."""
        if group.chosen is None:
            return True
        reply = group.chosen.reply
        ended = reply.finish is Finish.STOP
        written = reply.token_ids[:-1] if ended else reply.token_ids
        return (
            self.codec.encode(group.messages) == group.prompt_ids
            and self.codec.decode(written) == reply.text
            and (not ended or reply.token_ids[-1:] in [(end,) for end in self.codec.end_ids])
        )

    def encoded(self, group: Group) -> Group:
        """The group with prompt and reply encoded anew, from messages and text."""
        if group.chosen is None:
            return group
        reply = replace(group.chosen, reply=self._encoded(group.chosen.reply))
        prompt_ids = self.codec.encode(group.messages)
        return replace(group, prompt_ids=prompt_ids, candidates=(reply,), followed=0)

    def _encoded(self, reply: Reply) -> Reply:
        end = (self.codec.end_id,) if reply.finish is Finish.STOP else ()
        return replace(reply, token_ids=self.codec.encode_reply(reply.text) + end, logprobs=())


@dataclass(frozen=True, slots=True)
class Encoded:
    """Episodes in the ids of the policies that learn.

    `encoded_anew` counts, by role, the replies whose stored ids were of another tokenizer or chat
    template; `num_too_long` the episodes that were left out, since a prompt or reply does not fit.
    """

    episodes: list[Episode]
    encoded_anew: Mapping[str, int]
    num_too_long: int


def encoded(episodes: Iterable[Episode], readers: Mapping[str, Reader]) -> Encoded:
    """Each reply of the roles that learn, in its policy's own ids. `readers` are those of roles."""
    kept: list[Episode] = []
    anew: dict[str, int] = {}
    num_too_long = 0

    def read(group: Group) -> Group:
        reader = readers.get(group.role)
        if reader is None or reader.knows(group):
            return group
        anew[group.role] = anew.get(group.role, 0) + 1
        return reader.encoded(group)

    for episode in episodes:
        here = _with_groups(episode, read)
        if all(readers[g.role].fits(g) for g in here.groups() if g.role in readers):
            kept.append(here)
        else:
            num_too_long += 1
    return Encoded(kept, anew, num_too_long)


def _effort(episode: Episode) -> tuple[int, int]:
    replies = [group.chosen.reply for group in episode.groups() if group.chosen is not None]
    return len(episode.turns), sum(len(reply.token_ids) for reply in replies)


def _in_step(episode: Episode, step: int, number: int) -> Episode:
    """The episode under the keys of a step, where it may come beside one of the same old keys."""

    def rekeyed(group: Group) -> Group:
        return replace(group, key=replace(group.key, step=step, episode=number))

    here = replace(episode, step=step, number=number, task_number=number)
    return _with_groups(here, rekeyed)


def _with_groups(episode: Episode, changed: Callable[[Group], Group]) -> Episode:
    turns = [
        replace(
            turn,
            phases=tuple(
                replace(phase, groups=tuple(map(changed, phase.groups))) for phase in turn.phases
            ),
        )
        for turn in episode.turns
    ]
    return replace(episode, turns=tuple(turns))
