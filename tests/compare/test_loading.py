"""Comparison files: what they say, and one line for each of their faults."""

from pathlib import Path

import pytest

from cotrain.compare.base import Cell, Imitating, Place, Played, Trained, Untrained
from cotrain.compare.cells import CellFolder
from cotrain.compare.command import comparison_of
from cotrain.compare.loading import load_comparison, reduced, shipped_comparisons
from cotrain.compare.methods import MAX_STEPS
from cotrain.config import ConfigurationError, load_config

WHOLE = """
base = "plan_path_tiny"
seeds = 2
settings = { "team.policies" = "model_per_role", "run.max_sampled_tokens" = 1000 }
[rows.a]
train = { "algorithm.method" = "team_grpo" }
[rows.b]
imitate = "a"
[rows.start]
untrained = "a"
[rows.mixed]
play = "a"
policies = { planner = "b" }
[rows.swapped]
play = "a"
swap = ["planner=proposer"]
[transfer]
rows = ["a", "start"]
to.larger = { "environment.options.size" = 8 }
[[claims]]
says = "a > b"
better = "a"
than = "b"
"""


def written(folder: Path, text: str) -> str:
    path = folder / "mine.toml"
    path.write_text(text, "utf-8")
    return str(path)


def test_a_file_gives_its_rows_in_order_and_the_matrix_after_them(tmp_path: Path) -> None:
    comparison = load_comparison(written(tmp_path, WHOLE))
    assert comparison is not None
    assert comparison.name == "mine"
    assert comparison.rows == (
        Trained("a", {"algorithm.method": "team_grpo"}),
        Imitating("b", "a", {}),
        Untrained("start", "a"),
        Played("mixed", "a", {"planner": "b"}),
        Played("swapped", "a", swaps=(("planner", "proposer"),)),
        Played(
            "a-on-larger",
            "a",
            settings={"environment.options.size": 8},
            place=Place("a", "larger"),
        ),
        Untrained(
            "start-on-larger", "a", {"environment.options.size": 8}, Place("start", "larger")
        ),
    )


def test_chosen_rows_bring_what_they_need_and_the_claims_about_them(tmp_path: Path) -> None:
    comparison = load_comparison(written(tmp_path, WHOLE))
    assert comparison is not None
    chosen = reduced(comparison, ["mixed"])
    assert [row.name for row in chosen.rows] == ["a", "b", "mixed"]
    assert [claim.says for claim in chosen.claims] == ["a > b"]


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('base = "plan_path_tiny"', "", "base"),
        ("seeds = 2", "seeds = 0", "seeds = 0"),
        ('imitate = "a"', 'imitate = "c"', 'rows.b = "c": must name a trained row before it'),
        ('imitate = "a"', 'imitate = "a"\ntrain = {}', "must have one of"),
        ('imitate = "a"', 'imitate = "a"\nswap = ["x=y"]', "only a played row takes"),
        ('untrained = "a"', 'play = "a"', "needs policies, swap or settings"),
        ('swap = ["planner=proposer"]', 'swap = ["planner"]', "must be ROLE=ROLE"),
        ('untrained = "a"', 'untrained = "mixed"', "must name a trained row before it"),
        ('than = "b"', 'than = "bb"', "no such row"),
        ("[rows.b]", "[rows.b]\nimitat = 1", "rows.b.imitat = 1: unknown key, allowed are train, "),
        ("seeds = 2", "sedes = 2", "sedes = 2: unknown key, allowed are base, "),
        ("says =", "say =", "nearest known: says"),
        ("[rows.b]", "[rows.'b/c']", "rows.b/c: the name must consist of letters"),
        ("to.larger", "to.'..'", "transfer.to...: the name must consist of letters"),
        ('imitate = "a"', 'train = {}\nsettings = {"run.steps" = 1}', "belong into train"),
        ('swap = ["planner=proposer"]', 'swap = ["=planner"]', "must be ROLE=ROLE"),
        ('better = "a"', 'better = "b"', "must name two rows"),
        ("[rows.b]", f"[rows.{'b' * 101}]", "have at most 100 characters"),
        ("[rows.", "[row.", "row = "),
        ('rows = ["a", "start"]', 'rows = ["z"]', '"z": must name a trained row'),
        ("[transfer]", "[transfer", "mine.toml, line 17: not valid TOML"),
    ],
)
def test_a_fault_is_named(tmp_path: Path, old: str, new: str, said: str) -> None:
    assert old in WHOLE
    with pytest.raises(ConfigurationError) as caught:
        load_comparison(written(tmp_path, WHOLE.replace(old, new)))
    assert said in str(caught.value)


def test_a_row_whose_configuration_is_wrong_is_named_before_anything_runs(tmp_path: Path) -> None:
    path = written(tmp_path, WHOLE.replace('"team_grpo"', '"team_gropo"'))
    with pytest.raises(ConfigurationError, match=r"row a: algorithm\.method"):
        comparison_of(path, [], None)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (
            'policies = { planner = "b" }',
            'policies = { planner = "b" }\nswap = ["planner=proposer"]',
            'row mixed: swap or policies = "planner": must be named once',
        ),
        ('"planner=proposer"', '"planer=proposer"', 'row swapped: swap or policies = "planer"'),
        ("{ planner =", "{ planer =", 'row mixed: swap or policies = "planer"'),
        (
            '{ "environment.options.size" = 8 }',
            '{ "environment.sise" = 8 }',
            "row a-on-larger: env",
        ),
        (
            '{ "environment.options.size" = 8 }',
            '{ "environment.options.siez" = 8 }',
            "row a-on-larger: environment.options.siez = 8: unknown option",
        ),
        (
            "= 1000 }",
            '= 1000, "environment.options.siez" = 8 }',
            "row a: environment.options.siez = 8: unknown option",
        ),
        ("= 1000 }", '= 1000, "logging.episodes" = "none" }', "row b: logging.episodes"),
        (
            'imitate = "a"',
            'imitate = "a"\nsettings = { "algorithm.kl_coefficient" = 1.0 }',
            "row b",
        ),
        ("= 1000 }", '= 1000, "run.seed" = 1 }', "run.seed = 1: must be left out"),
        ('"team_grpo" }', '"team_grpo", "run.name" = "x" }', "row a: run.name"),
    ],
)
def test_what_would_fail_after_hours_is_named_at_once(
    tmp_path: Path, old: str, new: str, said: str
) -> None:
    assert old in WHOLE
    with pytest.raises(ConfigurationError) as caught:
        comparison_of(written(tmp_path, WHOLE.replace(old, new)), [], None)
    assert said in str(caught.value)


@pytest.mark.parametrize(("file", "name"), [("v1.2", "v1_2"), ("my cmp", "my_cmp"), ("-a", "_a")])
def test_a_comparison_is_called_after_its_file_as_runs_can_be(
    tmp_path: Path, file: str, name: str
) -> None:
    path = tmp_path / f"{file}.toml"
    path.write_text(WHOLE, "utf-8")
    assert comparison_of(str(path), [], None).name == name


def test_a_swap_within_one_policy_is_refused(tmp_path: Path) -> None:
    one_policy = WHOLE.replace('"model_per_role"', '"shared"')
    with pytest.raises(ConfigurationError, match=r'swap = "planner=proposer": changes nothing'):
        comparison_of(written(tmp_path, one_policy), [], None)


def test_settings_of_a_place_win_over_those_of_the_team(tmp_path: Path) -> None:
    whole = '"environment.options" = { size = 6, view = "compact" }'
    text = WHOLE.replace("= 1000 }", '= 1000, "environment.options.size" = 6 }').replace(
        '{ "algorithm.method" = "team_grpo" }', f"{{ {whole} }}"
    )
    comparison = comparison_of(written(tmp_path, text), [], None)
    command = CellFolder(tmp_path, comparison).command(Cell(comparison.row("start-on-larger"), 0))
    assert command is not None
    options = load_config(command[1], command[3:-1:2]).environment.options
    assert options == {"size": 8, "view": "compact"}


def test_what_imitates_takes_neither_method_nor_budget_of_all_rows(tmp_path: Path) -> None:
    text = WHOLE.replace("= 1000 }", '= 1000, "algorithm.method" = "team_grpo" }')
    comparison = comparison_of(written(tmp_path, text), [], None)
    command = CellFolder(tmp_path, comparison).command(Cell(comparison.row("b"), 0))
    assert command is not None
    assert command[:2] == ["sft", "plan_path_tiny"]
    assert not [word for word in command if "algorithm.method" in word or "max_sampled" in word]


def test_a_start_may_have_settings_of_its_own(tmp_path: Path) -> None:
    text = WHOLE.replace('untrained = "a"', 'untrained = "a"\nsettings = { "team.turns" = 2 }')
    comparison = load_comparison(written(tmp_path, text))
    assert comparison is not None
    assert comparison.row("start") == Untrained("start", "a", {"team.turns": 2})


def test_a_budget_of_tokens_is_asked_for(tmp_path: Path) -> None:
    text = WHOLE.replace("plan_path_tiny", "plan_path_smollm2").replace(
        '"run.max_sampled_tokens" = 1000', '"run.steps" = 3'
    )
    with pytest.raises(ConfigurationError, match=r"row a: run\.max_sampled_tokens"):
        comparison_of(written(tmp_path, text), [], None)


@pytest.mark.parametrize("name", shipped_comparisons())
def test_every_shipped_comparison_is_sound(name: str) -> None:
    comparison = comparison_of(name, [], None)
    assert comparison.claims
    assert shipped_comparisons()[name].endswith(".")


def test_methods_of_a_preset_are_rows(tmp_path: Path) -> None:
    comparison = comparison_of("plan_path_tiny", ["at_grpo", "team", "single"], 2)
    assert [row.name for row in comparison.rows] == ["at_grpo", "team", "single_grpo", "single"]
    assert comparison.num_seeds == 2
    assert comparison.settings["run.steps"] == MAX_STEPS


def test_a_method_that_is_named_twice_is_one_row() -> None:
    comparison = comparison_of("plan_path_tiny", ["at_grpo", "at_grpo"], 1)
    assert [row.name for row in comparison.rows] == ["at_grpo"]
    assert comparison.claims == ()


def test_a_method_without_a_name_is_refused() -> None:
    with pytest.raises(ConfigurationError, match='--methods = ""'):
        comparison_of("plan_path_tiny", [""], None)


def test_an_unknown_method_is_named_with_the_nearest() -> None:
    with pytest.raises(ConfigurationError, match="nearest known: team_grpo"):
        comparison_of("plan_path_tiny", ["team_gropo"], None)
