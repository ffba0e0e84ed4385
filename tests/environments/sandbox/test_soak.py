"""Two hundred hostile programs leave nothing behind: no process, file, descriptor or memory."""

from bench.hostile import HOSTILE, soak
from tests.environments.sandbox.opened import needs_bubblewrap

PROGRAMS, WORKERS = 200, 8
MAY_GROW_BYTES = 2**22


@needs_bubblewrap
def test_hostile_programs_leave_nothing_behind() -> None:
    found = soak(PROGRAMS, WORKERS)
    assert found.broke_out == []
    assert found.survivors == []
    assert found.zombies == []
    assert found.files_left == []
    assert found.descriptors_left == 0
    assert found.grown_bytes < MAY_GROW_BYTES
    assert found.statuses.total() == PROGRAMS >= 4 * len(HOSTILE)
    assert {"finished", "failed", "timeout", "output", "memory"} <= set(found.statuses)
