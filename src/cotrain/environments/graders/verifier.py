"""Scores answers to problems of reasoning-gym with the data sets' own verifiers.

They run in processes of their own with a limit of time and of memory: some of them evaluate the
answer as Python, so an answer that could do anything but arithmetic never reaches these.
"""

from cotrain.config.faults import Fault
from cotrain.core.episode import Request
from cotrain.environments.base import UndecidedError
from cotrain.environments.graders.line_workers import (
    NUM_WORKERS,
    LateError,
    WorkerKind,
    WorkerLostError,
)

SCORES = WorkerKind(
    module="cotrain.environments.graders.verifier_worker",
    package="reasoning_gym",
    lacking=Fault(
        "environment.options.data",
        "",
        'its verifiers need reasoning-gym: pip install "cotrain[maths]"',
    ),
    seconds=20.0,
    memory_bytes=2 << 30,
)


class Verifier:
    """Answers `verify` requests with a score from 0 to 1; safe to share by threads.

    Raises ConfigurationError where reasoning-gym is not installed.
    """

    def __init__(self, num_workers: int = NUM_WORKERS, kind: WorkerKind = SCORES) -> None:
        self._workers = kind.workers(num_workers)

    def __call__(self, request: Request) -> float:
        """The score of the reply's final answer; 0 for a reply that has none.

        Raises UndecidedError where the verifier takes too long or ends.
        """
        question = {
            name: request[name] for name in ("dataset", "options", "seed", "digest", "reply")
        }
        try:
            return float(self._workers.ask(question))
        except (LateError, WorkerLostError) as error:
            raise UndecidedError(str(error)) from error

    def close(self) -> None:
        """Ends the processes."""
        self._workers.close()
