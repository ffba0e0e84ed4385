"""Opening a sandbox, or refusing to: nothing is ever run in less isolation than was asked for."""

from typing import Literal

from cotrain.environments.sandbox.base import Limits, Sandbox
from cotrain.environments.sandbox.bubblewrap import refuse_without_bubblewrap
from cotrain.environments.sandbox.pool import BubblewrapSandbox
from cotrain.environments.sandbox.unsafe import UnsafeSandbox

Kind = Literal["bubblewrap", "unsafe-subprocess"]


def open_sandbox(kind: Kind, workers: int, limits: Limits) -> Sandbox:
    """A sandbox that runs up to `workers` programs at once; to be closed by its owner.

    Raises SandboxUnavailableError, with what to install or to allow, where programs cannot be run
    in isolation here.
    """
    if kind == "unsafe-subprocess":
        return UnsafeSandbox(workers, limits)
    return BubblewrapSandbox(workers, limits)


def refuse_unavailable(kind: Kind) -> None:
    """Raises SandboxUnavailableError where `open_sandbox` is sure to; starts nothing.

    >>> refuse_unavailable("unsafe-subprocess")
    """
    if kind == "bubblewrap":
        refuse_without_bubblewrap()
