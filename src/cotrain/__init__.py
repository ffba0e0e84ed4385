"""Trains teams of LLM agents on-policy, with groups formed by agent and turn (AT-GRPO).

    import cotrain

    run = cotrain.train("plan_path_tiny", overrides={"run.steps": 5})
    row = cotrain.evaluate(run.path, tasks=200)

Names are imported when they are first used, so that `cotrain.config` and `cotrain.runs` need no
torch.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cotrain.assembly.commands import evaluate, train
    from cotrain.assembly.training import Run
    from cotrain.core.episode import Evidence, Message, Part, Request, Task
    from cotrain.environments.base import Environment, Judged, Outcome, Role

_HOMES = {
    "Environment": "cotrain.environments.base",
    "Role": "cotrain.environments.base",
    "Outcome": "cotrain.environments.base",
    "Judged": "cotrain.environments.base",
    "Task": "cotrain.core.episode",
    "Message": "cotrain.core.episode",
    "Part": "cotrain.core.episode",
    "Request": "cotrain.core.episode",
    "Evidence": "cotrain.core.episode",
    "Run": "cotrain.assembly.training",
    "train": "cotrain.assembly.commands",
    "evaluate": "cotrain.assembly.commands",
}

__all__ = [
    "Environment",
    "Evidence",
    "Judged",
    "Message",
    "Outcome",
    "Part",
    "Request",
    "Role",
    "Run",
    "Task",
    "evaluate",
    "train",
]


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'cotrain' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return __all__
