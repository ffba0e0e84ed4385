"""Where a step's episodes and an evaluation's episodes come from: an environment and its tasks."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count

from cotrain.core.episode import Episode, Task
from cotrain.core.seeds import derive_seed
from cotrain.core.selection import Selection, follow_random
from cotrain.environments import rules as ask
from cotrain.rollouts.base import Cast, NoTaskError, Opening, PlayRules, any_unscored
from cotrain.rollouts.engine import Engine
from cotrain.rollouts.methods import Method
from cotrain.rollouts.referee import Call, Failure, Referee
from cotrain.rollouts.settling import settled

# An evaluation is played in parts, so that its memory does not grow with its size.
EVALUATION_WAVE = 256


@dataclass(frozen=True, slots=True)
class Limits:
    """What bounds an episode, in training and evaluation alike."""

    max_turns: int
    max_prompt_tokens: int
    team_weight: float
    episode_seconds: float | None = None


@dataclass(frozen=True, slots=True)
class TrainingEpisodes:
    """The episodes of training steps. Step s plays the tasks (s - 1) n to s n - 1 of the split.

    `cast_of(step)` says who plays: a role that idles in a step gives one reply and no group.
    """

    engine: Engine
    cast_of: Callable[[int], Cast]
    method: Method
    limits: Limits
    selection: Selection
    tasks_per_step: int
    seed: int

    def play(self, step: int) -> list[Episode]:
        """The episodes of this step, the same for the same step and weights."""
        rules = PlayRules(
            max_turns=self.limits.max_turns,
            team_weight=self.limits.team_weight,
            max_prompt_tokens=self.limits.max_prompt_tokens,
            selection=self.selection,
            seed=self._seed,
            ends_unscored=self.method.ends_unscored,
            episode_seconds=self.limits.episode_seconds,
        )
        episodes = self.engine.play(list(self._openings(step)), self.cast_of(step), rules)
        return settled(self.engine.referee, episodes)

    def _openings(self, step: int) -> Iterator[Opening]:
        first = (step - 1) * self.tasks_per_step
        indices = range(first, first + self.tasks_per_step)
        numbers = count()
        tasks = tasks_of(self.engine.referee, "train", self.seed, indices)
        for task_number, task in enumerate(tasks):
            for _ in range(self.method.episodes_per_task):
                yield Opening(step, next(numbers), task_number, task, "train")

    def _seed(self, opening: Opening, agent: str, turn: int, candidate: int) -> int:
        return derive_seed(self.seed, "train", opening.step, opening.number, agent, turn, candidate)


@dataclass(frozen=True, slots=True)
class EvaluationEpisodes:
    """The episodes of evaluations: never the tree, one reply an agent and turn, no score consulted.

    The cast's players have width 1 and their own decoding. Tasks and sampling depend on `seed`
    alone, so that every run and method meets the same tasks.
    """

    engine: Engine
    cast: Cast
    limits: Limits
    seed: int

    def play(self, split: str, indices: Sequence[int], step: int) -> Iterator[Episode]:
        """The episodes of the tasks at these places of a split."""
        rules = PlayRules(
            max_turns=self.limits.max_turns,
            team_weight=self.limits.team_weight,
            max_prompt_tokens=self.limits.max_prompt_tokens,
            selection=follow_random,
            seed=self._seed,
            ends_unscored=any_unscored,
            episode_seconds=self.limits.episode_seconds,
        )
        for first in range(0, len(indices), EVALUATION_WAVE):
            wave = indices[first : first + EVALUATION_WAVE]
            tasks = tasks_of(self.engine.referee, split, self.seed, wave)
            openings = [
                Opening(step, index, index, task, "evaluate")
                for index, task in zip(wave, tasks, strict=True)
            ]
            yield from self.engine.play(openings, self.cast, rules)

    def _seed(self, opening: Opening, agent: str, turn: int, candidate: int) -> int:
        return derive_seed(
            self.seed, "evaluate", opening.task.split, opening.number, agent, turn, candidate
        )


def tasks_of(referee: Referee, split: str, seed: int, indices: Sequence[int]) -> list[Task]:
    """The tasks at these places of a split. Raises NoTaskError, which names the first missing."""
    found = referee.ask([Call(ask.task, (split, seed, index)) for index in indices])
    return [
        _there(task, f"{referee.environment.name} has no {split} task {index} (seed {seed})")
        for index, task in zip(indices, found, strict=True)
    ]


def _there(task: Task | Failure, missing: str) -> Task:
    if isinstance(task, Failure):
        raise NoTaskError(f"{missing}: {task.message}")
    return task
