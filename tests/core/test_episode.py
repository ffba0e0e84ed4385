"""The records: frozen, complete, and readable."""

from dataclasses import FrozenInstanceError

import pytest
from tests.builders import make_candidate, make_episode, make_group

from cotrain.core.episode import Group, Request, TurnKey


def test_records_cannot_be_changed() -> None:
    group = make_group([make_candidate()])
    with pytest.raises(FrozenInstanceError):
        group.version = 3  # pyright: ignore[reportAttributeAccessIssue]


def test_the_followed_candidate_is_the_chosen_one() -> None:
    candidates = [make_candidate(0, 0.0), make_candidate(1, 1.0)]
    assert make_group(candidates, followed=1).chosen is candidates[1]
    assert make_group(candidates, followed=None).chosen is None


def test_an_episode_lists_its_groups_in_the_order_of_play() -> None:
    def acts(agent: str, turn: int) -> Group:
        return make_group([make_candidate()], agent, turn)

    first, second = [[acts("a", 1), acts("b", 1)], [acts("c", 1)]], [[acts("a", 2)]]
    episode = make_episode([first, second])
    order = [(group.key.turn, group.key.agent) for group in episode.groups()]
    assert order == [(1, "a"), (1, "b"), (1, "c"), (2, "a")]


def test_requests_with_equal_arguments_are_equal_whatever_their_order() -> None:
    request = Request.of("program", source="print(1)", stdin="")
    assert request == Request.of("program", stdin="", source="print(1)")
    assert hash(request) == hash(Request.of("program", stdin="", source="print(1)"))
    assert request["stdin"] == ""
    with pytest.raises(KeyError):
        request["limit"]


def test_keys_sort_by_step_episode_agent_and_turn() -> None:
    keys = [TurnKey(1, 0, "b", 1), TurnKey(1, 0, "a", 2), TurnKey(1, 0, "a", 1)]
    assert sorted(keys) == keys[::-1]
