"""The maths environment, as tables: what agents read, what replies earn, when episodes end."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from tests.environments.running import run_program

from cotrain.config.faults import ConfigurationError
from cotrain.core.episode import CandidateStatus, EpisodeStatus, Evidence, Request, Task
from cotrain.core.rewards import turn_score
from cotrain.environments.audit import AuditSettings, audit
from cotrain.environments.base import UndecidedError
from cotrain.environments.checker import check
from cotrain.environments.data.maths_records import Problem
from cotrain.environments.graders.maths import MathsGrader
from cotrain.environments.graders.program_answers import ProgramAnswers
from cotrain.environments.maths import Maths
from cotrain.environments.maths_options import MathsOptions
from cotrain.environments.playing import Answer, judge, play
from cotrain.environments.registry import make_environment
from cotrain.environments.requests import MATHS, PROGRAM, PROGRAM_ANSWER, maths_request

EXAMPLES = str(Path(__file__).parents[2] / "examples" / "maths" / "problems.jsonl")
GOLD = r"\frac{27}{2}"
PROBLEM = Problem("1", "What is three quarters of 18?", GOLD)
TASK = Task("train", 0, "0a", PROBLEM)
PAIR = Maths(MathsOptions(data=EXAMPLES))
JUDGED = Maths(MathsOptions(data=EXAMPLES, reasoners=2, tools=1))


def program(source: str) -> str:
    return f"```python\n{source}\n```"


@pytest.fixture(scope="module")
def answer() -> Iterator[Answer]:
    """Answers each request once, with a real grader and real processes."""
    grader = MathsGrader(num_workers=1)
    runs = {PROGRAM: lambda request: run_program(request).answer, MATHS: grader}
    handlers = {**runs, PROGRAM_ANSWER: ProgramAnswers(runs.__getitem__)}
    known: dict[Request, Evidence] = {}

    def answered(request: Request) -> Evidence:
        if request not in known:
            known[request] = Evidence(request, handlers[request.kind](request))
        return known[request]

    yield answered
    grader.close()


def earned(environment: Maths, agent: str, reply: str, answer: Answer) -> Mapping[str, float]:
    outcome, _ = judge(environment, environment.start(TASK, "train"), agent, reply, answer)
    assert outcome is not None
    score = turn_score(outcome.team, outcome.local, outcome.gate, 1.0)
    return {part.name: part.value for part in outcome.local} | {"score": round(score or 0.0, 6)}


@pytest.mark.parametrize(
    ("reply", "format_", "right"),
    [
        (r"So \boxed{13.5}.", 1.0, 1.0),
        (r"Try \boxed{5}. No, \boxed{\frac{27}{2}}.", 1.0, 1.0),
        ("The answer is 13.5.", 0.0, 1.0),
        (r"\boxed{13}", 1.0, 0.0),
        (r"\boxed{13.5} or \boxed{14}", 1.0, 0.0),
        (r"<think>\boxed{13.5}</think>", 0.0, 0.0),
        (r"\boxed{13.5", 0.0, 0.0),
        ("", 0.0, 0.0),
    ],
)
def test_words_earn_by_their_box_and_their_answer(
    reply: str, format_: float, right: float, answer: Answer
) -> None:
    found = earned(PAIR, "reasoner", reply, answer)
    assert found == {
        "format": format_,
        "answer": right,
        "score": pytest.approx(right + 0.2 * format_ + 0.8 * right),
    }


@pytest.mark.parametrize(
    ("source", "ran", "printed", "right"),
    [
        ("print(3 * 18 / 4)", 1.0, 1.0, 1.0),
        ("print('27/2')", 1.0, 1.0, 1.0),
        ("for i in range(27):\n    print(i / 2)\nprint(13.5)", 1.0, 1.0, 1.0),
        ("for i in range(60):\n    print(i / 2)", 1.0, 1.0, 0.0),
        ("print(13.5)\nprint('no')", 1.0, 1.0, 0.0),
        ("x = 13.5", 1.0, 0.0, 0.0),
        ("raise ValueError(13.5)", 0.0, 0.0, 0.0),
        ("print('ValueError: 13.5')", 1.0, 0.0, 0.0),
        ("print(13.5", 0.0, 0.0, 0.0),
    ],
)
def test_a_program_earns_by_what_it_printed(
    source: str, ran: float, printed: float, right: float, answer: Answer
) -> None:
    found = earned(PAIR, "tool_user", program(source), answer)
    own = 0.1 * ran + 0.1 * printed + 0.8 * right
    assert found == {
        "ran": ran,
        "printed": printed,
        "answer": right,
        "score": pytest.approx(right + own),
    }


def test_a_reply_without_a_program_earns_nothing(answer: Answer) -> None:
    assert earned(PAIR, "tool_user", "print(13.5)", answer)["score"] == 0.0


def played(environment: Maths, script: Mapping[str, list[str]], answer: Answer) -> Any:
    turns = len(next(iter(script.values())))
    return play(environment, TASK, lambda _, agent, turn: script[agent][turn - 1], turns, answer)


BOXED, HASTY = r"\boxed{13.5}", r"\boxed{13}"
RIGHT, WRONG = program("print(13.5)"), program("print(13)")

EPISODES = {
    "both right in the second turn": ([HASTY, BOXED], [RIGHT, RIGHT], "done", True, 2),
    "both right at once": ([BOXED], [RIGHT], "done", True, 1),
    "agreed on a wrong answer": ([HASTY, BOXED], [WRONG, RIGHT], "done", False, 1),
    "reasoner right, never agreed": ([BOXED, BOXED], [WRONG, WRONG], "turn_limit", True, 2),
    "tool user right alone": ([HASTY, HASTY], [RIGHT, RIGHT], "turn_limit", False, 2),
    "a right answer given up": ([BOXED, HASTY], [WRONG, RIGHT], "turn_limit", False, 2),
    "nothing said": (["", ""], ["", ""], "turn_limit", False, 2),
}


@pytest.mark.parametrize("name", EPISODES)
def test_a_pair_is_done_when_it_agrees_and_solves_by_the_reasoners_answer(
    name: str, answer: Answer
) -> None:
    reasoner, tool_user, status, success, turns = EPISODES[name]
    episode = played(PAIR, {"reasoner": reasoner, "tool_user": tool_user}, answer)
    assert (episode.status, episode.success) == (EpisodeStatus(status), success)
    assert len(episode.turns) == turns


def prompt_of(environment: Maths, state: Any, agent: str) -> str:
    return "\n".join(message.content for message in environment.observe(state, agent))


def test_both_read_what_both_gave_and_never_the_gold_answer(answer: Answer) -> None:
    prompts: list[str] = []

    def write(state: Any, agent: str, turn: int) -> str:
        prompts.append(prompt_of(PAIR, state, agent))
        return [r"Half of it: \boxed{9}", program("print(1 / 0)")][agent == "tool_user"]

    play(PAIR, TASK, write, 2, answer)
    assert "solution" not in prompts[0].split("Problem:")[1]
    for read in prompts[2:]:
        assert "Half of it" in read
        assert "Its answer: 9" in read
        assert "print(1 / 0)" in read
        assert "It failed: ZeroDivisionError: division by zero" in read
        assert GOLD not in read
    assert "Your last solution" in prompts[2]
    assert "Your last program" in prompts[3]


def test_the_gold_answer_never_comes_near_the_program() -> None:
    state = PAIR.start(TASK, "train")
    [request] = PAIR.evidence(state, "tool_user", program("print(5)"))
    assert request.kind == PROGRAM_ANSWER
    seen: list[Request] = []

    def runs(asked: Request) -> Any:
        seen.append(asked)
        return [{"status": "failed", "stdout": GOLD, "stderr": "E", "exit_code": 1}]

    found: Any = ProgramAnswers({PROGRAM: runs}.__getitem__)(request)
    assert [GOLD in repr(asked) for asked in seen] == [False]
    assert found["answer"] is None


def test_a_comparison_that_cannot_be_told_is_raised_and_not_wrong() -> None:
    def undecided(request: Request) -> Any:
        raise UndecidedError("too large")

    def runs(request: Request) -> Any:
        return [{"status": "finished", "stdout": "5", "stderr": "", "exit_code": 0}]

    answers = ProgramAnswers({PROGRAM: runs, MATHS: undecided}.__getitem__)
    [request] = PAIR.evidence(PAIR.start(TASK, "train"), "tool_user", program("print(5)"))
    with pytest.raises(UndecidedError):
        answers(request)
    lost = Evidence(maths_request(GOLD, BOXED), None, CandidateStatus.UNKNOWN)
    outcome, _ = judge(PAIR, PAIR.start(TASK, "train"), "reasoner", BOXED, lambda _: lost)
    assert outcome is None


def test_a_judge_reads_this_turns_answers_and_decides(answer: Answer) -> None:
    assert JUDGED.phases == (("reasoner_1", "reasoner_2", "tool_user"), ("judge",))
    read: list[str] = []

    def write(state: Any, agent: str, turn: int) -> str:
        if agent == "judge":
            read.append(prompt_of(JUDGED, state, agent))
            return HASTY if turn == 1 else BOXED
        return RIGHT if agent == "tool_user" else BOXED

    episode = play(JUDGED, TASK, write, 3, answer)
    assert (episode.status, episode.success, len(episode.turns)) == ("done", True, 2)
    assert "The last solution of reasoner_2" in read[0]
    assert "It printed 13.5" in read[0]
    assert "Your last solution" in read[1]


def test_the_teams_answer_is_the_judges(answer: Answer) -> None:
    script = {"reasoner_1": [BOXED], "reasoner_2": [BOXED], "tool_user": [RIGHT], "judge": [HASTY]}
    episode = played(JUDGED, script, answer)
    assert (episode.status, episode.success) == ("turn_limit", False)


@pytest.mark.parametrize(
    ("options", "phases"),
    [
        ({}, (("reasoner", "tool_user"),)),
        ({"tools": 0}, (("reasoner",),)),
        ({"judge": True}, (("reasoner", "tool_user"), ("judge",))),
        ({"reasoners": 2, "tools": 0}, (("reasoner_1", "reasoner_2"), ("judge",))),
        (
            {"reasoners": 2, "tools": 2},
            (("reasoner_1", "reasoner_2", "tool_user_1", "tool_user_2"), ("judge",)),
        ),
        ({"single": "plain"}, (("solo",),)),
        ({"single": "draft"}, (("drafter",), ("answerer",))),
        ({"only": "tool_user"}, (("tool_user",),)),
    ],
)
def test_a_variant_has_its_agents_and_asks_for_a_sandbox_only_where_programs_are_written(
    options: dict[str, Any], phases: tuple[tuple[str, ...], ...]
) -> None:
    made = make_environment("maths", {"data": EXAMPLES, **options})
    assert made.phases == phases
    writes = any("tool_user" in agent for phase in phases for agent in phase)
    assert made.services == ((MATHS, PROGRAM_ANSWER) if writes else (MATHS,))
    assert [role.name for role in made.all_roles()][:3] == ["reasoner", "tool_user", "judge"]


def test_an_agent_alone_is_done_when_it_confirms_its_answer(answer: Answer) -> None:
    solo = Maths(MathsOptions(data=EXAMPLES, single="plain"))
    episode = played(solo, {"solo": [HASTY, BOXED, BOXED, HASTY]}, answer)
    assert (episode.status, episode.success, len(episode.turns)) == ("done", True, 3)
    draft = Maths(MathsOptions(data=EXAMPLES, single="draft"))
    episode = played(draft, {"drafter": [HASTY, BOXED], "answerer": [BOXED, BOXED]}, answer)
    assert (episode.status, episode.success, len(episode.turns)) == ("done", True, 2)


@pytest.mark.parametrize(
    ("options", "key"),
    [
        ({"reasoners": 0}, "reasoners"),
        ({"tools": -1}, "tools"),
        ({"reasoners": 9, "tools": 9}, "reasoners"),
        ({"reasoners": 2, "judge": False}, "judge"),
        ({"single": "plain", "only": "solo"}, "only"),
        ({"data_options": {"size": 5}}, "data_options"),
        ({"only": "planner"}, "only"),
        ({"toools": 1}, "toools"),
    ],
)
def test_wrong_options_are_refused_by_key(options: dict[str, Any], key: str) -> None:
    with pytest.raises(ConfigurationError, match=f"environment.options.{key} ="):
        make_environment("maths", {"data": EXAMPLES, **options})


@pytest.mark.parametrize("options", [{}, {"reasoners": 2, "tools": 0}, {"single": "draft"}])
def test_every_promise_is_kept_and_nothing_out_earns_solving(
    options: dict[str, Any], answer: Answer
) -> None:
    made = make_environment("maths", {"data": EXAMPLES, **options})
    report = check(made, answer)
    assert report.broken == ()
    found = audit(made, AuditSettings(tasks=1, max_turns=2), answer)
    assert found.findings == ()
    assert found.passed
