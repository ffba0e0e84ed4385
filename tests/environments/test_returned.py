"""What an environment returned is held to the contract, and a wrong type is named."""

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from cotrain.core.episode import Message, Part, Request, Task
from cotrain.environments import returned
from cotrain.environments.base import Outcome


@pytest.mark.parametrize(
    ("check", "value", "said"),
    [
        (returned.checked_task, None, "task returned None (NoneType); it must be a Task"),
        (returned.checked_outcome, Outcome(0, "0.5"), "'0.5' (str) as team; it must be a number"),
        (returned.checked_outcome, Outcome(0, None), "None (NoneType) as team"),
        (returned.checked_outcome, Outcome(0, 1j), "1j (complex) as team"),
        (returned.checked_outcome, Outcome(0, 0.0, {"a": 1.0}), "a sequence of local parts"),
        (returned.checked_outcome, Outcome(0, 0.0, (("a", 1.0, 1.0),)), "it must be a Part"),
        (returned.checked_outcome, Outcome(0, 0.0, (Part("a", 1.0, "1"),)), "as part a"),
        (returned.checked_outcome, Outcome(0, 0.0, (Part(None, 1.0, 1.0),)), "name of a part"),
        (returned.checked_outcome, Outcome(0, 0.0, gate="1"), "'1' (str) as gate"),
        (returned.checked_outcome, Outcome(0, 0.0, done="False"), "'False' (str) as done"),
        (returned.checked_messages, None, "a sequence of messages"),
        (returned.checked_messages, "go", "a sequence of messages"),
        (returned.checked_messages, [], "observe returned no message"),
        (returned.checked_messages, ["go"], "it must be a Message"),
        (returned.checked_messages, [Message("user", 5)], "5 (int) as content"),
        (returned.checked_commit, 5, "it must be a pair (state, done)"),
        (returned.checked_commit, ("state", None), "None (NoneType) as done"),
    ],
)
def test_a_wrong_type_is_named_with_what_is_allowed(
    check: Callable[[Any], object], value: Any, said: str
) -> None:
    with pytest.raises(TypeError) as caught:
        check(value)
    assert said in str(caught.value)


@pytest.mark.parametrize("value", [None, "False", 1, np.bool_(True)])
def test_only_a_bool_is_a_success(value: object) -> None:
    with pytest.raises(TypeError, match=r"success returned .* it must be a bool"):
        returned.checked_bool("success", value)


@pytest.mark.parametrize("asked", ["program", None, ["program"], [Request("a", (("x", {1}),))]])
def test_only_requests_that_can_be_stored_are_asked_for(asked: object) -> None:
    with pytest.raises(TypeError, match="evidence"):
        returned.checked_requests("evidence", asked)


@pytest.mark.parametrize("answer", [object(), {1, 2}, {"a": [b"x"]}, {1: "a"}, np.float32(1)])
def test_an_answer_that_an_episode_file_cannot_hold_is_named(answer: object) -> None:
    with pytest.raises(TypeError, match=r"the answer.* must be JSON"):
        returned.check_json("the answer", answer)


def test_a_whole_number_that_no_file_holds_is_refused_where_it_comes_from() -> None:
    with pytest.raises(TypeError, match="x is a whole number of more than 10000 bits"):
        returned.check_json("the answer", {"x": 10**5000})
    with pytest.raises(TypeError, match="x is a whole number of more than 10000 bits"):
        returned.checked_requests("evidence", [Request.of("a", x=-(10**5000))])
    returned.check_json("the answer", {"x": 2**10_000 - 1})
    json.dumps(2**10_000 - 1)


@pytest.mark.parametrize("digest", ["\ud800", "a\nb", "a\0"])
def test_a_digest_is_text_of_one_line(digest: str) -> None:
    with pytest.raises(TypeError, match="as digest; it must be printable text"):
        returned.checked_task(Task("train", 0, digest, None))


def test_numbers_of_numpy_become_plain_floats() -> None:
    outcome = returned.checked_outcome(Outcome(0, np.float32(0.5), (Part("a", 1, np.int64(1)),)))
    assert (type(outcome.team), type(outcome.local[0].value)) == (float, float)
    assert outcome == Outcome(0, 0.5, (Part("a", 1.0, 1.0),))
