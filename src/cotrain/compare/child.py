"""Runs one command of cotrain in a process that does not outlive the one that started it.

On Linux the system sends SIGTERM to it when its parent ends, so that a comparison that is killed
leaves no training behind: each saves at its next step boundary.
"""

import ctypes
import os
import runpy
import signal
import sys

_SET_PARENT_DEATH_SIGNAL = 1


def main() -> None:
    """`python -m cotrain.compare.child PARENT WORDS...`."""
    parent, *words = sys.argv[1:]
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_SET_PARENT_DEATH_SIGNAL, signal.SIGTERM)
    if os.getppid() != int(parent):  # it ended before it could be followed
        sys.exit(1)
    sys.argv = ["cotrain", *words]
    runpy.run_module("cotrain", run_name="__main__")


if __name__ == "__main__":
    main()
