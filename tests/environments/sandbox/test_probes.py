"""The probes of the doctor prove what holds, and do not prove what does not."""

from contextlib import closing

import pytest
from tests.environments.sandbox.opened import isolated, needs_bubblewrap, opened

from cotrain.environments.sandbox import Limits
from cotrain.environments.sandbox.probes import PROBE_LIMITS, PROBES, Proof, prove


@needs_bubblewrap
def test_every_property_is_proven_on_a_sandbox_of_the_right_limits() -> None:
    with isolated(PROBE_LIMITS, workers=4) as sandbox:
        assert prove(sandbox) == tuple(Proof(name, proven=True) for name in PROBES)


@needs_bubblewrap
def test_a_limit_that_does_not_bind_is_not_proven() -> None:
    loose = Limits(
        seconds=20, memory_bytes=2**31, output_bytes=2**16, file_bytes=2**24, processes=200
    )
    with isolated(loose, workers=4) as sandbox:
        said = {
            name: PROBES[name](sandbox)
            for name in PROBES
            if name.endswith("at the limit") and "time" not in name
        }
    assert said == {
        "processes are refused at the limit": "finished: 128",
        "memory is refused at the limit": "finished",
        "files are refused at the limit": "finished: written",
        "output is cut at the limit": "",
    }


@needs_bubblewrap
def test_a_probe_that_fails_itself_proves_nothing() -> None:
    with isolated(PROBE_LIMITS) as sandbox:
        pass
    found = prove(sandbox)
    assert {proof.said for proof in found} == {"RuntimeError: the sandbox is closed"}
    assert not any(proof.proven for proof in found)


def test_the_probes_refuse_a_sandbox_without_isolation() -> None:
    with (
        opened("unsafe-subprocess", Limits()) as sandbox,
        closing(sandbox),
        pytest.raises(ValueError, match="not for unsafe-subprocess"),
    ):
        prove(sandbox)
