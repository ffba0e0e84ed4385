"""What two agents write: a careless program and a telling test, then a program that is mended.

The programs are those of the records; the tests were written for the four test problems.
"""

import json
import random
from collections.abc import Sequence
from pathlib import Path

from cotrain.core.episode import Message

PROBLEMS = [
    json.loads(line)
    for line in (Path(__file__).parent / "problems.jsonl").read_text("utf-8").splitlines()
]
TESTS = {
    "triangle": ("4 9 4", "none"),
    "run_lengths": ('"abba"', '[["a", 1], ["b", 2], ["a", 1]]'),
    "change": ("4", "2"),
    "merge_spans": ("[[2, 3], [3, 8]]", "[[2, 8]]"),
}


def reply(messages: Sequence[Message], generator: random.Random) -> str:
    """The tester's test, or the coder's program: the record's own once a failing test was shown."""
    instruction, state = (message.content for message in messages)
    problem = next(one for one in PROBLEMS if one["prompt"] in state)
    if "You are the tester" in instruction:
        given, expected = TESTS.get(problem["id"], ("1", "1"))
        return f"<input>\n{given}\n</input>\n<output>\n{expected}\n</output>"
    mended = "It fails these tests" in state
    return f"```python\n{problem['solution'] if mended else problem['mutants'][0]}\n```"
