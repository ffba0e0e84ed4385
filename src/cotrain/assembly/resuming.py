"""The configuration that a run goes on with: what may change on a resume, and what may not."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from cotrain.config import (
    Config,
    ConfigurationError,
    Fault,
    config_from_json,
    difference,
    load_config,
    replaced,
    show,
)
from cotrain.config.resolved import Change
from cotrain.config.schema import SCRIPTED_PREFIX
from cotrain.runs.store import RunStore

CHANGEABLE = (
    "run.steps",
    "run.max_sampled_tokens",
    "run.keep_checkpoints",
    "model.name",
    "imitation.episodes",
    "logging.",
    "limits.",
)
"""What a resume may change: how far the run goes, and what never touches a weight. A base may be
called otherwise, since its weights are compared, and so may what is imitated."""


@dataclass(frozen=True, slots=True)
class Continuation:
    """A configuration to go on with, and how it differs from the stored one."""

    config: Config
    changes: tuple[Change, ...]

    def refuse_other_bases(self) -> None:
        """Raises ConfigurationError for a base that is called otherwise; without a checkpoint there
        is nothing that it could be compared with.
        """
        faults = [
            Fault(change.key, show(change.new), "the run has no checkpoint to compare it with")
            for change in self.changes
            if change.key == "model.name" or change.key.endswith(".model")
        ]
        if faults:
            raise ConfigurationError(faults)

    def store_changes(self, store: RunStore) -> None:
        """Writes the configuration, and the changes as an event, where there are any."""
        if not self.changes:
            return
        store.replace_config(self.config.model_dump(mode="json"))
        said = ", ".join(f"{c.key} from {show(c.old)} to {show(c.new)}" for c in self.changes)
        store.record_event("configuration", f"changed on resume: {said}")


def continued(
    store: RunStore, source: str | Path | None, overrides: Mapping[str, object]
) -> Continuation:
    """The stored configuration, or one that agrees with it. Writes nothing.

    Raises ConfigurationError, one line a key, when it differs in what may not change.
    """
    stored = config_from_json(store.config())
    given = replaced(stored, overrides) if source is None else load_config(source, overrides)
    given = replaced(given, _resolved_before(stored, given))
    changes = difference(stored, given)
    faults = [
        Fault(change.key, show(change.new), f"the run has {show(change.old)}; a resume keeps it")
        for change in changes
        if not _may_change(change, given)
    ]
    if faults:
        raise ConfigurationError(faults)
    return Continuation(given, tuple(changes))


def _may_change(change: Change, given: Config) -> bool:
    scripts = any(str(side).startswith(SCRIPTED_PREFIX) for side in (change.old, change.new))
    is_own_base = change.key.startswith("team.roles.") and change.key.endswith(".model")
    if is_own_base:
        return given.team.policies == "model_per_role" and not scripts
    return change.key.startswith(CHANGEABLE)


def _resolved_before(stored: Config, given: Config) -> dict[str, object]:
    """What `auto` was resolved to when the run began, for the keys where `auto` is given again."""
    dtype = {"model.dtype": stored.model.dtype} if given.model.dtype == "auto" else {}
    threads = {"model.threads": stored.model.threads} if given.model.threads == "auto" else {}
    hashes: dict[str, object] = (
        {"imitation.sha256": list(stored.imitation.sha256)}
        if given.imitation.episodes and not given.imitation.sha256
        else {}
    )
    return {**dtype, **threads, **hashes}
