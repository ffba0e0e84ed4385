"""A training run, from a configuration to its folder: the parts put together."""

from collections.abc import Callable, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import torch

from cotrain.assembly.casting import method_of
from cotrain.assembly.engines import engine_of
from cotrain.assembly.environments import build_environment
from cotrain.assembly.evaluating import baselines_of, check_baselines, contender_of
from cotrain.assembly.experience import Experience, OnPolicyData, TrainingData
from cotrain.assembly.imitating import demonstrations_of
from cotrain.assembly.policies import Policies, SavedWeights, build_policies
from cotrain.assembly.policy_plans import refuse_nothing_to_train, refuse_unfit_starts
from cotrain.assembly.resolving import resolved
from cotrain.assembly.resuming import Continuation
from cotrain.assembly.services import SERVICES, sandbox_kind, sandbox_notes
from cotrain.assembly.task_sets import task_hashes
from cotrain.config import (
    IMITATION,
    Config,
    ConfigurationError,
    Fault,
    show,
)
from cotrain.environments.base import Environment
from cotrain.learning.schedule import rate_factor
from cotrain.rollouts.engine import Engine
from cotrain.runs import layout
from cotrain.runs.checkpoint_folder import complete_checkpoints, latest_complete
from cotrain.runs.durable import RunFolderRefusedError
from cotrain.runs.loggers.base import Logger
from cotrain.runs.loggers.console import Plan, console_logger
from cotrain.runs.manifest import collect_manifest
from cotrain.runs.store import RunFolder, RunStore
from cotrain.training.checkpoints import read_state, restore
from cotrain.training.progress import Horizon, Progress
from cotrain.training.recorder import KeepingPlan, Kept, RunRecorder
from cotrain.training.trainer import Trainer


@dataclass(frozen=True, slots=True)
class Run:
    """A finished or stopped run: its folder, and what it wrote."""

    path: Path
    finished: bool

    @property
    def metrics(self) -> list[dict[str, Any]]:
        """The rows of `metrics.jsonl`."""
        return RunFolder(self.path).metrics()

    @property
    def evaluations(self) -> list[dict[str, Any]]:
        """The rows of `evaluations.jsonl`."""
        return RunFolder(self.path).evaluations()

    @property
    def checkpoints(self) -> list[Path]:
        """The folders of the complete checkpoints, oldest first."""
        root = RunFolder(self.path).checkpoints
        return [checkpoint.path for checkpoint in complete_checkpoints(root)]


def start_run(config: Config, path: Path, stop: Callable[[], bool]) -> Run:
    """Trains from step 0 in a new folder."""
    environment = build_environment(config)
    SERVICES.refuse_unfit(config, environment)
    refuse_nothing_to_train(config, environment)
    data = data_of(config, environment)
    refuse_unfit_starts(config, environment)
    check_baselines(config)
    config = resolved(data.pinned(config), environment)
    policies = build_policies(config, environment)
    experience = data.experience(config, environment, policies)
    manifest = _manifest(config, environment)
    with RunStore.create(path, config.model_dump(mode="json"), manifest) as store:
        return _play(store, config, environment, policies, experience, Progress(), (), stop)


def resume_run(continuation: Continuation, store: RunStore, stop: Callable[[], bool]) -> Run:
    """Goes on from the last complete checkpoint, or from step 0 where there is none.

    Raises RunFolderRefusedError, and changes nothing, when the environment no longer has the tasks
    that the run began on, or a policy's base has other weights.
    """
    config = continuation.config
    latest = latest_complete(store.checkpoints)
    if latest.checkpoint is not None and _is_over(config, latest.checkpoint.path):
        return Run(store.path, finished=True)
    environment = build_environment(config)
    SERVICES.refuse_unfit(config, environment)
    _refuse_other_tasks(store, config, environment)
    data = data_of(config, environment)
    config = resolved(data.pinned(config), environment)
    events = [("checkpoint", warning) for warning in latest.warnings]
    if latest.checkpoint is None:
        continuation.refuse_other_bases()
        refuse_unfit_starts(config, environment)
        policies, progress = build_policies(config, environment), Progress()
        store.cut_to_nothing()
        events.append(("resume", "there is no complete checkpoint: the run begins at step 0"))
    else:
        policies, progress = _restored(config, environment, latest.checkpoint.path)
        store.cut_to(progress.step)
        events.append(("resume", f"from {layout.CHECKPOINTS}/{latest.checkpoint.path.name}"))
    experience = data.experience(config, environment, policies)
    continuation.store_changes(store)
    return _play(store, config, environment, policies, experience, progress, events, stop)


def data_of(config: Config, environment: Environment[Any]) -> TrainingData:
    """What the run learns from. Raises ConfigurationError where there is nothing to learn from."""
    if config.algorithm.method == IMITATION:
        return demonstrations_of(config, environment)
    method = method_of(config, environment)
    named = config.imitation.episodes
    if named:
        allowed = f"must not be set with algorithm.method = {show(config.algorithm.method)}"
        raise ConfigurationError([Fault("imitation.episodes", show(named), allowed)])
    return OnPolicyData(method)


def _restored(
    config: Config, environment: Environment[Any], checkpoint: Path
) -> tuple[Policies, Progress]:
    saved = SavedWeights(checkpoint / layout.POLICIES, read_state(checkpoint).bases)
    if config.algorithm.kl_coefficient > 0:
        refuse_unfit_starts(config, environment)
    policies = build_policies(config, environment, saved)
    return policies, restore(checkpoint, policies.learners, policies.bases)


def _is_over(config: Config, checkpoint: Path) -> bool:
    return horizon_of(config).reached(read_state(checkpoint).progress)


def horizon_of(config: Config) -> Horizon:
    """The end of a run of this configuration."""
    return Horizon(config.run.steps, config.run.max_sampled_tokens)


def _play(
    store: RunStore,
    config: Config,
    environment: Environment[Any],
    policies: Policies,
    experience: Experience,
    progress: Progress,
    events: Sequence[tuple[str, str]],
    stop: Callable[[], bool],
) -> Run:
    """Trains from this place on."""
    loggers = _loggers(config, progress)
    with ExitStack() as stack:
        for logger in loggers:
            stack.callback(logger.close)
            logger.event("run", f"its folder is {store.path}")
        engine = stack.enter_context(closing(engine_of(config, environment)))
        recorder = _recorder(store, config, engine, policies, loggers)
        notes = [*policies.notes, *sandbox_notes(config, environment), *experience.notes]
        for kind, message in (*events, *(("note", note) for note in notes)):
            recorder.event(kind, message)
        trainer = Trainer(
            source=experience.source(engine),
            credit=experience.credit,
            learners=policies.learners,
            recorder=recorder,
            horizon=horizon_of(config),
            rate_factor=partial(
                rate_factor, config.optimizer.schedule, config.optimizer.warmup_steps
            ),
            stop=stop,
        )
        progress = trainer.run(progress)
    return Run(store.path, horizon_of(config).reached(progress))


def _recorder(
    store: RunStore,
    config: Config,
    engine: Engine,
    policies: Policies,
    loggers: Sequence[Logger],
) -> RunRecorder:
    run, evaluation = config.run, config.evaluation
    plan = KeepingPlan(
        run.evaluate_every,
        run.checkpoint_every,
        run.keep_checkpoints,
        evaluation.tasks,
        evaluation.validation_tasks,
        config.logging.episodes,
        0 if config.algorithm.method == IMITATION else evaluation.watch,  # its scores are given
    )
    settings = config.model_dump(mode="json")
    kept = Kept(policies.samplers, policies.learners, policies.bases, settings)
    samplers = {role.name: policies.sampler_of(role.name) for role in engine.environment.roles}
    team = contender_of(config, engine, samplers)
    return RunRecorder(store, loggers, plan, kept, team, lambda: baselines_of(config))


def _loggers(config: Config, progress: Progress) -> list[Logger]:
    if not config.logging.console:
        return []
    plan = Plan(
        config.run.steps, config.run.max_sampled_tokens, progress.step, progress.tokens_sampled
    )
    return [console_logger(plan)]


def _manifest(config: Config, environment: Environment[Any]) -> dict[str, object]:
    threads = config.model.threads
    return collect_manifest(
        seeds={"run": config.run.seed, "evaluation": config.evaluation.seed},
        task_hashes=task_hashes(config, environment),
        threads=threads if isinstance(threads, int) else torch.get_num_threads(),
        dtype=config.model.dtype,
        sandbox=sandbox_kind(config, environment),
    )


def _refuse_other_tasks(store: RunStore, config: Config, environment: Environment[Any]) -> None:
    stored = store.task_hashes()
    now = task_hashes(config, environment)
    changed = [split for split in now if now[split] != stored.get(split)]
    if changed:
        raise RunFolderRefusedError(
            f"{store.path} was begun on other tasks: those of {', '.join(changed)} are no longer "
            f"the ones whose hash is in {layout.MANIFEST}. Environment "
            f"{show(config.environment.name)} or its data have changed since; bring back what the "
            "run began with, or begin a new run with --run-dir"
        )
