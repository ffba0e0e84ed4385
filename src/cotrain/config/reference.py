"""The configuration reference as Markdown: `python -m cotrain.config.reference` prints it."""

import sys
from collections.abc import Iterator

from cotrain.config.availability import LIMITS, works
from cotrain.config.faults import dotted, show
from cotrain.config.keys import Key, known_keys
from cotrain.config.loading import DEFAULT_PRESET, presets

INTRODUCTION = """\
# Configuration

This page is made by `python -m cotrain.config.reference`; the source is `cotrain/config/schema.py`.

A configuration is a TOML file or the name of a preset. An unknown key is an error, and so is a
value of another type. A key that is *not set* is left out of the file. Paths are taken from the
working directory.

`--set key=value` replaces one value, and `overrides={"run.steps": 50}` does so in Python. The value
is TOML, else the text as it stands; of equal keys the last counts. Tables of the keys below are
merged; any other value is replaced as a whole, so `--set environment.options={}` clears the
options and `--set environment.options.size=4` changes one.
"""


def configuration_reference() -> str:
    """The whole page: the presets, then every section with its keys.

    >>> configuration_reference().splitlines()[0]
    '# Configuration'
    """
    return "\n".join([INTRODUCTION, *_presets(), *_sections()]) + "\n"


def _presets() -> Iterator[str]:
    yield "## Presets\n"
    yield from _table("preset", "what it trains")
    for name, description in presets():
        default = " (the default)" if name == DEFAULT_PRESET else ""
        yield _row(f"`{name}`{default}", description)


def _sections() -> Iterator[str]:
    for key in known_keys():
        if not key.keys:
            yield _row(f"`{key.path[-1]}`", key.allowed, f"`{show(key.default)}`", _meaning(key))
        elif key.meaning and "ROLE" not in key.keys and "POLICY" not in key.keys:
            yield f"\n## [{dotted(key.path)}]\n\n{_meaning(key)}\n"
            yield from _table("key", "allowed", "default", "meaning")


def _meaning(key: Key) -> str:
    """What the key means, and which of its values this version has."""
    limits = [limit for limit in LIMITS if limit.key == dotted(key.path)]
    notes = [f" **In this version: {works(limit)}.**" for limit in limits]
    return "".join([key.meaning, *notes])


def _table(*headings: str) -> Iterator[str]:
    yield _row(*headings)
    yield _row(*("---" for _ in headings))


def _row(*cells: str) -> str:
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


if __name__ == "__main__":
    sys.stdout.write(configuration_reference())
