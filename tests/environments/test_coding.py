"""Coding: rewards as tables, a solved episode, what prompts show and hide, options, tests."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from cotrain.config.faults import ConfigurationError
from cotrain.core.episode import Evidence, Json, Task
from cotrain.environments.base import Judged, Outcome
from cotrain.environments.coding import Coding
from cotrain.environments.coding_options import CodingOptions
from cotrain.environments.coding_state import State, parse_test, scored_tests
from cotrain.environments.data.coding_records import Case, Problem

EXAMPLES = Path(__file__).parents[2] / "examples" / "coding" / "problems.jsonl"
SUM = Problem(
    id="sum",
    prompt="Print a + b. For example, for\n1 1\nit prints\n2",
    golden=tuple(Case(f"{n} {n + 1}\n", f"{2 * n + 1}\n") for n in range(4)),
    public=(Case("1 1\n", "2\n"),),
    solution="print(sum(map(int, input().split())))",
    mutants=("print(2)", "print(0)"),
)
CALLED = replace(
    SUM,
    function="add",
    golden=(Case("[1, 2]", "3"), Case("[2, 2]", "4")),
    public=(Case("[1, 1]", "2"),),
    mutants=(),
)
CHECKED = replace(CALLED, golden=(), checks=("def check(f): ...", "def check(f): ... "))
TEAM = Coding()
PROGRAM = "```python\nprint(1)\n```"
TEST = "<input>5 6</input><output>11</output>"


def opening(problem: Problem = SUM) -> State:
    return TEAM.start(Task("train", 0, "0a", problem), "evaluate")


def run(output: str | None, status: str = "finished", stderr: str = "") -> dict[str, Json]:
    """One run that printed, or returned, this."""
    code = {"finished": 0, "failed": 1}.get(status)
    return {
        "status": status,
        "stdout": output or "",
        "stderr": stderr,
        "exit_code": code,
        "value": output,
    }


def outcome_of(
    answers: Sequence[Json], agent: str = "coder", reply: str = PROGRAM, problem: Problem = SUM
) -> Outcome[State]:
    """The outcome of a reply whose requests were answered so, in order."""
    state = opening(problem)
    requests = TEAM.evidence(state, agent, reply)
    evidence = [Evidence(*pair) for pair in zip(requests, answers, strict=True)]
    return TEAM.act(state, agent, reply, evidence)


def values(outcome: Outcome[State]) -> dict[str, float]:
    return {part.name: part.value for part in outcome.local}


RIGHT = [run("2\n"), *(run(f"{2 * n + 1}\n") for n in range(4))]
CRASHED = run(None, "failed", "Traceback\nValueError: no")


@pytest.mark.parametrize(
    ("runs", "built", "ran", "golden"),
    [
        (RIGHT, 1, 1, 1.0),
        ([*RIGHT[:3], run("9"), run("9")], 1, 1, 0.5),
        ([run("0"), *[run("0")] * 4], 1, 1, 0.0),
        ([CRASHED] * 5, 1, 0, 0.0),
        ([run(None, "failed", "  File\nSyntaxError: invalid syntax")] * 5, 0, 0, 0.0),
        ([run(None, "failed", "ModuleNotFoundError: No module named 'x'")] * 5, 0, 0, 0.0),
        ([run(None, "timeout"), *[run(None, "not run")] * 4], 1, 0, 0.0),
        ([*RIGHT[:2], run(None, "timeout"), *[run(None, "not run")] * 2], 1, 1, 0.25),
        ([run("2\n"), *[run("1\n", "failed")] * 4], 1, 1, 0.0),
        ([CRASHED, *RIGHT[1:]], 1, 1, 1.0),
    ],
)
def test_a_coder_is_paid_for_a_program_that_builds_runs_and_passes(
    runs: list[Json], built: float, ran: float, golden: float
) -> None:
    outcome = outcome_of([tuple(runs)])
    assert outcome.team == golden
    assert values(outcome) == {"built": built, "ran": ran, "golden": golden}
    assert TEAM.would_solve("coder", outcome) == (golden == 1.0)


def test_passing_all_golden_tests_out_earns_all_but_one_of_very_many() -> None:
    many = replace(SUM, golden=SUM.golden[:1] * 1_000)
    right, missed = run("1\n"), run("0\n")
    solving = outcome_of([(CRASHED, *[right] * 1_000)], problem=many)
    nearly = outcome_of([(run("2\n"), *[right] * 999, missed)], problem=many)
    score = [o.team + sum(p.weight * p.value for p in o.local) for o in (solving, nearly)]
    assert score[0] > score[1]


def test_a_reply_without_a_program_is_worth_nothing_and_leaves_the_program_that_stood() -> None:
    state = outcome_of([tuple(RIGHT)]).state
    outcome = TEAM.act(state, "coder", "I cannot.", ())
    assert TEAM.evidence(state, "coder", "I cannot.") == ()
    assert outcome.team == 0.0
    assert set(values(outcome).values()) == {0.0}
    assert outcome.state.program == "print(1)"
    assert not TEAM.would_solve("coder", outcome)


def test_values_of_calls_are_judged_as_values() -> None:
    outcome = outcome_of([(run("2"), run("3.0"), run("5"))], problem=CALLED)
    assert (outcome.team, values(outcome)["ran"]) == (0.5, 1.0)
    nothing = outcome_of([(run(None), run(None), run(None))], problem=CALLED)
    assert nothing.team == 0.0


def test_checks_are_judged_one_by_one() -> None:
    passed, failed = {"status": "finished", "passed": True}, {"status": "failed", "passed": False}
    outcome = outcome_of([(run("2"),), passed, failed], problem=CHECKED)
    assert outcome.team == 0.5
    assert outcome_of([(run("2"),), passed, passed], problem=CHECKED).team == 1.0


GOOD, ODD = (run("11\n"), run("11\n")), (run("11\n"), run("12\n"))


@pytest.mark.parametrize(
    ("reply", "answers", "parts"),
    [
        (TEST, [GOOD, (run("2\n"),), (run("11\n"),)], (1, 1, 1)),
        (TEST, [GOOD, (run("11\n"),), (run("11\n"),)], (1, 1, 0)),
        (TEST, [GOOD, (CRASHED,), (run("11\n"),)], (1, 1, 1)),
        (TEST.replace("11", "12"), [GOOD, (run("2\n"),), (run("0\n"),)], (1, 0, 0)),
        (TEST, [ODD, (run("2\n"),), (run("0\n"),)], (0, 0, 0)),
        (TEST, [(CRASHED, CRASHED), (run("2\n"),), (run("0\n"),)], (0, 0, 0)),
        (
            "<input> 1  1 </input><output>2</output>",
            [(run("2\n"), run("2\n")), (run("2\n"),), (run("0\n"),)],
            (1, 0, 0),
        ),
        ("<input>5 6</input>", [], (0, 0, 0)),
        ("It should work.", [], (0, 0, 0)),
    ],
)
def test_a_tester_is_paid_for_valid_right_and_telling_tests(
    reply: str, answers: list[Json], parts: tuple[float, float, float]
) -> None:
    outcome = outcome_of(answers, "tester", reply)
    assert tuple(values(outcome).values()) == parts
    assert (outcome.gate, outcome.team) == (1.0, 0.0)


def test_without_mutants_agreement_earns_all_the_rest() -> None:
    problem = replace(SUM, mutants=())
    outcome = outcome_of([GOOD], "tester", TEST, problem)
    assert [(p.weight, p.value) for p in outcome.local] == [(0.2, 1.0), (0.8, 1.0)]


def test_without_a_golden_solution_the_tester_has_no_local_reward_and_nothing_is_run() -> None:
    problem = replace(SUM, solution="")
    assert TEAM.evidence(opening(problem), "tester", TEST) == ()
    assert outcome_of([], "tester", TEST, problem).gate == 0.0
    assert outcome_of([], "tester", "nothing", problem).gate == 0.0


def test_the_testers_team_value_is_that_of_the_standing_program_whatever_it_writes() -> None:
    state = replace(opening(), program="print(1)", golden=0.75)
    for reply, answers in ((TEST, [GOOD, GOOD[:1], GOOD[:1]]), ("", [])):
        requests = TEAM.evidence(state, "tester", reply)
        evidence = [Evidence(*pair) for pair in zip(requests, answers, strict=True)]
        assert TEAM.act(state, "tester", reply, evidence).team == 0.75


def committed(
    state: State, replies: Mapping[str, tuple[str, Sequence[Json]]], joint: Sequence[Json]
) -> tuple[State, bool]:
    """The state after both replies, with answers to their requests and to the joint one."""
    judged: dict[str, Judged] = {}
    for agent, (reply, answers) in replies.items():
        requests = TEAM.evidence(state, agent, reply)
        evidence = tuple(Evidence(*pair) for pair in zip(requests, answers, strict=True))
        judged[agent] = Judged(reply, evidence)
    requests = TEAM.joint_evidence(state, {agent: pair[0] for agent, pair in replies.items()})
    evidence = tuple(Evidence(*pair) for pair in zip(requests, joint, strict=True))
    return TEAM.commit(state, judged, evidence)


TESTED = [GOOD, GOOD[:1], GOOD[:1]]


def test_an_episode_that_is_solved_in_its_second_turn() -> None:
    wrong = [(run("1\n"), *[run("1\n")] * 4)]
    state, done = committed(
        opening(), {"coder": (PROGRAM, wrong), "tester": (TEST, TESTED)}, [(run("1\n"),)]
    )
    assert (done, TEAM.success(state), state.golden, state.turn) == (False, False, 0.25, 2)
    seen = TEAM.observe(state, "coder")[1].content
    assert "print(1)" in seen
    assert "Input:\n1 1\nExpected:\n2\nGot:\n1" in seen
    assert "Input:\n5 6\nExpected:\n11\nGot:\n1" in seen
    state, done = committed(
        state, {"coder": (PROGRAM, [tuple(RIGHT)]), "tester": ("", [])}, [(run("11\n"),)]
    )
    assert (done, TEAM.success(state), state.golden) == (True, True, 1.0)


def test_done_is_not_success() -> None:
    half = (*RIGHT[:3], run("9"), run("9"))
    state, done = committed(
        opening(), {"coder": (PROGRAM, [half]), "tester": (TEST, TESTED)}, [(run("11"),)]
    )
    assert (done, TEAM.success(state)) == (True, False)


def test_without_a_test_that_was_run_the_episode_goes_on() -> None:
    state, done = committed(opening(), {"coder": (PROGRAM, [tuple(RIGHT)])}, [])
    assert (done, TEAM.success(state)) == (False, True)


def test_a_program_that_fails_a_public_example_goes_on_though_it_passes_the_test() -> None:
    runs = (run("1\n"), *RIGHT[1:])
    _, done = committed(
        opening(), {"coder": (PROGRAM, [runs]), "tester": (TEST, TESTED)}, [(run("11"),)]
    )
    assert not done


def test_an_absent_agent_keeps_what_stood_and_it_is_run_again() -> None:
    state, _ = committed(opening(), {"tester": (TEST, TESTED)}, [])
    assert state.test == Case("5 6\n", "11")
    state, done = committed(state, {"coder": (PROGRAM, [tuple(RIGHT)])}, [(run("11\n"),)])
    assert done
    [request] = TEAM.joint_evidence(state, {})
    assert request["inputs"] == ("5 6\n",)


def test_no_prompt_shows_a_golden_test_or_its_result() -> None:
    secret = tuple(Case(f"secret {n}", f"hidden {n}") for n in range(4))
    problem = replace(SUM, golden=secret, solution="the solution", mutants=("a mutant",))
    runs = (run("2\n"), *[run("hidden 0")] * 4)
    valid = (run("11"), run("11"))
    replies = {"coder": (PROGRAM, [runs]), "tester": (TEST, [valid, (run("1"),)])}
    state, _ = committed(opening(problem), replies, [(run("11"),)])
    texts = [m.content for a in ("coder", "tester", "answerer") for m in TEAM.observe(state, a)]
    for word in ("secret", "hidden", "the solution", "a mutant", "0.25", "25%"):
        assert not any(word in text for text in texts)


def test_no_request_of_a_program_holds_an_expected_output() -> None:
    secret = tuple(Case(f"{n}", f"hidden {n}") for n in range(4))
    requests = TEAM.evidence(opening(replace(SUM, golden=secret)), "coder", PROGRAM)
    assert "hidden" not in repr(requests)


def test_long_outputs_are_cut_in_prompts() -> None:
    runs = (run("7" * 100_000), *RIGHT[1:])
    state = outcome_of([runs]).state
    assert len(TEAM.observe(state, "coder")[1].content) < 2_000


def test_siblings_are_judged_by_the_same_golden_tests_and_turns_by_others() -> None:
    many = replace(SUM, golden=tuple(Case(str(n), str(n)) for n in range(100)))
    state = TEAM.start(Task("train", 0, "0a", many), "train")
    assert len(state.scored) == CodingOptions().tests_per_candidate == 8
    one, other = (TEAM.evidence(state, "coder", f"```\nprint({n})\n```") for n in range(2))
    assert one[0]["inputs"] == other[0]["inputs"]
    assert scored_tests(many, "0a", 2, 8) != state.scored
    assert scored_tests(many, "0b", 1, 8) != state.scored
    assert len(TEAM.start(Task("test", 0, "0a", many), "evaluate").scored) == 100


@pytest.mark.parametrize(
    ("reply", "test"),
    [
        ("<input>\n1 2\n</input>\n<output>\n3\n</output>", Case("1 2\n", "3")),
        ("<INPUT>1</INPUT> so <OUTPUT>2</OUTPUT>", Case("1\n", "2")),
        ("<input>```\n1\n```</input><output>2</output>", Case("1\n", "2")),
        ("<input>\n```text\n1\n```\n</input><output>2</output>", Case("1\n", "2")),
        ("<input></input><output>2</output>", Case("", "2")),
        ("<input>1</input><output>1</output> <input>2</input><output>2</output>", Case("2\n", "2")),
        ("<input>1</input><output>1</output> <input>2</input><output>2", Case("1\n", "1")),
        ("<input>1</input><input>3</input><output>2</output>", Case("3\n", "2")),
        ("<think><input>1</input><output>2</output></think>", None),
        ("<input>1</input><output> </output>", None),
        ("<output>1</output><input>2</input>", None),
        ("<input>1<output>2</output>", None),
        ("", None),
    ],
)
def test_the_last_well_formed_test_of_a_reply_counts(reply: str, test: Case | None) -> None:
    assert parse_test(SUM, reply) == test


@pytest.mark.parametrize(
    ("given", "expected", "test"),
    [
        ("[1, 2]\n3", "[3]", Case("[[1, 2], 3]", "[3]")),
        ("", "null", Case("[]", "null")),
        ("(1, 2)", "3", None),
        ("1", "three", None),
        ("[" * 100_000, "1", None),
        ("1", "9" * 5_000, None),
    ],
)
def test_a_test_of_a_function_is_json(given: str, expected: str, test: Case | None) -> None:
    reply = f"<input>\n{given}\n</input><output>{expected}</output>"
    assert parse_test(CALLED, reply) == test


def options(**given: Any) -> CodingOptions:
    return CodingOptions(**given)


@pytest.mark.parametrize(
    ("given", "key"),
    [
        ({"reward": "outcome"}, "reward"),
        ({"reward": "outcome", "only": "tester"}, "reward"),
        ({"reward": "paper"}, "reward"),
        ({"single": "plain", "only": "coder"}, "only"),
        ({"single": "both"}, "single"),
        ({"only": "judge"}, "only"),
        ({"untrained": ("judge",)}, "untrained"),
        ({"tests_per_candidate": 0}, "tests_per_candidate"),
        ({"first_date": "October"}, "first_date"),
        ({"last_date": "2024-1-1"}, "last_date"),
    ],
)
def test_wrong_options_name_their_key(given: Mapping[str, Any], key: str) -> None:
    with pytest.raises(ConfigurationError, match=rf"environment\.options\.{key} ="):
        options(**given)


@pytest.mark.parametrize(
    "given", [{"untrained": ("tester",)}, {"only": "coder"}, {"single": "plain"}]
)
def test_an_outcome_only_reward_is_the_team_value_alone(given: Mapping[str, Any]) -> None:
    environment = Coding(options(reward="outcome", **given))
    agent = environment.roles[0].name
    state = environment.start(Task("train", 0, "0a", SUM), "evaluate")
    [request] = environment.evidence(state, agent, PROGRAM)
    outcome = environment.act(state, agent, PROGRAM, [Evidence(request, tuple(RIGHT))])
    assert (outcome.team, outcome.local) == (1.0, ())


def test_a_lone_coder_reads_what_a_team_reads_and_is_done_with_the_public_examples() -> None:
    solo = Coding(options(single="plain"))
    state = solo.start(Task("train", 0, "0a", SUM), "evaluate")
    assert solo.observe(state, "solo")[1] == TEAM.observe(opening(), "coder")[1]
    [request] = solo.evidence(state, "solo", PROGRAM)
    wrong = solo.act(state, "solo", PROGRAM, [Evidence(request, (run("1\n"), *RIGHT[1:]))])
    right = solo.act(state, "solo", PROGRAM, [Evidence(request, tuple(RIGHT))])
    assert (wrong.done, right.done) == (False, True)
    assert (solo.success(wrong.state), solo.success(right.state)) == (True, True)
    assert wrong.state.turn == 2


def test_a_draft_earns_what_it_would_earn_as_the_answer_and_changes_no_program() -> None:
    drafts = Coding(options(single="draft"))
    assert drafts.phases == (("drafter",), ("answerer",))
    state = drafts.start(Task("train", 0, "0a", SUM), "evaluate")
    [request] = drafts.evidence(state, "drafter", PROGRAM)
    drafted = drafts.act(state, "drafter", PROGRAM, [Evidence(request, tuple(RIGHT))])
    assert drafted.team == 1.0
    assert (drafted.done, drafts.success(drafted.state), drafted.state.turn) == (False, False, 1)
    assert "print(1)" in drafts.observe(drafted.state, "answerer")[1].content
    answered = drafts.act(drafted.state, "answerer", PROGRAM, [Evidence(request, tuple(RIGHT))])
    assert (answered.done, drafts.success(answered.state), answered.state.draft) == (True, True, "")


def test_a_tester_alone_succeeds_with_a_right_test_of_its_own() -> None:
    alone = Coding(options(only="tester"))
    state = alone.start(Task("train", 0, "0a", SUM), "evaluate")
    for reply, right in ((TEST, True), ("<input>1 1</input><output>2</output>", False)):
        requests = alone.evidence(state, "tester", reply)
        output = run("11\n" if right else "2\n")
        answers = [(output, output), (run("2"),), (run("0"),)]
        evidence = [Evidence(*pair) for pair in zip(requests, answers, strict=True)]
        outcome = alone.act(state, "tester", reply, evidence)
        assert (outcome.done, alone.success(outcome.state)) == (right, right)


def test_each_problem_of_a_split_comes_once_an_epoch() -> None:
    environment = Coding(options(data=str(EXAMPLES)))
    ids = [environment.task("train", 7, index).digest for index in range(24)]
    assert len(set(ids[:12])) == len(set(ids[12:])) == 12
    assert ids[:12] != ids[12:]


def test_a_split_without_problems_names_the_key() -> None:
    environment = Coding(options(data="none", test_data=str(EXAMPLES)))
    assert environment.task("test", 0, 0).split == "test"
    with pytest.raises(ConfigurationError, match=r'options\.data = "none": has no train problems'):
        environment.task("train", 0, 0)
