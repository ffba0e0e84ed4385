"""Other policies in a team's roles, before it is evaluated: swapped, or from other runs."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from cotrain.assembly.policy_plans import SHARED
from cotrain.assembly.saved import SavedPolicy, checkpoint_of, config_here, run_name
from cotrain.config import (
    Config,
    ConfigurationError,
    Fault,
    show,
)
from cotrain.config.keys import nearest
from cotrain.environments.base import Environment
from cotrain.runs.durable import RunFolderRefusedError
from cotrain.training.checkpoints import read_state

_POLICY, _STEP = r"(?::(?P<policy>[A-Za-z0-9_][A-Za-z0-9_-]*))", r"(?:@(?P<step>\d+))"
REFERENCES = [
    re.compile(f"(?P<run>.+?){ending}")
    for ending in (
        "(?P<policy>)(?P<step>)",
        f"(?P<policy>){_STEP}",
        f"{_POLICY}(?P<step>)",
        f"{_POLICY}?{_STEP}?",
    )
]
"""The forms of `RUN[:POLICY][@STEP]`, the shortest ending first: RUN may hold any character."""

Policy = TypeVar("Policy")


@dataclass(frozen=True, slots=True)
class Lineup:
    """Changes of a team before it is evaluated: roles that swap policies, and other runs' policies.

    `swaps` are pairs of roles, `policies` pairs of a role and `RUN[:POLICY][@STEP]`.
    """

    swaps: Sequence[tuple[str, str]] = ()
    policies: Sequence[tuple[str, str]] = ()


AS_SAVED = Lineup()
"""No change."""


def parse_pairs(option: str, assignments: Sequence[str]) -> list[tuple[str, str]]:
    """The two sides of each `ROLE=...` that an option was given.

    Raises ConfigurationError for one without either side.

    >>> parse_pairs("--swap", ["planner=proposer"])
    [('planner', 'proposer')]
    """
    pairs = [(text, *text.partition("=")) for text in assignments]
    faults = [
        Fault(option, show(text), "must be ROLE=..., as in planner=runs/a")
        for text, role, _, value in pairs
        if not role or not value
    ]
    if faults:
        raise ConfigurationError(faults)
    return [(role, value) for _, role, _, value in pairs]


def apply_lineup(
    lineup: Lineup,
    environment: Environment[Any],
    own: Mapping[str, Policy],
    config: Config,
) -> tuple[dict[str, Policy], dict[str, SavedPolicy]]:
    """The team's own policies after the swaps, and the other runs' policies that replace some.

    Raises ConfigurationError, one line a fault, for a role that is not played or named twice, a
    swap that changes nothing, and a run, policy or step that is not there.
    """
    faults = list(_faults(lineup, environment, own))
    if faults:
        raise ConfigurationError(faults)
    swapped = dict(own)
    for first, second in lineup.swaps:
        swapped[first], swapped[second] = own[second], own[first]
    others = {role: _named(role, name, config) for role, name in lineup.policies}
    return {role: policy for role, policy in swapped.items() if role not in others}, others


def _faults(
    lineup: Lineup, environment: Environment[Any], own: Mapping[str, object]
) -> Iterator[Fault]:
    played = [role.name for role in environment.roles]
    sides = [("--swap", role) for pair in lineup.swaps for role in pair]
    named = [*sides, *(("--policy", role) for role, _ in lineup.policies)]
    for option, role in dict.fromkeys(named):
        if role not in played:
            allowed = f"no role that is played, allowed are {', '.join(played)}"
            yield Fault(option, show(role), allowed, nearest(role, played))
        elif [other for _, other in named].count(role) > 1:
            yield Fault(option, show(role), "must be named once")
    for first, second in lineup.swaps:
        if first in own and first != second and own[first] == own.get(second):
            yield Fault(
                "--swap", f"{first}={second}", "changes nothing: one policy plays both roles"
            )


def _named(role: str, reference: str, config: Config) -> SavedPolicy:
    """The policy that `RUN[:POLICY][@STEP]` names for a role, with what it was saved with.

    Without POLICY it is the run's policy of that role's name, else the shared one; without STEP
    that of the last complete checkpoint. Threads and limits are those of `config`.
    """
    forms = [found for form in REFERENCES if (found := form.fullmatch(reference)) is not None]
    if not forms:
        raise _fault(role, reference, "must be RUN[:POLICY][@STEP]")
    found = next((form for form in forms if Path(form["run"]).exists()), forms[-1])
    policy, step = found["policy"] or None, found["step"] or None
    try:
        checkpoint = checkpoint_of(Path(found["run"]), None if step is None else int(step))
        state = read_state(checkpoint)
    except RunFolderRefusedError as error:
        raise _fault(role, reference, str(error)) from error
    known = list(state.versions)
    wanted = policy or next((name for name in (role, SHARED) if name in known), None)
    if wanted not in known:
        allowed = f"has no policy {wanted or role}, allowed are {', '.join(known)}"
        raise _fault(role, reference, allowed, nearest(wanted or role, known))
    its_own = config_here(state, config)
    return SavedPolicy(checkpoint, state, str(wanted), its_own, run_name(checkpoint))


def _fault(role: str, reference: str, allowed: str, nearest_known: str = "") -> ConfigurationError:
    return ConfigurationError([Fault(f"--policy {role}", f'"{reference}"', allowed, nearest_known)])
