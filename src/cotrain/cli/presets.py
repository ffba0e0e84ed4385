"""`cotrain presets`: the shipped configurations and comparisons."""

from cotrain.cli.options import AsJson, print_json
from cotrain.compare.loading import shipped_comparisons
from cotrain.config import DEFAULT_PRESET, Preset
from cotrain.config import presets as shipped


def presets(as_json: AsJson = False) -> None:
    """Lists what ships: configurations to train and play, and comparisons of them."""
    found = shipped()
    compared = [Preset(*pair) for pair in shipped_comparisons().items()]
    if as_json:
        configurations = [_document(preset, "configuration") for preset in found]
        print_json([*configurations, *(_document(one, "comparison") for one in compared)])
        return
    print(_table(found))
    print(f"`cotrain train` without a configuration takes {DEFAULT_PRESET}.")
    print(f"\nFor `cotrain compare`:\n{_table(compared)}")


def _document(preset: Preset, kind: str) -> dict[str, object]:
    return {**preset._asdict(), "kind": kind, "default": preset.name == DEFAULT_PRESET}


def _table(found: list[Preset]) -> str:
    width = max(len(preset.name) for preset in found)
    return "\n".join(f"{preset.name:{width}}  {preset.description}" for preset in found)
