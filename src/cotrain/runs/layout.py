"""The names of everything in a run folder. No other module spells them.

RUN/
  config.json        the resolved configuration
  manifest.json      versions, seeds, machine
  metrics.jsonl      one object a step
  evaluations.jsonl  one object an evaluation
  events.jsonl       warnings, retries, failures, resumes
  episodes/step_000012.jsonl.gz
  checkpoints/step_000012/
    COMPLETE         the list of its files, written last
    state.json       progress, policy versions, bases, configuration
    policies/NAME/   float32 masters as a Hugging Face or PEFT folder
    optimizers/NAME/ moments
  .lock              held by the process that writes
"""

import re

CONFIG = "config.json"
MANIFEST = "manifest.json"
METRICS = "metrics.jsonl"
EVALUATIONS = "evaluations.jsonl"
EVENTS = "events.jsonl"
EPISODES = "episodes"
CHECKPOINTS = "checkpoints"
COMPLETE = "COMPLETE"
STATE = "state.json"
POLICIES = "policies"
OPTIMIZERS = "optimizers"
LOCK = ".lock"

RUN_MARKS = (CONFIG, METRICS, EVALUATIONS, EVENTS, EPISODES, CHECKPOINTS)
"""What tells a folder that holds a run. The manifest is written first, so it tells nothing."""

EPISODES_SUFFIX = ".jsonl.gz"
PARTIAL_SUFFIX = ".partial"

_STEP = re.compile(r"step_(\d{6,})")


def step_name(step: int) -> str:
    """The name of a step, padded so that names sort as steps do.

    >>> step_name(12)
    'step_000012'
    """
    return f"step_{step:06d}"


def step_of(name: str) -> int | None:
    """The step that a name stands for, or None for any other name.

    >>> step_of("step_000012"), step_of("step_000012.damaged")
    (12, None)
    """
    match = _STEP.fullmatch(name)
    return int(match[1]) if match else None


def episodes_name(step: int) -> str:
    """The name of a step's file of episodes.

    >>> episodes_name(12)
    'step_000012.jsonl.gz'
    """
    return step_name(step) + EPISODES_SUFFIX
