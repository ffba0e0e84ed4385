"""The section that says what a run imitates."""

from typing import Literal

from pydantic import Field

from cotrain.config.values import Section, Text


class ImitationSettings(Section):
    """What a run with `algorithm.method = "sft"` imitates; `--from` of `cotrain sft` sets it."""

    episodes: tuple[Text, ...] = Field(
        default=(),
        strict=False,
        description="Run folders and files of episodes. Solved training episodes are imitated.",
    )
    keep: Literal["best", "solved"] = Field(
        default="best",
        description="`best`: of each task the solved episode with the fewest turns, then the "
        "fewest tokens; `solved`: every solved episode.",
    )
    sha256: tuple[Text, ...] = Field(
        default=(),
        strict=False,
        description="The hash of each of `episodes`. Not set: found when the run begins, and "
        "stored with it.",
    )
