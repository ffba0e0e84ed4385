"""Scores answers to problems of reasoning-gym with the data sets' own verifiers.

They run in processes of their own with a limit of time and of memory: some of them evaluate the
answer as Python, so an answer that could do anything but arithmetic never reaches these.
"""

from importlib.util import find_spec

from cotrain.config.faults import ConfigurationError, Fault
from cotrain.core.episode import Request
from cotrain.environments.base import UndecidedError
from cotrain.environments.graders.line_workers import LateError, LineWorkers, WorkerLostError

MODULE = "cotrain.environments.graders.verifier_worker"
NUM_WORKERS = 2
SECONDS = 20.0
MEMORY_BYTES = 2 << 30


class Verifier:
    """Answers `verify` requests with a score from 0 to 1; safe to share by threads.

    Raises ConfigurationError where reasoning-gym is not installed.
    """

    def __init__(
        self,
        num_workers: int = NUM_WORKERS,
        seconds: float = SECONDS,
        memory_bytes: int = MEMORY_BYTES,
    ) -> None:
        if find_spec("reasoning_gym") is None:
            needed = 'its verifiers need reasoning-gym: pip install "cotrain[maths]"'
            raise ConfigurationError([Fault("environment.options.data", "", needed)])
        self._workers = LineWorkers(MODULE, num_workers, seconds, memory_bytes)

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
