"""Checkpoints as folders: complete or absent, whatever is killed when.

The name of a folder says what it is worth:

    checkpoints/
      step_000010/          complete: its COMPLETE lists every file with size and SHA-256
      .step_000012.partial  being written, or left by a kill; removed by the next save
      step_000012.replaced  the former folder of a step that is saved again; counts until it is gone
      step_000014.damaged   passed over by a resume; nothing reads it
"""

import hashlib
import json
import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from cotrain.runs.durable import RunFolderRefusedError, reported, sync_folder, write_whole
from cotrain.runs.layout import COMPLETE, PARTIAL_SUFFIX, step_name, step_of

_REPLACED_SUFFIX = ".replaced"
_DAMAGED_SUFFIX = ".damaged"


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A folder of a step. `checkpoint_faults` says whether it can be trusted."""

    step: int
    path: Path


@dataclass(frozen=True, slots=True)
class _Mark:
    """What `COMPLETE` says: the step, and the size and SHA-256 of every file."""

    step: int
    files: dict[str, tuple[int, str]]


@dataclass(frozen=True, slots=True)
class Latest:
    """The checkpoint to resume from, or None; `warnings` say which later ones are bad, and why."""

    checkpoint: Checkpoint | None
    warnings: tuple[str, ...] = ()


def write_checkpoint(root: Path, step: int, fill: Callable[[Path], None], keep: int) -> Path:
    """Saves a checkpoint and returns its folder.

    `fill` writes the files into the empty folder that it is given. They are synced and listed in
    `COMPLETE`, and only then does the folder get its name; then the oldest ones beyond `keep` go.
    At every moment the folder before it, or this one, is complete. A folder of the same step is
    replaced. Raises `RunFolderError` when the disk is full or closed to us, and what `fill`
    raises; either leaves the former checkpoints as they were.
    """
    if keep < 1:
        raise ValueError(f"run.keep_checkpoints is {keep}; it must be at least 1")
    with reported(root):
        root.mkdir(parents=True, exist_ok=True)
        _remove_stale(root)
        partial = root / f".{step_name(step)}{PARTIAL_SUFFIX}"
        partial.mkdir()
        try:
            fill(partial)
            _mark_complete(partial, step)
        except BaseException:
            shutil.rmtree(partial, ignore_errors=True)
            raise
        path = _publish(root, partial, step)
        _remove_old(root, step, keep)
    return path


def complete_checkpoints(root: Path) -> list[Checkpoint]:
    """The folders whose mark agrees with the sizes of their files, by step. Reads no contents.

    A missing `root` has none.
    """
    return [checkpoint for checkpoint in _marked(root) if not _size_faults(checkpoint)]


def latest_complete(root: Path) -> Latest:
    """The newest checkpoint whose every file has the size and the SHA-256 of its mark.

    A bad one is passed over for the one before it, with a warning that names the bad file.
    """
    warnings: list[str] = []
    for checkpoint in reversed(_folders(root)):
        faults = checkpoint_faults(checkpoint)
        if not faults:
            return Latest(checkpoint, tuple(warnings))
        warnings.append(f"{checkpoint.path} is passed over: " + "; ".join(faults))
    return Latest(None, tuple(warnings))


def checkpoint_at(path: Path) -> Checkpoint:
    """The checkpoint in this folder, whatever its name.

    Raises `RunFolderRefusedError` if there is none, or if a file is not the one that was saved.
    """
    with reported(path):
        try:
            checkpoint = Checkpoint(_read_mark(path).step, path)
        except (FileNotFoundError, NotADirectoryError, ValueError) as error:
            raise RunFolderRefusedError(
                f"{path} is no checkpoint: a checkpoint is a folder with a {COMPLETE} mark, such "
                f"as RUN/checkpoints/{step_name(12)}"
            ) from error
        faults = checkpoint_faults(checkpoint)
    if faults:
        raise RunFolderRefusedError(
            f"{path} is damaged: {'; '.join(faults)}. Restore it, or take another checkpoint"
        )
    return checkpoint


def checkpoint_faults(checkpoint: Checkpoint) -> list[str]:
    """What is wrong with a checkpoint, one line a file; empty if it can be trusted."""
    with reported(checkpoint.path):
        if not (checkpoint.path / COMPLETE).is_file():
            return [f"it has no {COMPLETE} mark"]
        return _size_faults(checkpoint) or _content_faults(checkpoint)


def set_aside_later(root: Path, step: int) -> list[Path]:
    """Renames the folders of later steps, so that none is taken for a part of the resumed run.

    Returns their new places; a save of the same step removes them.
    """
    moved: list[Path] = []
    with reported(root):
        for checkpoint in _folders(root):
            if checkpoint.step <= step:
                continue
            target = root / f"{step_name(checkpoint.step)}{_DAMAGED_SUFFIX}"
            _discard(target)
            checkpoint.path.rename(target)
            moved.append(target)
    return moved


def _folders(root: Path) -> list[Checkpoint]:
    """Every folder that bears a step's name, by step; a replaced one comes before the new one."""
    if not root.is_dir():
        return []
    found: list[tuple[int, bool, Path]] = []
    for path in root.iterdir():
        step = step_of(path.name.removesuffix(_REPLACED_SUFFIX))
        if step is not None and path.is_dir():
            found.append((step, not _is_replaced(path), path))
    return [Checkpoint(step, path) for step, _, path in sorted(found)]


def _is_replaced(path: Path) -> bool:
    return path.name.endswith(_REPLACED_SUFFIX)


def _marked(root: Path) -> list[Checkpoint]:
    """The marked folders, one a step."""
    marked = [c for c in _folders(root) if (c.path / COMPLETE).is_file()]
    return list({checkpoint.step: checkpoint for checkpoint in marked}.values())


def _files(folder: Path) -> dict[str, Path]:
    """The files to list, by name. Hidden ones (`.DS_Store`) belong to a file manager."""
    found: dict[str, Path] = {}
    for path in sorted(folder.rglob("*")):
        inside = path.relative_to(folder)
        is_hidden = any(part.startswith(".") for part in inside.parts)
        if path.is_file() and path.name != COMPLETE and not is_hidden:
            found[inside.as_posix()] = path
    return found


def _mark_complete(folder: Path, step: int) -> None:
    files: dict[str, dict[str, int | str]] = {}
    for name, path in _files(folder).items():
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
            os.fsync(file.fileno())
        files[name] = {"bytes": path.stat().st_size, "sha256": digest}
    for path in folder.rglob("*"):
        if path.is_dir():
            sync_folder(path)
    mark = json.dumps({"step": step, "files": files}, indent=2).encode() + b"\n"
    write_whole(folder / COMPLETE, lambda file: file.write(mark))


def _publish(root: Path, partial: Path, step: int) -> Path:
    path = root / step_name(step)
    replaced = root / f"{step_name(step)}{_REPLACED_SUFFIX}"
    if path.exists():
        _discard(replaced)
        path.rename(replaced)
    partial.rename(path)
    sync_folder(root)
    _discard(replaced)
    _discard(root / f"{step_name(step)}{_DAMAGED_SUFFIX}")
    return path


def _remove_old(root: Path, step: int, keep: int) -> None:
    kept = [checkpoint for checkpoint in _marked(root) if checkpoint.step <= step][-keep:]
    for checkpoint in _folders(root):
        is_ours = (checkpoint.path / COMPLETE).is_file() or _is_replaced(checkpoint.path)
        if is_ours and checkpoint.step <= step and checkpoint not in kept:
            _discard(checkpoint.path)


def _discard(folder: Path) -> None:
    """Removes a folder so that a kill in the middle leaves nothing that bears a step's name."""
    if folder.exists():
        doomed = folder.with_name(f".{folder.name}{PARTIAL_SUFFIX}")
        shutil.rmtree(doomed, ignore_errors=True)
        folder.rename(doomed)
        shutil.rmtree(doomed)


def _remove_stale(root: Path) -> None:
    for path in root.glob(f".step_*{PARTIAL_SUFFIX}"):
        shutil.rmtree(path)


def _read_mark(folder: Path) -> _Mark:
    """Raises ValueError for anything but a mark."""
    try:
        mark = json.loads((folder / COMPLETE).read_bytes())
        files = {n: (int(f["bytes"]), str(f["sha256"])) for n, f in mark["files"].items()}
        return _Mark(int(mark["step"]), files)
    except (AttributeError, KeyError, TypeError) as error:
        raise ValueError(f"{folder / COMPLETE} is no mark of a checkpoint") from error


def _size_faults(checkpoint: Checkpoint) -> list[str]:
    try:
        mark = _read_mark(checkpoint.path)
    except ValueError:
        return [f"{COMPLETE} cannot be read"]
    if mark.step != checkpoint.step:
        return [f"{COMPLETE} is that of step {mark.step}"]
    found = _files(checkpoint.path)
    faults = [f"{name} is not listed in {COMPLETE}" for name in found if name not in mark.files]
    for name, (listed, _) in mark.files.items():
        size = found[name].stat().st_size if name in found else None
        if size is None:
            faults.append(f"{name} is missing")
        elif size != listed:
            faults.append(f"{name} has {size} bytes instead of {listed}")
    return faults


def _content_faults(checkpoint: Checkpoint) -> list[str]:
    faults: list[str] = []
    for name, (_, listed) in _read_mark(checkpoint.path).files.items():
        with (checkpoint.path / name).open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        if digest != listed:
            faults.append(f"{name} has other contents than those that were saved")
    return faults
