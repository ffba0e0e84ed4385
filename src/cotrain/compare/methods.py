"""The comparison that a list of methods asks for, on any configuration."""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path

from cotrain.compare.base import Claim, Comparison, Row, Trained, Untrained
from cotrain.config import GROUP_METHODS, Config, ConfigurationError, Fault, nearest, show

METHODS = ("at_grpo", "team_grpo", "single_at_grpo", "single_grpo", "single_grpo_1_turn")
UNTRAINED = {"team": "at_grpo", "single": "single_grpo"}
"""Methods that train nothing, and the row whose start each is."""

MAX_STEPS = 1_000_000


def comparison_of_methods(
    base: str | Path, config: Config, methods: Sequence[str], num_seeds: int
) -> Comparison:
    """Rows of these methods on a configuration; the claims are that each beats the next one.

    Every cell goes on until the configuration's budget of tokens is spent, whatever its
    `run.steps`. `single_grpo_1_turn` is `single_grpo` with one turn, the paper's baseline. Raises
    ConfigurationError for an unknown method, and where the configuration has no budget.

    >>> from cotrain.config import load_config
    >>> comparison = comparison_of_methods("plan_path_tiny", load_config(), ["at_grpo", "team"], 2)
    >>> [row.name for row in comparison.rows], comparison.claims[0].says
    (['at_grpo', 'team'], 'at_grpo solves more than team')
    """
    known = (*METHODS, *UNTRAINED)
    faults = [
        Fault("--methods", show(name), f"allowed are {', '.join(known)}", nearest(name, known))
        for name in methods
        if name not in known
    ]
    if config.run.max_sampled_tokens is None:
        faults.append(
            Fault("run.max_sampled_tokens", "not set", "must be set: the budget of every cell")
        )
    if faults:
        raise ConfigurationError(faults)
    chosen = list(dict.fromkeys(methods))
    claims = tuple(Claim(f"{a} solves more than {b}", a, b) for a, b in pairwise(chosen))
    until_the_budget = {"run.steps": MAX_STEPS}
    name, rows = f"{config.run.name}_methods", tuple(_rows(chosen))
    return Comparison(name, str(base), num_seeds, until_the_budget, rows, claims)


def _rows(methods: Sequence[str]) -> Iterator[Row]:
    trained = [name for name in methods if name not in UNTRAINED]
    for name in trained:
        yield Trained(name, _settings(name))
    for name in (name for name in methods if name in UNTRAINED):
        start = UNTRAINED[name]
        if start not in trained:
            yield Trained(start, _settings(start))
        yield Untrained(name, start)


def _settings(name: str) -> dict[str, object]:
    if name in GROUP_METHODS:
        return {"algorithm.method": name}
    return {"algorithm.method": "single_grpo", "team.turns": 1}
