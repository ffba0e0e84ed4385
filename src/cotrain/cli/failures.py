"""How a command ends: 0 done, 1 the run failed, 2 wrong use or configuration."""

import sys
from collections.abc import Generator
from contextlib import contextmanager

import typer

from cotrain.config import ConfigurationError
from cotrain.core.grouping import GroupingError
from cotrain.environments.base import ServiceLostError
from cotrain.learning.base import LearningError
from cotrain.policies.base import WeightsError
from cotrain.rollouts.base import NoTaskError, PromptTooLongError
from cotrain.runs.durable import RunFolderError, RunFolderRefusedError
from cotrain.training.trainer import TrainingFailedError

FAILED, WRONG_USE = 1, 2


@contextmanager
def explained(log: str = "") -> Generator[None]:
    """Turns the errors that a user can act on into a message and an exit code, without traceback.

    `log` says where the run's own record is.
    """
    try:
        yield
    except (ConfigurationError, RunFolderRefusedError) as error:
        stop(str(error), WRONG_USE)
    except (
        GroupingError,
        LearningError,
        NoTaskError,
        PromptTooLongError,
        RunFolderError,
        ServiceLostError,
        TrainingFailedError,
        WeightsError,
    ) as error:
        stop(f"The run failed: {error}.{f' The log is in {log}.' if log else ''}", FAILED)


def stop(message: str, code: int) -> None:
    """Prints a message on stderr and ends the command."""
    print(message, file=sys.stderr)
    raise typer.Exit(code)
