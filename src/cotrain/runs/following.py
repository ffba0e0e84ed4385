"""Follow a file of rows that a live run writes."""

import os
from dataclasses import dataclass
from pathlib import Path

from cotrain.runs.durable import reported
from cotrain.runs.rows import Row, decode_row


@dataclass(frozen=True, slots=True)
class News:
    """What a file holds beyond the last look.

    `from_start` says that the file was cut in between (a resume): `rows` then replace all rows
    seen so far.
    """

    rows: tuple[Row, ...]
    from_start: bool


class Follower:
    """Reads a growing file by whole lines: each `poll` gives the rows that are new.

    A file that does not exist yet has no rows.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self._restart()

    def poll(self) -> News:
        """The rows written since the last call. Raises `RunFolderError` if one cannot be read."""
        with reported(self.path):
            from_start = not self._is_where_it_was()
            if from_start:
                self._restart()
            return News(self._read_on(), from_start)

    def _restart(self) -> None:
        self._offset = 0
        self._num_lines = 0
        self._last_line = b""

    def _is_where_it_was(self) -> bool:
        # A cut file may have grown past the old place again, so its length alone tells too little.
        if self._offset == 0:
            return True
        if not self.path.exists():
            return False
        with self.path.open("rb") as file:
            file.seek(self._offset - len(self._last_line))
            return file.read(len(self._last_line)) == self._last_line

    def _read_on(self) -> tuple[Row, ...]:
        if not self.path.exists():
            return ()
        with self.path.open("rb") as file:
            file.seek(self._offset, os.SEEK_SET)
            data = file.read()
        lines = data[: data.rfind(b"\n") + 1].splitlines(keepends=True)
        rows = [
            decode_row(self.path, self._num_lines + place, line)
            for place, line in enumerate(lines, start=1)
        ]
        self._offset += sum(len(line) for line in lines)
        self._num_lines += len(lines)
        self._last_line = lines[-1] if lines else self._last_line
        return tuple(rows)
