"""Nothing out-earns solving: the audit, and what the paper's form of the reward lets through."""

from dataclasses import replace
from typing import Any

import pytest
from tests.environments.two_hands import TwoHands, measure

from cotrain.core.episode import Part
from cotrain.core.rewards import local_reward
from cotrain.environments.audit import AuditSettings, audit
from cotrain.environments.base import Outcome
from cotrain.environments.grid import Grid
from cotrain.environments.plan_path import PlanPath, PlanPathOptions
from cotrain.environments.plan_path_state import start_of

PAPER = PlanPath(PlanPathOptions(reward="paper"))
CORRIDOR = start_of(Grid.of_rows(["A....", "####.", "G....", "#####", "....."]))


def walked(environment: PlanPath, *lists: str) -> list[Outcome[Any]]:
    """The planner's outcomes of these lists of moves, one a turn."""
    outcomes: list[Outcome[Any]] = []
    state = CORRIDOR
    for moves in lists:
        reply = f"<answer>{moves}</answer>"
        outcomes.append(environment.act(state, "planner", reply, ()))
        state = outcomes[-1].state
    return outcomes


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"size": 6, "min_distance": 3, "max_moves": 4, "view": "compact"},
        {"size": 4, "min_distance": 2, "blocked": 0.0},
        {"single": "plain"},
        {"single": "draft"},
        {"only": "proposer"},
        {"only": "planner"},
    ],
    ids=str,
)
def test_nothing_out_earns_solving_in_plan_path(options: dict[str, Any]) -> None:
    report = audit(PlanPath(PlanPathOptions(**options)), AuditSettings(tasks=3))
    assert report.findings == ()
    assert report.passed
    assert report.groups >= 30
    assert report.episodes >= 15


def test_nothing_out_earns_solving_when_hands_act_at_once() -> None:
    report = audit(TwoHands(), AuditSettings(tasks=12), measure)
    assert report.findings == ()
    assert report.groups > 0


@pytest.mark.parametrize("reward", ["audited", "paper"])
def test_the_audit_refuses_the_papers_form_and_only_it(reward: str) -> None:
    environment = PlanPath(PlanPathOptions(size=6, reward=reward))  # type: ignore[arg-type]
    report = audit(environment, AuditSettings(tasks=2))
    assert report.passed == (reward == "audited")
    assert {finding.form for finding in report.findings} <= {"group", "episode"}


def test_the_papers_form_fails_in_groups_and_in_whole_episodes() -> None:
    findings = audit(PAPER).findings
    assert {(finding.form, finding.agent) for finding in findings} >= {
        ("group", "planner"),
        ("episode", "planner"),
    }


def test_a_walk_to_and_fro_earns_without_end_only_in_the_papers_form() -> None:
    there, back = "Right Right Right Right Down Down", "Up Up Left Left Left Left"
    papers = walked(PAPER, there, back, there, back, there)
    assert [outcome.team for outcome in papers] == [0.6, 0.0, 0.6, 0.0, 0.6]
    audited = walked(PlanPath(), there, back, there, back, there)
    assert [outcome.team for outcome in audited] == pytest.approx([0.54, 0.0, 0.0, 0.0, 0.0])


def test_a_reply_of_one_move_earns_everything_of_its_own_only_in_the_papers_form() -> None:
    (paper,), (audited,) = walked(PAPER, "Right"), walked(PlanPath(), "Right")
    assert local_reward(paper.local, paper.gate) == pytest.approx(1.0)
    assert local_reward(audited.local, audited.gate) == pytest.approx(0.2 + 0.8 * 0.5 / 10)


def test_an_environment_that_pays_for_long_replies_is_found() -> None:
    class PaysLength(PlanPath):
        def act(self, state: Any, agent: str, reply: str, evidence: Any) -> Outcome[Any]:
            outcome = super().act(state, agent, reply, evidence)
            length = min(1.0, len(reply) / 1000)
            return replace(outcome, team=length, local=(Part("length", 1.0, length),))

    findings = audit(PaysLength(), AuditSettings(tasks=1)).findings
    assert {finding.form for finding in findings} == {"group", "episode"}


def test_a_finding_names_both_replies_their_scores_and_the_state() -> None:
    finding = audit(PAPER, AuditSettings(tasks=1)).findings[0]
    assert "and does not solve" in finding.detail
    assert "and solves" in finding.detail
    assert "distance" in finding.detail


def test_the_weight_of_the_team_is_part_of_what_is_audited() -> None:
    environment = PlanPath(PlanPathOptions(max_moves=8, min_distance=6))
    assert audit(environment, AuditSettings(tasks=2, team_weight=1.0)).passed
    assert not audit(environment, AuditSettings(tasks=2, team_weight=0.0)).passed


def test_an_environment_without_the_needed_methods_is_refused() -> None:
    class Plain(PlanPath):
        solve = None  # type: ignore[assignment]

    with pytest.raises(TypeError, match=r"Plain cannot be audited: it must define solve"):
        audit(Plain())
