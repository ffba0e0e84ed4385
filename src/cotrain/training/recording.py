"""The row of a training step: every figure of `metrics.jsonl`, from the records of the step."""

import resource
import sys
import time
from collections import Counter
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from cotrain.core.episode import Candidate, Episode, Evidence, Group, TurnKey
from cotrain.core.rewards import UNSCORED_ENDINGS
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
    def failure(self) -> str | None:
        """Why the step taught nothing that can be trusted; None for a step that went well.

        It failed when an update was refused, or when nothing that it trains on has a score.
        """
        refused = [name for name, report in self.reports.items() if report.non_finite]
        if refused:
            return f"the loss of policy {', '.join(refused)} or its gradient was not finite"
        if self._nothing_is_scored():
            return f"no reply was scored; most often: {most_frequent_failure(self.episodes)}"
        return None

    def _nothing_is_scored(self) -> bool:
        scores = [score for group in self.groups for score in group.scores]
        if scores:
            return all(score is None for score in scores)
        return all(episode.status in UNSCORED_ENDINGS for episode in self.episodes)


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
    return dict(Counter(name for name, _ in _failures(episodes)))


def retry_counts(episodes: Sequence[Episode]) -> dict[str, int]:
    """How often requests were tried again, by kind; empty when none was.

    >>> retry_counts([])
    {}
    """
    counts = Counter[str]()
    for evidence in _all_evidence(episodes):
        counts[evidence.request.kind] += evidence.retries
    return dict(+counts)


def most_frequent_failure(episodes: Sequence[Episode]) -> str:
    """The most frequent status of what failed, its count, and the most frequent message with it.

    >>> most_frequent_failure([])
    'nothing failed'
    """
    found = _failures(episodes)
    if not found:
        return "nothing failed"
    name, count = Counter(name for name, _ in found).most_common(1)[0]
    messages = Counter(message for failed, message in found if failed == name and message)
    said = f", {messages.most_common(1)[0][0]}" if messages else ""
    return f"{name} ({count} times){said}"


def _failures(episodes: Sequence[Episode]) -> list[tuple[str, str]]:
    """`(status, message)` of every candidate and episode that failed, candidates first."""
    candidates = [
        (f"candidate {candidate.status.value}", candidate.message)
        for _, candidate in _candidates(episodes)
        if candidate.score is None
    ]
    failed = [(f"episode {e.status.value}", e.message) for e in episodes if e.message]
    return candidates + failed


def _all_evidence(episodes: Sequence[Episode]) -> Iterator[Evidence]:
    for _, candidate in _candidates(episodes):
        yield from candidate.evidence
    for phase in (p for episode in episodes for turn in episode.turns for p in turn.phases):
        yield from phase.joint_evidence


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
        "optimizer_steps": report.optimizer_steps,
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
