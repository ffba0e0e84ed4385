"""Where episodes are given: a run folder with those of all its steps, or one file of episodes."""

import hashlib
from collections.abc import Iterator
from pathlib import Path

from cotrain.core.episode import Episode
from cotrain.runs.durable import RunFolderError, RunFolderRefusedError, reported
from cotrain.runs.episode_file import read_episodes
from cotrain.runs.layout import CONFIG
from cotrain.runs.store import RunFolder

MAX_ID = 2**31


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
    """Every episode of a source, one at a time.

    Raises RunFolderError for what cannot be read, and for replies that cannot be imitated.
    """
    for file in episode_files(source):
        for number, stored in enumerate(read_episodes(file), start=1):
            if fault := _fault(stored.episode):
                raise RunFolderError(f"{file}: episode {number} cannot be imitated: {fault}")
            yield stored.episode


def _fault(episode: Episode) -> str:
    """What is wrong with the replies of an episode that another program may have written."""
    if not _is(episode.success, bool):
        return f"success is {episode.success!r}; it must be true or false"
    for group in episode.groups():
        followed, number = group.followed, len(group.candidates)
        if followed is not None and not (_is(followed, int) and 0 <= followed < number):
            return (
                f"followed is {followed!r}; it must be an index into {number} candidates, or null"
            )
        texts = (group.role, group.key.agent, *(c.reply.text for c in group.candidates))
        if not all(_is(text, str) for text in texts):
            return "role, agent and the text of a reply must be text"
        ids = (*group.prompt_ids, *(i for c in group.candidates for i in c.reply.token_ids))
        if not all(_is(one, int) and 0 <= one < MAX_ID for one in ids):
            return f"token ids must be integers from 0 to {MAX_ID - 1}"
    return ""


def _is(value: object, kind: type) -> bool:
    return isinstance(value, kind)


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
