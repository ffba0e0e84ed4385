"""What the tiny models imitate: every word of every lesson is one that its tokenizer knows."""

import importlib.util
import random
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from cotrain.environments.parsing import parse_moves
from cotrain.environments.sokoban import Sokoban, SokobanOptions
from cotrain.environments.sokoban_room import play

PATH = Path(__file__).parents[1] / "scripts" / "lessons.py"
NUM_TASKS = 8


def load() -> ModuleType:
    spec = importlib.util.spec_from_file_location("lessons", PATH)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


LESSONS_MODULE = load()
NAMES = sorted(LESSONS_MODULE.LESSONS)


def said_in(name: str, perfect: float) -> Iterator[str]:
    """Prompts and replies of demonstrated episodes of every variant of a lesson."""
    lesson, generator = LESSONS_MODULE.LESSONS[name], random.Random(0)
    for environment, _ in lesson.environments():
        for index in range(NUM_TASKS):
            state = environment.start(environment.task("train", 0, index), "train")
            for _ in range(lesson.turns):
                for role in environment.roles:
                    yield from (m.content for m in environment.observe(state, role.name))
                    reply = lesson.reply(environment, state, role.name, perfect, generator)
                    yield reply
                    state = environment.act(state, role.name, reply, ()).state
                if environment.success(state):
                    break


@pytest.mark.parametrize("perfect", [0.0, 0.5])
@pytest.mark.parametrize("name", NAMES)
def test_a_lesson_knows_every_word_of_its_prompts_and_replies(name: str, perfect: float) -> None:
    words = {word for text in said_in(name, perfect) for word in text.split()}
    assert words - set(LESSONS_MODULE.LESSONS[name].words) == set()


def test_the_words_of_a_lesson_are_different() -> None:
    for lesson in LESSONS_MODULE.LESSONS.values():
        assert len(set(lesson.words)) == len(lesson.words)


def sokoban() -> Sokoban:
    return Sokoban(SokobanOptions(min_moves=4, max_moves=4, view="compact"))


def test_a_perfect_demonstrator_of_sokoban_pushes_every_box_home() -> None:
    environment, generator = sokoban(), random.Random(0)
    for index in range(NUM_TASKS):
        state = environment.start(environment.task("train", 0, index), "train")
        for _ in range(6):
            reply = LESSONS_MODULE.sokoban_reply(environment, state, "planner", 1.0, generator)
            state = environment.act(state, "planner", reply, ()).state
            if environment.success(state):
                break
        assert environment.success(state)


def test_a_random_demonstrator_of_sokoban_makes_no_blocked_move() -> None:
    environment, generator = sokoban(), random.Random(0)
    for index in range(40):
        state = environment.start(environment.task("train", 0, index), "train")
        reply = LESSONS_MODULE.sokoban_reply(environment, state, "proposer", 0.0, generator)
        moves = parse_moves(reply)
        assert moves
        assert len(moves) <= 4
        assert play(state.room, state.position, moves).blocked == 0
