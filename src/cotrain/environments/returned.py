"""What an environment's rules returned, held to the types of the contract.

Rules are foreign code: a score that is text or a picture that is None would otherwise be found
far from its cause, in the loss or in the episode file. Each function raises TypeError, which names
what was returned and what is allowed; where the rules are called, that is a fault like any other.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from numbers import Real
from typing import Any, cast

from cotrain.core.episode import Message, Part, Request, Task
from cotrain.core.rewards import MAX_SCORE
from cotrain.environments.base import Environment, Outcome, Role

ROLE_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_-]{0,63}")

MAX_INTEGER_BITS = 10_000
"""Python writes whole numbers of a few thousand digits at most, so files hold no longer ones."""

RULE_FAULTS = (Exception, SystemExit)
"""What a fault of the rules is. An author's `sys.exit` is one: it must not end the run as done."""


class PhasesError(TypeError):
    """Phases of a turn in which not every agent acts exactly once."""


def checked_phases(environment: Environment[Any]) -> tuple[tuple[str, ...], ...]:
    """The phases of a turn. Raises PhasesError, with every fault on one line."""
    phases = environment.phases
    if faults := phase_faults(environment.roles, phases):
        raise PhasesError("; ".join(faults))
    return tuple(tuple(phase) for phase in phases)


def phase_faults(roles: Sequence[Role], phases: object) -> list[str]:
    """What keeps every agent from acting in exactly one phase of a turn; empty where nothing does.

    >>> phase_faults([Role("judge"), Role("debater", seats=2)], [["judge"], ["debater"]])
    ["phases names 'debater', which is no agent (allowed are judge, debater_1, debater_2)", \
'phases leaves debater_1 out', 'phases leaves debater_2 out']
    """
    try:
        acting = Counter(_agents_in(phases))
    except TypeError as error:
        return [str(error)]
    seats = Counter(agent for role in roles for agent in role.agents)
    allowed = f"allowed are {', '.join(seats)}" if seats else "roles is empty"
    unknown = [agent for agent in acting if agent not in seats]
    return [
        *(f"phases names {agent!r}, which is no agent ({allowed})" for agent in unknown),
        *(f"phases leaves {agent} out" for agent in seats if agent not in acting),
        *(
            f"phases names {agent} {n} times; an agent acts once a turn"
            for agent, n in acting.items()
            if n > 1
        ),
        *(f"roles has {n} seats called {agent}" for agent, n in seats.items() if n > 1),
        *name_faults(roles),
    ]


def name_faults(roles: Sequence[Role]) -> list[str]:
    """What keeps roles from giving their names to policies, folders and figures.

    >>> name_faults([Role("tester.v2")])
    ["the role 'tester.v2' must be called by letters, digits, _ and -, 64 at most"]
    """
    names = list(dict.fromkeys(role.name for role in roles))
    alike = Counter(name.casefold() for name in names)
    return [
        *(
            f"the role {name!r} must be called by letters, digits, _ and -, 64 at most"
            for name in names
            if not ROLE_NAME.fullmatch(name)
        ),
        *(f"{n} roles are called {name}, but for capitals" for name, n in alike.items() if n > 1),
        *(
            f"no role can be called {name}, as the policy of all roles is"
            for name in names
            if name == "shared"
        ),
    ]


def checked_task(value: object) -> Task:
    """A task whose digest is text of one line."""
    if not isinstance(value, Task):
        raise _wrong("task", value, "", "a Task")
    if not checked_text("task", value.digest, " as digest").isprintable():
        raise _wrong("task", value.digest, " as digest", "printable text")
    return value


def checked_outcome(value: object) -> Outcome[Any]:
    """The outcome with its numbers as floats (those of NumPy become plain ones).

    >>> checked_outcome(Outcome("state", 1)).team
    1.0
    >>> checked_outcome(Outcome("state", "1"))
    Traceback (most recent call last):
    TypeError: act returned '1' (str) as team; it must be a number
    """
    if not isinstance(value, Outcome):
        raise TypeError(f"act returned {type(value).__name__}, not an Outcome")
    outcome = cast("Outcome[Any]", value)
    return Outcome(
        state=outcome.state,
        team=_number("act", "as team", outcome.team),
        local=_parts(outcome.local),
        gate=_number("act", "as gate", outcome.gate),
        done=checked_bool("act", outcome.done, " as done"),
    )


def checked_messages(value: object) -> tuple[Message, ...]:
    """The messages of a prompt, one at least.

    >>> checked_messages([])
    Traceback (most recent call last):
    TypeError: observe returned no message; an agent must have something to read
    """
    messages = tuple(_items("observe", value, "messages"))
    if not messages:
        raise TypeError("observe returned no message; an agent must have something to read")
    for message in messages:
        if not isinstance(message, Message):
            raise _wrong("observe", message, "", "a Message")
        checked_text("observe", message.role, " as role")
        checked_text("observe", message.content, " as content")
    return cast("tuple[Message, ...]", messages)


def checked_requests(rule: str, value: object) -> tuple[Request, ...]:
    """What a rule asks for; its arguments are values that an episode file can hold."""
    requests = tuple(_items(rule, value, "requests"))
    for request in requests:
        if not isinstance(request, Request):
            raise _wrong(rule, request, "", "a Request")
        check_json(f"{rule}: request {request.kind}", dict(request.arguments))
    return cast("tuple[Request, ...]", requests)


def checked_commit(value: object) -> tuple[Any, bool]:
    """The state after a phase, and whether the episode is over."""
    items = cast("Sequence[object]", value) if isinstance(value, tuple) else ()
    if len(items) != 2:
        raise _wrong("commit", value, "", "a pair (state, done)")
    state, done = items
    return state, checked_bool("commit", done, " as done")


def checked_settlement(value: object) -> dict[object, float]:
    """The rewards of `settle`, as floats; what they are for is the caller's to know.

    Raises ValueError for a number that is not finite in float32, the type of the loss.

    >>> checked_settlement({("planner", 1): 1})
    {('planner', 1): 1.0}
    >>> checked_settlement({("planner", 1): float("nan")})
    Traceback (most recent call last):
    ValueError: settle returned nan for ('planner', 1); it must be finite in float32
    """
    if not isinstance(value, Mapping):
        raise _wrong("settle", value, "", "a mapping of (agent, turn) to a number")
    table = cast("Mapping[object, object]", value)
    rewards = {key: _number("settle", f"for {key!r}", item) for key, item in table.items()}
    for key, reward in rewards.items():
        if not abs(reward) <= MAX_SCORE:
            raise ValueError(f"settle returned {reward} for {key!r}; it must be finite in float32")
    return rewards


def checked_bool(rule: str, value: object, place: str = "") -> bool:
    """A truth value and nothing that only has one: the text "False" would count as true.

    >>> checked_bool("success", None)
    Traceback (most recent call last):
    TypeError: success returned None (NoneType); it must be a bool: write bool(...) around it
    """
    if not isinstance(value, bool):
        raise _wrong(rule, value, place, "a bool: write bool(...) around it")
    return value


def checked_text(rule: str, value: object, place: str = "") -> str:
    """Text."""
    if not isinstance(value, str):
        raise _wrong(rule, value, place, "text")
    return value


def check_json(place: str, value: object) -> None:
    """Raises TypeError for what an episode file has no form for, and names where it is.

    >>> check_json("the answer", {"hits": {1}})
    Traceback (most recent call last):
    TypeError: the answer.hits is {1} (set); it must be JSON: text, numbers, tuples, mappings, None
    """
    if isinstance(value, int) and value.bit_length() > MAX_INTEGER_BITS:
        raise TypeError(f"{place} is a whole number of more than {MAX_INTEGER_BITS} bits")
    if value is None or isinstance(value, bool | int | float | str):
        return
    for name, item in _inside(place, value):
        check_json(f"{place}.{name}", item)


def _inside(place: str, value: object) -> Iterable[tuple[object, object]]:
    if isinstance(value, tuple | list):
        return enumerate(cast("Sequence[object]", value))
    if isinstance(value, Mapping):
        table = cast("Mapping[object, object]", value)
        if all(isinstance(name, str) for name in table):
            return table.items()
    allowed = "it must be JSON: text, numbers, tuples, mappings, None"
    raise TypeError(f"{place} is {_shown(value)}; {allowed}")


def _agents_in(phases: object) -> Iterator[str]:
    for phase in _items("phases", phases, "phases, each a sequence of agents"):
        for agent in _items("phases", phase, "agents as a phase"):
            yield checked_text("phases", agent, " as an agent")


def _parts(value: object) -> tuple[Part, ...]:
    return tuple(_part(item) for item in _items("act", value, "local parts"))


def _part(value: object) -> Part:
    if not isinstance(value, Part):
        raise _wrong("act", value, " as local", "a Part")
    name = checked_text("act", value.name, " as the name of a part")
    weight = _number("act", f"as part {name}, weight", value.weight)
    return Part(name, weight, _number("act", f"as part {name}", value.value))


def _number(rule: str, place: str, value: object) -> float:
    if not isinstance(value, Real):
        raise _wrong(rule, value, f" {place}", "a number")
    return float(value)


def _items(rule: str, value: object, what: str) -> Iterable[object]:
    if isinstance(value, str | bytes | Mapping) or not isinstance(value, Iterable):
        raise _wrong(rule, cast(object, value), "", f"a sequence of {what}")
    return cast("Iterable[object]", value)


def _wrong(rule: str, value: object, place: str, allowed: str) -> TypeError:
    return TypeError(f"{rule} returned {_shown(value)}{place}; it must be {allowed}")


def _shown(value: object) -> str:
    text = " ".join(repr(value).split())
    return f"{text if len(text) <= 60 else text[:57] + '...'} ({type(value).__name__})"
