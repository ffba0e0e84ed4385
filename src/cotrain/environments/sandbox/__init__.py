"""Running programs that models wrote: in isolation, within limits, or not at all."""

from cotrain.environments.sandbox.base import Limits, Run, Sandbox, SandboxUnavailableError
from cotrain.environments.sandbox.handlers import sandbox_handlers
from cotrain.environments.sandbox.opening import open_sandbox, refuse_unavailable

__all__ = [
    "Limits",
    "Run",
    "Sandbox",
    "SandboxUnavailableError",
    "open_sandbox",
    "refuse_unavailable",
    "sandbox_handlers",
]
