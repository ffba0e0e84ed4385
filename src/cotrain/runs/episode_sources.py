"""Where episodes are given: a run folder with those of all its steps, or one file of episodes."""

import hashlib
from collections.abc import Iterator
from pathlib import Path

from cotrain.core.episode import Episode
from cotrain.runs.durable import RunFolderRefusedError, reported
from cotrain.runs.episode_file import read_episodes
from cotrain.runs.layout import CONFIG
from cotrain.runs.store import RunFolder


def episode_files(source: str | Path) -> list[Path]:
    """The files of a source, in the order of the steps.

    Raises RunFolderRefusedError for one that is not there or holds no episodes.
    """
    path = Path(source)
    if path.is_file():
        return [path]
    if not (path / CONFIG).is_file():
        raise RunFolderRefusedError(f"{path} is neither a run folder nor a file of episodes")
    run = RunFolder(path)
    files = [run.episodes_path(step) for step in run.episode_steps()]
    if not files:
        raise RunFolderRefusedError(f"the run in {path} kept no episodes (logging.episodes)")
    return files


def episodes_in(source: str | Path) -> Iterator[Episode]:
    """Every episode of a source, one at a time. Raises RunFolderError for what cannot be read."""
    for file in episode_files(source):
        for stored in read_episodes(file):
            yield stored.episode


def hash_of(source: str | Path) -> str:
    """The SHA-256 of a file of episodes; of a run, that of the hashes of its files, a line each."""
    files = episode_files(source)
    hashes = [_hash_of_file(file) for file in files]
    if Path(source).is_file():
        return hashes[0]
    return hashlib.sha256("".join(f"{one}\n" for one in hashes).encode()).hexdigest()


def _hash_of_file(path: Path) -> str:
    with reported(path), path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
