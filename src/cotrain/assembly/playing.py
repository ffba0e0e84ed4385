"""One episode of a team, played as an evaluation plays it, for a person to read."""

import json
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cotrain.assembly.evaluating import refuse_unknown_split, team_of
from cotrain.config import parse_assignments
from cotrain.core.episode import Episode
from cotrain.runs.durable import refuse_unreachable
from cotrain.runs.episode_file import encode_episode


@dataclass(frozen=True, slots=True)
class Played:
    """An episode with what it takes to read it: environment, turn limit, seed, the team's step."""

    environment: str
    max_turns: int
    team_weight: float
    seed: int
    team_step: int
    episode: Episode

    def as_json(self) -> dict[str, Any]:
        """The episode, as a line of an episode file holds it, with what stands beside it."""
        return {
            "environment": self.environment,
            "turns": self.max_turns,
            "team_weight": self.team_weight,
            "seed": self.seed,
            "step": self.team_step,
            "episode": json.loads(encode_episode(self.episode, {})),
        }


def play(
    target: str | Path,
    assignments: list[str],
    task: int = 0,
    split: str = "test",
    seed: int | None = None,
) -> Played:
    """Plays the task at this place of the split, with the decoding and seeds of `evaluate`.

    `target` is a run folder, a checkpoint, a file or a preset; `seed` sets `evaluation.seed`.
    Raises ConfigurationError for wrong settings, RunFolderRefusedError for a folder without a team.
    """
    refuse_unknown_split(split)
    refuse_unreachable(Path(target))
    given = {} if seed is None else {"evaluation.seed": seed}
    with closing(team_of(target, parse_assignments(assignments) | given)) as team:
        episodes = team.contender.episodes
        return Played(
            environment=episodes.engine.environment.name,
            max_turns=episodes.limits.max_turns,
            team_weight=episodes.limits.team_weight,
            seed=episodes.seed,
            team_step=team.step,
            episode=next(episodes.play(split, [task], team.step)),
        )
