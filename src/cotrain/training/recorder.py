"""Keeps a run: rows, episodes, evaluations and checkpoints, in the run folder and before the user.

Order in a step: metrics row, evaluation rows, checkpoint. So a checkpoint of step s implies
complete rows up to s, and a resume cuts what is later.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from cotrain.learning.base import Learner
from cotrain.policies.base import Sampler
from cotrain.runs.checkpoint_folder import complete_checkpoints
from cotrain.runs.episode_file import thin
from cotrain.runs.layout import CHECKPOINTS
from cotrain.runs.loggers.base import Logger
from cotrain.runs.store import RunStore
from cotrain.training.checkpoints import SavedState, fill_checkpoint
from cotrain.training.evaluation import Contender, evaluate
from cotrain.training.progress import Progress
from cotrain.training.recording import (
    StepRecord,
    Stopwatch,
    failure_counts,
    retry_counts,
    step_row,
)
from cotrain.training.watch import looks_of, raised


@dataclass(frozen=True, slots=True)
class KeepingPlan:
    """When a run evaluates and saves, and what it keeps; names as in the configuration."""

    evaluate_every: int
    checkpoint_every: int
    keep_checkpoints: int
    test_tasks: int
    validation_tasks: int
    episodes: str | int
    watch: int


@dataclass(frozen=True, slots=True)
class Kept:
    """What is saved: the policies by name, the bases of adapters, and the configuration."""

    samplers: Mapping[str, Sampler]
    learners: Mapping[str, Learner]
    bases: Mapping[str, Mapping[str, str]]
    config: Mapping[str, Any]


class RunRecorder:
    """Writes a run folder and shows it to the loggers."""

    def __init__(
        self,
        store: RunStore,
        loggers: Sequence[Logger],
        plan: KeepingPlan,
        kept: Kept,
        team: Contender,
        baselines: Callable[[], Iterable[Contender]],
    ) -> None:
        self._store = store
        self._loggers = loggers
        self._plan = plan
        self._kept = kept
        self._team = team
        self._baselines = baselines

    def step(self, record: StepRecord, watch: Stopwatch) -> None:
        """Writes the metrics row and the episodes; retries and failures become events."""
        roles = list(dict.fromkeys(p.role for p in self._team.episodes.cast.values()))
        advantages = {
            (credited.sample.key, credited.sample.candidate): credited.advantage
            for credited in record.credited
        }
        episodes = thin(record.episodes, self._plan.episodes)
        self._store.write_episodes(record.step, episodes, advantages)
        row = step_row(record, roles, watch)
        self._store.append_metrics(row)
        for logger in self._loggers:
            logger.step(row)
        self._report_events(record)

    def evaluate_first(self) -> None:
        """Test and validation before the first step, and the baselines on test."""
        self._evaluate_team(0)
        for baseline in self._baselines():
            self._evaluate(baseline, "test", self._plan.test_tasks, 0)

    def evaluate_if_due(self, progress: Progress) -> None:
        """Validation, every `evaluate_every` steps."""
        if _is_due(progress, self._plan.evaluate_every):
            self._validate(progress.step)

    def evaluate_last(self, progress: Progress) -> None:
        """Test and validation after the last step."""
        self._evaluate_team(progress.step)

    def save_if_due(self, progress: Progress) -> None:
        """Saves every `checkpoint_every` steps."""
        if _is_due(progress, self._plan.checkpoint_every):
            self.save(progress)

    def save(self, progress: Progress) -> None:
        """Saves a checkpoint of this step."""
        kept = self._kept
        versions = {name: sampler.version for name, sampler in kept.samplers.items()}
        state = SavedState(progress, versions, kept.config, kept.bases)
        self._store.write_checkpoint(
            progress.step,
            lambda folder: fill_checkpoint(folder, kept.learners, state),
            self._plan.keep_checkpoints,
        )

    def last_checkpoint(self) -> str:
        """The name of the newest complete checkpoint."""
        found = complete_checkpoints(self._store.checkpoints)
        return f"{CHECKPOINTS}/{found[-1].path.name}" if found else "none: no step was saved yet"

    def event(self, kind: str, message: str) -> None:
        """Records an event and shows it."""
        self._store.record_event(kind, message)
        for logger in self._loggers:
            logger.event(kind, message)

    def _evaluate_team(self, step: int) -> None:
        self._evaluate(self._team, "test", self._plan.test_tasks, step)
        self._validate(step)

    def _validate(self, step: int) -> None:
        self._evaluate(self._team, "validation", self._plan.validation_tasks, step)
        if not self._plan.watch:
            return
        looks = looks_of(self._store.metrics(), self._store.evaluations())
        alarm = raised(looks, self._plan.watch)
        if alarm is not None:
            self.event("reward_hacking", str(alarm))

    def _evaluate(self, contender: Contender, split: str, tasks: int, step: int) -> None:
        row = evaluate(contender, split, tasks, step)
        self._store.append_evaluation(row)
        for logger in self._loggers:
            logger.evaluation(row)

    def _report_events(self, record: StepRecord) -> None:
        counted = {
            "retries": retry_counts(record.episodes),
            "failures": failure_counts(record.episodes),
        }
        for kind, counts in counted.items():
            if counts:
                said = ", ".join(f"{count} {name}" for name, count in sorted(counts.items()))
                self.event(kind, f"step {record.step}: {said}")
        for name, report in record.reports.items():
            if report.non_finite:
                self.event(
                    "non_finite",
                    f"step {record.step}: an update of policy {name} was refused, because its loss "
                    "or gradient was not finite",
                )


def _is_due(progress: Progress, every: int) -> bool:
    """Whether this step ends an interval; 0 is never."""
    return every > 0 and progress.step % every == 0
