"""Comparison files: what they say, and one line for each of their faults."""

from pathlib import Path

import pytest

from cotrain.compare.base import Imitating, Played, Trained, Untrained
from cotrain.compare.command import comparison_of
from cotrain.compare.loading import load_comparison, reduced, shipped_comparisons
from cotrain.config import ConfigurationError

WHOLE = """
base = "plan_path_tiny"
seeds = 2
settings = { "run.max_sampled_tokens" = 1000 }
[rows.a]
train = { "algorithm.method" = "team_grpo" }
[rows.b]
imitate = "a"
[rows.start]
untrained = "a"
[rows.mixed]
play = "a"
policies = { planner = "b" }
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
        Played("mixed", "a", {"planner": "b"}, (("planner", "proposer"),)),
        Played("a-on-larger", "a", settings={"environment.options.size": 8}, place="larger"),
        Untrained("start-on-larger", "a", {"environment.options.size": 8}, "larger"),
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
        ("[rows.b]", "[rows.b]\ncolour = 1", "colour"),
        ('rows = ["a", "start"]', 'rows = ["z"]', '"z": must name a trained row'),
        ("[transfer]", "[transfer", "readable TOML"),
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


def test_an_unknown_method_is_named_with_the_nearest() -> None:
    with pytest.raises(ConfigurationError, match="nearest known: team_grpo"):
        comparison_of("plan_path_tiny", ["team_gropo"], None)
