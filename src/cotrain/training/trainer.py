"""The training loop: Algorithm 1 of AT-GRPO (arXiv 2510.11062), over finished collaborators."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol, TypeAlias

from cotrain.core.advantages import Estimator
from cotrain.core.episode import Episode
from cotrain.core.samples import CreditedSample, SampleGroup, credit
from cotrain.learning.base import Learner
from cotrain.rollouts.base import EpisodeSource
from cotrain.training.progress import Horizon, Progress
from cotrain.training.recording import StepRecord, Stopwatch


class TrainingFailedError(RuntimeError):
    """The run cannot go on; the message says why and what is safe."""


class Recorder(Protocol):
    """What keeps a step's record, evaluates and saves."""

    def evaluate_first(self) -> None:
        """Evaluates before the first step, as step 0."""
        ...

    def step(self, record: StepRecord, watch: Stopwatch) -> None:
        """Writes the metrics row and the episodes."""
        ...

    def evaluate_if_due(self, progress: Progress) -> None:
        """Evaluates after a step where the run's plan asks for it."""
        ...

    def save_if_due(self, progress: Progress) -> None:
        """Saves a checkpoint after a step where the run's plan asks for it."""
        ...

    def evaluate_last(self, progress: Progress) -> None:
        """Evaluates after the last step of the run."""
        ...

    def save(self, progress: Progress) -> None:
        """Saves a checkpoint."""
        ...

    def last_checkpoint(self) -> str:
        """The name of the last complete checkpoint, or words that say that there is none."""
        ...


Credited: TypeAlias = tuple[list[SampleGroup], list[CreditedSample]]
"""The groups of a step, and the samples that it trains on."""


@dataclass(frozen=True, slots=True)
class Credit:
    """How episodes become credited samples: the groups of a method, and an estimator."""

    groups: Callable[[Sequence[Episode]], list[SampleGroup]]
    estimator: Estimator
    cut_replies: str

    def __call__(self, episodes: Sequence[Episode]) -> Credited:
        """Compares the members of every group with each other."""
        groups = self.groups(episodes)
        return groups, credit(groups, self.estimator, self.cut_replies)


class Trainer:
    """Trains every policy once a step, on-policy.

    `rate_factor(step, share_done)` is the learning-rate schedule; `stop()` is asked at every step
    boundary. The learners are those of all policies, by name; a frozen one's learns nothing.
    """

    MAX_FAILED_STEPS = 3

    def __init__(
        self,
        source: EpisodeSource,
        credit: Callable[[Sequence[Episode]], Credited],
        learners: Mapping[str, Learner],
        recorder: Recorder,
        horizon: Horizon,
        rate_factor: Callable[[int, float], float],
        stop: Callable[[], bool],
    ) -> None:
        self._source = source
        self._credit = credit
        self._learners = learners
        self._recorder = recorder
        self._horizon = horizon
        self._rate_factor = rate_factor
        self._stop = stop

    def run(self, progress: Progress) -> Progress:
        """Trains from this place to the end of the run, or to the next boundary after a stop.

        Raises TrainingFailedError when three steps in a row failed (`StepRecord.failure`).
        """
        if progress.step == 0:
            self._recorder.evaluate_first()
        while not self._horizon.reached(progress):
            record = self.train_step(progress)
            progress = _after(progress, record)
            self._stop_a_failing_run(progress, record)
            if self._horizon.reached(progress):
                self._recorder.evaluate_last(progress)
                self._recorder.save(progress)
                break
            self._recorder.evaluate_if_due(progress)
            if self._stop():
                self._recorder.save(progress)
                break
            self._recorder.save_if_due(progress)
        return progress

    def train_step(self, progress: Progress) -> StepRecord:
        """One step of Algorithm 1; every sentence is one stage of it."""
        watch, step = Stopwatch(), progress.step + 1
        with watch.measure("rollout"):  # lines 3 to 14: sample the tree of every episode
            episodes = self._source.play(step)
        with watch.measure("credit"):  # lines 15 and 16: group by agent and turn, compare
            groups, credited = self._credit(episodes)
        with watch.measure("update"):  # lines 17 to 20: route to policies, update each
            rate_factor = self._rate_factor(step, self._horizon.share_done(progress))
            batches = route(credited, list(self._learners))
            reports = {
                name: learner.update(batches[name], step, rate_factor)
                for name, learner in self._learners.items()
            }
        record = StepRecord(step, episodes, groups, credited, reports)
        self._recorder.step(record, watch)
        return record

    def _stop_a_failing_run(self, progress: Progress, record: StepRecord) -> None:
        if progress.failed_in_a_row < self.MAX_FAILED_STEPS:
            return
        raise TrainingFailedError(
            f"{progress.failed_in_a_row} steps in a row failed, the last one step {progress.step}: "
            f"{record.failure}. What failed changed no weight; the last good checkpoint is "
            f"{self._recorder.last_checkpoint()}. Where numbers were not finite, a lower "
            "optimizer.learning_rate may help; where the environment failed, see it with "
            "`cotrain check` and `cotrain play`"
        )


def route(
    credited: Sequence[CreditedSample], policies: Sequence[str]
) -> dict[str, list[CreditedSample]]:
    """The batch of every policy: all samples of the agents that it plays (paper, Eq. 2).

    The rollouts mark groups that are not trained; a sample of one would be its learner's fault to
    name.
    """
    batches: dict[str, list[CreditedSample]] = {name: [] for name in policies}
    for sample in credited:
        batches[sample.sample.policy].append(sample)
    return batches


def _after(progress: Progress, record: StepRecord) -> Progress:
    return replace(
        progress,
        step=record.step,
        tokens_sampled=progress.tokens_sampled + record.tokens_sampled,
        failed_in_a_row=0 if record.failure is None else progress.failed_in_a_row + 1,
    )
