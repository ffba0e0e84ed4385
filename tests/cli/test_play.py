"""`cotrain play`: an episode as an evaluation plays it, in words and as a document."""

from collections.abc import Callable
from pathlib import Path

import pytest
from rich.text import Text
from tests.builders import make_candidate, make_episode, make_group, make_reply
from tests.cli.commands import call

from cotrain.assembly.evaluating import team_of
from cotrain.assembly.playing import Played, play
from cotrain.cli.episode_text import encodable, episode_text, score_line
from cotrain.core.episode import (
    Candidate,
    CandidateStatus,
    EpisodeStatus,
    Evidence,
    Finish,
    Part,
    Reply,
    Request,
)
from cotrain.environments.requests import (
    calls_request,
    check_request,
    maths_request,
    program_request,
)

Written = Callable[[str], Path]

LIFT = Path(__file__).parent / "lift.py"
GOES = """
def reply(messages, generator):
    print("a script may print")
    return messages[-1].content.split()[-1]
"""
STAYS = "def reply(messages, generator):\n    return 'wait \\x1b[31m'\n"


@pytest.fixture
def written(tmp_path: Path) -> Written:
    """A configuration whose only role plays a script."""

    def of(script: str) -> Path:
        (tmp_path / "driver.py").write_text(script)
        path = tmp_path / "lift.toml"
        path.write_text(
            f'environment.name = "{LIFT}:Lift"\n'
            "team.turns = 2\n"
            f'team.roles.driver.model = "scripted:{tmp_path / "driver.py"}"\n'
        )
        return path

    return of


def shown(status: EpisodeStatus, candidate: Candidate) -> str:
    """An episode of one reply, as text."""
    group = make_group([candidate], followed=None if candidate.score is None else 0)
    played = Played("lift", 1, 1.0, 0, 0, make_episode([[[group]]], status))
    return "\n".join(text.plain for text in episode_text(played, whole_prompts=False))


def test_a_solved_episode_is_shown_turn_by_turn(written: Written) -> None:
    found = call("play", written(GOES), "--task", 3)
    assert found.code == 0
    parts = [
        "lift, test task 3 (seed 1, digest ",
        "    on floor 0 of ",
        "---- turn 1 ----",
        "driver (policy driver, version 0)",
        "    system: Say the floor.",
        "    user: The lift is on floor 0, the goal is ",
        "score 2.000 = team 1.000 + format 1 x 1.000",
        "  state after\n    on floor ",
        "solved after 1 turns, ending: done",
    ]
    places = [found.stdout.find(part) for part in parts]
    assert -1 not in places
    assert places == sorted(places)


def test_a_reply_cannot_drive_the_terminal_and_an_unsolved_ending_is_said(written: Written) -> None:
    found = call("play", written(STAYS))
    assert "\x1b" not in found.stdout
    assert "wait \\x1b[31m" in found.stdout
    assert "not solved after 2 turns, ending: turn_limit" in found.stdout


def test_the_document_is_the_episode_and_what_a_script_prints_stays_out_of_it(
    written: Written,
) -> None:
    found = call("play", written(GOES), "--split", "train", "--seed", 7, "--json")
    assert (found.document["environment"], found.document["seed"]) == ("lift", 7)
    assert found.document["episode"]["task"]["split"] == "train"
    assert found.document["episode"]["success"] is True
    assert "a script may print" in found.stderr


def test_a_long_prompt_is_cut_unless_whole_prompts_are_asked_for(
    written: Written, tmp_path: Path
) -> None:
    (tmp_path / "prompt.txt").write_text("Say the floor. " * 40)
    prompt = ("--set", f"team.roles.driver.prompt={tmp_path / 'prompt.txt'}")
    assert "... (600 characters)" in call("play", written(GOES), *prompt).stdout
    assert "Say the floor. " * 40 in call("play", written(GOES), *prompt, "--prompts").stdout


def test_a_saved_team_plays_the_replies_that_its_evaluation_plays(run_dir: Path) -> None:
    contender = team_of(run_dir, {}).contender
    *_, evaluated = contender.episodes.play("test", range(3), 1)
    played = play(run_dir, [], task=2)
    assert played.episode.task == evaluated.task
    assert [g.candidates[0].reply.token_ids for g in played.episode.groups()] == [
        g.candidates[0].reply.token_ids for g in evaluated.groups()
    ]


def test_a_checkpoint_and_an_untrained_preset_can_be_played(
    run_dir: Path, settings: list[str]
) -> None:
    checkpoint = run_dir / "checkpoints" / "step_000001"
    assert "team of step 1" in call("play", checkpoint).stdout
    assert "team of step 0" in call("play", "plan_path_tiny", *settings).stdout


def test_an_unscored_reply_says_why_it_has_no_score() -> None:
    failed = Candidate(0, make_reply("x"), CandidateStatus.TIMEOUT, None, message="no answer")
    text = shown(EpisodeStatus.UNSCORED, failed)
    assert "  no score: timeout no answer" in text
    assert "not solved after 1 turns, ending: unscored" in text


RUNS = (
    {"status": "finished", "stdout": "5\n", "stderr": "", "exit_code": 0, "value": "[5]"},
    {"status": "failed", "stdout": "", "stderr": "Traceback\nKeyError: 1\n", "exit_code": 1},
)
EVIDENCE = [
    (Evidence(program_request("p", ["4"]), RUNS[:1]), "evidence program: 1 run, 1 finished"),
    (Evidence(program_request("p", ["4"]), RUNS[:1]), "'4' -> finished '5\\n'"),
    (Evidence(calls_request("p", "f", ["[4]", "[]"]), RUNS), "'[4]' -> finished [5]"),
    (Evidence(calls_request("p", "f", ["[4]", "[]"]), RUNS), "'[]' -> failed KeyError: 1"),
    (Evidence(program_request("p", ["4"] * 6), RUNS[:1] * 6), "and 2 more"),
    (
        Evidence(check_request("p", "f", "", "c"), {"status": "failed", "passed": False}),
        "evidence check: not passed, failed",
    ),
    (Evidence(maths_request("5", "6"), False), "evidence maths: not equal to 5"),
    (Evidence(Request.of("hits"), {"hits": 3}), "evidence hits: {'hits': 3}"),
]


@pytest.mark.parametrize(("evidence", "said"), EVIDENCE)
def test_the_evidence_of_a_reply_is_shown(evidence: Evidence, said: str) -> None:
    reply = Reply("print(1)", (1,), (0.0,), Finish.STOP)
    candidate = Candidate(0, reply, CandidateStatus.SCORED, 1.0, 1.0, (), 1.0, (evidence,))
    assert said in shown(EpisodeStatus.DONE, candidate)


def test_the_score_shows_the_weight_of_the_team_and_a_closed_gate() -> None:
    parts = (Part("legal", 1.0, 0.5),)
    candidate = make_candidate(score=1.25, team=0.5, local=parts, gate=0.5)
    assert score_line(candidate, 2.0) == (
        "score 1.250 = team 2 x 0.500 + gate 0.500 x (legal 1 x 0.500)"
    )


def test_characters_that_the_terminal_has_not_are_written_out() -> None:
    assert encodable(Text("→ \ud800 up"), "ascii").plain == "\\u2192 \\ud800 up"
    assert encodable(Text("→ \ud800"), "utf-8").plain == "→ \\ud800"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["nowhere"], "nowhere: no such file or preset; the presets are "),
        (
            ["plan_path_tiny", "--split", "tset"],
            '--split = "tset": must be train, validation, test',
        ),
        (["plan_path_tiny", "--set", "team.turn=1"], "nearest known: team.turns"),
    ],
)
def test_wrong_use_is_refused_in_one_line(arguments: list[str], said: str) -> None:
    found = call("play", *arguments)
    assert (found.code, len(found.lines)) == (2, 1)
    assert said in found.stderr


def test_a_folder_that_holds_no_team_is_refused(tmp_path: Path) -> None:
    found = call("play", tmp_path)
    assert found.code == 2
    assert f"{tmp_path} is no checkpoint" in found.stderr
