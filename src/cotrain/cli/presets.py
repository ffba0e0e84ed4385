"""`cotrain presets`: the shipped configurations."""

from cotrain.cli.options import AsJson, print_json
from cotrain.config import DEFAULT_PRESET, Preset
from cotrain.config import presets as shipped


def presets(as_json: AsJson = False) -> None:
    """Lists the shipped configurations, which train, evaluate and play take by name."""
    found = shipped()
    print_json([_document(preset) for preset in found]) if as_json else print(_table(found))


def _document(preset: Preset) -> dict[str, object]:
    return {**preset._asdict(), "default": preset.name == DEFAULT_PRESET}


def _table(found: list[Preset]) -> str:
    width = max(len(preset.name) for preset in found)
    lines = [f"{preset.name:{width}}  {preset.description}" for preset in found]
    return "\n".join([*lines, f"`cotrain train` without a configuration takes {DEFAULT_PRESET}."])
