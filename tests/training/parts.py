"""Collaborators of a trainer that are real and small: a guessing game, a counting learner."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.builders import make_candidate, make_episode, make_group, make_reply

from cotrain.core.advantages import normalised
from cotrain.core.episode import Episode, Finish
from cotrain.core.grouping import turn_groups
from cotrain.core.samples import CreditedSample, turn_samples
from cotrain.learning.base import UpdateReport
from cotrain.training.progress import Horizon, Progress
from cotrain.training.recording import StepRecord, Stopwatch
from cotrain.training.trainer import Credit, Trainer

CREDIT = Credit(
    lambda episodes: turn_groups(s for episode in episodes for s in turn_samples(episode)),
    normalised,
    "train",
)


@dataclass
class Source:
    """Plays one episode a step, whose group has these scores and whose replies end like this."""

    scores: Sequence[float | None] = (0.0, 1.0)
    finish: Finish = Finish.STOP
    played: list[int] = field(default_factory=list)

    def play(self, step: int) -> list[Episode]:
        self.played.append(step)
        reply = make_reply(finish=self.finish)
        candidates = [make_candidate(i, score, reply=reply) for i, score in enumerate(self.scores)]
        return [make_episode([[[make_group(candidates)]]])]


@dataclass
class Counter:
    """A learner that counts its updates; it refuses those of the steps in `not_finite`."""

    not_finite: frozenset[int] = frozenset()
    batches: list[list[CreditedSample]] = field(default_factory=list)
    rates: list[float] = field(default_factory=list)
    version: int = 0

    def update(
        self, samples: Sequence[CreditedSample], step: int, rate_factor: float
    ) -> UpdateReport:
        self.batches.append(list(samples))
        self.rates.append(rate_factor)
        refused = step in self.not_finite
        self.version += not refused
        return UpdateReport(self.version, skipped=refused, non_finite=refused)

    def save_policy(self, folder: Path) -> None:
        folder.mkdir(parents=True)
        (folder / "version").write_text(str(self.version))

    def save_optimizer(self, folder: Path) -> None:
        folder.mkdir(parents=True)

    def load(self, policy_folder: Path, optimizer_folder: Path, version: int) -> None:
        assert (policy_folder / "version").read_text() == str(version)
        self.version = version


@dataclass
class Diary:
    """A recorder that writes down what it is told, in order."""

    entries: list[str] = field(default_factory=list)

    def step(self, record: StepRecord, watch: Stopwatch) -> None:
        self.entries.append(f"row {record.step}")

    def evaluate_first(self) -> None:
        self.entries.append("evaluate first")

    def evaluate_if_due(self, progress: Progress) -> None:
        self.entries.append(f"evaluate {progress.step} if due")

    def evaluate_last(self, progress: Progress) -> None:
        self.entries.append(f"evaluate {progress.step} last")

    def save_if_due(self, progress: Progress) -> None:
        self.entries.append(f"save {progress.step} if due")

    def save(self, progress: Progress) -> None:
        self.entries.append(f"save {progress.step}")

    def last_checkpoint(self) -> str:
        return "checkpoints/step_000002"


def make_trainer(
    source: Source,
    learner: Counter,
    diary: Diary,
    horizon: Horizon,
    stop_after: int | None = None,
) -> Trainer:
    return Trainer(
        source=source,
        credit=CREDIT,
        learners={"shared": learner},
        recorder=diary,
        horizon=horizon,
        rate_factor=lambda step, share_done: 1.0 - share_done,
        stop=lambda: stop_after is not None and len(source.played) >= stop_after,
    )
