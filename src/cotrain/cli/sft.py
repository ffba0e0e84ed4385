"""`cotrain sft`: trains a team by imitation of solved episodes, as a baseline."""

from typing import Annotated

import typer

from cotrain.cli.failures import explained
from cotrain.cli.options import AsJson, Assignments, Configuration, Resume, RunDirectory
from cotrain.cli.train import report


def sft(
    config: Configuration = None,
    episodes: Annotated[
        list[str] | None,
        typer.Option(
            "--from",
            metavar="EPISODES",
            help="A run folder or a file of episodes to imitate; may be repeated.",
        ),
    ] = None,
    assignments: Assignments = None,
    run_dir: RunDirectory = None,
    resume: Resume = False,
    as_json: AsJson = False,
) -> None:
    """Trains the team of CONFIG to imitate solved episodes, instead of by reinforcement."""
    from cotrain.assembly import commands
    from cotrain.assembly.imitating import imitating, imitating_still

    given, sources = assignments or [], episodes or []
    with explained():
        changes = imitating_still(given, sources) if resume else imitating(config, given, sources)
    report(lambda asked: commands.train(config, changes, run_dir, resume, asked), run_dir, as_json)
