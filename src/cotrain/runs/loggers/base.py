"""The contract of a logger: it is shown the rows that the run folder holds, as they are written."""

from collections.abc import Mapping
from typing import Protocol


class Logger(Protocol):
    """Shows a run. It changes nothing in it, and is closed however the run ends."""

    def step(self, row: Mapping[str, object]) -> None:
        """A row of `metrics.jsonl`."""

    def evaluation(self, row: Mapping[str, object]) -> None:
        """A row of `evaluations.jsonl`."""

    def event(self, kind: str, message: str) -> None:
        """An event, such as a warning or a resume."""

    def close(self) -> None:
        """The run is over; calling it again does nothing."""
