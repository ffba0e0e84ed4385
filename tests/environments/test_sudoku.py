"""Sudoku: fills applied and refused, rewards by hand, prompts, programs, variants, tasks."""

import subprocess
import sys
from dataclasses import FrozenInstanceError, replace
from typing import Any

import pytest

from cotrain.core.episode import Evidence, Request
from cotrain.environments.audit import AuditSettings, audit
from cotrain.environments.base import Outcome, split_of
from cotrain.environments.checker import check
from cotrain.environments.playing import judge
from cotrain.environments.sudoku import Sudoku, SudokuOptions
from cotrain.environments.sudoku_grid import Puzzle, solutions
from cotrain.environments.sudoku_state import State, start_of

# The solution is 1423/3241/2314/4132; ten cells are empty at the start.
PUZZLE = Puzzle.of_text("1020/0041/0300/4000")
SOLUTION = (1, 4, 2, 3, 3, 2, 4, 1, 2, 3, 1, 4, 4, 1, 3, 2)
OPENING = start_of(PUZZLE)
TEAM = Sudoku()
CODE = Sudoku(SudokuOptions(tools="code"))


def act(state: State, agent: str, answer: str, **options: Any) -> Outcome[State]:
    environment = Sudoku(SudokuOptions(**options))
    return environment.act(state, agent, f"<answer>{answer}</answer>", ())


def values(outcome: Outcome[State]) -> dict[str, float]:
    return {part.name: part.value for part in outcome.local}


def run(request: Request) -> Evidence:
    """Runs the program of a request in a process of its own."""
    runs: list[dict[str, object]] = []
    for stdin in request["inputs"]:
        done = subprocess.run(
            [sys.executable, "-I", "-c", request["source"]],
            input=stdin,
            capture_output=True,
            text=True,
            timeout=20,
            check=False,
        )
        status = "failed" if done.returncode else "finished"
        streams = {"stdout": done.stdout, "stderr": done.stderr}
        runs.append({"status": status, "exit_code": done.returncode, **streams})
    return Evidence(request, runs)


def program(source: str, state: State = OPENING, agent: str = "tool") -> Outcome[State]:
    outcome, _ = judge(CODE, state, agent, f"```python\n{source}\n```", run)
    assert outcome is not None
    return outcome


def test_the_puzzle_of_these_tests_has_this_one_solution() -> None:
    assert list(solutions(PUZZLE.clues)) == [SOLUTION] == [OPENING.solution]
    assert PUZZLE.empty == 10


@pytest.mark.parametrize(
    ("answer", "team", "legal", "progress"),
    [
        ("(1, 2, 4)", 0.0, 1.0, 1 / 10),
        ("(1, 2, 4) (1, 4, 3)", 0.0, 1.0, 2 / 10),
        ("(4, 4, 3)", 0.0, 1.0, 0.0),
        ("(1, 2, 4) (4, 4, 3)", 0.0, 1.0, 1 / 10),
        ("1423/0000/0000/0000", 0.0, 1.0, 2 / 10),
        ("1423/3241/2314/4132", 1.0, 1.0, 1.0),
        ("(1,2,4)(1,4,3)(2,1,3)(2,2,2)(3,1,2)(3,3,1)(3,4,4)(4,2,1)(4,3,3)(4,4,2)", 1, 1, 1),
        ("(1, 2, 4) (1, 2, 4) (1, 1, 1)", 0.0, 1.0, 1 / 10),
        ("(1, 1, 2)", 0.0, 0.0, 0.0),
        ("(1, 2, 2)", 0.0, 0.0, 0.0),
        ("(1, 2, 4) (2, 2, 4)", 0.0, 0.0, 0.0),
        ("(1, 2, 4) (1, 2, 3)", 0.0, 0.0, 0.0),
        ("(1, 2, 4) (5, 1, 1)", 0.0, 0.0, 0.0),
        ("(1, 2, 4) (2, 1, 0)", 0.0, 0.0, 0.0),
        ("(1, 2, 4) (1, 0, 3)", 0.0, 0.0, 0.0),
        ("(1, 1, 1)", 0.0, 0.0, 0.0),
        ("2143/4321/1234/3412", 0.0, 0.0, 0.0),
    ],
)
def test_the_reasoner_is_paid_for_legal_fills_and_new_right_cells(
    answer: str, team: float, legal: float, progress: float
) -> None:
    outcome = act(OPENING, "reasoner", answer)
    assert outcome.team == team
    assert values(outcome) == pytest.approx({"format": 1.0, "legal": legal, "progress": progress})
    assert outcome.done == TEAM.success(outcome.state) == (team == 1.0)
    if not legal:
        assert outcome.state == OPENING


def test_parts_have_the_weights_of_the_table() -> None:
    assert [part.weight for part in act(OPENING, "reasoner", "(1, 2, 4)").local] == [0.1, 0.1, 0.8]


def test_only_more_right_cells_than_ever_earn_progress() -> None:
    two = act(OPENING, "reasoner", "(1, 2, 4) (4, 4, 2)").state
    spoiled = act(two, "reasoner", "(4, 4, 3)").state
    assert (spoiled.num_right(spoiled.cells), spoiled.best) == (1, 2)
    assert values(act(spoiled, "reasoner", "(4, 4, 2)"))["progress"] == 0.0
    more = act(spoiled, "reasoner", "(4, 4, 2) (2, 1, 3)")
    assert values(more)["progress"] == pytest.approx(1 / 10)
    assert values(act(two, "reasoner", "(2, 1, 3)"))["progress"] == pytest.approx(1 / 10)


def test_own_fills_may_be_overwritten_and_open_cells_of_a_grid_leave_them() -> None:
    wrong = act(OPENING, "reasoner", "(4, 4, 3)").state
    assert act(wrong, "reasoner", "(4, 3, 3)").state == wrong
    mended = act(wrong, "reasoner", "(4, 3, 3) (4, 4, 2)")
    assert values(mended)["progress"] == pytest.approx(2 / 10)
    kept = act(wrong, "reasoner", "1423/0000/0000/0000").state
    assert kept.cells[15] == 3
    assert act(wrong, "reasoner", "1423/3241/2314/4132").team == 1.0


def test_a_reply_that_changes_no_cell_is_not_legal() -> None:
    filled = act(OPENING, "reasoner", "(1, 2, 4)").state
    assert not values(act(filled, "reasoner", "(1, 2, 4)"))["legal"]


def test_a_proposal_earns_what_it_would_earn_applied_and_is_only_recorded() -> None:
    for answer in ("(1, 2, 4)", "(4, 4, 3)", "(1, 1, 2)", "1423/3241/2314/4132"):
        proposed, applied = act(OPENING, "proposer", answer), act(OPENING, "reasoner", answer)
        assert (proposed.team, values(proposed)) == (applied.team, values(applied))
        assert not proposed.done
        assert replace(proposed.state, proposal=None) == OPENING
        assert proposed.state.proposal is not None
        assert proposed.state.proposal.cells == applied.state.cells
        assert act(proposed.state, "reasoner", answer).state == applied.state


@pytest.mark.parametrize("reply", ["", "(1, 2, 4)", "<answer></answer>", "<answer>(1, 2, 4)"])
@pytest.mark.parametrize("agent", ["proposer", "reasoner"])
def test_a_reply_without_fills_scores_nothing_and_leaves_the_state(agent: str, reply: str) -> None:
    outcome = TEAM.act(OPENING, agent, reply, ())
    assert (outcome.state, outcome.team, outcome.done) == (OPENING, 0.0, False)
    assert set(values(outcome).values()) == {0.0}


def test_more_new_cells_than_allowed_are_illegal_and_repeated_ones_do_not_count() -> None:
    filled = act(OPENING, "reasoner", "(1, 2, 4)").state
    within = act(filled, "reasoner", "(1, 1, 1) (1, 2, 4) (1, 4, 3) (2, 1, 3)", max_fills=2)
    beyond = act(filled, "proposer", "(1, 4, 3) (2, 1, 3) (2, 2, 2)", max_fills=2)
    assert (values(within)["legal"], values(beyond)["legal"]) == (1.0, 0.0)
    assert beyond.state.proposal is not None
    assert beyond.state.proposal.illegal is not None
    assert beyond.state.proposal.illegal.fill == (2, 2, 2)


def test_the_papers_form_pays_right_cells_also_when_they_are_not_new() -> None:
    two = act(OPENING, "reasoner", "(1, 2, 4) (4, 4, 2)").state
    spoiled = act(two, "reasoner", "(4, 4, 3)").state
    again = act(spoiled, "reasoner", "(4, 4, 2)", reward="paper")
    assert values(again)["progress"] == pytest.approx(2 / 10)
    assert values(act(two, "reasoner", "(1, 1, 2)", reward="paper"))["progress"] == 0.0


def test_prompts_in_words_show_grid_own_fills_limit_and_what_the_proposal_leads_to() -> None:
    environment = Sudoku(SudokuOptions(max_fills=2))
    filled = act(OPENING, "reasoner", "(1, 2, 4)").state
    grid = "Grid (. is an empty cell):\n1 4 | 2 .\n. . | 4 1\n. 3 | . .\n4 . | . .\n"
    head = (
        f"{grid}Empty cells: 9\nFilled by your team, maybe wrongly: (1, 2, 4)\n"
        "Fill at most 2 cells.\n"
    )
    form = "\nReply with your fills, like this: <answer>(1, 2, 4) (3, 1, 2)</answer>"
    proposed = act(filled, "proposer", "(2, 1, 3)").state
    system, user = environment.observe(proposed, "reasoner")
    assert (system.role, user.role) == ("system", "user")
    assert "box of 2 x 2 cells" in system.content
    assert user.content == (
        f"{head}Proposal: (2, 1, 3)\nIt is legal. It would lead to:\n"
        f"1 4 | 2 .\n3 . | 4 1\n. 3 | . .\n4 . | . .{form}"
    )
    illegal = act(filled, "proposer", "(2, 1, 3) (2, 2, 3)").state
    assert environment.observe(illegal, "reasoner")[1].content == (
        f"{head}Proposal: (2, 1, 3) (2, 2, 3)\nIt is illegal and would fill nothing. (2, 1, 3): "
        f"its row, column or box then has two 3s.{form}"
    )
    solving = act(filled, "proposer", "1423/3241/2314/4132").state
    assert (
        "It fills every cell by the rules." in environment.observe(solving, "reasoner")[1].content
    )
    assert "Proposal" not in environment.observe(proposed, "proposer")[1].content
    assert "Proposal: none" in environment.observe(filled, "reasoner")[1].content


def test_compact_prompts_are_words_with_one_blank_between_them() -> None:
    environment = Sudoku(SudokuOptions(view="compact", max_fills=2))
    filled = act(OPENING, "reasoner", "(1, 2, 4)").state
    head = (
        "fills 2 grid r1c1=1 r1c2:4 r1c3=2 r2c3=4 r2c4=1 r3c2=3 r4c1=4 "
        "open r1c4 3 r2c1 2 3 r2c2 2 r3c1 2 r3c3 1 r3c4 2 4 r4c2 1 2 r4c3 1 3 r4c4 2 3"
    )
    system, user = environment.observe(filled, "reasoner")
    assert (system.content, user.content) == ("reasoner", f"{head} proposal none")
    assert environment.observe(filled, "proposer")[1].content == head
    for answer, shown in (
        ("(2, 1, 3)", "r2c1 3 legal"),
        ("(2, 1, 3) (2, 2, 3)", "r2c1 3 r2c2 3 illegal r2c1 3"),
        ("(2, 1, 3) (2, 2, 30)", "r2c1 3 r2c2 - illegal r2c2 -"),
        ("(9, 1, 3)", "- 3 illegal - 3"),
        ("(1, 1, 1)", "r1c1 1 illegal -"),
    ):
        state = act(filled, "proposer", answer).state
        assert environment.observe(state, "reasoner")[1].content == f"{head} proposal {shown}"
    unlimited = Sudoku(SudokuOptions(view="compact"))
    assert "fills" not in unlimited.observe(OPENING, "reasoner")[1].content
    fills = [(1, 2, 4), (2, 1, 3)]
    assert environment.reply_with("reasoner", fills) == "<answer> r1c2 4 r2c1 3 </answer>"


def test_whole_grids_are_spoken_of_only_where_replies_have_no_limit() -> None:
    for size, row in ((4, "3412"), (9, "456789123")):
        whole = Sudoku(SudokuOptions(size=size)).prompt("reasoner")
        assert f"\n{row}\n" in whole
        assert row not in Sudoku(SudokuOptions(size=size, max_fills=3)).prompt("reasoner")


def test_a_replaced_prompt_is_the_system_message() -> None:
    environment = Sudoku(SudokuOptions(view="compact"), {"reasoner": "Do it."})
    assert environment.observe(OPENING, "reasoner")[0].content == "Do it."
    assert environment.observe(OPENING, "proposer")[0].content == "proposer"


def test_a_huge_proposal_does_not_flood_the_next_prompt() -> None:
    for answer in ("(1, 2, 4) " * 30_000, "(9, 9, 9) " * 30_000):
        state = act(OPENING, "proposer", answer).state
        assert len(TEAM.observe(state, "reasoner")[1].content) < 600


def test_a_program_reads_the_clues_and_what_it_prints_is_the_proposal() -> None:
    outcome = program("import sys\nprint('1423/3241/2314/4132')\nassert len(sys.argv) == 1")
    assert outcome.team == 1.0
    assert values(outcome) == {"format": 1.0, "ran": 1.0, "progress": 1.0}
    filled = act(OPENING, "reasoner", "(1, 2, 3)").state
    echoed = program("print(open(0).read().replace('0', '.'), end='')\nprint('(1, 2, 4)')", filled)
    assert echoed.state.proposal is not None
    assert echoed.state.proposal.fills == ((1, 2, 4),)
    assert CODE.evidence(filled, "tool", "```python\nx\n```")[0]["inputs"] == (
        "1020\n0041\n0300\n4000\n",
    )


@pytest.mark.parametrize(
    ("source", "ran", "team"),
    [
        ("print('(1, 1, 2)')", 1.0, 0.0),
        ("print('no idea')", 0.0, 0.0),
        ("print('1423/3241/2314/4132'); raise ValueError('odd')", 0.0, 0.0),
        ("import sys; print('1423/3241/2314/4132', file=sys.stderr)", 0.0, 0.0),
    ],
)
def test_a_program_counts_when_it_ends_well_and_prints_fills(
    source: str, ran: float, team: float
) -> None:
    outcome = program(source)
    assert outcome.team == team
    assert values(outcome) == {"format": 1.0, "ran": ran, "progress": 0.0}


def test_the_reasoner_reads_why_a_program_gave_no_proposal() -> None:
    for source, said in (
        ("raise ValueError('odd')", "ValueError: odd"),
        ("print(1)", "It printed no grid and no fills."),
    ):
        state = program(source).state
        assert said in CODE.observe(state, "reasoner")[1].content
        assert said in CODE.render(state)
        assert CODE.act(state, "reasoner", "?", ()).state == OPENING
    no_program, _ = judge(CODE, OPENING, "tool", "(1, 2, 4)", run)
    assert no_program is not None
    assert set(values(no_program).values()) == {0.0}


@pytest.mark.parametrize(
    ("options", "phases", "services"),
    [
        ({}, (("proposer",), ("reasoner",)), ()),
        ({"tools": "code"}, (("tool",), ("reasoner",)), ("program",)),
        ({"single": "plain"}, (("solo",),), ()),
        ({"single": "plain", "tools": "code"}, (("solo",),), ()),
        ({"single": "draft"}, (("drafter",), ("answerer",)), ()),
        ({"single": "draft", "tools": "code"}, (("drafter",), ("answerer",)), ("program",)),
        ({"only": "proposer"}, (("proposer",),), ()),
        ({"only": "reasoner", "tools": "code"}, (("reasoner",),), ()),
        ({"only": "tool", "tools": "code"}, (("tool",),), ("program",)),
    ],
)
def test_the_variants_play_their_roles_know_all_and_can_solve(
    options: dict[str, Any], phases: tuple[tuple[str, ...], ...], services: tuple[str, ...]
) -> None:
    environment = Sudoku(SudokuOptions(**options))
    assert (environment.phases, environment.services) == (phases, services)
    names = [role.name for role in environment.all_roles()]
    assert names == ["proposer", "tool", "reasoner", "solo", "drafter", "answerer"]
    state = OPENING
    for (agent,) in phases:
        reply = environment.solve(state, agent)
        assert reply is not None
        outcome, _ = judge(environment, state, agent, reply, run)
        assert outcome is not None
        state = outcome.state
    assert environment.success(state)
    assert environment.solve(state, phases[0][0]) is None


def test_no_reply_solves_when_more_cells_are_left_than_it_may_fill() -> None:
    assert Sudoku(SudokuOptions(max_fills=9)).solve(OPENING, "reasoner") is None
    assert Sudoku(SudokuOptions(max_fills=10)).solve(OPENING, "reasoner") is not None


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"reward": "paper"},
        {"size": 9, "empty": 6},
        {"max_fills": 3, "empty": 4, "view": "compact"},
        {"single": "draft"},
        {"only": "proposer"},
    ],
    ids=str,
)
def test_nothing_out_earns_solving(options: dict[str, Any]) -> None:
    report = audit(Sudoku(SudokuOptions(**options)), AuditSettings(tasks=1))
    assert report.findings == ()
    assert report.passed


def test_nothing_out_earns_solving_by_programs() -> None:
    environment = Sudoku(SudokuOptions(tools="code", only="tool"))
    settings = AuditSettings(tasks=1, max_turns=1)
    report = audit(environment, settings, known_output)
    assert report.findings == ()
    assert report.passed


def known_output(request: Request) -> Evidence:
    """What the programs of `attempts` print stands in them, so that none needs to be run."""
    text = str(request["source"]).removeprefix("print('").removesuffix("')")
    return Evidence(request, [{"status": "finished", "stdout": text, "stderr": ""}])


def test_every_promise_is_kept() -> None:
    assert check(Sudoku(SudokuOptions(max_fills=2, view="compact"))).broken == ()


def test_tasks_follow_from_split_seed_and_index_alone() -> None:
    first = [Sudoku().task("train", 3, index) for index in range(6)]
    assert [TEAM.task("train", 3, index) for index in reversed(range(6))] == first[::-1]
    assert len({task.digest for task in first}) == 6
    assert TEAM.task("train", 4, 0) != first[0]


@pytest.mark.parametrize("split", ["train", "validation", "test"])
@pytest.mark.parametrize(("size", "empty"), [(4, None), (4, 12), (9, None)])
def test_a_task_belongs_to_its_split_and_has_one_solution(
    split: str, size: int, empty: int | None
) -> None:
    environment = Sudoku(SudokuOptions(size=size, empty=empty))
    for index in range(5):
        task = environment.task(split, 5, index)
        state = environment.start(task, "train")
        assert (task.split, task.index, split_of(task.digest)) == (split, index, split)
        assert len(list(solutions(state.puzzle.clues))) == 1
        assert state.puzzle.empty == (empty or size**2 // 2)
        assert not environment.success(state)


def test_options_that_no_puzzle_can_meet_are_told_instead_of_drawn_for_ever() -> None:
    environment = Sudoku(SudokuOptions(size=9, empty=64))
    with pytest.raises(ValueError, match=r"environment\.options\.empty = 64: .*lower it"):
        environment.task("test", 5, 0)


@pytest.mark.parametrize(
    ("options", "key"),
    [
        ({"size": 6}, "size"),
        ({"empty": 3}, "empty"),
        ({"empty": 13}, "empty"),
        ({"size": 9, "empty": 65}, "empty"),
        ({"max_fills": 0}, "max_fills"),
        ({"max_fills": 2, "tools": "code"}, "max_fills"),
        ({"view": "html"}, "view"),
        ({"tools": "shell"}, "tools"),
        ({"single": "solo"}, "single"),
        ({"only": "judge"}, "only"),
        ({"only": "tool"}, "only"),
        ({"only": "solo", "single": "plain"}, "only"),
        ({"reward": "best"}, "reward"),
    ],
)
def test_a_wrong_option_names_its_key(options: dict[str, Any], key: str) -> None:
    with pytest.raises(ValueError, match=rf"environment\.options\.{key} = "):
        SudokuOptions(**options)


def test_options_and_states_are_frozen() -> None:
    with pytest.raises(FrozenInstanceError):
        TEAM.options.size = 9  # type: ignore[misc]
    with pytest.raises(FrozenInstanceError):
        OPENING.best = 3  # type: ignore[misc]
    assert hash(OPENING) == hash(start_of(PUZZLE))


def test_a_rendering_shows_grid_progress_and_proposal() -> None:
    filled = act(OPENING, "reasoner", "(1, 2, 4)").state
    text = TEAM.render(act(filled, "proposer", "(2, 1, 3)").state)
    assert text.splitlines()[0] == "1 4 | 2 ."
    assert "right 1 of 10, best 1" in text
    assert "Proposal: (2, 1, 3)" in text
