"""`cotrain check`: what is broken, what could not be looked at, and the exit code that says so."""

from pathlib import Path

import pytest
from tests.cli.commands import call

LIFT = Path(__file__).parent / "lift.py"


def test_a_sound_environment_keeps_every_promise() -> None:
    found = call("check", "plan_path", "--set", "environment.options.size=5", "--json")
    assert found.code == 0
    report = found.document
    assert (report["passed"], report["broken"], report["not_checked"]) == (True, [], [])
    assert min(report["groups"], report["episodes"]) > 0
    assert "splits are disjoint" in report["rules"]


def test_rewards_that_pay_more_for_not_solving_are_found_with_a_case() -> None:
    found = call("check", f"{LIFT}:Generous", "--json")
    assert found.code == 1
    assert {broken["rule"] for broken in found.document["broken"]} == {"solving earns most"}
    assert "does not solve" in found.document["broken"][0]["detail"]
    assert found.document["cases"] >= len(found.document["broken"])


def test_an_audit_that_could_compare_too_little_has_not_passed() -> None:
    found = call("check", f"{LIFT}:Hopeless", "--json")
    assert found.code == 1
    (broken,) = found.document["broken"]
    assert broken["detail"].startswith("too little could be compared (96 groups, 0 episodes)")


def test_the_report_for_a_person_names_what_is_broken_and_what_was_not_looked_at() -> None:
    found = call("check", f"{LIFT}:Unweighable")
    assert found.code == 1
    assert (
        "BROKEN      requests are answered\n      weight: error, ZeroDivisionError" in found.stdout
    )
    assert "not checked solving earns most" in found.stdout
    assert "of 12 promises broken" in found.stdout.splitlines()[-1]


def test_an_environment_that_cannot_be_audited_passes_and_the_report_says_so() -> None:
    found = call("check", f"{LIFT}:Lift", "--json")
    assert found.code == 0
    assert found.document["not_checked"] == [
        "solving earns most: the audit needs solve(state, agent), would_solve(agent, outcome) and "
        "attempts(...)"
    ]


def test_requests_are_answered_by_the_environments_own_handlers() -> None:
    found = call("check", f"{LIFT}:Weighed", "--json")
    assert (found.code, found.document["broken"]) == (0, [])
    assert not any("states are values" in reason for reason in found.document["not_checked"])


def test_promises_that_need_a_missing_handler_are_not_checked() -> None:
    found = call("check", f"{LIFT}:Asking", "--json")
    reasons = found.document["not_checked"]
    assert any(
        reason.startswith("states are values: nothing here answers requests of kind 'weight'")
        for reason in reasons
    )


def test_what_an_environment_prints_stays_out_of_the_document() -> None:
    found = call("check", f"{LIFT}:Talkative", "--json")
    assert found.document["environment"] == "talkative"
    assert "started" in found.stderr


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("import nothing_of_this_name", "ModuleNotFoundError: No module named"),
        ("def reply(:", "SyntaxError: "),
        ("x = 1 / 0", "ZeroDivisionError: division by zero"),
    ],
)
def test_a_file_that_cannot_be_imported_is_refused_in_one_line(
    tmp_path: Path, source: str, said: str
) -> None:
    path = tmp_path / "faulty.py"
    path.write_text(source)
    found = call("check", f"{path}:Any")
    assert found.code == 2
    assert said in found.stderr
    assert "faulty.py, line 1)" in found.stderr
    assert len(found.lines) == 1


def test_phases_that_name_nobody_are_reported() -> None:
    found = call("check", f"{LIFT}:Misspelt", "--json")
    assert found.code == 1
    assert [broken["detail"] for broken in found.document["broken"]] == [
        "phases names 'drivr', which is no agent (allowed are driver)",
        "phases leaves driver out",
    ]


def test_a_class_that_lacks_methods_is_refused_with_their_names() -> None:
    found = call("check", f"{LIFT}:Unfinished")
    assert found.code == 2
    assert "act, observe, render" in found.stderr


@pytest.mark.parametrize(
    ("arguments", "nearest"),
    [
        (["plan_pth"], "plan_path"),
        (["plan_path", "--set", "environment.options.sise=5"], "size"),
        (["plan_path", "--set", "team.turn=5"], "team.turns"),
    ],
)
def test_a_wrong_name_is_refused_with_the_nearest_one(arguments: list[str], nearest: str) -> None:
    found = call("check", *arguments)
    assert found.code == 2
    assert found.stderr.endswith(f"nearest known: {nearest}\n")


def test_data_that_cannot_be_read_is_one_line_and_no_broken_promise(tmp_path: Path) -> None:
    (tmp_path / "bad.jsonl").write_text('{"id": 1, "prompt": "Add.", "tests": []}')
    data = f"environment.options.data={tmp_path / 'bad.jsonl'}"
    found = call("check", "coding", "--set", data, "--set", "sandbox.kind=unsafe-subprocess")
    assert found.code == 2
    assert len(found.lines) == 1
    assert "line 1, field tests is empty" in found.stderr
