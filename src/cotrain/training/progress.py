"""How far a run has come, and how far it goes."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass


@dataclass(frozen=True, slots=True)
class Progress:
    """The place of a run between two steps; what a checkpoint keeps beside the weights.

    `failed_in_a_row` counts the last steps that failed: `recording.StepRecord.failure`.
    """

    step: int = 0
    tokens_sampled: int = 0
    failed_in_a_row: int = 0

    def as_json(self) -> dict[str, int]:
        """The values for `state.json`."""
        return asdict(self)

    @classmethod
    def from_json(cls, values: Mapping[str, int]) -> "Progress":
        """The place that `as_json` wrote. Raises ValueError for anything but counts."""
        for name, value in values.items():
            if type(value) is not int or value < 0:
                raise ValueError(f"{name} is {value!r}; it must be a count")
        return cls(**values)


@dataclass(frozen=True, slots=True)
class Horizon:
    """The end of a run: its steps, or its budget of sampled tokens, whichever comes first."""

    steps: int
    max_sampled_tokens: int | None = None

    def reached(self, progress: Progress) -> bool:
        """Whether the run is over at this step boundary.

        >>> Horizon(5, 100).reached(Progress(2, 120))
        True
        """
        spent = self.max_sampled_tokens is not None and (
            progress.tokens_sampled >= self.max_sampled_tokens
        )
        return spent or progress.step >= self.steps

    def share_done(self, progress: Progress) -> float:
        """The share of the run that lies behind, in [0, 1]: of the budget where there is one.

        >>> Horizon(4).share_done(Progress(1))
        0.25
        """
        if self.max_sampled_tokens is not None:
            return min(1.0, progress.tokens_sampled / self.max_sampled_tokens)
        return progress.step / self.steps
