"""What `auto` stands for on this machine, decided once and stored with the run."""

import os

import torch

from cotrain.config import Config
from cotrain.config.resolved import replaced


def resolved(config: Config, dtype: str | None = None) -> Config:
    """The configuration with the thread count, and the compute type once it is known, in place.

    Also sets the process to that many threads.
    """
    values: dict[str, object] = {}
    if config.model.threads == "auto":
        values["model.threads"] = available_cpus()
    if dtype is not None and config.model.dtype == "auto":
        values["model.dtype"] = dtype
    config = replaced(config, values) if values else config
    assert isinstance(config.model.threads, int)
    torch.set_num_threads(config.model.threads)
    return config


def available_cpus() -> int:
    """The processors that this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on every system
        return os.cpu_count() or 1
