"""Plan-Path: a solved episode as a table, rewards by hand, prompts, options, tasks."""

from dataclasses import FrozenInstanceError, replace
from typing import Any

import pytest
from tests.environments.running import printing, run_program

from cotrain.core.episode import Evidence
from cotrain.environments.audit import AuditSettings, audit
from cotrain.environments.base import Outcome, split_of
from cotrain.environments.grid import Grid
from cotrain.environments.parsing import MOVES
from cotrain.environments.plan_path import PlanPath, PlanPathOptions
from cotrain.environments.plan_path_state import State, start_of

# The shortest path is Down, Down, Right, Right, Up, Up: six moves.
GRID = Grid.of_rows(["A#G#", ".#.#", "....", "###."])
OPENING = start_of(GRID)
TEAM = PlanPath()


def say(*moves: str) -> str:
    return TEAM.reply_with(moves)


def act(state: State, agent: str, reply: str, **options: Any) -> Outcome[State]:
    environment = PlanPath(PlanPathOptions(**options))
    return environment.act(state, agent, reply, ())


def values(outcome: Outcome[State]) -> dict[str, float]:
    return {part.name: part.value for part in outcome.local}


def after(*moves: str) -> State:
    return act(OPENING, "planner", say(*moves)).state


@pytest.mark.parametrize(
    ("moves", "place", "team", "legal", "efficiency"),
    [
        (["Down"], (1, 0), 0.9 * 1 / 6, 1.0, 0.5 * 1 / 6),
        (["Down", "Down"], (2, 0), 0.9 * 2 / 6, 1.0, 0.5 * 2 / 6),
        (["Down", "Up"], (0, 0), 0.0, 1.0, 0.0),
        (["Down", "Right"], (1, 0), 0.9 * 1 / 6, 0.0, 0.5 * 1 / 6),
        (["Up"], (0, 0), 0.0, 0.0, 0.0),
        (["Down", "Up"] * 5 + ["Down"], (1, 0), 0.9 * 1 / 6, 1.0, 0.5 * 1 / 11),
        (["Down", "Down", "Right", "Right", "Up"], (1, 2), 0.9 * 5 / 6, 1.0, 0.5 * 5 / 6),
        (["Down", "Down", "Right", "Right", "Up", "Up"], (0, 2), 1.0, 1.0, 1.0),
        (["Down", "Down", "Right", "Right", "Up", "Up", "Up"], (0, 2), 1.0, 1.0, 0.5 + 3 / 7),
        (["Down", "Up"] * 3 + ["Down", "Down", "Right", "Right", "Up", "Up"], (0, 2), 1, 1, 0.75),
    ],
)
def test_the_planner_is_paid_for_new_ground_legal_moves_and_few_of_them(
    moves: list[str], place: tuple[int, int], team: float, legal: float, efficiency: float
) -> None:
    outcome = act(OPENING, "planner", say(*moves))
    assert GRID.place(outcome.state.position) == place
    assert outcome.team == pytest.approx(team)
    assert values(outcome) == pytest.approx(
        {"format": 1.0, "legal": legal, "efficiency": efficiency}
    )
    assert outcome.done == (place == (0, 2)) == TEAM.success(outcome.state)


def test_ground_reached_before_earns_the_team_nothing_more() -> None:
    state = after("Down", "Down")
    back = act(state, "planner", say("Up")).state
    again = act(back, "planner", say("Down"))
    further = act(back, "planner", say("Down", "Down", "Right"))
    assert (back.best, again.team) == (4, 0.0)
    assert values(again)["efficiency"] == pytest.approx(0.5 * 1 / 5)
    assert further.team == pytest.approx(0)
    assert act(back, "planner", say("Down", "Right", "Right")).team == pytest.approx(0.9 * 2 / 6)


def test_a_proposal_earns_what_it_would_earn_played_and_changes_nothing_else() -> None:
    for moves in (["Down"], ["Down", "Right"], ["Down", "Down", "Right", "Right", "Up", "Up"]):
        proposed = act(OPENING, "proposer", say(*moves))
        played = act(OPENING, "planner", say(*moves))
        assert proposed.team == played.team == values(proposed)["proposal"]
        assert values(proposed)["legal"] == values(played)["legal"]
        assert not proposed.done
        assert replace(proposed.state, proposal=None) == OPENING
        assert proposed.state.proposal is not None
        assert proposed.state.proposal.preview.end == played.state.position


def test_the_outcome_reward_pays_the_goal_alone() -> None:
    near = act(OPENING, "planner", say("Down", "Down"), reward="outcome")
    there = act(
        OPENING,
        "planner",
        say("Down", "Down", "Right", "Right", "Up", "Up"),
        reward="outcome",
    )
    assert (near.team, values(near)["efficiency"]) == (0.0, 0.0)
    assert (there.team, values(there)["efficiency"]) == (1.0, 1.0)
    proposed = act(OPENING, "proposer", say("Down"), reward="outcome")
    assert (proposed.team, values(proposed)["proposal"]) == (0.0, 0.0)


def test_the_proposal_is_cleared_when_the_planner_has_acted() -> None:
    proposed = act(OPENING, "proposer", say("Down")).state
    for reply in (say("Down"), "no answer"):
        assert act(proposed, "planner", reply).state.proposal is None


@pytest.mark.parametrize("reply", ["", "Up", "<answer></answer>", "<answer>Up", "\x00" * 9])
@pytest.mark.parametrize("agent", ["proposer", "planner"])
def test_a_reply_without_moves_scores_nothing_and_leaves_the_state(agent: str, reply: str) -> None:
    outcome = act(OPENING, agent, reply)
    assert outcome.state == OPENING
    assert (outcome.team, outcome.done) == (0.0, False)
    assert set(values(outcome).values()) == {0.0}


def test_moves_beyond_the_limit_are_not_played_and_the_list_is_not_legal() -> None:
    within = act(OPENING, "planner", say("Down", "Down"), max_moves=2)
    beyond = act(OPENING, "planner", say("Down", "Down", "Right"), max_moves=2)
    assert (values(within)["legal"], values(beyond)["legal"]) == (1.0, 0.0)
    assert beyond.state.position == within.state.position
    proposal = act(OPENING, "proposer", say("Down", "Down", "Right"), max_moves=2).state.proposal
    assert proposal is not None
    assert proposal.preview.illegal == 3


def test_the_papers_form_pays_ground_of_the_turn_and_the_share_of_good_moves() -> None:
    state = after("Down", "Down", "Right")
    back = act(state, "planner", say("Left", "Up", "Up")).state
    outcome = act(back, "planner", say("Down", "Down", "Up"), reward="paper")
    assert outcome.team == pytest.approx(1 / 6)
    assert values(outcome)["efficiency"] == pytest.approx(2 / 3)
    assert values(act(OPENING, "planner", say("Down"), reward="paper"))["efficiency"] == 1.0


def test_the_papers_team_value_stays_in_range_after_a_walk_away() -> None:
    near = start_of(Grid.of_rows(["AG.", "##.", "..."]))
    away = replace(near, position=Grid.of_rows(["..G", "##.", "A.."]).start)
    outcome = act(away, "planner", say("Right", "Right", "Up", "Up", "Left"), reward="paper")
    assert (away.distance, away.first_distance, outcome.team) == (5, 1, 1.0)


@pytest.mark.parametrize(
    ("options", "phases"),
    [
        ({}, (("proposer",), ("planner",))),
        ({"tools": "code"}, (("tool",), ("planner",))),
        ({"single": "plain"}, (("solo",),)),
        ({"single": "draft"}, (("drafter",), ("answerer",))),
        ({"only": "proposer"}, (("proposer",),)),
        ({"only": "planner"}, (("planner",),)),
        ({"only": "tool", "tools": "code"}, (("tool",),)),
    ],
)
def test_the_variants_play_their_roles_and_know_all(
    options: dict[str, Any], phases: tuple[tuple[str, ...], ...]
) -> None:
    environment = PlanPath(PlanPathOptions(**options))
    assert environment.phases == phases
    names = [role.name for role in environment.all_roles()]
    assert names == ["proposer", "tool", "planner", "solo", "drafter", "answerer"]
    state = OPENING
    for (agent,) in phases:
        reply = environment.solve(state, agent)
        assert reply is not None
        evidence = [run_program(request) for request in environment.evidence(state, agent, reply)]
        state = environment.act(state, agent, reply, evidence).state
    assert environment.services == (("program",) if ("tool",) in phases else ())
    assert environment.success(state)


PROGRAM = "```python\nprint('Down')\n```"


def tool(printed: str | None, **options: Any) -> Outcome[State]:
    """The tool's outcome where its program printed this; None: it failed."""
    environment = PlanPath(PlanPathOptions(tools="code", **options))
    (request,) = environment.evidence(OPENING, "tool", PROGRAM)
    failed = ({"status": "failed", "stdout": "Up", "stderr": "NameError: name 'x'"},)
    evidence = Evidence(request, failed) if printed is None else printing(request, printed)
    return environment.act(OPENING, "tool", PROGRAM, (evidence,))


@pytest.mark.parametrize(
    ("printed", "ran", "worth"),
    [
        ("Down", 1, 0.9 * 1 / 6),
        ("path:\n['down', 'right', 'down']", 1, 0.9 * 1 / 6),
        ("Down Down Right Right Up Up", 1, 1.0),
        ("no way", 0, 0.0),
        ("", 0, 0.0),
        (None, 0, 0.0),
    ],
)
def test_a_tool_is_paid_for_a_program_that_prints_a_list_and_for_the_team_value(
    printed: str | None, ran: int, worth: float
) -> None:
    outcome = tool(printed)
    assert values(outcome) == pytest.approx({"format": 1, "ran": ran, "proposal": worth})
    assert [part.weight for part in outcome.local] == [0.1, 0.1, 0.8]
    assert outcome.team == pytest.approx(worth)
    assert (outcome.state.proposal is not None, outcome.done) == (bool(ran), False)


def test_a_tool_without_a_program_scores_nothing_and_runs_nothing() -> None:
    environment = PlanPath(PlanPathOptions(tools="code"))
    assert environment.evidence(OPENING, "tool", say("Down")) == ()
    assert set(values(environment.act(OPENING, "tool", say("Down"), ())).values()) == {0.0}


def test_a_tools_program_reads_the_grid_and_its_fault_is_shown() -> None:
    environment = PlanPath(PlanPathOptions(tools="code"))
    (request,) = environment.evidence(OPENING, "tool", PROGRAM)
    assert request["inputs"] == ("A # G #\n. # . #\n. . . .\n# # # .\n",)
    assert "A # G #\n. # . #\n. . . .\n# # # ." in environment.observe(OPENING, "tool")[1].content
    shown = environment.observe(tool(None).state, "planner")[1].content
    assert "Proposal: none, the program of your partner failed (NameError: name 'x')." in shown
    assert environment.act(tool(None).state, "planner", say("Down"), ()).state.fault == ""
    assert environment.evidence(OPENING, "planner", PROGRAM) == ()


def test_nothing_out_earns_solving_where_programs_propose() -> None:
    environment = PlanPath(PlanPathOptions(size=5, tools="code"))
    report = audit(environment, AuditSettings(tasks=1, max_turns=2), run_program)
    assert report.findings == ()
    assert report.passed


def test_prompts_in_words_name_legal_moves_places_grid_limit_and_proposal() -> None:
    environment = PlanPath(PlanPathOptions(max_moves=6))
    state = environment.act(OPENING, "proposer", say("Down", "Right"), ()).state
    system, user = environment.observe(state, "planner")
    assert (system.role, user.role) == ("system", "user")
    assert "<answer>Up Right Right</answer>" in system.content
    assert user.content == (
        "Legal moves now: Down\n"
        "Agent: row 0, column 0\n"
        "Goal: row 0, column 2\n"
        "Give at most 6 moves.\n"
        "Grid:\nA # G #\n. # . #\n. . . .\n# # # .\n"
        "Proposal: Down Right\n"
        "It ends at row 1, column 0. Move 2 is illegal.\n"
        "Reply with your moves, like this: <answer>Up Right Right</answer>"
    )
    assert "Proposal" not in environment.observe(state, "proposer")[1].content
    assert "Proposal: none" in environment.observe(OPENING, "planner")[1].content


def test_compact_prompts_are_words_with_one_blank_between_them() -> None:
    environment = PlanPath(PlanPathOptions(view="compact", max_moves=4))
    state = environment.act(OPENING, "proposer", say("Down", "Right"), ()).state
    system, user = environment.observe(state, "planner")
    grid = "A # G # . # . # . . . . # # # ."
    head = f"legal - Down - - at 0 0 goal 0 2 moves 4 grid {grid}"
    assert system.content == "planner"
    assert user.content == f"{head} proposal Down Right ends 1 0 illegal 2"
    assert environment.observe(state, "proposer")[1].content == head
    assert environment.observe(OPENING, "planner")[1].content == f"{head} proposal none"
    legal = environment.act(OPENING, "proposer", say("Down"), ()).state
    assert environment.observe(legal, "planner")[1].content.endswith("ends 1 0 illegal 0")
    unlimited = PlanPath(PlanPathOptions(view="compact"))
    assert "moves" not in unlimited.observe(OPENING, "planner")[1].content


def test_a_replaced_prompt_is_the_system_message_in_both_views() -> None:
    for view in ("text", "compact"):
        environment = PlanPath(PlanPathOptions(view=view), {"planner": "Do it."})
        assert environment.observe(OPENING, "planner")[0].content == "Do it."
        assert environment.observe(OPENING, "proposer")[0].content != "Do it."


def test_a_huge_proposal_does_not_flood_the_next_prompt() -> None:
    state = act(OPENING, "proposer", say(*["Down", "Up"] * 20_000)).state
    for view in ("text", "compact"):
        shown = PlanPath(PlanPathOptions(view=view)).observe(state, "planner")[1].content
        assert len(shown) < 500
    assert "(40000 moves)" in TEAM.observe(state, "planner")[1].content


def test_demonstrations_solve_and_keep_to_the_limit() -> None:
    assert TEAM.shortest_moves(OPENING) == ("Down", "Down", "Right", "Right", "Up", "Up")
    short = PlanPath(PlanPathOptions(max_moves=4, view="compact"))
    assert short.shortest_moves(OPENING) == ("Down", "Down", "Right", "Right")
    assert short.reply_with(short.shortest_moves(OPENING)) == (
        "<answer> Down Down Right Right </answer>"
    )
    assert short.solve(OPENING, "planner") is None
    assert TEAM.solve(after(*TEAM.shortest_moves(OPENING)), "planner") is None


def test_tasks_follow_from_split_seed_and_index_alone() -> None:
    first = [PlanPath().task("train", 3, index) for index in range(6)]
    assert [TEAM.task("train", 3, index) for index in reversed(range(6))] == first[::-1]
    assert len({task.digest for task in first}) == 6
    later = [TEAM.task("train", 3, index) for index in range(6, 12)]
    assert not {task.digest for task in first} & {task.digest for task in later}
    assert TEAM.task("train", 4, 0) != first[0]


@pytest.mark.parametrize("split", ["train", "validation", "test"])
def test_a_task_belongs_to_its_split_and_is_as_the_options_say(split: str) -> None:
    options = PlanPathOptions(size=7, blocked=0.3, min_distance=5)
    environment = PlanPath(options)
    for index in range(40):
        task = environment.task(split, 5, index)
        state = environment.start(task, "train")
        assert (task.split, task.index, split_of(task.digest)) == (split, index, split)
        assert state.grid.size == 7
        assert state.distance == state.best == state.first_distance >= 5
        assert not environment.success(state)


def test_about_the_asked_share_of_cells_is_blocked() -> None:
    grids = [TEAM.task("train", 1, index).data for index in range(200)]
    free = sum(grid.free.bit_count() for grid in grids if isinstance(grid, Grid))
    assert 0.75 < free / (200 * 100) < 0.82


def test_options_that_no_grid_can_meet_are_told_instead_of_drawn_for_ever() -> None:
    environment = PlanPath(PlanPathOptions(size=16, blocked=0.6, min_distance=30))
    with pytest.raises(ValueError, match=r"environment\.options\.min_distance = 30: .*blocked = 0"):
        environment.task("test", 5, 0)


@pytest.mark.parametrize(
    ("options", "key"),
    [
        ({"size": 1}, "size"),
        ({"blocked": 0.9}, "blocked"),
        ({"blocked": float("nan")}, "blocked"),
        ({"min_distance": 0}, "min_distance"),
        ({"size": 3, "min_distance": 5}, "min_distance"),
        ({"max_moves": 0}, "max_moves"),
        ({"view": "html"}, "view"),
        ({"tools": "java"}, "tools"),
        ({"only": "tool"}, "only"),
        ({"only": "proposer", "tools": "code"}, "only"),
        ({"single": "solo"}, "single"),
        ({"only": "judge"}, "only"),
        ({"only": "solo", "single": "plain"}, "only"),
        ({"reward": "best"}, "reward"),
        ({"sees": "half"}, "sees"),
        ({"sees": "split", "tools": "code"}, "sees"),
        ({"sees": "split", "only": "planner"}, "sees"),
    ],
)
def test_a_wrong_option_names_its_key(options: dict[str, Any], key: str) -> None:
    with pytest.raises(ValueError, match=rf"environment\.options\.{key} = "):
        PlanPathOptions(**options)


def test_options_and_states_are_frozen() -> None:
    with pytest.raises(FrozenInstanceError):
        TEAM.options.size = 3  # type: ignore[misc]
    with pytest.raises(FrozenInstanceError):
        OPENING.position = 3  # type: ignore[misc]
    assert hash(OPENING) == hash(start_of(GRID))


def test_a_rendering_shows_grid_distances_and_proposal() -> None:
    state = act(OPENING, "proposer", say("Down")).state
    assert TEAM.render(state).splitlines()[:5] == [
        *GRID.rows(GRID.start),
        "distance 6, best 6, first 6",
    ]
    assert "Proposal: Down" in TEAM.render(state)


def test_siblings_start_from_one_state_and_the_next_turn_from_the_followed_one() -> None:
    outcomes = [act(OPENING, "planner", say(move)) for move in MOVES]
    assert [outcome.state.position for outcome in outcomes].count(OPENING.position) == 3
    followed = outcomes[1].state
    nexts = [act(followed, "planner", say("Down")).state for _ in range(4)]
    assert {GRID.place(state.position) for state in nexts} == {(2, 0)}
    assert "Agent: row 1, column 0" in TEAM.observe(followed, "proposer")[1].content
