"""The row of a training step: every figure of `metrics.jsonl`, from the records of the step."""

import resource
import sys
import time
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from cotrain.core.episode import Candidate, Episode, Finish, Group, TurnKey
from cotrain.core.samples import CreditedSample, SampleGroup
from cotrain.learning.base import UpdateReport
from cotrain.runs.metrics import mean, policy_figures, ratio, role_figures


@dataclass(frozen=True, slots=True)
class StepRecord:
    """What happened in one step."""

    step: int
    episodes: Sequence[Episode]
    groups: Sequence[SampleGroup]
    credited: Sequence[CreditedSample]
    reports: Mapping[str, UpdateReport]

    @property
    def tokens_sampled(self) -> int:
        """All sampled tokens, those of failed candidates included."""
        return sum(len(c.reply.token_ids) for _, c in _candidates(self.episodes))

    @property
    def all_replies_failed(self) -> bool:
        """Whether the trained policies wrote nothing: each call of one failed."""
        found = _candidates(self.episodes)
        return {c.reply.finish for group, c in found if group.trained} == {Finish.ERROR}


@dataclass(slots=True)
class Stopwatch:
    """Seconds by name, of one step."""

    seconds: dict[str, float] = field(default_factory=dict[str, float])

    @contextmanager
    def measure(self, name: str) -> Generator[None]:
        """Adds the time of the block to this name."""
        began = time.perf_counter()
        yield
        self.seconds[name] = self.seconds.get(name, 0.0) + time.perf_counter() - began


def step_row(record: StepRecord, roles: Sequence[str], watch: Stopwatch) -> dict[str, object]:
    """The row of `metrics.jsonl`; what does not exist is None."""
    candidates = _candidates(record.episodes)
    tokens = record.tokens_sampled
    seconds = watch.seconds
    row: dict[str, object] = {
        "step": record.step,
        "success": mean([float(episode.success) for episode in record.episodes]),
        "spine_gain": _spine_gain(record.episodes),
        "turns_mean": mean([float(len(episode.turns)) for episode in record.episodes]),
        "score_mean": mean([candidate.score for _, candidate in candidates]),
        "groups": len(record.groups),
        "groups_without_signal": sum(not group.has_signal for group in record.groups),
        "groups_by_turn": _groups_by_turn(record.groups),
        "candidates": len(candidates),
        "candidates_failed": sum(candidate.score is None for _, candidate in candidates),
        "tokens_sampled": tokens,
        "tokens_trained": sum(report.tokens_trained for report in record.reports.values()),
        "rollout_seconds": seconds["rollout"],
        "update_seconds": seconds["update"],
        "sync_seconds": seconds.get("sync", 0.0),
        "total_seconds": sum(seconds.values()),
        "tokens_per_second": ratio(tokens, seconds["rollout"]),
        "peak_memory_bytes": peak_memory_bytes(),
    }
    for name, report in record.reports.items():
        row |= policy_figures(name, _of_policy(report))
    for role in roles:
        row |= role_figures(role, _of_role(role, record))
    return row


def peak_memory_bytes() -> int:
    """The largest memory that this process has used, in bytes."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def failure_counts(episodes: Sequence[Episode]) -> dict[str, int]:
    """How many candidates and episodes failed, by status; empty when none did.

    >>> failure_counts([])
    {}
    """
    counts: dict[str, int] = {}
    for _, candidate in _candidates(episodes):
        if candidate.score is None:
            name = f"candidate {candidate.status.value}"
            counts[name] = counts.get(name, 0) + 1
    for episode in episodes:
        if episode.message:
            name = f"episode {episode.status.value}"
            counts[name] = counts.get(name, 0) + 1
    return counts


def _candidates(episodes: Sequence[Episode]) -> list[tuple[Group, Candidate]]:
    return [(g, c) for episode in episodes for g in episode.groups() for c in g.candidates]


def _spine_gain(episodes: Sequence[Episode]) -> float | None:
    gains: list[float | None] = []
    for group in (g for episode in episodes for g in episode.groups() if g.trained):
        chosen, average = group.chosen, mean([c.score for c in group.candidates])
        if chosen is not None and chosen.score is not None and average is not None:
            gains.append(chosen.score - average)
    return mean(gains)


def _groups_by_turn(groups: Sequence[SampleGroup]) -> list[int]:
    """How many groups turn 1, 2, ... formed; none where the groups are of whole episodes."""
    turns = [group.key.turn for group in groups if isinstance(group.key, TurnKey)]
    return [turns.count(turn) for turn in range(1, max(turns, default=0) + 1)]


def _of_policy(report: UpdateReport) -> dict[str, object]:
    return {
        "version": report.version,
        "loss": report.loss,
        "grad_norm": report.grad_norm,
        "clip_fraction": report.clip_fraction,
        "samples": report.samples,
        "skipped": report.skipped,
        "logprob_gap": report.logprob_gap,
        "kl": report.kl,
    }


def _of_role(role: str, record: StepRecord) -> dict[str, object]:
    own = [c for group, c in _candidates(record.episodes) if group.role == role]
    return {
        "score_mean": mean([candidate.score for candidate in own]),
        "reply_tokens_mean": mean([float(len(c.reply.token_ids)) for c in own]),
        "loss_share": _loss_share(role, record),
    }


def _loss_share(role: str, record: StepRecord) -> float | None:
    shares = (report.loss_shares for report in record.reports.values())
    return next((found[role] for found in shares if role in found), None)
