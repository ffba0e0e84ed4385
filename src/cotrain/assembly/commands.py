"""What the commands and the Python interface do, in the words of a user."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from datetime import datetime
from pathlib import Path
from typing import Any, TypeAlias

from cotrain.assembly.evaluating import refuse_unknown_split, team_of
from cotrain.assembly.lineup import Lineup
from cotrain.assembly.planning import RunPlan, plan_of
from cotrain.assembly.resuming import continued
from cotrain.assembly.training import Run, resume_run, start_run
from cotrain.config import (
    Config,
    ConfigurationError,
    Fault,
    by_key,
    load_config,
)
from cotrain.runs.durable import refuse_unreachable
from cotrain.runs.loggers.console import comparison_table
from cotrain.runs.store import RunStore
from cotrain.training.evaluation import evaluate as evaluate_contender

Overrides: TypeAlias = Mapping[str, object] | Sequence[str]


def never() -> bool:
    """A stop request that never comes."""
    return False


def train(
    source: str | Path | None = None,
    overrides: Overrides = (),
    run_dir: str | Path | None = None,
    resume: bool = False,
    stop: Callable[[], bool] = never,
) -> Run:
    """Trains a new run, or goes on with the one in `run_dir`.

    `source` is a TOML file, a preset, or None for the embedded default; `overrides` maps dotted
    keys to values, or lists `key=value`. Raises ConfigurationError for a wrong configuration,
    RunFolderRefusedError for a folder that holds another run.
    """
    if not resume:
        config = load_config(source, overrides)
        return start_run(config, _folder(run_dir, config), stop)
    if run_dir is None:
        fault = Fault("--resume", "", "needs --run-dir, the folder of the run to go on with")
        raise ConfigurationError([fault])
    with RunStore.open(run_dir) as store:
        continuation = continued(store, source, by_key(overrides))
        return resume_run(continuation, store, stop)


def plan(source: str | Path | None = None, overrides: Overrides = ()) -> RunPlan:
    """What `train` would do."""
    return plan_of(load_config(source, overrides))


def evaluate(
    target: str | Path,
    overrides: Overrides = (),
    tasks: int | None = None,
    split: str = "test",
    seed: int | None = None,
    policies: Mapping[str, str] | Sequence[tuple[str, str]] = (),
    swaps: Sequence[tuple[str, str]] = (),
) -> dict[str, Any]:
    """One evaluation row of a run folder, a checkpoint, a configuration file or a preset.

    `tasks` and `seed` set `evaluation.tasks` and `evaluation.seed`. `policies` puts policies of
    other runs into roles, `{"planner": "runs/a:planner@40"}`; `swaps` are pairs of roles that play
    with each other's policies.
    """
    refuse_unknown_split(split)
    refuse_unreachable(Path(target))
    changes = {"evaluation.seed": seed, "evaluation.tasks": tasks}
    given = {key: value for key, value in changes.items() if value is not None}
    pairs = list(policies.items()) if isinstance(policies, Mapping) else policies
    lineup = Lineup(swaps, pairs)
    with closing(team_of(target, {**by_key(overrides), **given}, lineup)) as team:
        return evaluate_contender(team.contender, split, team.config.evaluation.tasks, team.step)


def summary(run: Run) -> dict[str, Any]:
    """A run in one document: its folder, whether it is finished, its last rows."""
    metrics = run.metrics
    return {
        "run_dir": str(run.path),
        "finished": run.finished,
        "step": metrics[-1]["step"] if metrics else 0,
        "evaluations": run.evaluations,
    }


def summary_text(run: Run) -> str:
    """The before-and-after table on the test split, where the run is, and how to go on with it."""
    rows = [row for row in run.evaluations if row["split"] == "test"]
    table = comparison_table(rows) if rows else "no evaluation on the test split yet"
    where = f"The run is in {run.path}."
    if not run.finished:
        where += f" It is not finished: {how_to_go_on(run.path)}"
    return f"{table}\n\n{where}"


def how_to_go_on(run_dir: str | Path | None) -> str:
    """How to resume a run that was stopped.

    >>> how_to_go_on(None)
    'go on with: cotrain train --resume --run-dir RUN_DIR'
    """
    return f"go on with: cotrain train --resume --run-dir {run_dir or 'RUN_DIR'}"


def _folder(run_dir: str | Path | None, config: Config) -> Path:
    if run_dir is not None:
        return Path(run_dir)
    time = datetime.now().strftime("%Y%m%d-%H%M%S")
    return Path("runs") / f"{config.run.name}-{time}"
