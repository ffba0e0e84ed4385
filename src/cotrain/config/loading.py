"""From a TOML file or a preset, with overrides, to a `Config`."""

import re
import tomllib
from collections.abc import Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import NamedTuple

from cotrain.config.faults import ConfigurationError, Fault
from cotrain.config.keys import nearest
from cotrain.config.overrides import by_key, overridden
from cotrain.config.schema import Config
from cotrain.config.validation import validated

DEFAULT_PRESET = "plan_path_tiny"

_PLACE = re.compile(r"\s*\(at line (\d+), column \d+\)$")


class Preset(NamedTuple):
    """A shipped configuration: its name, and the first comment line of its file."""

    name: str
    description: str


def load_config(
    source: str | Path | None = None, overrides: Mapping[str, object] | Sequence[str] = ()
) -> Config:
    """The configuration of a TOML file or a preset, with overrides in place.

    `source` is a file, the name of a preset, or None for the default preset. `overrides` are
    `key=value` strings or a mapping, as `parse_assignments` and `overridden` take them. Raises
    ConfigurationError, which carries every fault.

    >>> load_config("plan_path_tiny", ["run.steps=3"]).run.steps
    3
    >>> load_config(overrides={"run": {"seed": 7}}).run.seed
    7
    """
    values = _read(DEFAULT_PRESET if source is None else source)
    return validated(overridden(values, by_key(overrides)))


def presets() -> list[Preset]:
    """The shipped configurations, by name.

    >>> "plan_path_tiny" in [preset.name for preset in presets()]
    True
    """
    texts = {name: _preset_text(name) for name in _preset_names()}
    return [Preset(name, text.partition("\n")[0].strip("# ")) for name, text in texts.items()]


def _read(source: str | Path) -> dict[str, object]:
    if source in _preset_names():
        return _parsed(str(source), _preset_text(str(source)))
    try:
        return read_toml(source)
    except FileNotFoundError:
        names = _preset_names()
        allowed = f"no such file or preset; the presets are {', '.join(names)}"
        fault = Fault(str(source), "", allowed, nearest(Path(source).stem, names))
    raise ConfigurationError([fault])


def read_toml(source: str | Path) -> dict[str, object]:
    """The values of a TOML file, with or without a byte order mark.

    Raises FileNotFoundError, and ConfigurationError, with the line, for what cannot be read.
    """
    try:
        return _parsed(str(source), Path(source).read_bytes().decode("utf-8-sig"))
    except FileNotFoundError:
        raise
    except OSError as error:
        fault = Fault(str(source), "", f"must be a readable TOML file: {error.strerror}")
    except UnicodeDecodeError as error:
        fault = Fault(str(source), "", f"must be UTF-8 text: {error.reason}, byte {error.start}")
    raise ConfigurationError([fault])


def _parsed(name: str, text: str) -> dict[str, object]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        message = str(error)
    place = _PLACE.search(message)
    line = place.group(1) if place else text.count("\n") + 1
    reason = _PLACE.sub("", message)
    raise ConfigurationError([Fault(f"{name}, line {line}", "", f"not valid TOML: {reason}")])


def _preset_names() -> list[str]:
    folder = resources.files("cotrain.config") / "presets"
    files = (Path(entry.name) for entry in folder.iterdir())
    return sorted(file.stem for file in files if file.suffix == ".toml")


def _preset_text(name: str) -> str:
    return (resources.files("cotrain.config") / "presets" / f"{name}.toml").read_text("utf-8")
