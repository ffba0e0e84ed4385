"""Exported policies load in plain transformers and PEFT, with the logits that the run computes."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from peft import PeftModel
from safetensors.torch import load_file
from transformers import AutoModelForCausalLM, AutoTokenizer

import cotrain
from cotrain.assembly.exporting import export
from cotrain.assembly.saved import SavedPolicy, SavedSamplers
from cotrain.config import ConfigurationError, config_from_json
from cotrain.policies.causal_lm import CausalPolicy
from cotrain.policies.loading import embedded_folder, load_base
from cotrain.runs.durable import RunFolderRefusedError
from cotrain.training.checkpoints import read_state

SMALL: dict[str, Any] = {
    "run.steps": 2,
    "run.seed": 7,
    "run.checkpoint_every": 1,
    "run.evaluate_every": 0,
    "sampling.tasks_per_step": 2,
    "sampling.candidates": 4,
    "team.turns": 2,
    "optimizer.learning_rate": 5e-3,
    "optimizer.schedule": "constant",
    "evaluation.tasks": 2,
    "evaluation.validation_tasks": 1,
    "evaluation.baselines": [],
    "model.threads": 1,
    "logging.console": False,
}
SCRIPT = "def reply(messages, generator):\n    return '<answer>Up</answer>'\n"
IDS = torch.tensor([[1, 5, 9, 20, 33, 4, 2], [1, 5, 8, 8, 30, 11, 2]])


@pytest.fixture(scope="module")
def train(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """A finished run with these settings, made once for the module; no test changes one."""
    made: dict[str, Path] = {}

    def of(**changes: object) -> Path:
        overrides = {key.replace("__", "."): value for key, value in changes.items()}
        name = str(sorted(overrides.items()))
        if name not in made:
            folder = tmp_path_factory.mktemp("runs") / "team"
            made[name] = cotrain.train(None, SMALL | overrides, folder).path
        return made[name]

    return of


def logits_of_run(run: Path, policy: str, step: int = 2) -> torch.Tensor:
    """What the saved policy computes in the package itself."""
    checkpoint = run / "checkpoints" / f"step_{step:06d}"
    state = read_state(checkpoint)
    saved = SavedPolicy(checkpoint, state, policy, config_from_json(state.config))
    sampler = SavedSamplers().sampler(saved)
    assert isinstance(sampler, CausalPolicy)
    with sampler.computing() as model, torch.no_grad():
        return model(input_ids=IDS).logits


def logits_of(model: torch.nn.Module) -> torch.Tensor:
    with torch.no_grad():
        return model(input_ids=IDS).logits


def bare_logits() -> torch.Tensor:
    model, _ = load_base("tiny", torch.float32)
    return logits_of(model)


@pytest.mark.parametrize(
    ("changes", "policy"),
    [
        ({"team__policies": "lora_per_role"}, "planner"),
        ({"team__policies": "lora_per_role"}, "proposer"),
        ({"model__lora_rank": 4, "model__lora_alpha": 4.0}, "shared"),
    ],
)
def test_a_merged_adapter_loads_in_transformers_with_equal_logits(
    train: Callable[..., Path], changes: dict[str, Any], policy: str, tmp_path: Path
) -> None:
    run = train(**changes)
    exported = export(run, policy, tmp_path / "model")
    assert (exported.form, exported.version, exported.dtype) == ("merged", 2, "float32")
    found = logits_of(AutoModelForCausalLM.from_pretrained(tmp_path / "model"))
    right = logits_of_run(run, policy)
    assert torch.allclose(found, right, atol=2e-5)
    assert not torch.allclose(right, bare_logits(), atol=1e-2)


@pytest.mark.parametrize(
    ("changes", "policy"),
    [({"team__policies": "lora_per_role"}, "planner"), ({"model__lora_rank": 4}, "shared")],
)
def test_an_adapter_loads_in_peft_with_equal_logits(
    train: Callable[..., Path], changes: dict[str, Any], policy: str, tmp_path: Path
) -> None:
    run = train(**changes)
    assert export(run, policy, tmp_path / "model", form="adapter").form == "adapter"
    base = AutoModelForCausalLM.from_pretrained(embedded_folder("tiny"), dtype=torch.float32)
    found = logits_of(PeftModel.from_pretrained(base, str(tmp_path / "model")))
    assert torch.allclose(found, logits_of_run(run, policy), atol=1e-6)


@pytest.mark.parametrize(
    ("changes", "policy"), [({}, "shared"), ({"team__policies": "model_per_role"}, "proposer")]
)
def test_a_whole_model_is_exported_with_equal_logits_and_its_tokenizer(
    train: Callable[..., Path], changes: dict[str, Any], policy: str, tmp_path: Path
) -> None:
    run = train(**changes)
    assert export(run, policy, tmp_path / "model").form == "whole"
    found = logits_of(AutoModelForCausalLM.from_pretrained(tmp_path / "model"))
    assert torch.equal(found, logits_of_run(run, policy))
    tokenizer = AutoTokenizer.from_pretrained(tmp_path / "model")
    _, own = load_base("tiny", torch.float32)
    assert tokenizer.get_vocab() == own.get_vocab()
    assert tokenizer.chat_template == own.chat_template


def test_another_type_and_an_earlier_step_may_be_asked_for(
    train: Callable[..., Path], tmp_path: Path
) -> None:
    run = train(team__policies="lora_per_role")
    exported = export(run, "planner", tmp_path / "model", dtype="bfloat16", step=1)
    assert (exported.step, exported.version, exported.dtype) == (1, 1, "bfloat16")
    model = AutoModelForCausalLM.from_pretrained(tmp_path / "model", dtype="auto")
    assert model.dtype is torch.bfloat16
    found, right = logits_of(model.float()), logits_of_run(run, "planner", step=1)
    assert torch.allclose(found, right, atol=0.5)


def test_an_export_changes_nothing_in_the_run(train: Callable[..., Path], tmp_path: Path) -> None:
    run = train(team__policies="lora_per_role")
    before = {p: p.read_bytes() for p in run.rglob("*") if p.is_file()}
    export(run, "planner", tmp_path / "model")
    assert {p: p.read_bytes() for p in run.rglob("*") if p.is_file()} == before


def test_the_card_says_what_the_policy_is(train: Callable[..., Path], tmp_path: Path) -> None:
    run = train(team__policies="lora_per_role")
    export(run, "planner", tmp_path / "model", form="adapter")
    card = (tmp_path / "model" / "README.md").read_text()
    for words in (
        "library_name: peft",
        "Policy `planner`, version 2, of step 2 of the run `team`",
        "It began as `tiny`",
        "`planner`, whose standing instruction in `plan_path` is",
        "policies `lora_per_role`, K = 4",
        "| test | 2 | ",
        "PeftModel.from_pretrained(base, FOLDER)",
    ):
        assert words in card
    assert "proposer" not in card.partition("## Its training")[0]
    assert str(run) not in card


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        ({"policy": "planer"}, '--policy = "planer": no policy of this run, allowed are'),
        ({"policy": "proposer", "form": "adapter"}, "is a whole model and no adapter"),
        ({"policy": "planner", "dtype": "int8"}, '--dtype = "int8": must be float32, bfloat16'),
    ],
)
def test_what_cannot_be_exported_is_refused_and_nothing_is_written(
    train: Callable[..., Path], arguments: dict[str, Any], line: str, tmp_path: Path
) -> None:
    run = train(team__policies="model_per_role")
    with pytest.raises(ConfigurationError) as caught:
        export(run, to=tmp_path / "model", **arguments)
    assert line in str(caught.value)
    assert not (tmp_path / "model").exists()


def test_a_folder_that_holds_something_is_not_written_into(
    train: Callable[..., Path], tmp_path: Path
) -> None:
    (tmp_path / "note").write_text("mine")
    with pytest.raises(ConfigurationError, match=r"--to.*is there and not empty"):
        export(train(), "shared", tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["note"]


def test_a_script_has_no_weights_to_export(train: Callable[..., Path], tmp_path: Path) -> None:
    (tmp_path / "planner.py").write_text(SCRIPT)
    script = f"scripted:{tmp_path / 'planner.py'}"
    run = train(team__roles__planner__model=script, sampling__max_prompt_tokens=400)
    with pytest.raises(ConfigurationError, match="is a script, which has no weights"):
        export(run, "planner", tmp_path / "model")
    assert export(run, "shared", tmp_path / "model").form == "whole"


def test_a_run_without_a_checkpoint_or_step_is_refused(
    train: Callable[..., Path], tmp_path: Path
) -> None:
    with pytest.raises(RunFolderRefusedError, match="no checkpoint of step 9; saved: 1, 2"):
        export(train(), "shared", tmp_path / "model", step=9)
    with pytest.raises(RunFolderRefusedError, match="is no checkpoint"):
        export(tmp_path, "shared", tmp_path / "model")


def test_an_export_into_a_run_folder_is_refused(train: Callable[..., Path]) -> None:
    run = train()
    place = run / "checkpoints" / "step_000002" / "exported"
    with pytest.raises(ConfigurationError, match="lies in a run folder"):
        export(run, "shared", place)
    assert not place.exists()


def test_an_export_that_fails_leaves_nothing(train: Callable[..., Path], tmp_path: Path) -> None:
    (tmp_path / "prompt.txt").write_text("planner")
    run = train(team__roles__planner__prompt=str(tmp_path / "prompt.txt"))
    (tmp_path / "prompt.txt").unlink()
    with pytest.raises(ConfigurationError, match=r"planner\.prompt"):
        export(run, "shared", tmp_path / "model")
    assert list(tmp_path.iterdir()) == []


def test_an_adapter_is_exported_as_precisely_as_it_was_trained(
    train: Callable[..., Path], tmp_path: Path
) -> None:
    run = train(team__policies="lora_per_role", model__dtype="bfloat16")
    assert export(run, "planner", tmp_path / "adapter", form="adapter").dtype == "float32"
    assert export(run, "planner", tmp_path / "merged").dtype == "bfloat16"
    saved = run / "checkpoints" / "step_000002" / "policies" / "planner"
    name = "adapter_model.safetensors"
    found, right = load_file(tmp_path / "adapter" / name), load_file(saved / name)
    assert all(torch.equal(found[key], value) for key, value in right.items())


def test_the_card_of_a_policy_that_never_moved_says_so(
    train: Callable[..., Path], tmp_path: Path
) -> None:
    run = train(team__policies="model_per_role", team__roles__planner__trainable=False)
    export(run, "planner", tmp_path / "model")
    card = (tmp_path / "model" / "README.md").read_text()
    assert "No update has changed it." in card
    assert "were trained" not in card
