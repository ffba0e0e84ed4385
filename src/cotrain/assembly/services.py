"""What answers the requests of the program's own kinds: programs, maths, verifiers.

An environment names the kinds in `services`. Each service is opened at the first request, once a
process and settings, shared by training and evaluations, and closed when the process ends. What
cannot be had on this machine is refused before any model is loaded.
"""

import atexit
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from typing import Any, TypeAlias

from cotrain.config import Config, ConfigurationError, Fault, SandboxSettings, show
from cotrain.config.keys import nearest
from cotrain.core.episode import Evidence, Request
from cotrain.environments.base import Environment, ServiceLostError
from cotrain.environments.graders.maths import MathsGrader
from cotrain.environments.graders.program_answers import ProgramAnswers
from cotrain.environments.graders.verifier import Verifier
from cotrain.environments.requests import MATHS, PROGRAM_ANSWER, SANDBOXED, VERIFY
from cotrain.environments.sandbox import (
    Limits,
    SandboxUnavailableError,
    open_sandbox,
    refuse_unavailable,
    sandbox_handlers,
)
from cotrain.rollouts.evidence import Handler, Try, tried

NO_SANDBOX = "none"
UNSAFE = "unsafe-subprocess"
UNSAFE_NOTE = (
    f'sandbox.kind = "{UNSAFE}": programs of replies run as this user, with the files and the '
    "network of this machine; for replies that are trusted"
)


@dataclass(frozen=True, slots=True)
class Opened:
    """A service that runs: what answers each of its kinds, from any thread, and what ends it."""

    handlers: Mapping[str, Handler]
    close: Callable[[], None]


Find: TypeAlias = Callable[[str], Handler]
"""What answers another kind: for a service that is made of others."""


@dataclass(frozen=True, slots=True)
class Service:
    """One line of the table: the kinds it answers, and how it is had.

    `refuse(settings)` raises ConfigurationError where it cannot be had here, without starting it.
    `open(settings, find)` starts it; its handlers keep time limits of their own. `runs_programs`
    says that it runs code which a model wrote.
    """

    kinds: tuple[str, ...]
    open: Callable[[SandboxSettings, Find], Opened]
    refuse: Callable[[SandboxSettings], None]
    runs_programs: bool = False


class Services:
    """The services of this process.

    >>> answer = Service(("answer",), lambda *_: Opened({"answer": lambda r: 42}, lambda: None),
    ...                  lambda settings: None)
    >>> with Services([answer]) as services:
    ...     [once] = services.tries(["answer"], SandboxSettings()).values()
    ...     once(Request.of("answer")).answer
    42
    """

    def __init__(self, offered: Sequence[Service]) -> None:
        self._of_kind = {kind: service for service in offered for kind in service.kinds}
        self._opened: dict[tuple[Service, SandboxSettings], Opened] = {}
        self._opening = threading.RLock()

    def __enter__(self) -> "Services":
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def refuse_unfit(self, config: Config, environment: Environment[Any]) -> None:
        """Raises ConfigurationError for a service that is unknown or cannot be had here."""
        for kind in environment.services:
            if kind not in self._of_kind:
                raise ConfigurationError([_unknown(config, kind, list(self._of_kind))])
            if kind in environment.handlers:
                raise ConfigurationError([_answered_twice(config, kind)])
        for service in dict.fromkeys(self._of_kind[kind] for kind in environment.services):
            service.refuse(sandbox_settings(config))

    def run_programs(self, environment: Environment[Any]) -> bool:
        """Whether playing this environment runs code which a model wrote."""
        return any(self._of_kind[kind].runs_programs for kind in environment.services)

    def tries(self, kinds: Sequence[str], settings: SandboxSettings) -> dict[str, Try]:
        """What tries requests of these kinds; nothing is opened before it is asked."""
        return {kind: partial(self._try, kind, settings) for kind in kinds}

    def close(self) -> None:
        """Ends every service that was opened; a later request opens it again."""
        with self._opening, ExitStack() as stack:
            for opened in self._opened.values():
                stack.callback(opened.close)
            self._opened.clear()

    def _try(self, kind: str, settings: SandboxSettings, request: Request) -> Evidence:
        return tried(self._handler(settings, kind), request)

    def _handler(self, settings: SandboxSettings, kind: str) -> Handler:
        """Raises ServiceLostError where the service cannot be opened."""
        service = self._of_kind[kind]
        with self._opening:
            place = (service, settings)
            if place not in self._opened:
                self._opened[place] = _started(service, settings, partial(self._handler, settings))
            return self._opened[place].handlers[kind]


def _started(service: Service, settings: SandboxSettings, find: Find) -> Opened:
    try:
        return service.open(settings, find)
    except ServiceLostError:
        raise
    except Exception as error:
        kinds = ", ".join(service.kinds)
        raise ServiceLostError(
            f"what answers requests of kind {kinds} cannot be started: "
            f"{type(error).__name__}: {error}"
        ) from error


def sandbox_settings(config: Config) -> SandboxSettings:
    """The settings of `[sandbox]`, or their defaults."""
    return config.sandbox or SandboxSettings()


def _unknown(config: Config, kind: str, known: Sequence[str]) -> Fault:
    allowed = f"asks for the service {kind!r}, which is unknown; allowed are {', '.join(known)}"
    return Fault("environment.name", show(config.environment.name), allowed, nearest(kind, known))


def _answered_twice(config: Config, kind: str) -> Fault:
    allowed = f"names {kind!r} in services and in handlers; one of them must answer it"
    return Fault("environment.name", show(config.environment.name), allowed)


def _limits(settings: SandboxSettings) -> Limits:
    """Raises ConfigurationError for what no program could be run within."""
    return Limits(seconds=settings.seconds, memory_bytes=settings.memory_bytes)


def _refuse_no_isolation(settings: SandboxSettings) -> None:
    _limits(settings)
    try:
        refuse_unavailable(settings.kind)
    except SandboxUnavailableError as error:
        allowed = " ".join(str(error).split())
        raise ConfigurationError([Fault("sandbox.kind", show(settings.kind), allowed)]) from error


def _open_sandbox(settings: SandboxSettings, find: Find) -> Opened:
    sandbox = open_sandbox(settings.kind, settings.workers, _limits(settings))
    return Opened(sandbox_handlers(sandbox), sandbox.close)


def _refuse_missing(module: str, name: str, settings: SandboxSettings) -> None:
    if find_spec(module) is None:
        allowed = f'needs {name}, which is not installed: pip install "cotrain[maths]"'
        raise ConfigurationError([Fault("environment.name", "", allowed)])


def _open_maths(settings: SandboxSettings, find: Find) -> Opened:
    grader = MathsGrader()
    return Opened({MATHS: grader}, grader.close)


def _open_verifier(settings: SandboxSettings, find: Find) -> Opened:
    verifier = Verifier()
    return Opened({VERIFY: verifier}, verifier.close)


def _open_program_answers(settings: SandboxSettings, find: Find) -> Opened:
    return Opened({PROGRAM_ANSWER: ProgramAnswers(find)}, lambda: None)


SHIPPED = (
    Service(SANDBOXED, _open_sandbox, _refuse_no_isolation, runs_programs=True),
    Service((PROGRAM_ANSWER,), _open_program_answers, _refuse_no_isolation, runs_programs=True),
    Service((MATHS,), _open_maths, partial(_refuse_missing, "math_verify", "math-verify")),
    Service((VERIFY,), _open_verifier, partial(_refuse_missing, "reasoning_gym", "reasoning-gym")),
)
"""How each kind of `environments/requests.py` is answered."""

SERVICES = Services(SHIPPED)
"""Those of this process, closed when it ends."""

atexit.register(SERVICES.close)


def sandbox_kind(config: Config, environment: Environment[Any]) -> str:
    """Where programs of replies run, as the manifest says it: `"none"` where there are none."""
    runs = SERVICES.run_programs(environment)
    return sandbox_settings(config).kind if runs else NO_SANDBOX


def sandbox_notes(config: Config, environment: Environment[Any]) -> list[str]:
    """What a person should be told of where programs run; nothing where they are isolated."""
    return [UNSAFE_NOTE] if sandbox_kind(config, environment) == UNSAFE else []
