"""Success of a team on held-out tasks: one reply an agent and turn, its own decoding, no tree."""

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from cotrain.core.episode import Candidate, Episode, Group
from cotrain.policies.base import Decoding
from cotrain.rollouts.episodes import EvaluationEpisodes
from cotrain.runs.metrics import mean, success_figures


@dataclass(frozen=True, slots=True)
class Contender:
    """A team that can be evaluated: what it is called, who plays, and how.

    `runs` says for each role which run its policy is from; None is the row's own run.
    """

    method: str
    episodes: EvaluationEpisodes
    decoding: Decoding
    runs: Mapping[str, str | None]


def evaluate(contender: Contender, split: str, tasks: int, step: int) -> dict[str, object]:
    """One row of `evaluations.jsonl`."""
    episodes = list(contender.episodes.play(split, range(tasks), step))
    decoding = contender.decoding
    replies = [
        (group, candidate)
        for episode in episodes
        for group in episode.groups()
        for candidate in group.candidates
    ]
    tokens = sum(len(candidate.reply.token_ids) for _, candidate in replies)
    return {
        "step": step,
        "method": contender.method,
        "policies": _policies(contender),
        "split": split,
        **success_figures(sum(episode.success for episode in episodes), len(episodes)),
        "turns": contender.episodes.limits.max_turns,
        "turns_mean": mean([float(len(episode.turns)) for episode in episodes]),
        "tokens_mean": tokens / len(episodes),
        "decoding": {
            "temperature": decoding.temperature,
            "top_p": decoding.top_p,
            "top_k": decoding.top_k,
        },
        "seed": contender.episodes.seed,
        "roles": _role_figures(contender, replies),
        "endings": _endings(episodes),
        "solved": "".join("01"[episode.success] for episode in episodes),
        "task_hash": _hash_of_tasks(episodes),
    }


def _hash_of_tasks(episodes: Iterable[Episode]) -> str:
    digests = "\n".join(episode.task.digest for episode in episodes)
    return hashlib.sha256(digests.encode()).hexdigest()


def _policies(contender: Contender) -> dict[str, object]:
    return {
        player.role: {
            "policy": player.sampler.name,
            "version": player.sampler.version,
            "run": contender.runs.get(player.role),
        }
        for player in contender.episodes.cast.values()
    }


def _role_figures(
    contender: Contender, replies: Iterable[tuple[Group, Candidate]]
) -> dict[str, object]:
    by_role: dict[str, list[Candidate]] = {
        player.role: [] for player in contender.episodes.cast.values()
    }
    for group, candidate in replies:
        by_role[group.role].append(candidate)
    return {
        role: {
            "score_mean": mean([candidate.score for candidate in found]),
            "reply_tokens_mean": mean([float(len(c.reply.token_ids)) for c in found]),
            "unscored": sum(candidate.score is None for candidate in found),
        }
        for role, found in by_role.items()
    }


def _endings(episodes: Iterable[Episode]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for episode in episodes:
        counts[episode.status.value] = counts.get(episode.status.value, 0) + 1
    return dict(sorted(counts.items()))
