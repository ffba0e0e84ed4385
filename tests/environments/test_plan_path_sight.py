"""Plan-Path with split sight: what is hidden from a role changes nothing that it reads."""

import random
from collections.abc import Iterator
from dataclasses import replace
from random import Random
from typing import Any, Literal

import pytest

from cotrain.environments.audit import AuditSettings, audit
from cotrain.environments.checker import check
from cotrain.environments.grid import Grid, distances_to
from cotrain.environments.parsing import MOVES
from cotrain.environments.plan_path import PlanPath, PlanPathOptions
from cotrain.environments.plan_path_state import State, start_of

VARIANTS: list[dict[str, Any]] = [
    {"view": view, "max_moves": max_moves, "size": size}
    for view in ("text", "compact")
    for max_moves, size in ((4, 6), (None, 6), (3, 3), (None, 10))
]
NUM_GAMES = 12
NUM_TURNS = 4


def split(**options: Any) -> PlanPath:
    options = {"blocked": 0.25, "min_distance": 2, **options}
    return PlanPath(PlanPathOptions(sees="split", **options))


def reply(environment: PlanPath, state: State, generator: Random) -> str:
    """A reply of any kind: none, moves at random, some too many, a way to the goal or over it."""
    way = list(environment.shortest_moves(state))
    moves = generator.choices(MOVES, k=generator.randint(1, 14))
    kinds = [[], moves, way, way + moves, way[:1], moves[:2]]
    return environment.reply_with(generator.choice(kinds))


def games(environment: PlanPath, seed: int) -> Iterator[tuple[State, list[tuple[str, str]]]]:
    """Opening states of random tasks, each with the replies of some turns."""
    for index in range(NUM_GAMES):
        generator = random.Random(seed * 1000 + index)
        opening = environment.start(environment.task("train", seed, index), "train")
        state, said = opening, list[tuple[str, str]]()
        while len(said) < 2 * NUM_TURNS and not environment.success(state):
            for agent in ("proposer", "planner"):
                said.append((agent, reply(environment, state, generator)))
                state = environment.act(state, *said[-1], ()).state
        yield opening, said


def states_of(environment: PlanPath, said: list[tuple[str, str]], opening: State) -> list[State]:
    """The states in which a planner reads, with the proposal of the turn."""
    states, state = [opening], opening
    for agent, text in said:
        state = environment.act(state, agent, text, ()).state
        states.append(state)
    return states


def with_goal(environment: PlanPath, state: State, goal: int) -> State:
    """The same walls and agent with another goal, and the same moves proposed."""
    grid = replace(state.grid, goal=goal)
    distances = distances_to(grid, goal)
    bare = replace(state, grid=grid, distances=distances, best=distances[state.position])
    if state.proposal is None:
        return bare
    return environment.act(
        replace(bare, proposal=None), "proposer", environment.reply_with(state.proposal.moves), ()
    ).state


def with_walls(state: State, generator: Random) -> State:
    """The same agent and goal with other walls."""
    grid, kept = state.grid, 1 << state.position | 1 << state.grid.goal
    board = Grid.of_free_cells(grid.size, grid.start, grid.goal).free
    free = kept | 1 << grid.start
    for place in range(board.bit_length()):
        free |= (board >> place & 1 and generator.random() < 0.6) << place
    changed = replace(grid, free=free)
    distances = distances_to(changed, grid.goal)
    return replace(state, grid=changed, distances=distances, best=7)


def other_goals(state: State) -> list[int]:
    """The cells that a path joins to the agent, save those of agent, start and goal."""
    reached = distances_to(state.grid, state.position)
    taken = (state.position, state.grid.start, state.grid.goal)
    return [cell for cell, far in enumerate(reached) if far > 0 and cell not in taken]


@pytest.mark.parametrize("options", VARIANTS, ids=str)
def test_the_planner_reads_the_same_wherever_the_goal_is(options: dict[str, Any]) -> None:
    environment, compared, passed_over = split(**options), 0, 0
    for opening, said in games(environment, 1):
        for state in states_of(environment, said, opening):
            if environment.success(state):
                continue
            read = environment.observe(state, "planner")
            for goal in other_goals(state):
                other = with_goal(environment, state, goal)
                assert environment.observe(other, "planner") == read
                compared += 1
                passed_over += other.proposal is not None and other.proposal.preview.end == goal
    assert compared > 300
    assert passed_over > 5


@pytest.mark.parametrize("options", VARIANTS, ids=str)
def test_the_proposer_reads_the_same_whatever_is_blocked(options: dict[str, Any]) -> None:
    environment, compared, generator = split(**options), 0, random.Random(5)
    for opening, said in games(environment, 2):
        for state in states_of(environment, said, opening):
            read = environment.observe(state, "proposer")
            for _ in range(8):
                other = with_walls(state, generator)
                assert environment.observe(other, "proposer") == read
                compared += other.grid.free != state.grid.free
    assert compared > 100


@pytest.mark.parametrize("options", VARIANTS, ids=str)
def test_a_role_reads_all_that_it_may(options: dict[str, Any]) -> None:
    environment, generator = split(**options), random.Random(6)
    goals = walls = 0
    for opening, _ in games(environment, 3):
        read = {agent: environment.observe(opening, agent) for agent in ("proposer", "planner")}
        for goal in other_goals(opening):
            goals += 1
            other = with_goal(environment, opening, goal)
            assert environment.observe(other, "proposer") != read["proposer"]
        other = with_walls(opening, generator)
        if other.grid.free != opening.grid.free:
            walls += 1
            assert environment.observe(other, "planner") != read["planner"]
    assert goals > 5
    assert walls > 5


# The goal is two moves right of the agent, behind a blocked cell.
GRID = Grid.of_rows(["A#G.", "....", "..#.", "...."])


def test_each_role_is_told_in_words_what_it_does_not_see() -> None:
    environment = split(size=4, max_moves=6)
    opening = start_of(GRID)
    system, user = environment.observe(opening, "proposer")
    assert "You see the goal and not the blocked cells" in system.content
    assert user.content.startswith(
        "Blocked cells: not shown to you\n"
        "Agent: row 0, column 0\n"
        "Goal: row 0, column 2\n"
        "Give at most 6 moves.\n"
        "Grid:\nA . G .\n. . . .\n. . . .\n. . . .\n"
    )
    proposal = environment.reply_with(["Down", "Right", "Right", "Up", "Right"])
    system, user = environment.observe(
        environment.act(opening, "proposer", proposal, ()).state, "planner"
    )
    assert "You see the blocked cells and not the goal" in system.content
    assert user.content.startswith(
        "Legal moves now: Down\n"
        "Agent: row 0, column 0\n"
        "Goal: not shown to you\n"
        "Give at most 6 moves.\n"
        "Grid:\nA # . .\n. . . .\n. . # .\n. . . .\n"
        "Proposal: Down Right Right Up Right\n"
        "It ends at row 0, column 3. All its moves are legal.\n"
    )


def test_the_compact_view_keeps_its_places_and_fills_them_with_what_is_seen() -> None:
    environment = split(size=4, max_moves=4, view="compact")
    opening = start_of(GRID)
    assert environment.observe(opening, "proposer")[1].content == (
        "legal - Down - Right at 0 0 goal 0 2 moves 4 grid A . G . . . . . . . . . . . . ."
    )
    state = environment.act(opening, "proposer", environment.reply_with(["Right"] * 2), ()).state
    assert environment.observe(state, "planner")[1].content == (
        "legal - Down - - at 0 0 goal - - moves 4 grid A # . . . . . . . . # . . . . . "
        "proposal Right Right ends 0 0 illegal 1"
    )


@pytest.mark.parametrize("single", ["plain", "draft"])
def test_one_policy_alone_reads_as_where_all_is_seen(single: Literal["plain", "draft"]) -> None:
    whole = PlanPath(PlanPathOptions(size=4, single=single))
    environment = split(size=4, single=single)
    opening = start_of(GRID)
    for role in whole.roles:
        assert environment.observe(opening, role.name) == whole.observe(opening, role.name)
        assert environment.solve(opening, role.name) == whole.solve(opening, role.name)


def test_rewards_and_renderings_are_those_of_a_team_that_sees_all() -> None:
    environment = split(size=6)
    whole = PlanPath(PlanPathOptions(size=6, blocked=0.25, min_distance=2))
    for opening, said in games(environment, 4):
        state = opening
        for agent, text in said:
            outcome = environment.act(state, agent, text, ())
            assert outcome == whole.act(state, agent, text, ())
            assert environment.render(outcome.state) == whole.render(outcome.state)
            state = outcome.state


def test_who_trusts_what_it_sees_solves_where_that_is_enough() -> None:
    environment, opening = split(size=4), start_of(GRID)
    assert environment.solve(opening, "proposer") is None  # its straight way is blocked
    assert environment.solve(opening, "planner") is None  # it has no proposal
    straight = environment.act(
        opening, "proposer", environment.reply_with(["Right", "Right"]), ()
    ).state
    assert environment.solve(straight, "planner") == environment.reply_with(
        ["Down", "Right", "Right", "Up"]
    )
    wrong = environment.act(opening, "proposer", environment.reply_with(["Down"]), ()).state
    assert environment.solve(wrong, "planner") is None
    below = start_of(Grid.of_rows(["A#..", "..G.", "....", "...."]))
    assert environment.solve(below, "proposer") == environment.reply_with(
        ["Down", "Right", "Right"]
    )


def test_checker_and_audit_pass() -> None:
    environment = split(size=5, max_moves=4)
    report = audit(environment, AuditSettings(tasks=2))
    assert report.findings == ()
    assert report.passed
    found = check(environment)
    assert (found.broken, found.not_checked) == ((), ())
