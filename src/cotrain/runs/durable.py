"""Files that survive a crash: whole or not there, and so is every line of those that grow."""

import errno
import os
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from cotrain.runs.layout import CONFIG, PARTIAL_SUFFIX

_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_FORBIDDEN = {errno.EACCES, errno.EPERM, errno.EROFS}
_NO_FOLDER = {errno.EEXIST, errno.ENOTDIR, errno.EISDIR, errno.ENAMETOOLONG, errno.ELOOP}
_NO_FOLDER_SYNC = {errno.EINVAL, errno.ENOTSUP}


class RunFolderError(Exception):
    """A run folder cannot be written or read. The message names the file and what to do."""


class RunFolderRefusedError(RunFolderError):
    """A wrong use of a run folder: it holds another run, holds none, or is being written."""


@contextmanager
def reported(path: Path) -> Generator[None, None, None]:
    """Turns the system's errors into a `RunFolderError` that names the file and what to do."""
    try:
        yield
    except OSError as error:
        raise RunFolderError(_explained(path, error)) from error


@contextmanager
def chosen(path: Path) -> Generator[None, None, None]:
    """As `reported`, where a user has just named this place.

    A place where no run can be (a file, a closed folder, a name that is too long) is a wrong use:
    a `RunFolderRefusedError`.
    """
    try:
        yield
    except OSError as error:
        is_wrong_use = error.errno in _NO_FOLDER | _FORBIDDEN
        kind = RunFolderRefusedError if is_wrong_use else RunFolderError
        raise kind(_explained(path, error)) from error


def refuse_unreachable(path: Path) -> None:
    """Raises `RunFolderRefusedError` for a path that the system lets nobody, or not us, look at.

    One that is not there passes.
    """
    try:
        (path / CONFIG).is_file()
    except OSError as error:
        said = f"{path}: {error.strerror}: nothing can be read there"
        raise RunFolderRefusedError(said) from error


def write_whole(path: Path, fill: Callable[[BinaryIO], object]) -> None:
    """Writes a file aside, syncs it and renames it: a reader sees the old one or the new one.

    Raises `RunFolderError` when the disk is full or closed to us, and then leaves nothing new.
    """
    aside = path.with_name(f".{path.name}{PARTIAL_SUFFIX}")
    with reported(path):
        try:
            with aside.open("wb") as file:
                fill(file)
                file.flush()
                os.fsync(file.fileno())
            aside.replace(path)
        except BaseException:
            aside.unlink(missing_ok=True)
            raise
        sync_folder(path.parent)


def append_line(path: Path, line: bytes) -> None:
    """Adds one line, which ends in a newline, and syncs it. A torn line before it is cut off.

    Raises `RunFolderError` when the disk is full or closed to us, and then the file is as before.
    """
    with reported(path):
        is_new = not path.exists()
        with path.open("a+b", buffering=0) as file:
            _append_whole(file, line)
        if is_new:
            sync_folder(path.parent)


def whole_lines(path: Path) -> list[bytes]:
    """The lines of a file without their newlines; a missing file has none.

    A line counts once its newline is written: what a crash left behind the last one is dropped.
    """
    with reported(path):
        data = path.read_bytes() if path.exists() else b""
    return data.split(b"\n")[:-1]


def sync_folder(path: Path) -> None:
    """Makes renames and new names in a folder last through a loss of power."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        # Some network file systems cannot sync a folder; nothing more can be done there.
        if error.errno not in _NO_FOLDER_SYNC:
            raise
    finally:
        os.close(descriptor)


def _append_whole(file: BinaryIO, line: bytes) -> None:
    end = _cut_torn_line(file)
    rest = memoryview(line)
    try:
        while rest:
            rest = rest[file.write(rest) :]
        os.fsync(file.fileno())
    except BaseException:
        # If this fails as well, readers and the next append drop the torn line.
        with suppress(OSError):
            file.truncate(end)
        raise


def _cut_torn_line(file: BinaryIO) -> int:
    """Returns the size of the file after it."""
    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size - 1))
    if size == 0 or file.read(1) == b"\n":
        return size
    file.seek(0)
    return file.truncate(file.read().rfind(b"\n") + 1)


def _explained(path: Path, error: OSError) -> str:
    name = error.filename if isinstance(error.filename, str) else path
    reason = error.strerror or str(error)
    if error.errno in _FULL:
        advice = (
            "the disk or the quota is full. Free some space and continue with --resume; "
            "run.keep_checkpoints and logging.episodes say how much a run stores"
        )
    elif error.errno in _NO_FOLDER:
        advice = "no run's folder can be there, choose another one with --run-dir"
    elif error.errno in _FORBIDDEN:
        advice = "choose another folder with --run-dir, or change the folder's permissions"
    else:
        advice = "check the file, or choose another folder with --run-dir"
    return f"{name}: {reason}: {advice}"
