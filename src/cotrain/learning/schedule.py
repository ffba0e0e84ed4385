"""The learning rate over a run, as a factor of the configured rate."""

import math


def rate_factor(schedule: str, warmup_steps: int, step: int, progress: float) -> float:
    """The factor of step `step` (from 1).

    `progress` in [0, 1] is the share of the run that lies behind: steps over steps, or sampled
    tokens over the budget where one is set. Warm-up is linear in steps and multiplies the schedule.

    >>> [rate_factor("constant", 4, step, 0.0) for step in (1, 4, 9)]
    [0.25, 1.0, 1.0]
    >>> rate_factor("linear", 0, 6, 0.5), round(rate_factor("cosine", 0, 6, 0.5), 3)
    (0.5, 0.5)
    """
    warmup = min(1.0, step / warmup_steps) if warmup_steps else 1.0
    shapes = {
        "constant": 1.0,
        "linear": 1.0 - progress,
        "cosine": 0.5 * (1.0 + math.cos(math.pi * progress)),
    }
    return warmup * shapes[schedule]
