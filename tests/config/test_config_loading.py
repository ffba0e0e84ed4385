"""Where values come from: files, presets, assignments, mappings, and back from JSON."""

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cotrain.config import (
    Config,
    ConfigurationError,
    config_from_json,
    difference,
    load_config,
    overridden,
    parse_assignments,
    replaced,
)
from cotrain.config.reference import configuration_reference

PLAN = """\
# A file of a user.
[run]
name = "mine"
steps = 7
[environment]
options = { size = 4, view = "text" }
[team.roles.planner]
trainable = false
"""


@pytest.fixture
def plan(tmp_path: Path) -> Path:
    file = tmp_path / "plan.toml"
    file.write_text(PLAN, encoding="utf-8")
    return file


def test_a_file_gives_its_values_and_defaults_for_the_rest(plan: Path) -> None:
    config = load_config(str(plan))
    assert (config.run.name, config.run.steps, config.run.seed) == ("mine", 7, 0)
    assert config.team.roles["planner"].trainable is False
    assert config == load_config(plan)


def test_a_file_with_a_byte_order_mark_loads(plan: Path) -> None:
    plan.write_bytes(b"\xef\xbb\xbf" + PLAN.encode())
    assert load_config(plan).run.steps == 7


@pytest.mark.parametrize(
    "overrides",
    [["run.steps=9"], {"run.steps": 9}, {"run": {"steps": 9}}, "run.steps=9", [" run.steps = 9 "]],
)
def test_an_override_wins_and_its_neighbours_stay(plan: Path, overrides: object) -> None:
    config = load_config(plan, overrides)  # pyright: ignore[reportArgumentType]
    assert (config.run.steps, config.run.name) == (9, "mine")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("50", 50),
        ("5e-1", 0.5),
        ("true", True),
        ('"4"', "4"),
        ("best", "best"),
        ("file.py:Class", "file.py:Class"),
        ("a=b", "a=b"),
        ("[1, 2]", [1, 2]),
        ("{ size = 4 }", {"size": 4}),
        ("2024-01-01", "2024-01-01"),
        ("", ""),
        ("1\nrun.steps = 2", "1\nrun.steps = 2"),
    ],
)
def test_an_assigned_value_is_toml_else_text(text: str, value: object) -> None:
    assert parse_assignments([f"environment.name={text}"]) == {"environment.name": value}


def test_of_equal_keys_the_last_assignment_counts_and_comes_last() -> None:
    options = "environment.options"
    values = parse_assignments([f"{options}={{}}", f"{options}.size=4", f"{options}={{}}"])
    assert load_config(overrides=values).environment.options == {}


def test_options_are_replaced_whole_and_one_option_alone(plan: Path) -> None:
    whole = load_config(plan, {"environment.options": {"size": 9}})
    assert whole.environment.options == {"size": 9}
    nested = load_config(plan, {"environment": {"options": {"size": 9}}})
    assert nested.environment.options == {"size": 9}
    one = load_config(plan, ["environment.options.size=9"])
    assert one.environment.options == {"size": 9, "view": "text"}


def test_roles_are_merged(plan: Path) -> None:
    config = load_config(plan, {"team.roles": {"planner": {"temperature": 0.5}, "proposer": {}}})
    assert list(config.team.roles) == ["planner", "proposer"]
    planner = config.team.roles["planner"]
    assert (planner.trainable, planner.temperature) == (False, 0.5)


def test_overriding_leaves_its_arguments_as_they_are() -> None:
    values: dict[str, object] = {"run": {"seed": 1}}
    overridden(values, {"run.seed": 2, "environment.options.size": 3})
    assert values == {"run": {"seed": 1}}


def test_a_configuration_survives_its_json(plan: Path) -> None:
    config = load_config(plan, ['evaluation.baselines=["a"]', "algorithm.follow=0.5"])
    assert config_from_json(json.loads(json.dumps(config.model_dump(mode="json")))) == config


@settings(max_examples=50, deadline=None)
@given(
    st.floats(0, 1),
    st.integers(0, 2**63 - 1),
    st.dictionaries(st.text(), st.floats(allow_nan=False, allow_infinity=False) | st.text()),
)
def test_any_value_survives_json(follow: float, seed: int, options: dict[str, object]) -> None:
    values = {"algorithm.follow": follow, "run.seed": seed, "environment.options": options}
    config = load_config(overrides=values)
    again = config_from_json(json.loads(json.dumps(config.model_dump(mode="json"))))
    assert again == config
    assert difference(config, again) == []


def test_a_json_with_an_unknown_key_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="nearest known: run"):
        config_from_json({**Config().model_dump(mode="json"), "rum": {}})


def test_the_difference_lists_each_changed_key_with_both_values(plan: Path) -> None:
    old = load_config(plan)
    new = replaced(
        old, {"run.steps": 9, "environment.options": {"size": 4, "fog": True}, "team.roles.b": {}}
    )
    assert [tuple(change) for change in difference(old, new)] == [
        ("run.steps", 7, 9),
        ("environment.options.view", "text", None),
        ("environment.options.fog", None, True),
        ("team.roles.b.trainable", None, True),
    ]


def test_the_difference_tells_true_from_one() -> None:
    old = replaced(Config(), {"environment.options.fog": 1})
    new = replaced(Config(), {"environment.options.fog": True})
    assert [change.key for change in difference(old, new)] == ["environment.options.fog"]


def test_the_reference_page_is_up_to_date() -> None:
    page = Path(__file__).parents[2] / "docs" / "configuration.md"
    assert page.read_text(encoding="utf-8") == configuration_reference(), (
        "run: python -m cotrain.config.reference > docs/configuration.md"
    )
