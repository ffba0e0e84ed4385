"""What `auto` stands for on this machine, decided once and stored with the run."""

import torch

from cotrain.config import Config, replaced
from cotrain.runs.manifest import available_cpus


def resolved(config: Config, dtype: str | None = None) -> Config:
    """The configuration with the thread count, and the compute type once it is known, in place.

    Also sets the process to that many threads.
    """
    threads = available_cpus() if config.model.threads == "auto" else config.model.threads
    values: dict[str, object] = {"model.threads": threads}
    if dtype is not None and config.model.dtype == "auto":
        values["model.dtype"] = dtype
    torch.set_num_threads(threads)
    return replaced(config, values)
