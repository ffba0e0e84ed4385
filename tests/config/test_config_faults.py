"""What a user reads when a configuration is wrong."""

from pathlib import Path

import pytest

from cotrain.config import ConfigurationError, Fault, load_config, show
from cotrain.config.faults import dotted


def faults(*assignments: str, source: str | Path | None = None) -> dict[str, Fault]:
    """The faults of a configuration, by key."""
    with pytest.raises(ConfigurationError) as caught:
        load_config(source, assignments)
    assert str(caught.value).splitlines() == [str(fault) for fault in caught.value.faults]
    return {fault.key: fault for fault in caught.value.faults}


@pytest.mark.parametrize(
    ("assignment", "key", "nearest"),
    [
        ("sampling.candidate=4", "sampling.candidate", "sampling.candidates"),
        ("run.stpes=5", "run.stpes", "run.steps"),
        ("optimiser.learning_rate=1e-4", "optimiser", "optimizer"),
        ("learning_rate=1e-4", "learning_rate", "optimizer.learning_rate"),
        ("sampling.learning_rate=1e-4", "sampling.learning_rate", "optimizer.learning_rate"),
        (
            "team.roles.planner.temprature=1",
            "team.roles.planner.temprature",
            "team.roles.planner.temperature",
        ),
    ],
)
def test_an_unknown_key_names_the_nearest_known_one(
    assignment: str, key: str, nearest: str
) -> None:
    assert faults(assignment)[key].nearest == nearest


def test_even_a_key_like_no_other_names_a_known_one_and_the_sections() -> None:
    fault = faults("zzz=1")["zzz"]
    assert fault.nearest
    assert "run, environment, team" in fault.allowed


def test_a_key_below_a_value_is_a_fault_of_that_value() -> None:
    assert faults("run.steps.more=5")["run.steps"].got == "{more = 5}"


def test_every_fault_is_reported_at_once_one_line_each() -> None:
    found = faults("run.steps=0", "run.sed=1", 'sampling.candidates="4"', "sampling.engine=vllm")
    assert list(found) == ["run.steps", "run.sed", "sampling.candidates", "sampling.engine"]


def test_a_fault_says_key_value_and_what_is_allowed() -> None:
    fault = faults('sampling.candidates="4"')["sampling.candidates"]
    assert str(fault) == 'sampling.candidates = "4": must be an integer >= 1'


def test_a_union_makes_one_fault_with_all_that_is_allowed() -> None:
    fault = faults("algorithm.follow=worst")["algorithm.follow"]
    assert fault.allowed == 'must be "best" or "random" or a number >= 0 and <= 1'


def test_a_fault_inside_a_list_names_its_place() -> None:
    found = faults('evaluation.baselines=["a", 3]')
    assert found["evaluation.baselines[1]"].got == "3"


def test_a_section_that_is_no_table_names_its_keys() -> None:
    assert "reply_seconds" in faults("limits=3")["limits"].allowed


def test_a_line_break_in_a_key_or_value_keeps_a_fault_on_one_line(tmp_path: Path) -> None:
    file = tmp_path / "odd.toml"
    file.write_text('"a\\nb" = "c\\nd"\n', encoding="utf-8")
    (fault,) = faults(source=file).values()
    assert str(fault).startswith('"a\\nb" = "c\\nd": unknown key')


def test_bad_toml_names_file_and_line(tmp_path: Path) -> None:
    file = tmp_path / "plan.toml"
    file.write_text("[run]\nsteps = 3\nsteps 4\n", encoding="utf-8")
    (fault,) = faults(source=file).values()
    assert fault.key == f"{file}, line 3"
    assert fault.allowed.startswith("not valid TOML")


def test_toml_that_ends_too_early_names_the_last_line(tmp_path: Path) -> None:
    file = tmp_path / "plan.toml"
    file.write_text("[run]\nsteps = [1,", encoding="utf-8")
    assert list(faults(source=file)) == [f"{file}, line 2"]


def test_a_file_that_is_not_utf8_is_a_fault(tmp_path: Path) -> None:
    file = tmp_path / "plan.toml"
    file.write_bytes(b'[run]\nname = "\xff"\n')
    assert "UTF-8" in faults(source=file)[str(file)].allowed


def test_a_folder_is_no_configuration(tmp_path: Path) -> None:
    assert "readable TOML file" in faults(source=tmp_path)[str(tmp_path)].allowed


def test_a_missing_file_or_preset_names_the_nearest_preset() -> None:
    assert faults(source="plan_pth_tiny")["plan_pth_tiny"].nearest == "plan_path_tiny"
    missing = Path("nowhere") / "plan_path_smolm2.toml"
    assert faults(source=missing)[str(missing)].nearest == "plan_path_smollm2"


@pytest.mark.parametrize("text", ["run.steps", "=3", ".steps=3", "run..steps=3", "run.=3", ""])
def test_a_string_that_assigns_nothing_is_refused(text: str) -> None:
    assert list(faults(text)) == [text]


def test_a_long_value_is_cut() -> None:
    assert len(show("x" * 500)) == 60


def test_a_key_with_odd_characters_is_quoted() -> None:
    assert dotted(["team", "roles", "a.b", "model"]) == 'team.roles."a.b".model'
