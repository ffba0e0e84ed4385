"""`cotrain environments`: the games that a team can play."""

from cotrain.assembly.listing import listed_environments
from cotrain.cli.options import AsJson, print_json


def environments(as_json: AsJson = False) -> None:
    """Lists the environments that need no file, with their roles, data needs and options."""
    listed = listed_environments()
    if as_json:
        print_json([environment.as_json() for environment in listed])
    else:
        print("\n\n".join(environment.as_text() for environment in listed))
