"""What the tiny models imitate: words, games and noisy demonstrators, one lesson an environment.

A demonstrator gives a good reply with probability `perfect`, and else one of the right form that is
no more than legal, or, as a decider, now and then the proposal as it stands. So what is learnt by
imitation is the form of replies and a little of the game, and there is room to learn the rest.
"""

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from cotrain.config import load_config
from cotrain.environments.base import Environment
from cotrain.environments.parsing import MOVES
from cotrain.environments.plan_path import PlanPath, PlanPathOptions
from cotrain.environments.plan_path_state import State as PlanPathState
from cotrain.environments.sudoku import Sudoku, SudokuOptions
from cotrain.environments.sudoku_reply import Fill
from cotrain.environments.sudoku_state import State as SudokuState
from cotrain.environments.sudoku_state import try_fills

OPEN_LOOP_MOVES = 24
BASE_BLOCKED = 0.2
BASE_EMPTY = 6
COPIED = 0.3
"""How often a decider who is not perfect takes the proposal as it stands."""


@dataclass(frozen=True, slots=True)
class Lesson:
    """One lesson.

    `turns` is how many turns a demonstrated episode may have. `variants` takes the options of the
    preset and gives each environment with its share of the prompts; `reply` takes environment,
    state, role, `perfect` and a generator.
    """

    preset: str
    turns: int
    words: tuple[str, ...]
    variants: Callable[[Mapping[str, Any]], Sequence[tuple[Environment[Any], float]]]
    reply: Callable[[Any, Any, str, float, random.Random], str]

    def environments(self) -> Sequence[tuple[Environment[Any], float]]:
        """The environments with their shares of the prompts."""
        return self.variants(load_config(self.preset).environment.options)


def plan_path_variants(options: Mapping[str, Any]) -> Sequence[tuple[PlanPath, float]]:
    """The team, the single agent in both lengths, the drafts."""
    extras: Sequence[tuple[dict[str, Any], float]] = (
        ({}, 0.5),
        ({"single": "plain"}, 0.19),
        ({"single": "plain", "max_moves": OPEN_LOOP_MOVES}, 0.06),
        ({"single": "draft"}, 0.25),
    )
    base = dict(options) | {"blocked": BASE_BLOCKED}
    return [(PlanPath(PlanPathOptions(**base | extra)), share) for extra, share in extras]


def plan_path_reply(
    environment: PlanPath,
    state: PlanPathState,
    role: str,
    perfect: float,
    generator: random.Random,
) -> str:
    """The shortest moves, the proposal, or random moves."""
    if generator.random() < perfect:
        return environment.reply_with(environment.shortest_moves(state))
    decides = role in ("planner", "answerer")
    if decides and state.proposal is not None and generator.random() < COPIED:
        return environment.reply_with(state.proposal.moves)
    longest = min(environment.options.max_moves or 8, 8)
    return environment.reply_with(generator.choices(MOVES, k=generator.randint(1, longest)))


def sudoku_variants(options: Mapping[str, Any]) -> Sequence[tuple[Sudoku, float]]:
    """The team, the single agent, the drafts, on puzzles easier than those of the preset."""
    extras: Sequence[tuple[dict[str, Any], float]] = (
        ({}, 0.5),
        ({"single": "plain"}, 0.25),
        ({"single": "draft"}, 0.25),
    )
    base = dict(options) | {"empty": BASE_EMPTY}
    return [(Sudoku(SudokuOptions(**base | extra)), share) for extra, share in extras]


def sudoku_reply(
    environment: Sudoku,
    state: SudokuState,
    role: str,
    perfect: float,
    generator: random.Random,
) -> str:
    """Right fills, the proposal, or fills of which each is legal where it stands."""
    limit = environment.options.max_fills or state.size
    fills: Sequence[Fill] = state.fills_left()
    decides = role in ("reasoner", "answerer")
    if generator.random() >= perfect:
        if decides and state.proposal is not None and generator.random() < COPIED:
            return environment.reply_with(role, state.proposal.fills)
        cells = {(row, column) for row, column, _ in (*fills, *state.own_fills())}
        values = range(1, state.size + 1)
        fills = [(*cell, value) for cell in sorted(cells) for value in values]
        limit = generator.randint(1, limit)
    chosen: list[Fill] = []
    for fill in generator.sample(fills, len(fills)):
        if len(chosen) < limit and try_fills(state, [*chosen, fill], limit).illegal is None:
            chosen.append(fill)
    return environment.reply_with(role, chosen or fills[:limit])


def sudoku_cells(size: int) -> list[str]:
    """The words for cells: open ones, clues, and values of the team's own."""
    numbers = range(1, size + 1)
    cells = [f"r{row}c{column}" for row in numbers for column in numbers]
    filled = [f"{cell}{mark}{value}" for cell in cells for mark in "=:" for value in numbers]
    return [*cells, *filled]


NUMBERS = tuple(map(str, range(41)))
LESSONS: Mapping[str, Lesson] = {
    "plan_path": Lesson(
        preset="plan_path_tiny",
        turns=6,
        words=(
            *("proposer", "planner", "solo", "drafter", "answerer"),
            *("<answer>", "</answer>", *MOVES, "-", ".", "#", "A", "G", "legal", "at", "goal"),
            *("moves", "grid", "proposal", "none", "ends", "illegal", *NUMBERS),
        ),
        variants=plan_path_variants,
        reply=plan_path_reply,
    ),
    "sudoku": Lesson(
        preset="sudoku_tiny",
        turns=8,
        words=(
            *("proposer", "reasoner", "solo", "drafter", "answerer"),
            *("<answer>", "</answer>", "-", "fills", "grid", "open", "proposal", "none", "legal"),
            *("illegal", *NUMBERS[:10], *sudoku_cells(4)),
        ),
        variants=sudoku_variants,
        reply=sudoku_reply,
    ),
}
"""The lessons by the name of their environment."""
