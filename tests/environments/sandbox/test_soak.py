"""Two hundred hostile programs leave nothing behind: no process, file, descriptor or memory."""

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

from bench.hostile import HOSTILE
from tests.environments.sandbox.opened import needs_bubblewrap

BENCH = Path(__file__).parents[3] / "bench" / "sandbox.py"
PROGRAMS, WORKERS = 200, 8
MAY_GROW_BYTES = 2**22


@needs_bubblewrap
def test_hostile_programs_leave_nothing_behind() -> None:
    words = [sys.executable, BENCH, "--soak", str(PROGRAMS), "--workers", str(WORKERS), "--json"]
    found = json.loads(subprocess.run(words, stdout=subprocess.PIPE, check=True).stdout)
    assert found["broke_out"] == []
    assert found["survivors"] == []
    assert found["zombies"] == []
    assert found["files_left"] == []
    assert found["descriptors_left"] == 0
    assert found["grown_bytes"] < MAY_GROW_BYTES
    statuses = Counter(found["statuses"])
    assert statuses.total() == PROGRAMS >= 4 * len(HOSTILE)
    assert {"finished", "failed", "timeout", "output", "memory"} <= set(statuses)
