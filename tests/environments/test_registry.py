"""From a name to an environment, and what is said when there is none."""

from dataclasses import FrozenInstanceError
from pathlib import Path

import pytest
from tests.environments.two_hands import TwoHands

from cotrain.environments.base import Role
from cotrain.environments.plan_path import PlanPath
from cotrain.environments.registry import (
    environment_names,
    load_environment_class,
    make_environment,
    refuse_wrong_phases,
)

HERE = Path(__file__).parent


def test_a_shipped_name_is_its_class() -> None:
    assert load_environment_class("plan_path") is PlanPath
    assert "plan_path" in environment_names()


def test_a_file_and_a_module_both_name_a_class() -> None:
    of_file = load_environment_class(f"{HERE / 'two_hands.py'}:TwoHands")
    assert of_file.name == "two_hands"
    assert of_file is load_environment_class(f"{HERE / 'two_hands.py'}:TwoHands")
    assert load_environment_class("tests.environments.two_hands:TwoHands") is TwoHands


def test_two_files_of_one_name_are_two_modules(tmp_path: Path) -> None:
    text = (HERE / "two_hands.py").read_text(encoding="utf-8")
    for folder, name in (("a", "first"), ("b", "second")):
        (tmp_path / folder).mkdir()
        changed = text.replace('name = "two_hands"', f'name = "{name}"')
        (tmp_path / folder / "game.py").write_text(changed, encoding="utf-8")
    first = load_environment_class(f"{tmp_path / 'a' / 'game.py'}:TwoHands")
    second = load_environment_class(f"{tmp_path / 'b' / 'game.py'}:TwoHands")
    assert (first.name, second.name) == ("first", "second")


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("plan-path", "allowed are plan_path.*nearest known: plan_path"),
        (f"{HERE / 'two_hnds.py'}:TwoHands", "there is no file .*two_hnds.py.*two_hands.py"),
        (f"{HERE / 'two_hands.py'}:TwoHand", "TwoHand is no subclass.*nearest known: TwoHands"),
        ("cotrain.nowhere:Game", "there is no module cotrain.nowhere"),
        ("json:JSONDecoder", "no subclass of cotrain.Environment; its module has none"),
    ],
)
def test_a_wrong_name_is_told_with_what_is_allowed(name: str, said: str) -> None:
    with pytest.raises(ValueError, match=r"environment\.name = .*" + said):
        load_environment_class(name)


def test_a_fault_inside_a_users_file_is_raised_as_it_is(tmp_path: Path) -> None:
    file = tmp_path / "broken.py"
    file.write_text("import no_such_package_at_all\n", encoding="utf-8")
    for _ in range(2):
        with pytest.raises(ModuleNotFoundError, match="no_such_package_at_all"):
            load_environment_class(f"{file}:Game")


def test_options_and_prompts_reach_the_environment() -> None:
    environment = make_environment("plan_path", {"size": 6, "blocked": 0}, {"planner": "Go."})
    assert environment.options.size == 6
    assert environment.prompt("planner") == "Go."
    with pytest.raises(FrozenInstanceError):
        environment.options.size = 7


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"sise": 6}, "environment.options.sise = 6: unknown option, allowed are size.*: size"),
        ({"size": "6"}, 'environment.options.size = "6": input should be a valid integer'),
        ({"size": True}, "environment.options.size = true: input should be a valid integer"),
        ({"size": 6.5}, "environment.options.size = 6.5: input should be a valid integer"),
        (
            {"view": "txt"},
            "environment.options.view = \"txt\": input should be 'text' or 'compact'",
        ),
        ({"size": 1}, "environment.options.size = 1: must be an integer from 2 to 64"),
        ({"only": "tool"}, 'only = "tool": tools = "none" has no such role: it plays proposer'),
    ],
)
def test_a_wrong_option_is_told_with_what_is_allowed(options: dict[str, object], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        make_environment("plan_path", options)


def test_all_wrong_options_are_told_at_once() -> None:
    with pytest.raises(ValueError, match=r"sise = 6.*\n.*view = ") as caught:
        make_environment("plan_path", {"sise": 6, "view": 3})
    assert len(str(caught.value).splitlines()) == 2


def test_an_option_of_an_environment_that_has_none_is_refused(tmp_path: Path) -> None:
    text = (HERE / "two_hands.py").read_text(encoding="utf-8")
    file = tmp_path / "plain.py"
    file.write_text(text.replace("    Options = TwoHandsOptions\n", ""), encoding="utf-8")
    with pytest.raises(ValueError, match="max_tilt = 3: this environment has no options"):
        make_environment(f"{file}:TwoHands", {"max_tilt": 3})


def test_a_prompt_for_a_role_of_no_variant_is_refused() -> None:
    make_environment("plan_path", {}, {"solo": "Go."})
    with pytest.raises(ValueError, match=r"team.roles.planer: .*nearest known: planner"):
        make_environment("plan_path", {}, {"planer": "Go."})


@pytest.mark.parametrize(
    ("phases", "said"),
    [
        ((("left",), ("rihgt",)), "names 'rihgt', which is no agent .allowed are left, right.; "),
        ((("left",),), "phases leaves right out$"),
        ((("left", "right"), ("left",)), "names left 2 times; an agent acts once a turn$"),
        ((), "phases leaves left out; phases leaves right out$"),
        (("left", "right"), "'left' .str.; it must be a sequence of agents as a phase$"),
        (None, "None .NoneType.; it must be a sequence of phases"),
        (((1,), ("left",), ("right",)), r"1 .int. as an agent; it must be text$"),
    ],
)
def test_phases_in_which_an_agent_does_not_act_once_are_refused(phases: object, said: str) -> None:
    environment = TwoHands()
    refuse_wrong_phases(environment)
    wrong = type("Wrong", (TwoHands,), {"phases": phases})()
    with pytest.raises(ValueError, match=r'^environment.name = "two_hands": Wrong .*' + said):
        refuse_wrong_phases(wrong)


@pytest.mark.parametrize(
    ("roles", "said"),
    [
        ((), "roles is empty"),
        ((Role("left"), Role("right"), Role("left")), "roles has 2 seats called left"),
    ],
)
def test_roles_that_give_nobody_or_two_one_name_are_refused(
    roles: tuple[Role, ...], said: str
) -> None:
    wrong = type("Wrong", (TwoHands,), {"roles": roles})()
    with pytest.raises(ValueError, match=said):
        refuse_wrong_phases(wrong)
