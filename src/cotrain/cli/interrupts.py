"""Ctrl-C: the first stops a run at the next step boundary, the second at once."""

import signal
import sys
from types import FrameType


class StopRequest:
    """Counts SIGINT and SIGTERM; asked by the trainer at every step boundary.

    >>> StopRequest()()
    False
    """

    def __init__(self) -> None:
        self._asked = False

    def __call__(self) -> bool:
        """Whether a stop was asked for."""
        return self._asked

    def install(self) -> None:
        """Takes over the signals of this process."""
        signal.signal(signal.SIGINT, self._on_signal)
        signal.signal(signal.SIGTERM, self._on_signal)

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        if self._asked:
            raise KeyboardInterrupt
        self._asked = True
        print(
            "Stopping: this step is finished and saved first. Once more stops at once.",
            file=sys.stderr,
        )
