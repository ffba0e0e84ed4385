"""Treasure keeps every promise of an environment, and is solved as its rules say."""

# ruff: noqa: D103 - a test's name is its documentation
import runpy
from pathlib import Path

from cotrain import Task
from cotrain.core.rewards import local_reward
from cotrain.environments.checker import check

Treasure = runpy.run_path(str(Path(__file__).parent / "treasure.py"))["Treasure"]
TASK = Task("train", 0, "00", ((0, 0), (2, 3)))

# agent, reply, what the agent has read, team value, local reward, whether it is over
EPISODE = (
    ("scout", "<answer>Down Down Right</answer>", "at 0 0 goal 2 3", 0.8, 1.0, False),
    ("runner", "<answer>Down Down Right</answer>", "proposal Down Down Right", 0.8, 0.5, False),
    ("scout", "Left, I think.", "at 2 1 goal 2 3", 0.8, 0.0, False),
    ("runner", "<answer>Right Right</answer>", "proposal none", 1.0, 1.0, True),
)


def test_no_promise_of_an_environment_is_broken():
    assert check(Treasure()).broken == ()


def test_an_episode_goes_as_the_table_says():
    game = Treasure()
    state = game.start(TASK, "train")
    for agent, reply, read, team, local, done in EPISODE:
        assert game.observe(state, agent)[1].content == read
        outcome = game.act(state, agent, reply, ())
        assert (outcome.team, local_reward(outcome.local), outcome.done) == (team, local, done)
        state = outcome.state
    assert game.success(state)


def test_the_runner_stays_on_the_field():
    game = Treasure()
    outcome = game.act(game.start(TASK, "train"), "runner", "<answer>Up Left</answer>", ())
    assert outcome.state.runner == (0, 0)
