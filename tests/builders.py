"""Builders of real records, with a default for all that a test does not speak of."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from cotrain.core.episode import (
    Candidate,
    CandidateStatus,
    Episode,
    EpisodeKey,
    EpisodeStatus,
    Finish,
    Group,
    Message,
    Part,
    Phase,
    Reply,
    Task,
    Turn,
    TurnKey,
)
from cotrain.core.samples import CreditedSample, Sample
from cotrain.policies.base import SampleRequest

SCORED = CandidateStatus.SCORED


def make_task(index: int = 0, data: object = None, split: str = "train") -> Task:
    """A task whose digest is its index."""
    return Task(split, index, f"{index:02x}", data)


def make_reply(
    text: str = "", ids: Sequence[int] = (5, 6, 2), finish: Finish = Finish.STOP
) -> Reply:
    """A reply whose log-probs are all -1."""
    return Reply(text, tuple(ids), (-1.0,) * len(ids), finish)


def make_candidate(
    index: int = 0,
    score: float | None = 0.0,
    *,
    team: float | None = None,
    local: Sequence[Part] = (),
    gate: float = 1.0,
    reply: Reply | None = None,
) -> Candidate:
    """A scored candidate, or one in error where the score is None."""
    status = CandidateStatus.ERROR if score is None else SCORED
    return Candidate(index, reply or make_reply(), status, score, team, tuple(local), gate)


def make_group(
    candidates: Sequence[Candidate],
    agent: str = "planner",
    turn: int = 1,
    *,
    episode: int = 0,
    followed: int | None = 0,
    trained: bool = True,
) -> Group:
    """A group of step 1, as wide as it has candidates, of policy `shared` version 0."""
    return Group(
        key=TurnKey(1, episode, agent, turn),
        role=agent,
        policy="shared",
        version=0,
        messages=(Message("user", "go"),),
        prompt_ids=(1, 2, 3),
        temperature=1.0,
        width=len(candidates),
        candidates=tuple(candidates),
        followed=followed,
        trained=trained,
    )


def make_episode(
    turns: Sequence[Sequence[Sequence[Group]]],
    status: EpisodeStatus = EpisodeStatus.TURN_LIMIT,
    success: bool = False,
    number: int = 0,
    task_number: int = 0,
) -> Episode:
    """An episode of step 1 from its groups: turns of phases of groups."""
    return Episode(
        step=1,
        number=number,
        task_number=task_number,
        task=make_task(task_number),
        status=status,
        success=success,
        turns=tuple(
            Turn(place, tuple(Phase(tuple(groups)) for groups in phases))
            for place, phases in enumerate(turns, start=1)
        ),
    )


def make_sample(
    score: float | None = 0.0,
    *,
    episode: int = 0,
    agent: str = "coder",
    turn: int = 1,
    candidate: int = 0,
    width: int = 2,
    task: int = 0,
    policy: str = "shared",
    version: int = 0,
    prompt: Sequence[int] = (1, 4, 3),
    reply: Sequence[int] = (5, 6, 2),
    logprobs: Sequence[float] | None = None,
    temperature: float = 1.0,
    finish: Finish = Finish.STOP,
) -> Sample:
    """A sample of step 1."""
    return Sample(
        key=TurnKey(1, episode, agent, turn),
        candidate=candidate,
        width=width,
        task_number=task,
        role=agent,
        policy=policy,
        version=version,
        prompt_ids=tuple(prompt),
        reply_ids=tuple(reply),
        sampler_logprobs=(-1.0,) * len(reply) if logprobs is None else tuple(logprobs),
        temperature=temperature,
        finish=finish,
        score=score,
    )


def make_credited(
    sample: Sample, advantage: float, group: TurnKey | EpisodeKey | None = None
) -> CreditedSample:
    """A sample with its advantage; one of exactly 0.0 stands for a group without signal."""
    return CreditedSample(sample, group or sample.key, advantage, advantage != 0.0)


@dataclass(frozen=True, slots=True)
class WrittenPolicy:
    """A sampler that looks each reply up by its seed, and writes prompts as one token a word.

    The ids of a reply are its bytes and a zero byte as end token. `write(seed)` may also return a
    whole Reply: a failed call, say.
    """

    name: str
    write: Callable[[int], str | Reply]
    context_tokens: int = 2**20
    version: int = 0

    def encode(self, messages: Sequence[Message]) -> tuple[int, ...]:
        words = [word for message in messages for word in message.content.split()]
        return tuple(sum(word.encode()) for word in words)

    def sample(self, requests: Sequence[SampleRequest]) -> list[tuple[Reply, ...]]:
        return [
            tuple(self._reply(seed, request.decoding.max_reply_tokens) for seed in request.seeds)
            for request in requests
        ]

    def _reply(self, seed: int, limit: int) -> Reply:
        written = self.write(seed)
        if isinstance(written, Reply):
            return written
        ids = (*written.encode(), 0)
        if len(ids) <= limit:
            return make_reply(written, ids)
        return make_reply(written[:limit], ids[:limit], Finish.LENGTH)
