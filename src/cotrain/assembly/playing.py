"""One episode of a team, played as an evaluation plays it, for a person to read."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from cotrain.assembly.evaluating import SavedTeam, fresh_team, saved_team
from cotrain.assembly.resolving import resolved
from cotrain.config import ConfigurationError, Fault, load_config, parse_assignments, show
from cotrain.core.episode import Episode
from cotrain.core.seeds import derive_seed
from cotrain.core.selection import follow_random
from cotrain.environments.base import SPLITS
from cotrain.rollouts.base import Opening, PlayRules, any_unscored
from cotrain.rollouts.episodes import EvaluationEpisodes


@dataclass(frozen=True, slots=True)
class Played:
    """An episode with what it takes to read it: environment, turn limit, seed, the team's step."""

    environment: str
    max_turns: int
    team_weight: float
    seed: int
    team_step: int
    episode: Episode


def play(
    target: str | Path,
    assignments: list[str],
    task: int = 0,
    split: str = "test",
    seed: int | None = None,
) -> Played:
    """Plays the task at this place of the split, with the replies that `evaluate` would get.

    `target` is a run folder, a checkpoint, a file or a preset; `seed` sets `evaluation.seed`.
    Raises ConfigurationError for wrong settings, RunFolderRefusedError for a folder without a team.
    """
    if split not in SPLITS:
        raise ConfigurationError([Fault("--split", show(split), f"must be {', '.join(SPLITS)}")])
    overrides = parse_assignments(assignments)
    overrides |= {} if seed is None else {"evaluation.seed": seed}
    team = team_of(target, overrides)
    episodes = team.contender.episodes
    return Played(
        environment=episodes.engine.environment.name,
        max_turns=episodes.limits.max_turns,
        team_weight=episodes.limits.team_weight,
        seed=episodes.seed,
        team_step=team.step,
        episode=_play_one(episodes, split, task, team.step),
    )


def team_of(target: str | Path, overrides: Mapping[str, object]) -> SavedTeam:
    """The team of a run folder or checkpoint, or the untrained one of a file or preset."""
    if Path(target).is_dir():
        return saved_team(Path(target), overrides)
    return fresh_team(resolved(load_config(target, overrides)))
