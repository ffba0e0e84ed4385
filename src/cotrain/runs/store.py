"""The run folder: the one place that writes it, and the one way to read it.

Metrics and evaluations are cut to the checkpoint that a run resumes from, so each row is there
once and in order, whatever was killed when.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import cast

from cotrain.core.episode import Episode
from cotrain.runs import episode_file, layout
from cotrain.runs.checkpoint_folder import set_aside_later, write_checkpoint
from cotrain.runs.durable import (
    RunFolderError,
    RunFolderRefusedError,
    append_line,
    chosen,
    refuse_unreachable,
    reported,
    sync_folder,
    whole_lines,
    write_whole,
)
from cotrain.runs.episode_file import Advantages, StoredEpisode
from cotrain.runs.lock import FolderLock
from cotrain.runs.rows import (
    Row,
    check_json,
    decode_row,
    encode_row,
    read_document,
    read_rows,
)

EVALUATION_KEY = ("step", "method", "split", "turns")
"""What tells the rows of `evaluations.jsonl` apart."""


class RunFolder:
    """A run folder to read. It takes no lock and writes nothing; the run may be live.

    Raises `RunFolderRefusedError` if the folder holds no run.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        refuse_unreachable(self.path)
        if not (self.path / layout.CONFIG).is_file():
            raise RunFolderRefusedError(
                f"{self.path} holds no run (it has no {layout.CONFIG}): give the folder that "
                "--run-dir named when the run began"
            )

    def config(self) -> Row:
        """The resolved configuration."""
        return self._document(layout.CONFIG)

    def manifest(self) -> Row:
        """Versions, seeds, task-set hashes and machine of the run."""
        return self._document(layout.MANIFEST)

    def task_hashes(self) -> dict[str, str]:
        """The hash of each split's tasks when the run began.

        Raises `RunFolderError` for a manifest without them.
        """
        found = self.manifest().get("task_hashes")
        if not isinstance(found, Mapping):
            raise RunFolderError(
                f"{self.path / layout.MANIFEST} has no table task_hashes: restore it, or begin a "
                "new run with --run-dir"
            )
        return {split: str(value) for split, value in cast("Mapping[str, object]", found).items()}

    def metrics(self) -> list[Row]:
        """The rows of `metrics.jsonl`, by step."""
        return read_rows(self.path / layout.METRICS)

    def evaluations(self) -> list[Row]:
        """The rows of `evaluations.jsonl`, by step."""
        return read_rows(self.path / layout.EVALUATIONS)

    def events(self) -> list[Row]:
        """The rows of `events.jsonl`, in the order they happened; resumes never cut them."""
        return read_rows(self.path / layout.EVENTS)

    def episode_steps(self) -> list[int]:
        """The steps whose episodes are stored."""
        return sorted(_episode_files(self.path))

    def episodes(self, step: int) -> Iterator[StoredEpisode]:
        """The stored episodes of a step; raises `RunFolderError` if there are none."""
        return episode_file.read_episodes(self.episodes_path(step))

    def episodes_path(self, step: int) -> Path:
        """Where the episodes of a step are, or would be."""
        return self.path / layout.EPISODES / layout.episodes_name(step)

    @property
    def checkpoints(self) -> Path:
        """The root that the functions of `checkpoint_folder` take."""
        return self.path / layout.CHECKPOINTS

    def _document(self, name: str) -> Row:
        return read_document(self.path / name)


class RunStore(RunFolder):
    """A run folder to write: one process at a time, from `create` or `open` to `close`."""

    def __init__(self, path: Path, lock: FolderLock) -> None:
        super().__init__(path)
        self._lock = lock
        self._remember()

    @classmethod
    def create(
        cls, path: str | Path, config: Mapping[str, object], manifest: Mapping[str, object]
    ) -> "RunStore":
        """Begins a run in a new folder, or in one that holds none.

        Raises `RunFolderRefusedError` if the folder holds a run or is being written, or if no
        folder can be written there, and `RunFolderError` if the disk is full.
        """
        folder = Path(path)
        with chosen(folder):
            folder.mkdir(parents=True, exist_ok=True)
        lock = FolderLock(folder)
        try:
            _refuse_other_run(folder)
            _write_document(folder / layout.MANIFEST, manifest)
            _write_document(folder / layout.CONFIG, config)
            return cls(folder, lock)
        except BaseException:
            lock.release()
            raise

    @classmethod
    def open(cls, path: str | Path) -> "RunStore":
        """Goes on with the run in this folder.

        Raises `RunFolderRefusedError` if there is none or another process is writing it.
        """
        folder = RunFolder(path).path
        lock = FolderLock(folder)
        try:
            return cls(folder, lock)
        except BaseException:
            lock.release()
            raise

    def close(self) -> None:
        """Lets another process write. Calling it again does nothing."""
        self._lock.release()

    def __enter__(self) -> "RunStore":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def replace_config(self, config: Mapping[str, object]) -> None:
        """Puts the configuration of a resumed run in place of the former one."""
        _write_document(self.path / layout.CONFIG, config)

    def append_metrics(self, row: Mapping[str, object]) -> None:
        """Adds the row of a step; it is on the disk when this returns.

        Raises ValueError for a step that is not later than the last one, and for a number that is
        not finite (None is null); TypeError for what JSON has no form for.
        """
        step = _step(row)
        if step <= self._last_step:
            raise ValueError(
                f"step is {step}, but {layout.METRICS} ends with step {self._last_step}; each "
                "step has one row, in order"
            )
        append_line(self.path / layout.METRICS, encode_row(row))
        self._last_step = step

    def append_evaluation(self, row: Mapping[str, object]) -> None:
        """Adds the row of an evaluation; raises as `append_metrics` does.

        A row whose step, method, split and turns are already there is refused.
        """
        key = _evaluation_key(row)
        if key in self._evaluated:
            found = ", ".join(f"{n} {v}" for n, v in zip(EVALUATION_KEY, key, strict=True))
            raise ValueError(
                f"{layout.EVALUATIONS} already has the evaluation of {found}; each is made once"
            )
        if _step(row) < self._last_evaluated_step():
            raise ValueError(
                f"step is {_step(row)}, but {layout.EVALUATIONS} ends with step "
                f"{self._last_evaluated_step()}; rows come in order"
            )
        append_line(self.path / layout.EVALUATIONS, encode_row(row))
        self._evaluated.add(key)

    def record_event(self, kind: str, message: str, **fields: object) -> None:
        """Adds an event with the time of now (ISO 8601, UTC); `fields` go beside it."""
        if "time" in fields:
            raise ValueError(f"time is {fields['time']!r}; an event's time is set by the store")
        time = datetime.now(UTC).isoformat(timespec="milliseconds")
        row = {"time": time, "kind": kind, "message": message, **fields}
        append_line(self.path / layout.EVENTS, encode_row(row))

    def write_episodes(
        self, step: int, episodes: Sequence[Episode], advantages: Advantages | None = None
    ) -> None:
        """Stores a step's episodes, whole or not at all; no episodes, no file."""
        if not episodes:
            return
        path = self.episodes_path(step)
        with reported(path):
            path.parent.mkdir(exist_ok=True)
        episode_file.write_episodes(path, episodes, advantages or {})

    def write_checkpoint(self, step: int, fill: Callable[[Path], None], keep: int) -> Path:
        """Saves a checkpoint (`checkpoint_folder.write_checkpoint`) and returns its folder."""
        return write_checkpoint(self.checkpoints, step, fill, keep)

    def cut_to(self, step: int) -> list[Path]:
        """Takes the run back to the checkpoint of this step: what is later goes.

        Later rows and episodes are removed, later checkpoints set aside; returns the new places of
        those. Being killed in the middle and called again does no harm.
        """
        moved = set_aside_later(self.checkpoints, step)
        _cut(self.path / layout.METRICS, step)
        _cut(self.path / layout.EVALUATIONS, step)
        _remove_later_episodes(self.path, step)
        self._remember()
        return moved

    def cut_to_nothing(self) -> list[Path]:
        """Takes the run back to before its first evaluation: for a resume without a checkpoint."""
        return self.cut_to(-1)

    def _remember(self) -> None:
        try:
            self._last_step = max((_step(row) for row in self.metrics()), default=0)
            self._evaluated = {_evaluation_key(row) for row in self.evaluations()}
        except ValueError as error:
            raise RunFolderError(
                f"{self.path} has a row in {layout.METRICS} or {layout.EVALUATIONS} that no run "
                f"wrote: {error}. Remove that row, or begin a new run with --run-dir"
            ) from error

    def _last_evaluated_step(self) -> int:
        return max((int(str(key[0])) for key in self._evaluated), default=0)


def _refuse_other_run(folder: Path) -> None:
    found = [name for name in layout.RUN_MARKS if (folder / name).exists()]
    if found:
        raise RunFolderRefusedError(
            f"{folder} already holds a run ({', '.join(found)}): continue it with --resume, or "
            "choose another folder with --run-dir"
        )


def _write_document(path: Path, values: Mapping[str, object]) -> None:
    check_json(values)
    text = json.dumps(values, indent=2, allow_nan=False).encode() + b"\n"
    write_whole(path, lambda file: file.write(text))


def _step(row: Mapping[str, object]) -> int:
    step = row.get("step")
    if not isinstance(step, int):
        raise ValueError(f"step is {step!r}; every row has a whole number as its step")
    return step


def _evaluation_key(row: Mapping[str, object]) -> tuple[object, ...]:
    return (_step(row), *(row.get(name) for name in EVALUATION_KEY[1:]))


def _cut(path: Path, step: int) -> None:
    """Rewrites a file of rows without those after `step`; kept lines keep their bytes."""
    lines = enumerate(whole_lines(path), start=1)
    kept = [line for number, line in lines if _step(decode_row(path, number, line)) <= step]
    if path.exists():
        write_whole(path, lambda file: file.writelines(line + b"\n" for line in kept))


def _episode_files(folder: Path) -> dict[int, Path]:
    found: dict[int, Path] = {}
    for path in (folder / layout.EPISODES).glob(f"*{layout.EPISODES_SUFFIX}"):
        step = layout.step_of(path.name.removesuffix(layout.EPISODES_SUFFIX))
        if step is not None:
            found[step] = path
    return found


def _remove_later_episodes(folder: Path, step: int) -> None:
    root = folder / layout.EPISODES
    if not root.is_dir():
        return
    with reported(root):
        for path in root.glob(f".*{layout.PARTIAL_SUFFIX}"):
            path.unlink()
        for path in (path for later, path in _episode_files(folder).items() if later > step):
            path.unlink()
        sync_folder(root)
