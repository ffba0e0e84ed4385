"""What two agents write: a hasty answer and a program, then the answer that the program gave."""

import json
import random
import re
from collections.abc import Sequence
from pathlib import Path

from cotrain.core.episode import Message

PROBLEMS = [
    json.loads(line)
    for line in (Path(__file__).parent / "problems.jsonl").read_text("utf-8").splitlines()
]
PROGRAMS = {
    "halves": "print(3 * 18 / 4)",
    "roots": "print([x for x in range(-10, 10) if x * x - 5 * x + 6 == 0])",
    "triangle": "print('sqrt(8)')",
    "range": "print('x < 6')",
    "sum": "print(sum(range(101)))",
    "power": "n = 96\np = 1\nwhile n % (2 * p) == 0:\n    p *= 2\nprint(p)",
    "primes": "print(sum(all(n % d for d in range(2, n)) for n in range(2, 50)))",
    "share": "print(100 * (80 - 60) / 80)",
    "point": "x = (7 - 1) // (2 + 1)\nprint((x, 2 * x + 1))",
    "angle": "print((6 - 2) * 180 // 6)",
    "choices": "from math import comb\nprint(comb(10, 3))",
    "last_digit": "print(pow(7, 2023, 10))",
    "mean": "print(9 * 4 - 4 - 8 - 12)",
    "box": "print(2 * (2 * 3 + 2 * 4 + 3 * 4))",
    "third": "from fractions import Fraction\nprint(Fraction(36, 99))",
    "day": "from datetime import date, timedelta\n"
    "print((date(2024, 1, 1) + timedelta(100)).strftime('%A'))",
    "square": "print('x**2 + 6*x + 9')",
    "ratio": "from math import gcd\ng = gcd(15, 25)\nprint(f'{15 // g}:{25 // g}')",
    "gcd": "from math import gcd\nprint(gcd(84, 126))",
    "matrix": "a, b = [[1, 2], [0, 1]], [[1, 0], [3, 1]]\n"
    "print([[sum(x * y for x, y in zip(row, column)) for column in zip(*b)] for row in a])",
    "binary": "print(f'{11:b}_2')",
    "trains": "print(150 / 2.5)",
    "none": "print('no solution')",
    "coin": "print(1 - 0.5 ** 2)",
}
HASTY = {
    "halves": "13",
    "roots": "2",
    "triangle": "4",
    "range": "x \\le 6",
    "sum": "5000",
    "power": "16",
    "primes": "14",
    "share": "33\\%",
    "point": "(5, 2)",
    "angle": "108",
    "choices": "720",
    "last_digit": "7",
    "mean": "x = 10",
    "box": "24\\text{ cm}^3",
    "third": "\\frac{36}{100}",
    "day": "\\text{Tuesday}",
    "square": "x^2 + 9",
    "ratio": "5:3",
    "gcd": "21",
    "matrix": "\\begin{pmatrix}1&2\\\\3&7\\end{pmatrix}",
    "binary": "1101_2",
    "trains": "75",
    "none": "\\pm 1",
    "coin": "\\frac{1}{2}",
}


def reply(messages: Sequence[Message], generator: random.Random) -> str:
    """The tool user's program; the reasoner's hasty answer, and later what the program printed."""
    instruction, state = (message.content for message in messages)
    problem = next(one for one in PROBLEMS if one["problem"] in state)
    if "You are a tool user" in instruction:
        return f"```python\n{PROGRAMS[problem['id']]}\n```"
    printed = re.findall(r"^It printed (.*)$", state, re.MULTILINE)
    if printed:
        return f"My partner's program is right, and I was hasty: \\boxed{{{printed[-1]}}}."
    return f"I think it is \\boxed{{{HASTY[problem['id']]}}}."
