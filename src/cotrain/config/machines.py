"""The sections that say where things run and how long they may take."""

from collections.abc import Mapping
from typing import Literal

from pydantic import Field

from cotrain.config.values import AtLeastOne, Name, NotNegative, Seconds, Section, Text


class LimitsSettings(Section):
    """How long anything may take, and how often a failed call is made again."""

    reply_seconds: Seconds | None = Field(default=None, description="The time limit of one reply.")
    act_seconds: Seconds | None = Field(
        default=None,
        description="The time limit of answering one request with an environment's own handler. "
        "The rules of an environment that is not shipped get it too: each call then runs in a "
        "worker process (one a CPU, 8 at most) that is killed when it is late.",
    )
    episode_seconds: Seconds | None = Field(
        default=None, description="The time limit of one episode."
    )
    retries: NotNegative = Field(
        default=2, description="Further tries of a request whose answer failed."
    )


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
