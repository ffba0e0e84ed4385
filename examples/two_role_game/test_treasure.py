"""Treasure keeps every promise of an environment, and is solved as its rules say."""

# ruff: noqa: D103 - a test's name is its documentation
import runpy
from pathlib import Path

from cotrain import Task
from cotrain.core.rewards import local_reward
from cotrain.environments.checker import check

Treasure = runpy.run_path(str(Path(__file__).parent / "treasure.py"))["Treasure"]
TASK = Task("train", 0, "00", ((0, 0), (2, 3)))

# agent, what its answer tag holds, a part of what it reads, team value, local reward, whether done
EPISODE = (
    ("scout", "Down Down Right", "at 0 0 goal 2 3", 0.8, 0.5, False),
    ("runner", "Down Down Right", "proposal Down Down Right ends 2 1", 0.8, 0.5, False),
    ("scout", "Left, I think.", "at 2 1 goal 2 3", 0.8, 0.0, False),
    ("runner", "Right Right", "proposal none ends 2 1", 1.0, 1.0, True),
)


def test_no_promise_of_an_environment_is_broken():
    assert check(Treasure()).broken == ()


def test_an_episode_goes_as_the_table_says():
    game = Treasure()
    state = game.start(TASK, "train")
    for agent, answer, read, team, local, done in EPISODE:
        assert read in game.observe(state, agent)[1].content
        outcome = game.act(state, agent, f"<answer>{answer}</answer>", ())
        assert (outcome.team, local_reward(outcome.local), outcome.done) == (team, local, done)
        state = outcome.state
    assert game.success(state)


def test_the_runner_does_not_see_the_treasure():
    game = Treasure()
    state = game.start(TASK, "train")
    assert "G" in game.observe(state, "scout")[1].content
    assert "G" not in game.observe(state, "runner")[1].content
    assert "goal 0 0" in game.observe(state, "runner")[1].content


def test_the_runner_stays_on_the_field():
    game = Treasure()
    outcome = game.act(game.start(TASK, "train"), "runner", "<answer>Up Left</answer>", ())
    assert outcome.state.runner == (0, 0)
