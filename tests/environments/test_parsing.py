"""Replies to moves: what counts as an answer, and what does not."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cotrain.environments.parsing import (
    MOVES,
    answers,
    format_moves,
    hide_thinking,
    last_answer,
    parse_moves,
    parse_printed_moves,
)


@pytest.mark.parametrize(
    ("reply", "moves"),
    [
        ("<think>maybe <answer>Up</answer>?</think>\n<answer>Left</answer>", ["Left"]),
        ("<answer>Up</answer> wait, a wall is there. <answer>Down</answer>", ["Down"]),
        ("<answer>Right</answer>", ["Right"]),
        ("", None),
        ("<ANSWER> up </ANSWER>", ["Up"]),
        ("Format: <answer>[your move]</answer>. <answer>Down</answer>", ["Down"]),
        ("<answer>Down</answer> (asked form: <answer>[your move]</answer>)", ["Down"]),
        ("<answer>Up", None),
        ("I would go up.", None),
        ('<answer>\n```json\n["Up", "Left"]\n```\n</answer>', ["Up", "Left"]),
    ],
)
def test_the_last_valid_tag_of_the_reply_counts(reply: str, moves: list[str] | None) -> None:
    """PrimeIntellect-ai/verifiers#2450, PeterGriffinJin/Search-R1#79, huggingface/open-r1#418."""
    assert parse_moves(reply) == (None if moves is None else tuple(moves))


@pytest.mark.parametrize(
    "text",
    [
        "Up Right Down Left",
        "UP right dOWN left",
        "u R d L",
        "Up, Right, Down, Left",
        "Up,Right,Down,Left",
        "Up -> Right->Down -> Left",
        "Up → Right → Down → Left",
        "↑ → ↓ ←",
        "↑→↓←",
        "⬆️ ➡️ ⬇️ ⬅️",
        "^ > v <",
        "^, right, ↓, l",
        "1. Up 2. Right 3. Down 4. Left",
        "1) Up\n2) Right\n3) Down\n4) Left",
        "1.Up\n2.Right\n10.Down\n11.Left",
        '["Up", "Right", "Down", "Left"]',
        '["u", "→", "DOWN", "l"]',
        "['Up', 'Right', 'Down', 'Left']",
        "[Up, Right, Down, Left]",
        '{"moves": ["Up", "Right", "Down", "Left"]}',
        '{"why": "short", "path": ["Up", "Right", "Down", "Left"], "length": 4}',
        "```\nUp Right Down Left\n```",
        '```json\n{"moves": ["Up", "Right", "Down", "Left"]}\n```',
        '```json\n["Up", "Right", "Down", "Left"]',
        "```Up Right Down Left```",
        "  \n Up\tRight\u00a0Down\r\nLeft  ",
    ],
)
def test_every_form_of_the_same_list_reads_the_same(text: str) -> None:
    assert parse_moves(f"so <answer>{text}</answer>.") == ("Up", "Right", "Down", "Left")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "   ",
        "[]",
        "{}",
        '{"moves": []}',
        '{"a": ["Up"], "b": ["Down"]}',
        '{"moves": "Up"}',
        '["Up", 3]',
        '["Up", null]',
        '["Up", ""]',
        '[["Up"]]',
        "Up Jump",
        "Up-Left",
        "2 Up",
        "Upwards",
        "-",
        "1. 2.",
        "null",
        "[Up, Left",
        '{"moves": ["Up"}',
        "\x00",
        "Up\x00Down",
        "\uff35\uff30",
    ],
)
def test_an_unknown_word_or_an_empty_list_makes_a_tag_invalid(text: str) -> None:
    assert parse_moves(f"<answer>{text}</answer>") is None
    assert parse_moves(f"<answer>Up</answer><answer>{text}</answer>") == ("Up",)


def test_a_tag_that_is_opened_anew_starts_again_there() -> None:
    assert parse_moves("<answer>Up <answer>Down</answer>") == ("Down",)
    assert answers("</answer> x <answer>1</answer> y</answer>") == ["1"]


def test_what_stands_in_any_kind_of_think_block_is_hidden() -> None:
    assert parse_moves("<answer>Up</answer><think><answer>Down</answer>") == ("Up",)
    assert parse_moves("<answer>Up</answer></think>") is None
    assert parse_moves("so <answer>Up</answer></think><answer>Left</answer>") == ("Left",)
    assert parse_moves("<THINK><answer>Up</answer></THINK><answer>Left</answer>") == ("Left",)
    assert parse_moves("<think>a<think>b</think><answer>Up</answer></think>") is None
    assert parse_moves("<answer>Up<think>or Down?</think> Left</answer>") == ("Up", "Left")


def test_hiding_a_block_never_makes_a_tag_of_the_pieces_around_it() -> None:
    assert last_answer("<ans<think></think>wer>Up</answer>") is None


def test_text_without_think_tags_is_shown_whole() -> None:
    assert hide_thinking("think> a < b") == "think> a < b"


@given(st.lists(st.sampled_from(MOVES), min_size=1), st.text(), st.text())
def test_a_plain_reply_reads_back_as_its_moves(moves: list[str], before: str, after: str) -> None:
    text = f"{before} {format_moves(moves)} {after}"
    assert parse_moves(text) == tuple(moves) or "<" in before + after


@given(st.text(alphabet="<>/thinkanswer [{\"Up,'`1.→\n\x00"))
def test_no_reply_raises(text: str) -> None:
    moves = parse_moves(text)
    assert moves is None or set(moves) <= set(MOVES)


@pytest.mark.parametrize(
    "reply",
    [
        "<answer>" * 20_000,
        "</answer>" * 20_000,
        "<think>" * 20_000,
        "<think></think>" * 20_000,
        "<answer " * 20_000,
        "<answer" + " " * 100_000,
        "<answer>x</answer>" * 20_000,
        "<answer>" + "[" * 100_000 + "</answer>",
        "<answer>" + '{"a":' * 50_000 + "</answer>",
        "<answer>" + "1" * 100_000 + "</answer>",
        "<answer>" + "1." * 50_000 + "</answer>",
        "<answer>" + "-" * 100_000 + "</answer>",
        "<answer>" + " " * 100_000 + "x</answer>",
        "<answer>" + "a →" * 30_000 + "</answer>",
        "<answer>a → b" + " " * 100_000 + "c</answer>",
        "<answer>" + "a" * 100_000 + "</answer>",
        "<answer>" + "`" * 100_000 + "</answer>",
    ],
    ids=range(17),
)
def test_a_hostile_reply_is_read_in_linear_time(reply: str) -> None:
    began = time.process_time()
    assert parse_moves(reply) is None
    assert time.process_time() - began < 1.0


@pytest.mark.parametrize(
    ("text", "moves"),
    [
        ("Up Right\n", ("Up", "Right")),
        ("up, right", ("Up", "Right")),
        ("U R", ("Up", "Right")),
        ('["Up", "Right"]', ("Up", "Right")),
        ("['up', 'right']\n", ("Up", "Right")),
        ('{"moves": ["Up", "Right"]}', ("Up", "Right")),
        ('[\n  "Up",\n  "Right"\n]\n', ("Up", "Right")),
        ("<answer>Up Right</answer>", ("Up", "Right")),
        ("<answer>\nUp\nRight\n</answer>\nDown", ("Up", "Right")),
        ("Up\nRight\n", ("Up", "Right")),
        ("1. Up\n2. Right\n", ("Up", "Right")),
        ("grid read\nUp\n\nRight\n", ("Up", "Right")),
        ("tried Left\nDown Down\nUp Right\ndone in 0.2 s\n", ("Up", "Right")),
        ("Down Down\nUp\nRight", ("Up", "Right")),
        ("distance 2\r\nUp Right\r\n", ("Up", "Right")),
        ("no path", None),
        ("", None),
        ("[]", None),
        ("None\n", None),
        ("Up Jump", None),
        ("[" * 100_000, None),
        ("\x00", None),
    ],
)
def test_printed_moves_are_those_of_the_last_lines_that_hold_moves_alone(
    text: str, moves: tuple[str, ...] | None
) -> None:
    assert parse_printed_moves(text) == moves


def test_long_output_is_read_in_a_time_linear_in_its_length() -> None:
    assert parse_printed_moves("Up\n" * 100_000) == ("Up",) * 100_000
    assert parse_printed_moves("step 1 2 3\n" * 50_000) is None
