"""Rules, players and plays for tests, with a default for all that a test does not speak of."""

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tests.builders import WrittenPolicy, make_task
from tests.rollouts.rated import answer_tie

from cotrain.core.episode import Episode, Group, Reply, Request
from cotrain.core.selection import selection
from cotrain.environments.base import Environment
from cotrain.policies.base import Decoding
from cotrain.rollouts.base import Opening, Player, PlayRules, all_unscored
from cotrain.rollouts.engine import Engine
from cotrain.rollouts.evidence import HandlerPool
from cotrain.rollouts.referee import LocalReferee

Texts = Mapping[tuple[int, int], str]
"""`(turn, candidate) -> reply`."""


def numbered_seed(opening: Opening, agent: str, turn: int, candidate: int) -> int:
    """A seed from which `place_of` reads episode, turn and candidate."""
    return (opening.number * 100 + turn) * 100 + candidate + 1


def place_of(seed: int) -> tuple[int, int, int]:
    return seed // 10_000, seed // 100 % 100, seed % 100 - 1


def make_rules(
    max_turns: int = 1,
    *,
    follow: str | float = "best",
    team_weight: float = 1.0,
    max_prompt_tokens: int = 2000,
    ends_unscored: Callable[[Sequence[Group]], bool] = all_unscored,
    episode_seconds: float | None = None,
    seed: Callable[[Opening, str, int, int], int] = numbered_seed,
) -> PlayRules:
    return PlayRules(
        max_turns=max_turns,
        team_weight=team_weight,
        max_prompt_tokens=max_prompt_tokens,
        selection=selection(follow),
        seed=seed,
        ends_unscored=ends_unscored,
        episode_seconds=episode_seconds,
    )


def table(texts: Texts, otherwise: str = "0.5") -> Callable[[int], str | Reply]:
    """Writes the same replies in every episode."""
    return lambda seed: texts.get(place_of(seed)[1:], otherwise)


def rows(*turns: Sequence[str]) -> Callable[[int], str | Reply]:
    """Writes these candidates at turn 1, turn 2, ..."""
    return table({(t, c): text for t, row in enumerate(turns, 1) for c, text in enumerate(row)})


def make_player(
    agent: str,
    write: Callable[[int], str | Reply],
    width: int = 2,
    *,
    trained: bool = True,
    context_tokens: int = 2**20,
    max_reply_tokens: int = 64,
) -> Player:
    policy = WrittenPolicy(agent, write, context_tokens)
    return Player(agent, agent, policy, Decoding(1.0, max_reply_tokens), width, trained)


def make_openings(count: int = 1, data: object = None, step: int = 1) -> list[Opening]:
    """Openings of equal tasks with this data; without, each task's data is its number."""
    tasks = [make_task(number, number if data is None else data) for number in range(count)]
    return [Opening(step, number, number, task, "train") for number, task in enumerate(tasks)]


def make_engine(
    environment: Environment[Any],
    pool: HandlerPool,
    clock: Callable[[], float] = time.monotonic,
) -> Engine:
    return Engine(LocalReferee(environment), pool, clock)


def play(
    environment: Environment[Any],
    players: Sequence[Player],
    rules: PlayRules,
    openings: Sequence[Opening] | None = None,
    handlers: Mapping[str, Callable[[Request], Any]] | None = None,
) -> list[Episode]:
    """The episodes of these openings (one by default), with evidence answered by `handlers`."""
    pool = HandlerPool({"tie": answer_tie, **(handlers or {})}, seconds=5)
    engine = make_engine(environment, pool)
    cast = {player.agent: player for player in players}
    return engine.play(make_openings() if openings is None else openings, cast, rules)


def scores(group: Group) -> list[float | None]:
    return [candidate.score for candidate in group.candidates]
