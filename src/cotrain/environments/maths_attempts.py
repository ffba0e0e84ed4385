r"""Replies of all worths for the audit of the maths environment."""

from random import Random

WRONG = ("0", r"\frac{1}{7}", r"\infty", "x", "no")


def text_attempts(answer: str, generator: Random) -> list[str]:
    r"""Answers in words: right and wrong, boxed or not, withdrawn, many at once, cut off.

    >>> len(text_attempts("5", Random(0))) > 12
    True
    """
    numbers = [str(generator.randint(-1000, 1000)) for _ in range(2)]
    wrong = [*WRONG, *numbers]
    replies = [rf"\boxed{{{each}}}" for each in wrong]
    replies += [f"The answer is {each}." for each in wrong[:1]]
    replies += [" and ".join(rf"\boxed{{{each}}}" for each in wrong)]
    replies += [rf"\boxed{{{','.join(map(str, range(-500, 500)))}}}"]
    replies += [rf"\boxed{{{answer}}}, no: \boxed{{{wrong[0]}7}}"] if answer else []
    replies += [rf"\boxed{{{answer}}} or \boxed{{{answer}1}}"] if answer else []
    replies += [f"<think>\\boxed{{{answer}}}</think>", rf"\boxed{{{answer}", r"\boxed{}"]
    replies += [r"\boxed{" * 50, r"\boxed{7^{7^{7^{7^{7}}}}}", f"ValueError: {answer}"]
    return [*replies, f"The answer is {answer}.", rf"It is $\boxed{{{answer}}}$."]


def program_attempts(answer: str, generator: Random) -> list[str]:
    """Programs: ones that print right and wrong answers, everything, nothing, and that fail.

    >>> all("```" in reply for reply in program_attempts("5", Random(0))[1:])
    True
    """
    number = generator.randint(-1000, 1000)
    sources = [
        f"print({number})",
        f"print({answer!r})",
        f"print({answer!r})\nprint('no')",
        "for i in range(-200, 200):\n    print(i)",
        "print()",
        "raise ValueError('5')",
        f"import sys\nsys.stderr.write({answer!r})",
        f"import traceback\nprint({answer!r})\ntry:\n    1 / 0\nexcept ZeroDivisionError:\n"
        "    print(traceback.format_exc())",
        "print(",
    ]
    return [f"print({answer!r})", *(f"```python\n{source}\n```" for source in sources)]
