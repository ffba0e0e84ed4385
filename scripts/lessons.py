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
from cotrain.environments.sokoban import Sokoban, SokobanOptions
from cotrain.environments.sokoban_room import play
from cotrain.environments.sokoban_state import State as SokobanState
from cotrain.environments.sudoku import Sudoku, SudokuOptions
from cotrain.environments.sudoku_reply import Fill
from cotrain.environments.sudoku_state import State as SudokuState
from cotrain.environments.sudoku_state import try_fills

OPEN_LOOP_MOVES = 24
BASE_BLOCKED = 0.2
BASE_EMPTY = 6
SOKOBAN_STREAMS = 8
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


def sokoban_variants(options: Mapping[str, Any]) -> Sequence[tuple[Sokoban, float]]:
    """The team, the single agent, the drafts, each in several streams of episodes.

    A stream shows one room for several turns; so a batch has many rooms.
    """
    extras: Sequence[tuple[dict[str, Any], float]] = (
        ({}, 0.6),
        ({"single": "plain"}, 0.2),
        ({"single": "draft"}, 0.2),
    )
    return [
        (Sokoban(SokobanOptions(**dict(options) | extra)), share / SOKOBAN_STREAMS)
        for extra, share in extras
        for _ in range(SOKOBAN_STREAMS)
    ]


def sokoban_reply(
    environment: Sokoban,
    state: SokobanState,
    role: str,
    perfect: float,
    generator: random.Random,
) -> str:
    """The shortest moves, the proposal, or random moves none of which is blocked.

    After a push that no push makes good there are no shortest moves, and only the others are left.
    """
    moves = environment.shortest_moves(state) if generator.random() < perfect else ()
    if moves:
        return environment.reply_with(moves)
    decides = role in ("planner", "answerer")
    if decides and state.proposal is not None and generator.random() < COPIED:
        return environment.reply_with(state.proposal.moves)
    length = generator.randint(1, environment.options.max_moves or 8)
    return environment.reply_with(unblocked_moves(state, length, generator))


def unblocked_moves(state: SokobanState, length: int, generator: random.Random) -> list[str]:
    """Random moves, each of which can be made where the ones before it lead to."""
    moves: list[str] = []
    position = state.position
    while len(moves) < length:
        moves.append(generator.choice(state.room.legal(position) or MOVES))
        position = play(state.room, position, moves[-1:]).position
    return moves


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
    "sokoban": Lesson(
        preset="sokoban_tiny",
        words=(
            *("proposer", "planner", "solo", "drafter", "answerer"),
            *("<answer>", "</answer>", *MOVES, "-", *"#_.$*@+", "legal", "at", "box", "goal"),
            *("moves", "room", "proposal", "none", "leads", "blocked", *NUMBERS),
        ),
        variants=sokoban_variants,
        reply=sokoban_reply,
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
