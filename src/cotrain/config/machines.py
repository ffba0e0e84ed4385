"""The sections that say where things run: programs of replies, and the processes of a cluster."""

from collections.abc import Mapping
from typing import Literal

from pydantic import Field

from cotrain.config.values import AtLeastOne, Name, Seconds, Section, Text


class SandboxSettings(Section):
    """Where programs of replies run."""

    kind: Literal["bubblewrap", "unsafe-subprocess"] = Field(
        default="bubblewrap",
        description=(
            "`bubblewrap` isolates programs and refuses to run them where it cannot; "
            "`unsafe-subprocess` isolates nothing: trusted replies only."
        ),
    )
    seconds: Seconds = Field(
        default=10.0, description="The time limit of one program, in wall-clock time."
    )
    memory_bytes: AtLeastOne = Field(
        default=2**29,
        description="The memory limit of one program with its processes; at least 67108864.",
    )
    workers: AtLeastOne = Field(default=4, description="Programs that run at once.")


class PoolSettings(Section):
    """The accelerators of one policy."""

    rollout: AtLeastOne = Field(default=1, description="Workers that sample.")
    update: AtLeastOne = Field(default=1, description="Workers that train.")


class ClusterSettings(Section):
    """Many processes on Ray. Absent: everything runs in one process."""

    address: Text = Field(
        default="auto", description="Ray's address; `auto` finds a running cluster."
    )
    pools: Mapping[Name, PoolSettings] = Field(
        default={}, description="One table a policy.", json_schema_extra={"one_per": "POLICY"}
    )
    environment_workers: AtLeastOne = Field(
        default=1, description="Processes that fulfil requests."
    )
