"""The role `tool`: its reply is a program, and what the program prints is the proposal.

The paper's variant of the games (`tools = "code"`). The program gets the state as text on its
standard input, runs in the sandbox, and is judged by what it printed.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from cotrain.core.episode import Evidence, Request
from cotrain.environments.parsing import parse_code
from cotrain.environments.requests import program_request


@dataclass(frozen=True, slots=True)
class Printed:
    """What became of a tool's program. `written` tells whether the reply had one.

    `text` is what it printed, empty unless it `ran` to its end; `error` says what went wrong, in
    words that a prompt can show.
    """

    written: bool
    ran: bool
    text: str = ""
    error: str = ""


def tool_requests(reply: str, stdin: str) -> tuple[Request, ...]:
    """What must be run to judge a tool's reply: its program, if it has one.

    >>> [request.kind for request in tool_requests("```python\\nprint(1)\\n```", "A . G")]
    ['program']
    >>> tool_requests("Up", "A . G")
    ()
    """
    source = parse_code(reply)
    return () if source is None else (program_request(source, [stdin]),)


def printed(evidence: Sequence[Evidence]) -> Printed:
    """What the program of `tool_requests` printed, or why it printed nothing that counts.

    >>> printed(()).written
    False
    """
    if not evidence:
        return Printed(written=False, ran=False, error="there is no program")
    run = cast("Sequence[Mapping[str, Any]]", evidence[0].answer)[0]
    if run["status"] == "finished":
        return Printed(written=True, ran=True, text=run["stdout"])
    last = str(run["stderr"]).strip().rpartition("\n")[2][:200]
    return Printed(written=True, ran=False, error=last or str(run["status"]))
