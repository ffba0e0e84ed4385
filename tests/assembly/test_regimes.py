"""Whose weights are whose in each regime, what is refused, and teams put together from runs."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
from peft import PeftModel
from safetensors.torch import load_file, save_file
from transformers import AutoModelForCausalLM, AutoTokenizer

import cotrain
from cotrain.assembly.commands import plan
from cotrain.assembly.environments import build_environment
from cotrain.assembly.exporting import export
from cotrain.assembly.policies import Policies, build_policies
from cotrain.assembly.policy_plans import (
    AdapterPlan,
    policy_plans,
    refuse_nothing_to_train,
    refuse_unfit_starts,
)
from cotrain.assembly.resolving import resolved
from cotrain.config import ConfigurationError, load_config
from cotrain.policies.adapters import Adapter
from cotrain.policies.causal_lm import CausalPolicy
from cotrain.policies.loading import embedded_folder, load_base
from cotrain.runs.durable import RunFolderRefusedError

SMALL: dict[str, Any] = {
    "run.steps": 2,
    "run.seed": 5,
    "run.checkpoint_every": 1,
    "run.evaluate_every": 0,
    "sampling.tasks_per_step": 3,
    "sampling.candidates": 4,
    "team.turns": 2,
    "evaluation.tasks": 4,
    "evaluation.validation_tasks": 1,
    "evaluation.baselines": [],
    "model.threads": 1,
    "logging.console": False,
}
PER_ROLE = ("lora_per_role", "model_per_role")
ROLES = ("proposer", "planner")


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, cotrain.Run]:
    """A finished run of each regime; no test changes one."""
    root = tmp_path_factory.mktemp("regimes")
    return {
        regime: cotrain.train(None, SMALL | {"team.policies": regime}, root / regime)
        for regime in ("shared", *PER_ROLE)
    }


def built(**overrides: object) -> Policies:
    config = load_config(None, SMALL | {k.replace("__", "."): v for k, v in overrides.items()})
    environment = build_environment(config)
    return build_policies(resolved(config, environment), environment)


def network(policies: Policies, name: str) -> Any:
    policy = policies.samplers[name]
    assert isinstance(policy, CausalPolicy)
    return policy.network


def said(caught: pytest.ExceptionInfo[ConfigurationError]) -> list[str]:
    return str(caught.value).splitlines()


def planned(overrides: dict[str, object]) -> None:
    """What is refused before a model is loaded."""
    config = load_config(None, SMALL | overrides)
    environment = build_environment(config)
    refuse_nothing_to_train(config, environment)
    refuse_unfit_starts(config, environment)


def test_in_the_shared_regime_one_policy_plays_every_role() -> None:
    policies = built()
    assert policies.of_role == dict.fromkeys(ROLES, "shared")
    assert list(policies.samplers) == ["shared"]


def test_adapters_share_one_base_in_memory_and_own_their_matrices() -> None:
    policies = built(team__policies="lora_per_role")
    first, second = (network(policies, role) for role in ROLES)
    assert first.model is second.model
    assert not {id(t) for t in first.tensors().values()} & {
        id(t) for t in second.tensors().values()
    }


def test_models_of_roles_share_nothing() -> None:
    policies = built(team__policies="model_per_role")
    first, second = (network(policies, role) for role in ROLES)
    assert not {id(t) for t in first.model.parameters()} & {
        id(t) for t in second.model.parameters()
    }


@pytest.mark.parametrize(
    ("overrides", "ranks"),
    [
        ({"team.policies": "lora_per_role"}, (16, 16)),
        ({"team.policies": "lora_per_role", "model.lora_rank": 4}, (4, 4)),
        ({"team.policies": "lora_per_role", "team.roles.planner.lora_rank": 2}, (16, 2)),
        ({"team.policies": "model_per_role"}, (None, None)),
        ({"team.policies": "model_per_role", "model.lora_rank": 4}, (4, 4)),
        ({"team.policies": "model_per_role", "team.roles.planner.lora_rank": 2}, (None, 2)),
    ],
)
def test_the_rank_of_a_role_is_its_own_else_the_general_one(
    overrides: dict[str, object], ranks: tuple[int | None, ...]
) -> None:
    config = load_config(None, SMALL | overrides)
    plans = policy_plans(config, build_environment(config))
    adapters = [plans[role].adapter for role in ROLES]
    found = tuple(a.rank if isinstance(a, AdapterPlan) else None for a in adapters)
    assert found == ranks


def test_one_adapter_may_serve_all_roles() -> None:
    policies = built(model__lora_rank=4)
    assert isinstance(network(policies, "shared"), Adapter)
    assert policies.bases["shared"]["identity"].startswith("sha256:")


def test_each_role_has_its_own_rate_and_limit() -> None:
    config = load_config(
        None,
        SMALL
        | {
            "team.policies": "model_per_role",
            "team.roles.planner.learning_rate": 0.5,
            "team.roles.planner.max_reply_tokens": 3,
        },
    )
    plans = policy_plans(config, build_environment(config))
    assert (plans["planner"].learning_rate, plans["planner"].max_reply_tokens) == (0.5, 3)
    assert (plans["proposer"].learning_rate, plans["proposer"].max_reply_tokens) == (4e-4, 12)


def test_a_rate_of_nought_keeps_a_role_where_it_is(tmp_path: Path) -> None:
    changes = {"team.policies": "model_per_role", "team.roles.planner.learning_rate": 0.0}
    run = cotrain.train(None, SMALL | changes | {"optimizer.schedule": "constant"}, tmp_path / "r")
    before = load_file(embedded_folder("tiny") / "model.safetensors")  # type: ignore[operator]
    after = load_file(run.checkpoints[-1] / "policies" / "planner" / "model.safetensors")
    assert all(torch.equal(after[name], value.float()) for name, value in before.items())


@pytest.mark.parametrize(
    ("overrides", "line"),
    [
        (
            {f"team.roles.{role}.trainable": False for role in ROLES},
            "team.roles.proposer.trainable = false: leaves nothing to train: proposer, planner are "
            "frozen or scripts",
        ),
        (
            {"team.roles.planner.trainable": False, "team.alternate_every": 2},
            "team.alternate_every = 2: needs two roles that are trained; here proposer alone is",
        ),
        (
            {"team.policies": "lora_per_role", "team.roles.planner.model": "elsewhere"},
            'team.roles.planner.model = "elsewhere": must be a folder with an adapter: with '
            'team.policies = "lora_per_role" all roles share the base model.name',
        ),
    ],
)
def test_what_cannot_be_trained_is_refused_before_a_model_is_loaded(
    overrides: dict[str, object], line: str
) -> None:
    with pytest.raises(ConfigurationError) as caught:
        planned(overrides)
    assert said(caught) == [line]


def test_a_policy_that_no_role_uses_is_refused() -> None:
    with pytest.raises(ConfigurationError, match=r"team\.roles\.critic.*has no such role"):
        planned({"team.policies": "lora_per_role", "team.roles.critic.lora_rank": 4})


def test_every_base_without_a_chat_template_is_named(tmp_path: Path) -> None:
    folders = {role: tmp_path / role for role in ROLES}
    for folder in folders.values():
        shutil.copytree(embedded_folder("tiny"), folder)  # type: ignore[arg-type]
        (folder / "chat_template.jinja").unlink()
    models = {f"team.roles.{role}.model": str(folder) for role, folder in folders.items()}
    with pytest.raises(ConfigurationError) as caught:
        cotrain.train(None, SMALL | models | {"team.policies": "model_per_role"}, tmp_path / "run")
    assert len(said(caught)) == 2
    for line, (role, folder) in zip(said(caught), folders.items(), strict=True):
        assert line.startswith(f'team.roles.{role}.model = "{folder}": its tokenizer has no chat')
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("regime", PER_ROLE)
def test_a_checkpoint_of_another_regime_is_refused(
    runs: dict[str, cotrain.Run], regime: str, tmp_path: Path
) -> None:
    with pytest.raises(RunFolderRefusedError, match=r"holds policies shared.*team\.policies"):
        cotrain.evaluate(runs["shared"].path, {"team.policies": regime})
    with pytest.raises(RunFolderRefusedError, match="and no shared"):
        cotrain.evaluate(runs[regime].path, {"team.policies": "shared"})
    # A run folder into which the checkpoint of another regime was put.
    folder = tmp_path / "run"
    shutil.copytree(runs[regime].path, folder)
    shutil.rmtree(folder / "checkpoints")
    shutil.copytree(runs["shared"].path / "checkpoints", folder / "checkpoints")
    with pytest.raises(RunFolderRefusedError, match="another team or regime"):
        cotrain.train(None, {"run.steps": 3}, folder, resume=True)


def test_a_resume_in_another_regime_is_refused(runs: dict[str, cotrain.Run]) -> None:
    changes = {"team.policies": "lora_per_role", "run.steps": 3}
    with pytest.raises(ConfigurationError, match=r"team\.policies.*a resume keeps it"):
        cotrain.train(None, changes, runs["shared"].path, resume=True)


@pytest.mark.parametrize("regime", ["shared", *PER_ROLE])
def test_the_evaluation_of_a_run_is_that_of_its_own_last_row(
    runs: dict[str, cotrain.Run], regime: str
) -> None:
    last = next(row for row in reversed(runs[regime].evaluations) if row["split"] == "test")
    assert cotrain.evaluate(runs[regime].path) == last


@pytest.mark.parametrize("regime", PER_ROLE)
def test_a_frozen_role_is_saved_as_it_was_loaded(regime: str, tmp_path: Path) -> None:
    changes = {"team.policies": regime, "team.roles.proposer.trainable": False}
    run = cotrain.train(None, SMALL | changes, tmp_path / "run")
    first, last = (checkpoint / "policies" / "proposer" for checkpoint in run.checkpoints)
    [file] = [path.name for path in first.glob("*.safetensors")]
    assert (first / file).read_bytes() == (last / file).read_bytes()
    assert {row["policy.proposer.version"] for row in run.metrics} == {0}
    assert {row["policy.proposer.skipped"] for row in run.metrics} == {True}


def test_a_role_starts_from_the_adapter_that_it_names(
    runs: dict[str, cotrain.Run], tmp_path: Path
) -> None:
    start = runs["lora_per_role"].checkpoints[-1] / "policies" / "planner"
    changes: dict[str, Any] = {
        "team.policies": "lora_per_role",
        "team.roles.planner.model": str(start),
        "team.roles.planner.learning_rate": 0.0,
        "optimizer.schedule": "constant",
        "algorithm.kl_coefficient": 0.1,
    }
    run = cotrain.train(None, SMALL | changes | {"optimizer.weight_decay": 0.0}, tmp_path / "run")
    saved = run.checkpoints[-1] / "policies" / "planner" / "adapter_model.safetensors"
    before = load_file(start / "adapter_model.safetensors")
    assert all(torch.equal(value, before[name]) for name, value in load_file(saved).items())
    # Its reference is its start and not the bare base: it stays there, so it does not diverge.
    assert [row["policy.planner.kl"] for row in run.metrics] == [0.0, 0.0]
    assert run.metrics[1]["policy.proposer.kl"] > 0


def test_an_adapter_of_another_rank_or_base_is_no_start(
    runs: dict[str, cotrain.Run], tmp_path: Path
) -> None:
    start = runs["lora_per_role"].checkpoints[-1] / "policies" / "planner"
    changes = planner_from(start)
    with pytest.raises(ConfigurationError, match=r"lora_rank = 4: must be 16"):
        planned(changes | {"team.roles.planner.lora_rank": 4})
    other = tmp_path / "other"
    shutil.copytree(start, other)
    config = json.loads((other / "adapter_config.json").read_text())
    config["target_modules"] = ["q_proj"]
    (other / "adapter_config.json").write_text(json.dumps(config))
    with pytest.raises(ConfigurationError, match=r"planner\.model.*does not fit"):
        cotrain.train(None, SMALL | changes | {"team.roles.planner.model": str(other)}, tmp_path)


def test_an_adapter_whose_base_has_changed_is_refused(tmp_path: Path) -> None:
    base = tmp_path / "base"
    shutil.copytree(embedded_folder("tiny"), base)  # type: ignore[arg-type]
    changes = {"team.policies": "lora_per_role", "model.name": str(base), "run.steps": 1}
    run = cotrain.train(None, SMALL | changes, tmp_path / "run")
    model, _ = load_base(str(base), torch.float32)
    with torch.no_grad():
        model.get_input_embeddings().weight[3, 3] += 1
    model.save_pretrained(base)
    with pytest.raises(RunFolderRefusedError, match="began as"):
        cotrain.evaluate(run.path)
    with pytest.raises(RunFolderRefusedError, match="began as"):
        cotrain.train(None, {"run.steps": 3}, run.path, resume=True)


def test_a_saved_adapter_is_a_plain_peft_folder(runs: dict[str, cotrain.Run]) -> None:
    folder = runs["lora_per_role"].checkpoints[-1] / "policies" / "planner"
    model, tokenizer = load_base("tiny", torch.float32)
    loaded = PeftModel.from_pretrained(model, str(folder))
    ids = torch.tensor([tokenizer("planner moves 3 grid")["input_ids"]])
    with torch.no_grad():
        adapted = loaded(input_ids=ids).logits
        with loaded.disable_adapter():
            bare = loaded(input_ids=ids).logits
    assert not torch.allclose(adapted, bare, atol=1e-3)
    assert loaded.peft_config["default"].base_model_name_or_path == "tiny"


def test_models_of_roles_load_in_transformers(runs: dict[str, cotrain.Run]) -> None:
    for role in ROLES:
        folder = runs["model_per_role"].checkpoints[-1] / "policies" / role
        assert AutoModelForCausalLM.from_pretrained(folder).num_parameters() == 600_576
        assert AutoTokenizer.from_pretrained(folder).chat_template


def planner_from(start: Path) -> dict[str, Any]:
    """The settings of a team of adapters whose planner begins with this one."""
    return {"team.policies": "lora_per_role", "team.roles.planner.model": str(start)}


def adapter_start(runs: dict[str, cotrain.Run], to: Path) -> Path:
    """A copy of a trained adapter, to start from."""
    shutil.copytree(runs["lora_per_role"].checkpoints[-1] / "policies" / "planner", to)
    return to


def test_a_resume_needs_no_adapter_that_a_role_started_from(
    runs: dict[str, cotrain.Run], tmp_path: Path
) -> None:
    start = adapter_start(runs, tmp_path / "start")
    changes = planner_from(start)
    straight = cotrain.train(None, SMALL | changes | {"run.steps": 3}, tmp_path / "straight")
    broken = cotrain.train(None, SMALL | changes, tmp_path / "broken")
    shutil.rmtree(start)
    resumed = cotrain.train(None, {"run.steps": 3}, broken.path, resume=True)
    for role in ROLES:
        found, right = (
            (run.checkpoints[-1] / "policies" / role / "adapter_model.safetensors").read_bytes()
            for run in (resumed, straight)
        )
        assert found == right
    assert cotrain.evaluate(resumed.path, tasks=2)["tasks"] == 2


def test_a_reference_that_has_changed_is_refused_on_resume(
    runs: dict[str, cotrain.Run], tmp_path: Path
) -> None:
    start = adapter_start(runs, tmp_path / "start")
    changes = planner_from(start)
    run = cotrain.train(None, SMALL | changes | {"algorithm.kl_coefficient": 0.1}, tmp_path / "run")
    config = json.loads((start / "adapter_config.json").read_text())
    (start / "adapter_config.json").write_text(json.dumps(config | {"lora_alpha": 7}))
    before = (run.path / "config.json").read_bytes()
    with pytest.raises(RunFolderRefusedError, match=r"policy planner .* with the start sha256"):
        cotrain.train(None, {"run.steps": 3}, run.path, resume=True)
    assert (run.path / "config.json").read_bytes() == before


@pytest.mark.parametrize("regime", PER_ROLE)
def test_a_base_may_move_if_it_stays_the_same(regime: str, tmp_path: Path) -> None:
    base, moved = tmp_path / "base", tmp_path / "moved"
    shutil.copytree(embedded_folder("tiny"), base)  # type: ignore[arg-type]
    changes = {"team.policies": regime, "model.name": str(base), "run.steps": 1}
    run = cotrain.train(None, SMALL | changes, tmp_path / "run")
    last = [row for row in run.evaluations if row["split"] == "test"][-1]
    base.rename(moved)
    assert cotrain.evaluate(run.path, {"model.name": str(moved)}) == last
    resumed = cotrain.train(None, {"run.steps": 2, "model.name": str(moved)}, run.path, resume=True)
    assert resumed.finished
    (moved / "chat_template.jinja").write_text("{{ messages[-1].content }}")
    with pytest.raises(RunFolderRefusedError, match="with the identity"):
        cotrain.train(None, {"run.steps": 3}, run.path, resume=True)


@pytest.mark.parametrize(
    "override",
    [
        {"model.lora_rank": 3},
        {"team.roles.planner.lora_rank": 3},
        {"team.roles.planner.trainable": False},
        {"team.roles.planner.model": "scripted:planner.py"},
        {"team.roles.planner.model": "elsewhere"},
        {"run.steps": 3},
        {"team.alternate_every": 1},
    ],
)
def test_a_key_that_cannot_change_a_saved_team_is_refused(
    runs: dict[str, cotrain.Run], override: dict[str, object]
) -> None:
    with pytest.raises(ConfigurationError, match="a saved team keeps the weights it has"):
        cotrain.evaluate(runs["lora_per_role"].path, override)


def test_how_training_samples_changes_no_evaluation(runs: dict[str, cotrain.Run]) -> None:
    path = runs["lora_per_role"].path
    overrides = {
        "sampling.candidates": 3,
        "sampling.tasks_per_step": 1,
        "sampling.temperature": 0.3,
    }
    assert cotrain.evaluate(path, overrides) == cotrain.evaluate(path)


def test_a_script_has_no_turn_and_does_not_count_as_trained(tmp_path: Path) -> None:
    (tmp_path / "planner.py").write_text("def reply(messages, generator):\n    return 'Up'\n")
    script = {
        "team.policies": "lora_per_role",
        "team.roles.planner.model": f"scripted:{tmp_path / 'planner.py'}",
    }
    with pytest.raises(ConfigurationError, match="here proposer alone is"):
        planned(script | {"team.alternate_every": 1})
    with pytest.raises(ConfigurationError, match="proposer, planner are frozen or scripts"):
        planned(script | {"team.roles.proposer.trainable": False})
    with pytest.raises(ConfigurationError, match="for a role that a script plays"):
        planned(script | {"team.roles.planner.learning_rate": 0.1})


def test_a_draft_is_written_and_answered_by_one_policy() -> None:
    draft = {
        "algorithm.method": "single_at_grpo",
        "environment.options.single": "draft",
        "team.policies": "lora_per_role",
    }
    with pytest.raises(ConfigurationError, match=r'team\.policies.*must be "shared" with'):
        planned(draft)


@pytest.mark.parametrize(
    ("template", "words"),
    [
        ("{{ raise_exception('no system role') }}", "cannot write a system and a user message"),
        ("{% if %}", "cannot write a system and a user message"),
        ("", "its chat template writes no token"),
    ],
)
def test_a_template_that_cannot_write_a_prompt_is_named(
    template: str, words: str, tmp_path: Path
) -> None:
    base = tmp_path / "base"
    shutil.copytree(embedded_folder("tiny"), base)  # type: ignore[arg-type]
    (base / "chat_template.jinja").write_text(template)
    with pytest.raises(ConfigurationError) as caught:
        cotrain.train(None, SMALL | {"model.name": str(base)}, tmp_path / "run")
    assert str(caught.value).startswith(f'model.name = "{base}": its ')
    assert words in str(caught.value)
    assert not (tmp_path / "run").exists()


def test_a_start_that_names_another_base_is_said(
    runs: dict[str, cotrain.Run], tmp_path: Path
) -> None:
    start = adapter_start(runs, tmp_path / "start")
    config = json.loads((start / "adapter_config.json").read_text())
    other = config | {"base_model_name_or_path": "some/other"}
    (start / "adapter_config.json").write_text(json.dumps(other))
    policies = built(team__policies="lora_per_role", team__roles__planner__model=str(start))
    assert policies.notes == (
        "policy planner starts from an adapter that names some/other as its base; here it is on "
        "tiny",
    )


def test_a_run_with_a_reference_that_is_an_adapter_can_be_evaluated_and_exported(
    runs: dict[str, cotrain.Run], tmp_path: Path
) -> None:
    start = adapter_start(runs, tmp_path / "start")
    changes = planner_from(start)
    run = cotrain.train(None, SMALL | changes | {"algorithm.kl_coefficient": 0.1}, tmp_path / "run")
    assert cotrain.evaluate(run.path, tasks=2)["policies"]["planner"]["version"] == 2
    assert export(run.path, "planner", tmp_path / "model").version == 2


def test_without_a_checkpoint_a_base_keeps_its_name(
    runs: dict[str, cotrain.Run], tmp_path: Path
) -> None:
    folder = tmp_path / "run"
    shutil.copytree(runs["lora_per_role"].path, folder)
    shutil.rmtree(folder / "checkpoints")
    before = (folder / "config.json").read_bytes()
    with pytest.raises(ConfigurationError, match="no checkpoint to compare it with"):
        cotrain.train(None, {"model.name": "tiny/single_grpo_1_turn"}, folder, resume=True)
    assert (folder / "config.json").read_bytes() == before


@pytest.mark.parametrize(
    "change",
    [
        {"lora_alpha": float("nan")},
        {"r": True},
        {"r": "16"},
        {"target_modules": "(("},
        {"target_modules": []},
        {"rank_pattern": {"q_proj": "a"}},
        {"alpha_pattern": {"q_proj": "x"}},
    ],
)
def test_a_start_that_cannot_be_used_is_refused_by_plan_and_training_alike(
    runs: dict[str, cotrain.Run], change: dict[str, object], tmp_path: Path
) -> None:
    start = adapter_start(runs, tmp_path / "start")
    config = json.loads((start / "adapter_config.json").read_text())
    (start / "adapter_config.json").write_text(json.dumps(config | change))
    changes = SMALL | planner_from(start)
    for refuse in (plan, lambda *given: cotrain.train(*given, tmp_path / "run")):
        with pytest.raises(ConfigurationError) as caught:
            refuse(None, changes)
        assert str(caught.value).startswith(f'team.roles.planner.model = "{start}": ')
    assert not (tmp_path / "run").exists()


def test_a_start_with_values_that_are_not_finite_is_refused(
    runs: dict[str, cotrain.Run], tmp_path: Path
) -> None:
    start = adapter_start(runs, tmp_path / "start")
    tensors = load_file(start / "adapter_model.safetensors")
    next(iter(tensors.values()))[0, 0] = float("nan")
    save_file(tensors, start / "adapter_model.safetensors")
    changes = planner_from(start)
    with pytest.raises(ConfigurationError, match="holds what is no finite float32"):
        cotrain.train(None, SMALL | changes, tmp_path / "run")


def test_a_plan_refuses_a_template_and_a_script_that_training_refuses(tmp_path: Path) -> None:
    base = tmp_path / "base"
    shutil.copytree(embedded_folder("tiny"), base)  # type: ignore[arg-type]
    (base / "chat_template.jinja").unlink()
    with pytest.raises(ConfigurationError, match="has no chat template"):
        plan(None, SMALL | {"model.name": str(base)})
    (tmp_path / "ends.py").write_text("import sys\nsys.exit(0)\n")
    script = {"team.roles.planner.model": f"scripted:{tmp_path / 'ends.py'}"}
    with pytest.raises(ConfigurationError, match="SystemExit"):
        plan(None, SMALL | script)
