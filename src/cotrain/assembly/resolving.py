"""What `auto` stands for on this machine, decided once and stored with the run."""

import os
from typing import Any

import torch

from cotrain.assembly.networks import load_or_fault
from cotrain.assembly.policy_plans import policy_plans
from cotrain.config import Config, replaced
from cotrain.environments.base import Environment
from cotrain.policies.loading import architecture, auto_dtype
from cotrain.runs.manifest import available_cpus

MAX_THREADS = 1024


def resolved(config: Config, environment: Environment[Any]) -> Config:
    """The configuration with the thread count and the compute type in place.

    Also sets the process to that many threads. One compute type serves all policies: that of the
    largest base. Raises ConfigurationError for a base that is not there.
    """
    config = threads_resolved(config)
    if config.model.dtype != "auto":
        return config
    return replaced(config, {"model.dtype": auto_dtype(_largest(config, environment))})


def threads_resolved(config: Config) -> Config:
    """The configuration with the thread count in place, to which the process is also set."""
    threads = _auto_threads() if config.model.threads == "auto" else config.model.threads
    torch.set_num_threads(threads)
    return replaced(config, {"model.threads": threads})


def _auto_threads() -> int:
    """`OMP_NUM_THREADS` where it is a number, as in torch itself, else the usable processors."""
    asked = os.environ.get("OMP_NUM_THREADS", "")
    return min(int(asked), MAX_THREADS) if asked.isdecimal() and int(asked) else available_cpus()


def _largest(config: Config, environment: Environment[Any]) -> int:
    """The parameters of the largest base; 0 for a team of scripts."""
    plans = policy_plans(config, environment).values()
    bases = {plan.base: plan.base_key for plan in plans if plan.script is None}
    return max((_size(name, key) for name, key in bases.items()), default=0)


def _size(name: str, key: str) -> int:
    return load_or_fault(key, name, lambda: architecture(name)).num_parameters()
