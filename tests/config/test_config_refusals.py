"""What is refused though each value alone is well formed: contradictions, and what is not here."""

import pytest

from cotrain.config import ConfigurationError, load_config, replaced
from cotrain.config.availability import LIMITS
from cotrain.config.conflicts import conflicts
from cotrain.config.keys import known_keys
from cotrain.config.schema import Config, TeamSettings


def refusals(*assignments: str) -> dict[str, str]:
    """The faults of the default preset with these assignments: key -> what is allowed."""
    with pytest.raises(ConfigurationError) as caught:
        load_config(None, assignments)
    return {fault.key: fault.allowed for fault in caught.value.faults}


@pytest.mark.parametrize(
    "assignment",
    [
        "model.gradient_checkpointing=true",
        "sampling.engine=vllm",
        "algorithm.ratio_cap=3.0",
        "cluster.address=auto",
        "logging.tensorboard=true",
        "logging.wandb=true",
        "logging.trackio=true",
    ],
)
def test_what_this_version_does_not_have_is_refused(assignment: str) -> None:
    ((key, allowed),) = refusals(assignment).items()
    assert assignment.startswith(key)
    assert allowed.startswith("not available in this version; allowed: ")


def test_the_defaults_of_every_key_work_in_this_version() -> None:
    defaults = {".".join(key.path): key.default for key in known_keys()}
    assert all(defaults[limit.key] in limit.works for limit in LIMITS)
    assert conflicts(Config()) == []


@pytest.mark.parametrize("method", ["at_grpo", "single_grpo"])
def test_one_candidate_is_refused_where_a_baseline_is_needed(method: str) -> None:
    allowed = refusals("sampling.candidates=1", f"algorithm.method={method}")
    assert f'algorithm.method = "{method}"' in allowed["sampling.candidates"]


@pytest.mark.parametrize("method", ["single", "team"])
def test_one_candidate_is_enough_to_evaluate(method: str) -> None:
    config = load_config(None, ["sampling.candidates=1", f"algorithm.method={method}"])
    assert config.sampling.candidates == 1


@pytest.mark.parametrize(
    "assignment",
    ["sampling.top_p=0.9", "sampling.top_k=20", "sampling.repetition_penalty=1.05"],
)
def test_training_from_another_distribution_is_refused(assignment: str) -> None:
    ((key, allowed),) = refusals(assignment).items()
    assert key == assignment.partition("=")[0]
    assert "distribution that is trained" in allowed


@pytest.mark.parametrize(
    ("assignment", "general"),
    [
        ("team.roles.planner.learning_rate=1e-5", "optimizer.learning_rate"),
        ("team.roles.planner.lora_rank=8", "model.lora_rank"),
        ('team.roles.planner.model="other/base"', "model.name"),
    ],
)
def test_weights_of_its_own_are_refused_for_a_role_that_shares(
    assignment: str, general: str
) -> None:
    ((key, allowed),) = refusals(assignment).items()
    assert key == assignment.partition("=")[0]
    assert "team.policies" in allowed
    assert general in allowed


def test_a_role_that_shares_may_be_frozen_scripted_or_sampled_otherwise() -> None:
    roles = load_config(
        None,
        [
            "team.roles.planner.trainable=false",
            "team.roles.planner.temperature=0.7",
            "team.roles.proposer.model=scripted:replies.jsonl",
        ],
    ).team.roles
    assert roles["planner"].trainable is False
    assert roles["proposer"].model == "scripted:replies.jsonl"


def test_roles_with_weights_of_their_own_may_have_their_own_rate() -> None:
    role = {"planner": {"learning_rate": 1e-5}}
    team = TeamSettings.model_validate({"policies": "model_per_role", "roles": role})
    assert conflicts(Config(team=team)) == []


def test_an_adapter_scale_without_an_adapter_is_refused() -> None:
    assert "model.lora_rank" in refusals("model.lora_alpha=32")["model.lora_alpha"]


@pytest.mark.parametrize("method", ["team", "at_grpo"])
def test_the_single_variant_is_refused_for_a_team_method(method: str) -> None:
    allowed = refusals("environment.options.single=plain", f"algorithm.method={method}")
    assert f'algorithm.method = "{method}"' in allowed["environment.options.single"]


def test_the_single_variant_goes_with_a_single_method() -> None:
    values = {"environment.options.single": "draft", "algorithm.method": "single_grpo"}
    assert replaced(load_config(), values).environment.options["single"] == "draft"


def test_contradictions_and_what_is_missing_are_reported_together() -> None:
    found = refusals("sampling.top_k=5", "model.lora_alpha=2", "logging.wandb=true")
    assert set(found) == {"sampling.top_k", "model.lora_alpha", "logging.wandb"}


def test_more_threads_than_any_machine_can_start_are_refused() -> None:
    # A hundred thousand ended in a segmentation fault of the thread library.
    assert refusals("model.threads=100000") == {
        "model.threads": 'must be "auto" or an integer >= 1 and <= 1024'
    }


def test_imitation_needs_episodes_and_samples_nothing() -> None:
    allowed = refusals("algorithm.method=sft", "algorithm.kl_coefficient=0.1")
    assert set(allowed) == {
        "imitation.episodes",
        "run.max_sampled_tokens",
        "algorithm.kl_coefficient",
    }
    assert "cotrain sft --from" in allowed["imitation.episodes"]


def test_every_source_of_imitation_has_one_hash() -> None:
    allowed = refusals('imitation.episodes=["a", "b"]', 'imitation.sha256=["0a"]')
    assert "one hash for each" in allowed["imitation.sha256"]
