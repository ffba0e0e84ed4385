"""Episodes as lines of JSON in a gzip file, and back, without loss.

One episode a line; objects bear the field names of `cotrain.core.episode`. Beside them each
candidate has its `advantage`, where one was given. Token ids and log-probs are the sampler's own.
A task's `data` is not stored: its digest, split and index name it. A number that is not finite is
`{"non_finite": "NaN"}`, so that every JSON reader can read the file.
"""

import gzip
import json
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from io import BufferedReader
from pathlib import Path
from typing import Any, BinaryIO, TypeAlias, cast

from cotrain.core.episode import (
    Candidate,
    CandidateStatus,
    Episode,
    EpisodeStatus,
    Evidence,
    Finish,
    Group,
    Json,
    Message,
    Part,
    Phase,
    Reply,
    Request,
    Settled,
    Task,
    Turn,
    TurnKey,
)
from cotrain.runs.durable import RunFolderError, reported, write_whole

Advantages: TypeAlias = Mapping[tuple[TurnKey, int], float | None]
"""`(key of the group, index of the candidate) -> advantage`, None for a masked member."""

Fields: TypeAlias = dict[str, Any]

# Level 1 takes a third of the time of the default for files that are a few per cent larger.
_GZIP_LEVEL = 1
_GZIP_MAGIC = b"\x1f\x8b"
_NOT_AN_EPISODE = (ValueError, TypeError, AttributeError, OverflowError, RecursionError)
_NON_FINITE = "non_finite"
_NON_FINITE_NAMES = ("NaN", "Infinity", "-Infinity")
_NOT_STORED = {(Task, "data")}


@dataclass(frozen=True, slots=True)
class StoredEpisode:
    """An episode as read back, `task.data` None, with the advantages stored beside it."""

    episode: Episode
    advantages: Advantages


def thin(episodes: Sequence[Episode], keep: str | int) -> list[Episode]:
    """The part of a step's episodes that `logging.episodes` asks for.

    `"all"`, `"none"`, `"followed"` (of each group the followed candidate alone, which keeps its
    index) or a number (the first so many).

    >>> thin([], "followed")
    []
    """
    if isinstance(keep, int):
        return list(episodes[:keep])
    if keep == "all":
        return list(episodes)
    if keep == "followed":
        return [replace(e, turns=tuple(map(_thin_turn, e.turns))) for e in episodes]
    if keep == "none":
        return []
    raise ValueError(
        f'logging.episodes is {keep!r}; it must be "all", "followed", "none" or a number'
    )


def write_episodes(path: Path, episodes: Sequence[Episode], advantages: Advantages) -> None:
    """Writes the file whole or not at all. Equal episodes give equal bytes."""

    def fill(file: BinaryIO) -> None:
        with gzip.GzipFile("", "wb", _GZIP_LEVEL, file, mtime=0) as lines:
            for episode in episodes:
                lines.write(encode_episode(episode, advantages))

    write_whole(path, fill)


def read_episodes(path: Path) -> Iterator[StoredEpisode]:
    """The episodes of a file, gzipped or not, one at a time.

    Raises `RunFolderError`, with the number of the episode, if one cannot be read.
    """
    num_read = 0
    try:
        with reported(path), path.open("rb") as file:
            for line in _lines(file):
                yield decode_episode(line)
                num_read += 1
    except (EOFError, LookupError, *_NOT_AN_EPISODE, zlib.error) as error:
        raise RunFolderError(
            f"{path}: episode {num_read + 1} cannot be read ({error!r}): restore the file from a "
            "copy, or delete it"
        ) from error


def _lines(file: BufferedReader) -> Iterable[bytes]:
    is_gzipped = file.peek(2)[:2] == _GZIP_MAGIC
    return gzip.GzipFile(fileobj=file) if is_gzipped else file


def encode_episode(episode: Episode, advantages: Advantages) -> bytes:
    """One line of ASCII JSON with its newline."""

    def record(value: object) -> object:
        if isinstance(value, Group):
            members = [_candidate_fields(c, value.key, advantages) for c in value.candidates]
            return {**_fields(value), "candidates": members}
        return _fields(value)

    try:
        text = json.dumps(episode, default=record, allow_nan=False)
    except ValueError:
        read = json.loads(json.dumps(episode, default=record), parse_constant=_spelled_out)
        text = json.dumps(read, allow_nan=False)
    return text.encode() + b"\n"


def decode_episode(line: bytes | str) -> StoredEpisode:
    """What `encode_episode` encoded. Tuples, enumerations and floats come back exactly."""
    values: Fields = json.loads(line, object_hook=_number_or_object)
    advantages: dict[tuple[TurnKey, int], float | None] = {}
    turns = tuple(_turn(turn, advantages) for turn in values["turns"])
    replaced: Fields = {
        "task": Task(**values["task"], data=None),
        "status": EpisodeStatus(values["status"]),
        "turns": turns,
        "settled": tuple(Settled(**credit) for credit in values.get("settled", ())),
    }
    return StoredEpisode(Episode(**{**values, **replaced}), advantages)


def _thin_turn(turn: Turn) -> Turn:
    phases = (replace(phase, groups=tuple(map(_thin_group, phase.groups))) for phase in turn.phases)
    return replace(turn, phases=tuple(phases))


def _thin_group(group: Group) -> Group:
    if group.chosen is None:
        return replace(group, candidates=())
    return replace(group, candidates=(group.chosen,), followed=0)


def _fields(value: object) -> Fields:
    if isinstance(value, Request):
        return {"kind": value.kind, "arguments": dict(value.arguments)}
    if isinstance(value, Mapping):
        return dict(cast(Mapping[str, Any], value))
    if not is_dataclass(value):
        raise TypeError(f"a {type(value).__name__} cannot be stored in an episode file: {value!r}")
    names = (field.name for field in fields(value) if (type(value), field.name) not in _NOT_STORED)
    return {name: getattr(value, name) for name in names}


def _candidate_fields(candidate: Candidate, key: TurnKey, advantages: Advantages) -> Fields:
    place = (key, candidate.index)
    stored = {"advantage": advantages[place]} if place in advantages else {}
    return {**_fields(candidate), **stored}


def _spelled_out(name: str) -> dict[str, str]:
    return {_NON_FINITE: name}


def _number_or_object(values: Fields) -> Fields | float:
    is_number = values.keys() == {_NON_FINITE} and values[_NON_FINITE] in _NON_FINITE_NAMES
    return float(values[_NON_FINITE]) if is_number else values


def _turn(values: Fields, advantages: dict[tuple[TurnKey, int], float | None]) -> Turn:
    phases = (
        Phase(
            groups=tuple(_group(group, advantages) for group in phase["groups"]),
            joint_evidence=tuple(map(_evidence, phase["joint_evidence"])),
            rendering=phase["rendering"],
        )
        for phase in values["phases"]
    )
    return Turn(values["number"], tuple(phases))


def _group(values: Fields, advantages: dict[tuple[TurnKey, int], float | None]) -> Group:
    key = TurnKey(**values["key"])
    for member in values["candidates"]:
        if "advantage" in member:
            advantages[key, member["index"]] = member.pop("advantage")
    replaced: Fields = {
        "key": key,
        "messages": tuple(Message(**message) for message in values["messages"]),
        "prompt_ids": tuple(values["prompt_ids"]),
        "candidates": tuple(map(_candidate, values["candidates"])),
    }
    return Group(**{**values, **replaced})


def _candidate(values: Fields) -> Candidate:
    replaced: Fields = {
        "reply": _reply(values["reply"]),
        "status": CandidateStatus(values["status"]),
        "local": tuple(Part(**part) for part in values["local"]),
        "evidence": tuple(map(_evidence, values["evidence"])),
    }
    return Candidate(**{**values, **replaced})


def _reply(values: Fields) -> Reply:
    replaced: Fields = {
        "token_ids": tuple(values["token_ids"]),
        "logprobs": tuple(values["logprobs"]),
        "finish": Finish(values["finish"]),
    }
    return Reply(**{**values, **replaced})


def _evidence(values: Fields) -> Evidence:
    arguments = values["request"]["arguments"].items()
    request = Request(
        values["request"]["kind"], tuple((name, _frozen(value)) for name, value in arguments)
    )
    return Evidence(
        request=request,
        answer=_frozen(values["answer"]),
        status=CandidateStatus(values["status"]),
        message=values["message"],
        retries=values.get("retries", 0),  # older files have none
    )


def _frozen(value: Any) -> Json:
    if isinstance(value, list):
        return tuple(map(_frozen, cast(list[Any], value)))
    if isinstance(value, dict):
        return {name: _frozen(item) for name, item in cast(Fields, value).items()}
    return value
