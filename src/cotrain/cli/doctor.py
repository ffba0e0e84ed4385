"""`cotrain doctor`: what works on this machine, and what to install."""

from cotrain.assembly.doctor import examine
from cotrain.cli.options import AsJson, print_json


def doctor(as_json: AsJson = False) -> None:
    """Shows versions, accelerators, vLLM, Ray and sandbox: what works here, what to install."""
    found = examine()
    print_json(found.as_json()) if as_json else print(found.as_text())
