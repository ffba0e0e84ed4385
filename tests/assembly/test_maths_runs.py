"""Teams of maths as a run plays them: with the services of the program, in the sandbox."""

from pathlib import Path

import pytest

from cotrain.assembly.grading import grade
from cotrain.assembly.playing import play
from cotrain.core.episode import CandidateStatus
from cotrain.environments.base import ServiceLostError
from cotrain.environments.requests import PROGRAM_ANSWER
from cotrain.environments.sandbox import refuse_unavailable

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "maths"


@pytest.fixture
def isolation() -> None:
    try:
        refuse_unavailable("bubblewrap")
    except ServiceLostError as error:
        pytest.skip(str(error))


def assignments(agents: Path, data: str) -> list[str]:
    given = [f'team.roles.{role}.model="scripted:{agents}"' for role in ("reasoner", "tool_user")]
    return [*given, f'environment.options.data="{data}"']


@pytest.mark.usefixtures("isolation")
@pytest.mark.parametrize("task", range(4))
def test_the_example_is_solved_in_its_second_turn(task: int) -> None:
    settings = assignments(EXAMPLE / "agents.py", str(EXAMPLE / "problems.jsonl"))
    episode = play(EXAMPLE / "run.toml", settings, task).episode
    assert (episode.success, len(episode.turns)) == (True, 2)
    hasty, *_ = episode.turns[0].phases[0].groups
    assert [candidate.team for candidate in hasty.candidates] == [0.0]


KNOWING = """
def reply(messages, generator):
    terms = messages[1].content.split(":")[-1].split("=")[0]
    if "You are a tool user" in messages[0].content:
        return f"```python\\nprint({terms})\\n```"
    return f"\\\\boxed{{{eval(terms)}}}"
"""


@pytest.mark.usefixtures("isolation")
def test_a_problem_of_reasoning_gym_is_judged_by_its_verifier(tmp_path: Path) -> None:
    (tmp_path / "agents.py").write_text(KNOWING, "utf-8")
    settings = assignments(tmp_path / "agents.py", "reasoning_gym:chain_sum")
    episode = play(EXAMPLE / "run.toml", settings).episode
    assert (episode.success, len(episode.turns)) == (True, 1)
    _, tool_user = episode.turns[0].phases[0].groups
    [candidate] = tool_user.candidates
    assert candidate.status is CandidateStatus.SCORED
    assert [item.request.kind for item in candidate.evidence] == [PROGRAM_ANSWER]


def test_cases_of_maths_are_graded_true_false_or_unknown() -> None:
    cases = [
        {"id": 1, "gold": r"\frac12", "reply": r"\boxed{0.5}"},
        {"id": 2, "gold": r"\frac12", "reply": r"\boxed{2}"},
        {"id": 3, "gold": r"3^{10^8}", "reply": r"\boxed{9^{5\cdot 10^7}}"},
        {"id": 4, "gold": 5, "reply": "5"},
    ]
    assert [case.value for case in grade("math", cases)] == [True, False, "unknown", "error"]


def test_verdicts_are_graded_true_false_or_null() -> None:
    replies = ["Verdict: correct", "Verdict: incorrect", "It looks fine."]
    cases = [{"id": reply, "reply": reply} for reply in replies]
    assert [case.value for case in grade("verdict", cases)] == [True, False, None]
