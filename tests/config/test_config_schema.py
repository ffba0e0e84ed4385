"""The schema: every key of the contract, its default, its bounds, and nothing converted."""

import subprocess
import sys
from typing import get_args

import pytest
from pydantic import ValidationError

from cotrain.config import Config, ConfigurationError, load_config, presets, replaced
from cotrain.config.keys import known_keys
from cotrain.config.schema import AlgorithmSettings
from cotrain.core.advantages import ESTIMATORS
from cotrain.core.selection import selection

CONTRACT = {
    "run": "name seed steps max_sampled_tokens evaluate_every checkpoint_every keep_checkpoints",
    "environment": "name options",
    "team": "policies turns team_weight alternate_every roles",
    "team.roles.ROLE": (
        "model trainable learning_rate lora_rank temperature max_reply_tokens prompt"
    ),
    "model": "name dtype lora_rank lora_alpha gradient_checkpointing chat_template_options",
    "sampling": ("candidates tasks_per_step temperature max_prompt_tokens max_reply_tokens engine"),
    "algorithm": (
        "method advantage loss_aggregation clip_low clip_high kl_coefficient minibatches follow "
        "cut_replies ratio_cap max_logprob_gap"
    ),
    "optimizer": "learning_rate weight_decay max_grad_norm warmup_steps schedule",
    "evaluation": "tasks validation_tasks temperature top_p top_k seed baselines",
    "limits": "reply_seconds act_seconds episode_seconds retries",
    "sandbox": "kind seconds memory_bytes workers",
    "cluster": "address pools environment_workers",
    "cluster.pools.POLICY": "rollout update",
    "logging": "console episodes tensorboard wandb trackio",
}

REFUSED = {
    "run.name": ["", "a/b", "..", "-a", "a\n", 3],
    "run.seed": [-1, 2**63, 1.0, True, "4", None],
    "run.steps": [0, "4", True, 4.0, float("nan"), [4]],
    "run.max_sampled_tokens": [0, 1.5],
    "run.evaluate_every": [-1],
    "run.checkpoint_every": [-1],
    "run.keep_checkpoints": [0],
    "environment.name": ["", 1],
    "environment.options": [3, [], {"size": float("inf")}, {"moves": (1, {2})}],
    "team.policies": ["all", 1],
    "team.turns": [0],
    "team.team_weight": [-0.1, float("inf"), float("nan"), True],
    "team.roles": [3, {"a.b": {}}, {"": {}}, {"a/b": {}}],
    "team.roles.planner": [3, {"temperature": 0}, {"max_reply_tokens": 0}, {"trainable": 1}],
    "model.name": [""],
    "model.dtype": ["float16", "fp32"],
    "model.threads": [0, "all", 1.5],
    "model.lora_alpha": [0],
    "model.gradient_checkpointing": [1, "true"],
    "model.chat_template_options": ["x"],
    "sampling.candidates": [0, "4", 4.0],
    "sampling.tasks_per_step": [0],
    "sampling.temperature": [0, -1, float("nan")],
    "sampling.max_prompt_tokens": [0, -5],
    "sampling.max_reply_tokens": [0, -5],
    "sampling.max_batch_tokens": [0],
    "sampling.engine": ["sglang"],
    "algorithm.method": ["grpo"],
    "algorithm.advantage": ["none"],
    "algorithm.loss_aggregation": ["mean"],
    "algorithm.clip_low": [-0.1, 1.1],
    "algorithm.clip_high": [-0.1],
    "algorithm.kl_coefficient": [-1],
    "algorithm.minibatches": [0],
    "algorithm.microbatch_tokens": [0],
    "algorithm.follow": ["worst", -0.1, 1.1, True, float("nan")],
    "algorithm.cut_replies": [True],
    "algorithm.ratio_cap": [0.5],
    "algorithm.max_logprob_gap": [0],
    "imitation.episodes": ["runs/a", [1], [""]],
    "imitation.keep": ["all"],
    "imitation.sha256": ["0a", [1]],
    "optimizer.learning_rate": [-1e-6, 2, "1e-6", float("nan")],
    "optimizer.weight_decay": [-1],
    "optimizer.max_grad_norm": [0],
    "optimizer.warmup_steps": [-1],
    "optimizer.schedule": ["step"],
    "evaluation.tasks": [0],
    "evaluation.validation_tasks": [0],
    "evaluation.temperature": [-1],
    "evaluation.top_p": [0, 1.1],
    "evaluation.top_k": [-1],
    "evaluation.seed": [-1],
    "evaluation.baselines": ["runs/a", [1], [""]],
    "limits.reply_seconds": [0, -1, float("inf")],
    "limits.act_seconds": [0],
    "limits.episode_seconds": [0],
    "limits.retries": [-1],
    "logging.console": ["yes"],
    "logging.episodes": [0, "some", True],
}


@pytest.mark.parametrize("section", CONTRACT)
def test_every_key_of_the_contract_is_known(section: str) -> None:
    known = {".".join(key.path) for key in known_keys()}
    assert {f"{section}.{name}" for name in CONTRACT[section].split()} <= known


def test_every_key_says_what_it_means_and_allows() -> None:
    assert [key.path for key in known_keys() if not (key.meaning and key.allowed)] == []


@pytest.mark.parametrize(
    ("key", "value"), [(key, value) for key, values in REFUSED.items() for value in values]
)
def test_a_value_out_of_bounds_or_of_another_type_is_refused_with_its_key(
    key: str, value: object
) -> None:
    with pytest.raises(ConfigurationError) as caught:
        load_config(overrides={key: value})
    assert len(caught.value.faults) == 1
    assert caught.value.faults[0].key.startswith(key)


def test_every_number_has_a_bound() -> None:
    numbers = [key for key in known_keys() if "a number" in key.allowed or "an int" in key.allowed]
    assert len(numbers) > 40
    assert [key.path for key in numbers if ">" not in key.allowed] == []


@pytest.mark.parametrize("value", ["best", "random", 0, 0.25, 1])
def test_follow_takes_a_name_or_a_probability_that_the_core_knows(value: object) -> None:
    follow = load_config(overrides={"algorithm.follow": value}).algorithm.follow
    assert callable(selection(follow))


def test_the_advantages_are_those_of_the_core() -> None:
    names = get_args(AlgorithmSettings.model_fields["advantage"].annotation)
    assert set(names) == set(ESTIMATORS)


def test_a_whole_number_is_a_number() -> None:
    assert load_config(overrides={"team.team_weight": 2}).team.team_weight == 2.0


def test_a_configuration_cannot_be_changed_in_place() -> None:
    config = Config()
    with pytest.raises(ValidationError):
        config.run.steps = 3  # pyright: ignore[reportAttributeAccessIssue]


def test_a_changed_copy_is_checked_and_leaves_the_original_alone() -> None:
    config = Config()
    assert replaced(config, {"model.threads": 2}).model.threads == 2
    assert config.model.threads == "auto"
    with pytest.raises(ConfigurationError, match=r"model\.threads = 0"):
        replaced(config, {"model.threads": 0})


def test_the_configuration_loads_without_torch() -> None:
    code = "import sys, cotrain.config as c; c.load_config(); sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_the_default_preset_is_the_documented_run() -> None:
    config = load_config()
    assert config.sampling.candidates == 8
    assert config.sampling.tasks_per_step == 48
    assert config.team.turns == 6
    assert config.environment.options["view"] == "compact"
    assert config == load_config("plan_path_tiny")


@pytest.mark.parametrize("name", [preset.name for preset in presets()])
def test_every_preset_loads_and_describes_itself(name: str) -> None:
    assert load_config(name).environment.name
    assert len(dict(presets())[name]) > 20
