"""What a run was made with: versions, machine, seeds and task sets. Nothing that names a person."""

import os
import platform
import subprocess
from collections.abc import Mapping
from importlib import metadata

PACKAGES = ("cotrain", "torch", "transformers", "peft", "safetensors", "pydantic")

_GIT_SECONDS = 2.0


def collect_manifest(
    seeds: Mapping[str, int],
    task_hashes: Mapping[str, str],
    threads: int,
    dtype: str,
    sandbox: str,
) -> dict[str, object]:
    """The manifest of a run that begins now, as JSON values.

    `task_hashes` maps a split to the hash of its tasks; `threads` are those of the CPU; `dtype` is
    the one the model computes in; `sandbox` is the kind in use. What is not installed or cannot be
    found out is None. It holds no host name, user name or path.
    """
    return {
        "packages": {name: package_version(name) for name in PACKAGES},
        "python": platform.python_version(),
        "machine": {
            "system": platform.system(),
            "release": platform.release(),
            "architecture": platform.machine(),
            "cpus": os.cpu_count(),
            "memory_bytes": _memory_bytes(),
        },
        "threads": threads,
        "dtype": dtype,
        "sandbox": sandbox,
        "seeds": dict(seeds),
        "task_hashes": dict(task_hashes),
        "git_commit": _git_commit(),
    }


def package_version(name: str) -> str | None:
    """The installed version, or None.

    >>> package_version("a-package-that-nobody-installs") is None
    True
    """
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def available_cpus() -> int:
    """The processors that this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on every system
        return os.cpu_count() or 1


def _memory_bytes() -> int | None:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError):
        return None


def _git_commit() -> str | None:
    try:
        found = subprocess.run(
            ["git", "rev-parse", "--verify", "HEAD"],
            capture_output=True,
            text=True,
            timeout=_GIT_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return found.stdout.strip() or None if found.returncode == 0 else None
