"""Policies that follow a script."""

from pathlib import Path
from random import Random

import pytest

from cotrain.core.episode import Finish, Message
from cotrain.policies.base import Decoding, SampleRequest
from cotrain.policies.scripted import Script, ScriptedPolicy, load_script


def echo(messages: object, generator: Random) -> str:
    assert isinstance(messages, list)
    return f"{messages[-1].content} {generator.randint(0, 10**6)}"


def test_a_script_reads_the_messages_and_its_seed() -> None:
    policy = ScriptedPolicy("planner", echo)
    ids = policy.encode([Message("system", "be"), Message("user", "gö")])
    request = SampleRequest(ids, (1, 2, 1), Decoding(1.0, 64))
    [(first, second, again)] = policy.sample([request])
    assert first == again
    assert first.text.startswith("gö ")
    assert first.text != second.text
    assert bytes(first.token_ids[:-1]).decode() == first.text
    assert first.token_ids[-1] == 0
    assert first.finish is Finish.STOP


@pytest.mark.parametrize(("limit", "finish"), [(4, Finish.STOP), (3, Finish.LENGTH)])
def test_a_reply_is_cut_where_its_end_token_has_no_room(limit: int, finish: Finish) -> None:
    policy = ScriptedPolicy("planner", lambda messages, generator: "abc")
    request = SampleRequest(policy.encode([]), (1,), Decoding(1.0, limit))
    [[reply]] = policy.sample([request])
    assert (reply.text, reply.finish) == ("abc", finish)
    assert len(reply.token_ids) == len(reply.logprobs) == limit


@pytest.mark.parametrize(
    ("script", "said"),
    [(lambda messages, generator: messages[9], "IndexError"), (lambda *_: None, "AttributeError")],
)
def test_a_script_that_fails_is_a_failed_call_that_says_why(script: Script, said: str) -> None:
    policy = ScriptedPolicy("planner", script)
    request = SampleRequest(policy.encode([]), (1,), Decoding(1.0, 8))
    [[reply]] = policy.sample([request])
    assert (reply.text, reply.token_ids, reply.finish) == ("", (), Finish.ERROR)
    assert said in reply.message


def test_a_script_is_loaded_from_a_file(tmp_path: Path) -> None:
    path = tmp_path / "script.py"
    path.write_text("def reply(messages, generator):\n    return 'Up'\n")
    assert load_script(path)([], Random(0)) == "Up"


def test_a_missing_script_and_one_without_reply_are_named(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"no script at .*gone\.py"):
        load_script(tmp_path / "gone.py")
    path = tmp_path / "empty.py"
    path.write_text("replies = 1\n")
    with pytest.raises(ValueError, match=r"empty\.py defines no function reply"):
        load_script(path)
