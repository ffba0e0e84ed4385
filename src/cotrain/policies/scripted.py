"""Policies that follow a script: for tests, documentation and the trial of environments.

A script is a function from the messages and a seeded generator to the reply's text. Token ids are
the UTF-8 bytes of the text and a zero byte as end token, so that every record of a run is whole.
"""

import json
import random
import runpy
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeAlias, cast

from cotrain.config.faults import told
from cotrain.core.episode import Finish, Message, Reply
from cotrain.policies.base import SampleRequest

Script: TypeAlias = Callable[[Sequence[Message], random.Random], str]


class ScriptedPolicy:
    """A sampler that plays a script.

    >>> from cotrain.policies.base import Decoding
    >>> policy = ScriptedPolicy("planner", lambda messages, generator: "<answer>Up</answer>")
    >>> ids = policy.encode([Message("user", "Which way?")])
    >>> [[reply]] = policy.sample([SampleRequest(ids, (1,), Decoding(1.0, 64))])
    >>> reply.text, len(reply.token_ids)
    ('<answer>Up</answer>', 20)
    """

    version = 0
    context_tokens = 2**30

    def __init__(self, name: str, script: Script) -> None:
        self.name = name
        self._script = script

    def encode(self, messages: Sequence[Message]) -> tuple[int, ...]:
        """The UTF-8 bytes of the messages as JSON."""
        return tuple(json.dumps([[m.role, m.content] for m in messages]).encode())

    def sample(self, requests: Sequence[SampleRequest]) -> list[tuple[Reply, ...]]:
        """Asks the script once a seed; a reply longer than the limit is cut, as a model's is.

        A script that raises, or returns no text, has failed the call: its reply says why.
        """
        return [self._replies(request) for request in requests]

    def _replies(self, request: SampleRequest) -> tuple[Reply, ...]:
        messages = [Message(*pair) for pair in json.loads(bytes(request.prompt_ids))]
        limit = request.decoding.max_reply_tokens
        return tuple(self._written(messages, seed, limit) for seed in request.seeds)

    def _written(self, messages: Sequence[Message], seed: int, limit: int) -> Reply:
        try:
            return _reply(self._script(messages, random.Random(seed)), limit)
        except (Exception, SystemExit) as error:  # noqa: BLE001 - a failed call is a reply's status
            return Reply("", (), (), Finish.ERROR, f"the script: {told(error)}")


def load_script(path: Path) -> Script:
    """The function `reply(messages, generator)` of a Python file.

    Raises ValueError when the file is missing, cannot be run, or defines no such function.
    """
    try:
        is_there = path.is_file()
    except OSError as error:
        raise ValueError(f"{path} cannot be read: {error.strerror}") from error
    if not is_there:
        raise ValueError(f"no script at {path}; `scripted:FILE` names a Python file")
    try:
        script: Any = runpy.run_path(str(path)).get("reply")
    except (Exception, SystemExit) as error:
        raise ValueError(f"{path} cannot be run: {told(error)}") from error
    if not callable(script):
        raise ValueError(f"{path} defines no function reply(messages, generator) -> str")
    return cast("Script", script)


def _reply(text: str, limit: int) -> Reply:
    ids = (*text.encode(), 0)
    if len(ids) <= limit:
        return Reply(text, ids, (0.0,) * len(ids), Finish.STOP)
    kept = ids[:limit]
    return Reply(bytes(kept).decode(errors="ignore"), kept, (0.0,) * limit, Finish.LENGTH)
