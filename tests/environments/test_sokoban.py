"""Sokoban: a solved episode as a table, rewards by hand, programs, prompts, options, tasks."""

from dataclasses import replace
from typing import Any

import pytest
from tests.environments.running import printing, run_program

from cotrain.core.episode import Evidence
from cotrain.core.rewards import local_reward
from cotrain.environments.audit import AuditSettings, audit
from cotrain.environments.base import Outcome, split_of
from cotrain.environments.checker import check
from cotrain.environments.playing import play
from cotrain.environments.sokoban import Sokoban, SokobanOptions
from cotrain.environments.sokoban_room import Room
from cotrain.environments.sokoban_search import pushes_in, shortest_solution
from cotrain.environments.sokoban_state import State, start_of

# Two pushes are needed: right and down, in either order.
ROOM = Room.of_rows(["######", "#@___#", "#_$__#", "#__._#", "#____#", "######"])
OPENING = start_of(ROOM)
SOLUTION = ("Down", "Right", "Up", "Right", "Down")
# One push each: the left box to the right, the right box to the right.
PAIR = start_of(Room.of_rows(["#######", "#@$._##", "#____##", "#_$.__#", "#######"]))
TEAM = Sokoban()


def say(*moves: str) -> str:
    return TEAM.reply_with(moves)


def act(state: State, agent: str, reply: str, **options: Any) -> Outcome[State]:
    return Sokoban(SokobanOptions(**options)).act(state, agent, reply, ())


def values(outcome: Outcome[Any]) -> dict[str, float]:
    return {part.name: part.value for part in outcome.local}


@pytest.mark.parametrize(
    ("moves", "row", "team", "legal", "safe", "progress"),
    [
        (["Down", "Right"], "#_@$_#", 0.0, 1, 1, 0.5),
        (["Down"], "#@$__#", 0.0, 1, 0, 0),
        (["Up", "Down", "Right"], "#_@$_#", 0.0, 0, 1, 0.5),
        (["Down", "Right", "Right"], "#__@$#", 0.0, 1, 0, 0),
        (["Down", "Right", "Right", "Right"], "#__@$#", 0.0, 0, 0, 0),
        (["Left"], "#_$__#", 0.0, 0, 0, 0),
        ([*SOLUTION], "#__@_#", 1.0, 1, 1, 1),
        ([*SOLUTION, "Up", "Up"], "#__@_#", 1.0, 1, 1, 1),
        (["Up", *SOLUTION], "#__@_#", 1.0, 0, 1, 1),
    ],
)
def test_the_planner_is_paid_for_boxes_home_free_moves_safe_pushes_and_progress(
    moves: list[str], row: str, team: float, legal: float, safe: float, progress: float
) -> None:
    outcome = act(OPENING, "planner", say(*moves))
    assert ROOM.rows(outcome.state.position)[2] == row
    assert outcome.team == team
    assert values(outcome) == {"format": 1, "legal": legal, "safe": safe, "progress": progress}
    assert outcome.done == TEAM.success(outcome.state) == (team == 1.0)


def test_the_weights_are_a_tenth_for_form_and_free_moves_and_four_each_for_the_rest() -> None:
    planned = act(OPENING, "planner", say(*SOLUTION)).local
    proposed = act(OPENING, "proposer", say(*SOLUTION)).local
    assert [part.weight for part in planned] == [0.1, 0.1, 0.4, 0.4]
    assert [part.weight for part in proposed] == [0.1, 0.1, 0.8]


def test_moves_one_a_turn_end_where_they_end_together_and_share_out_its_progress() -> None:
    state, turns = OPENING, []
    for move in SOLUTION:
        turns.append(act(state, "planner", say(move)))
        state = turns[-1].state
    whole = act(OPENING, "planner", say(*SOLUTION))
    assert replace(state, best_pushes=0) == whole.state
    assert sum(values(turn)["progress"] for turn in turns) == values(whole)["progress"] == 1.0
    assert [turn.team for turn in turns] == [0, 0, 0, 0, 1]
    assert [turn.done for turn in turns] == [False] * 4 + [True]


def test_boxes_home_count_once_and_all_of_them_more() -> None:
    first = act(PAIR, "planner", say("Right"))
    assert (first.team, values(first)["progress"]) == (pytest.approx(0.45), 0.5)
    away = act(first.state, "planner", say("Right"))
    assert (away.team, values(away)["progress"], away.state.best_home) == (0.0, 0.0, 1)
    there = act(first.state, "planner", say("Left", "Down", "Down", "Right"))
    assert (there.team, there.done) == (1.0, True)


@pytest.mark.parametrize(
    ("reward", "earned"), [("audited", [0.0, 0.0, 0.0, 0.0]), ("paper", [0.0, 1.0, 0.0, 1.0])]
)
def test_a_push_to_and_fro_earns_again_only_in_the_papers_form(
    reward: str, earned: list[float]
) -> None:
    state = start_of(Room.of_rows(["########", "#______#", "#_@_$._#", "########"]))
    first = say("Up", "Right", "Right", "Right", "Down", "Left")
    back, away = (
        say("Up", "Left", "Left", "Down", "Right"),
        say("Up", "Right", "Right", "Down", "Left"),
    )
    turns: list[Outcome[State]] = []
    for reply in (first, back, away, back):
        turns.append(act(state, "planner", reply, reward=reward))
        state = turns[-1].state
    assert [values(turn)["progress"] for turn in turns] == earned
    assert [values(turn)["safe"] for turn in turns] == [1.0] * 4


def test_the_papers_form_pays_boxes_at_home_whether_new_or_not() -> None:
    first = act(PAIR, "planner", say("Right")).state
    assert act(first, "planner", say("Down"), reward="paper").team == 0.5
    assert act(first, "planner", say("Down")).team == 0.0


def test_a_proposal_earns_its_team_value_and_progress_one_at_most_and_plays_nothing() -> None:
    for moves in (["Down", "Right"], ["Up"], ["Down", "Right", "Right"], [*SOLUTION]):
        proposed, played = (
            act(OPENING, "proposer", say(*moves)),
            act(OPENING, "planner", say(*moves)),
        )
        worth = min(1.0, played.team + values(played)["progress"])
        assert (proposed.team, values(proposed)["proposal"]) == (played.team, worth)
        assert replace(proposed.state, proposal=None) == OPENING
        assert not proposed.done
        assert proposed.state.proposal is not None
        assert proposed.state.proposal.preview.position == played.state.position


def test_the_proposal_is_cleared_when_the_planner_has_acted() -> None:
    proposed = act(OPENING, "proposer", say("Down")).state
    for reply in (say("Down"), "no answer"):
        assert act(proposed, "planner", reply).state.proposal is None


@pytest.mark.parametrize(
    "reply",
    ["", "Up", "<answer></answer>", "<answer>Push up</answer>", "<answer>[]</answer>", "\x00" * 9],
)
@pytest.mark.parametrize("agent", ["proposer", "planner", "tool"])
def test_a_reply_without_moves_scores_nothing_and_leaves_the_board(agent: str, reply: str) -> None:
    outcome = act(OPENING, agent, reply)
    assert replace(outcome.state, fault="") == OPENING
    assert (outcome.team, outcome.done, local_reward(outcome.local)) == (0.0, False, 0.0)
    assert sum(part.weight for part in outcome.local) == pytest.approx(1.0)


def test_moves_beyond_the_limit_of_a_reply_are_not_played_and_the_list_is_not_legal() -> None:
    within = act(OPENING, "planner", say("Down", "Right"), max_moves=2)
    beyond = act(OPENING, "planner", say("Down", "Right", "Up"), max_moves=2)
    assert (values(within)["legal"], values(beyond)["legal"]) == (1.0, 0.0)
    assert within.state == beyond.state


def test_the_move_limit_of_an_episode_ends_it_without_success() -> None:
    environment = Sokoban(SokobanOptions(max_episode_moves=6))
    first = environment.act(OPENING, "planner", say("Up", "Left", "Up", "Down"), ())
    assert (first.state.moves_played, first.done) == (4, False)
    assert environment.solve(first.state, "planner") is None
    assert "Give at most 2 moves." in environment.observe(first.state, "planner")[1].content
    last = environment.act(first.state, "planner", say("Right", "Right", "Up", "Right", "Down"), ())
    assert (last.state.moves_played, last.done, environment.success(last.state)) == (6, True, False)
    solved = environment.act(OPENING, "planner", say("Up", *SOLUTION), ())
    assert (solved.state.moves_played, solved.done, environment.success(solved.state)) == (
        6,
        True,
        True,
    )


def test_siblings_start_from_one_state_and_the_next_turn_from_the_followed_one() -> None:
    outcomes = [act(OPENING, "planner", say(move)) for move in ("Down", "Right", "Up", "Right")]
    assert ROOM.place(outcomes[0].state.position.player) == (2, 1)
    assert outcomes[1].state == outcomes[3].state
    followed = outcomes[0].state
    nexts = [act(followed, "planner", say("Right")).state for _ in range(4)]
    assert [ROOM.rows(state.position)[2] for state in nexts] == ["#_@$_#"] * 4
    assert "Player: row 2, column 1" in TEAM.observe(followed, "proposer")[1].content


PROGRAM = "```python\nprint('Down Right')\n```"


def tool(printed: str | None, **options: Any) -> Outcome[State]:
    """The tool's outcome where its program printed this; None: it failed."""
    environment = Sokoban(SokobanOptions(tools="code", **options))
    (request,) = environment.evidence(OPENING, "tool", PROGRAM)
    failed = ({"status": "failed", "stdout": "Up", "stderr": "NameError: name 'x'"},)
    evidence = Evidence(request, failed) if printed is None else printing(request, printed)
    return environment.act(OPENING, "tool", PROGRAM, (evidence,))


@pytest.mark.parametrize(
    ("printed", "parts"),
    [
        ("Down Right", {"format": 1, "ran": 1, "proposal": 0.5}),
        ("Up Down Right", {"format": 1, "ran": 1, "proposal": 0.5}),
        (" ".join(SOLUTION), {"format": 1, "ran": 1, "proposal": 1}),
        ("no way", {"format": 1, "ran": 0, "proposal": 0}),
        ("", {"format": 1, "ran": 0, "proposal": 0}),
        (None, {"format": 1, "ran": 0, "proposal": 0}),
    ],
)
def test_a_tool_is_paid_for_a_program_that_prints_a_list_and_for_what_it_would_earn(
    printed: str | None, parts: dict[str, float]
) -> None:
    outcome = tool(printed)
    assert values(outcome) == parts
    assert (outcome.state.proposal is not None) == (parts["ran"] == 1)
    assert outcome.state.position == OPENING.position


def test_a_tools_program_reads_the_board_and_its_fault_is_shown() -> None:
    environment = Sokoban(SokobanOptions(tools="code"))
    assert (environment.phases, environment.services) == ((("tool",), ("planner",)), ("program",))
    (request,) = environment.evidence(OPENING, "tool", PROGRAM)
    board = "\n".join(" ".join(row) for row in ROOM.rows(ROOM.opening))
    assert request["inputs"] == (f"{board}\n",)
    assert board in environment.observe(OPENING, "tool")[1].content
    shown = environment.observe(tool(None).state, "planner")[1].content
    assert "Proposal: none, the program of your partner failed (NameError: name 'x')." in shown
    shown = environment.observe(tool("?").state, "planner")[1].content
    assert "failed (the program printed no list of moves)" in shown
    assert environment.evidence(OPENING, "planner", PROGRAM) == ()


def test_a_tool_alone_plays_what_its_program_prints() -> None:
    outcome = tool(" ".join(SOLUTION), only="tool")
    assert (outcome.team, outcome.done, TEAM.success(outcome.state)) == (1.0, True, True)


def test_prompts_in_words_name_moves_places_board_limit_and_proposal() -> None:
    environment = Sokoban(SokobanOptions(max_moves=4))
    state = environment.act(OPENING, "proposer", say("Left", "Down", "Right"), ()).state
    system, user = environment.observe(state, "planner")
    assert "<answer>Up Right Right</answer>" in system.content
    assert user.content == (
        "Legal moves now: Down, Right\n"
        "Player: row 1, column 1\nBoxes: row 2, column 2\nTargets: row 3, column 3\n"
        "Give at most 4 moves.\n"
        "Room:\n# # # # # #\n# @ _ _ _ #\n# _ $ _ _ #\n# _ _ . _ #\n# _ _ _ _ #\n# # # # # #\n"
        "Proposal: Left Down Right\n"
        "It leads to:\n# # # # # #\n# _ _ _ _ #\n# _ @ $ _ #\n# _ _ . _ #\n# _ _ _ _ #\n"
        "# # # # # #\n"
        "Move 1 is blocked.\n"
        "Reply with your moves, like this: <answer>Up Right Right</answer>"
    )
    assert "Proposal" not in environment.observe(state, "proposer")[1].content
    solving = environment.act(OPENING, "proposer", say(*SOLUTION), ()).state
    assert solving.proposal is not None
    unlimited = TEAM.act(OPENING, "proposer", say(*SOLUTION), ()).state
    shown = TEAM.observe(unlimited, "planner")[1].content
    assert "No move is blocked. All boxes are home." in shown


def test_compact_prompts_are_words_with_one_blank_between_them() -> None:
    environment = Sokoban(SokobanOptions(view="compact", max_moves=4))
    state = environment.act(OPENING, "proposer", say("Down", "Right"), ()).state
    system, user = environment.observe(state, "planner")
    head = "legal - Down - Right at 1 1 box 2 2 goal 3 3 moves 4 room # # # # # # # @ _ _ _ #"
    assert system.content == "planner"
    assert user.content.startswith(head)
    assert "proposal Down Right leads # # # # # # # _ _ _ _ # # _ @ $ _ #" in user.content
    assert user.content.endswith(" blocked 0")
    assert set(user.content.split(" ")) == set(user.content.split())
    assert environment.observe(OPENING, "planner")[1].content.endswith(" proposal none")


def test_a_huge_proposal_does_not_flood_the_next_prompt() -> None:
    state = act(OPENING, "proposer", say(*["Down", "Up"] * 20_000)).state
    for view in ("text", "compact"):
        shown = Sokoban(SokobanOptions(view=view)).observe(state, "planner")[1].content
        assert len(shown) < 800
    assert "(40000 moves)" in TEAM.observe(state, "planner")[1].content


@pytest.mark.parametrize(
    ("options", "phases"),
    [
        ({}, (("proposer",), ("planner",))),
        ({"tools": "code"}, (("tool",), ("planner",))),
        ({"single": "plain"}, (("solo",),)),
        ({"single": "draft", "tools": "code"}, (("drafter",), ("answerer",))),
        ({"only": "proposer"}, (("proposer",),)),
        ({"only": "tool", "tools": "code"}, (("tool",),)),
        ({"only": "planner", "tools": "code"}, (("planner",),)),
    ],
    ids=str,
)
def test_every_variant_is_solved_by_its_own_replies(
    options: dict[str, Any], phases: tuple[tuple[str, ...], ...]
) -> None:
    environment = Sokoban(SokobanOptions(**options))
    assert environment.phases == phases
    assert environment.services == (("program",) if ("tool",) in phases else ())

    def write(state: Any, agent: str, turn: int) -> str:
        return environment.solve(state, agent) or ""

    task = environment.task("train", 3, 0)
    episode = play(environment, task, write, 1, run_program)
    assert episode.success
    agents = [group.key.agent for group in episode.groups()]
    assert agents == [agent for (agent,) in phases]


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"boxes": 2},
        {"max_moves": 4, "view": "compact"},
        {"max_episode_moves": 12, "single": "draft"},
        {"single": "plain", "size": 7},
        {"only": "proposer"},
    ],
    ids=str,
)
def test_every_promise_is_kept_and_nothing_out_earns_solving(options: dict[str, Any]) -> None:
    environment = Sokoban(SokobanOptions(**options))
    assert check(environment).broken == ()
    report = audit(environment, AuditSettings(tasks=1))
    assert report.findings == ()
    assert report.passed


def test_nothing_out_earns_solving_where_programs_propose() -> None:
    environment = Sokoban(SokobanOptions(tools="code"))
    report = audit(environment, AuditSettings(tasks=1, max_turns=2), run_program)
    assert report.findings == ()
    assert report.passed


def test_rooms_follow_from_split_seed_and_index_and_are_as_the_options_say() -> None:
    environment = Sokoban(SokobanOptions(size=7, boxes=2, min_moves=8))
    for split in ("train", "validation", "test"):
        tasks = [environment.task(split, 3, index) for index in range(6)]
        assert [environment.task(split, 3, index) for index in range(6)] == tasks
        assert len({task.digest for task in tasks}) == 6
        for task in tasks:
            room = task.data
            assert isinstance(room, Room)
            assert (split_of(task.digest), room.num_rows, room.boxes.bit_count()) == (split, 7, 2)
            solution = shortest_solution(room, pushes_in(room), room.opening, 10**6)
            assert solution is not None
            assert len(solution) >= 8


def test_options_that_no_room_can_meet_are_told_instead_of_drawn_for_ever() -> None:
    environment = Sokoban(SokobanOptions(size=5, walls=0.4, min_moves=40))
    with pytest.raises(ValueError, match=r"environment\.options\.min_moves = 40: .*walls = 0.4"):
        environment.task("test", 5, 0)


@pytest.mark.parametrize(
    ("options", "key"),
    [
        ({"size": 4}, "size"),
        ({"boxes": 0}, "boxes"),
        ({"walls": float("nan")}, "walls"),
        ({"min_moves": 0}, "min_moves"),
        ({"max_moves": 0}, "max_moves"),
        ({"max_episode_moves": 0}, "max_episode_moves"),
        ({"view": "html"}, "view"),
        ({"tools": "java"}, "tools"),
        ({"single": "solo"}, "single"),
        ({"only": "judge"}, "only"),
        ({"only": "tool"}, "only"),
        ({"only": "proposer", "tools": "code"}, "only"),
        ({"only": "solo", "single": "plain"}, "only"),
        ({"reward": "best"}, "reward"),
    ],
)
def test_a_wrong_option_names_its_key(options: dict[str, Any], key: str) -> None:
    with pytest.raises(ValueError, match=rf"environment\.options\.{key} = "):
        SokobanOptions(**options)


def test_demonstrations_solve_and_keep_to_the_limit() -> None:
    assert TEAM.shortest_moves(OPENING) == SOLUTION
    short = Sokoban(SokobanOptions(max_moves=3, view="compact"))
    assert short.reply_with(short.shortest_moves(OPENING)) == "<answer> Down Right Up </answer>"
    assert short.solve(OPENING, "planner") is None
    stuck = act(OPENING, "planner", say("Down", "Right", "Right")).state
    assert (TEAM.shortest_moves(stuck), TEAM.solve(stuck, "planner")) == ((), None)
