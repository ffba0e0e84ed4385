"""One writer a run folder: a lock that the system releases when its process ends, however."""

import fcntl
import os
from pathlib import Path

from cotrain.runs.durable import RunFolderRefusedError, chosen
from cotrain.runs.layout import LOCK


def is_being_written(folder: Path) -> bool:
    """Whether a process holds the lock of this folder now."""
    try:
        with (folder / LOCK).open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:  # what cannot be opened is said by whoever wants to write there
        return False
    return False


class FolderLock:
    """Held from construction to `release`.

    Raises `RunFolderRefusedError`, with the process id of the holder, when another one holds it.
    """

    def __init__(self, folder: Path) -> None:
        path = folder / LOCK
        with chosen(path):
            self._file = path.open("a+b")
            try:
                fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                self._file.seek(0)
                holder = self._file.read().decode(errors="replace").strip() or "unknown"
                self._file.close()
                raise RunFolderRefusedError(
                    f"{folder} is being written by process {holder}: wait for it or stop it, "
                    "or choose another folder with --run-dir"
                ) from error
            self._file.truncate(0)
            self._file.write(str(os.getpid()).encode())
            self._file.flush()

    def release(self) -> None:
        """Lets the next writer in. Calling it again does nothing."""
        self._file.close()
