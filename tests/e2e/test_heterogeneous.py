"""A team of two models that share nothing: architecture, size, tokenizer, chat template."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file
from tests.e2e.bases import contents, save_gpt2, save_qwen3
from tests.e2e.signals import DIRECTIONS, OPPOSITE, SETTINGS, Signals, State
from transformers import AutoModelForCausalLM, AutoTokenizer

from cotrain.assembly.commands import evaluate, train
from cotrain.assembly.training import Run
from cotrain.core.episode import Finish, Group, Message
from cotrain.runs.metrics import timeless
from cotrain.runs.store import RunFolder
from cotrain.training.checkpoints import read_state

ROLES = ("flag", "lamp")
STEPS = 50
LEARNING = {
    "run.steps": STEPS,
    "sampling.tasks_per_step": 24,
    "optimizer.schedule": "linear",
    "evaluation.tasks": 60,
}
WEIGHTS = "model.safetensors"
ADAPTER = "adapter_model.safetensors"


@dataclass(frozen=True, slots=True)
class Team:
    """The two bases, and the settings that put them into the roles."""

    qwen3: Path
    gpt2: Path

    def settings(self, **changes: Any) -> dict[str, Any]:
        """Those of a short run; `run__steps` is the key `run.steps`."""
        bases = {"team.roles.flag.model": str(self.qwen3), "team.roles.lamp.model": str(self.gpt2)}
        given = {key.replace("__", "."): value for key, value in changes.items()}
        return {**SETTINGS, "team.policies": "model_per_role", **bases, **given}

    def weights(self, role: str) -> dict[str, torch.Tensor]:
        """The untrained weights of a role."""
        return load_file({"flag": self.qwen3, "lamp": self.gpt2}[role] / WEIGHTS)


@pytest.fixture(scope="module")
def team(tmp_path_factory: pytest.TempPathFactory) -> Team:
    root = tmp_path_factory.mktemp("bases")
    return Team(save_qwen3(root / "qwen3", seed=3), save_gpt2(root / "gpt2", seed=103))


@pytest.fixture(scope="module")
def learnt(team: Team, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A run that is long enough to learn."""
    folder = tmp_path_factory.mktemp("runs") / "learnt"
    return train(None, team.settings() | LEARNING, folder)


def policy_folder(run: Run, role: str, place: int = -1) -> Path:
    return run.checkpoints[place] / "policies" / role


def differ(first: Mapping[str, torch.Tensor], second: Mapping[str, torch.Tensor]) -> bool:
    assert first.keys() == second.keys()
    return any(not first[name].equal(second[name]) for name in first)


def test_both_roles_learn_their_own_part_and_the_team_solves_the_task(learnt: Run) -> None:
    first, last = (row for row in learnt.evaluations if row["split"] == "test")
    for role in ROLES:
        gain = last["roles"][role]["score_mean"] - first["roles"][role]["score_mean"]
        assert gain > 0.5, role
    assert last["success"] - first["success"] > 0.3
    assert last["policies"] == {
        role: {"policy": role, "version": learnt.metrics[-1][f"policy.{role}.version"], "run": None}
        for role in ROLES
    }


def test_every_step_with_signal_raises_the_version_of_its_policy_by_one(learnt: Run) -> None:
    for role in ROLES:
        versions = [0, *(row[f"policy.{role}.version"] for row in learnt.metrics)]
        skipped = [row[f"policy.{role}.skipped"] for row in learnt.metrics]
        steps = [after - before for before, after in pairwise(versions)]
        assert steps == [int(not one) for one in skipped]
        assert versions[-1] > STEPS // 2


@pytest.mark.parametrize("role", ROLES)
def test_a_saved_policy_solves_its_part_in_plain_transformers(learnt: Run, role: str) -> None:
    folder = policy_folder(learnt, role)
    model = AutoModelForCausalLM.from_pretrained(folder)
    tokenizer = AutoTokenizer.from_pretrained(folder)
    right = [
        wind
        for wind in OPPOSITE
        if State(wind, **{role: said(model, tokenizer, role, wind)}).right(role)
    ]
    assert len(right) >= 2, right


def said(model: Any, tokenizer: Any, role: str, wind: str) -> str:
    """The direction that a model says by greedy decoding."""
    prompt = templated(tokenizer, Signals().observe(State(wind), role))
    ids = torch.tensor([tokenizer(prompt, add_special_tokens=False)["input_ids"]])
    found = model.generate(ids, max_new_tokens=3, do_sample=False)[0, ids.shape[1] :]
    text = tokenizer.decode(found, skip_special_tokens=True)
    return DIRECTIONS.get(text.strip()[:1], "")


def templated(tokenizer: Any, messages: tuple[Message, ...] | Any) -> str:
    chat = [{"role": message.role, "content": message.content} for message in messages]
    return tokenizer.apply_chat_template(chat, tokenize=False, add_generation_prompt=True)


def test_saved_policies_keep_the_architecture_and_vocabulary_of_their_own_base(
    learnt: Run,
) -> None:
    models = {r: AutoModelForCausalLM.from_pretrained(policy_folder(learnt, r)) for r in ROLES}
    tokenizers = {r: AutoTokenizer.from_pretrained(policy_folder(learnt, r)) for r in ROLES}
    assert {r: type(model).__name__ for r, model in models.items()} == {
        "flag": "Qwen3ForCausalLM",
        "lamp": "GPT2LMHeadModel",
    }
    sizes = {r: model.config.vocab_size for r, model in models.items()}
    assert sizes == {r: len(tokenizer) for r, tokenizer in tokenizers.items()}
    assert sizes["flag"] != sizes["lamp"]
    assert tokenizers["flag"].eos_token == "<|im_end|>"
    assert tokenizers["lamp"].eos_token == "<stop>"


def test_every_prompt_and_reply_of_a_role_is_in_the_ids_of_its_own_tokenizer(learnt: Run) -> None:
    for role in ROLES:
        tokenizer = AutoTokenizer.from_pretrained(policy_folder(learnt, role))
        groups = [group for group in groups_of(learnt, STEPS) if group.role == role]
        assert len(groups) == LEARNING["sampling.tasks_per_step"]
        for group in groups:
            text = templated(tokenizer, group.messages)
            assert group.prompt_ids == tuple(tokenizer(text, add_special_tokens=False)["input_ids"])
            for candidate in group.candidates:
                reply = candidate.reply
                ids = reply.token_ids[:-1] if reply.finish is Finish.STOP else reply.token_ids
                assert reply.text == tokenizer.decode(ids, skip_special_tokens=True)
                stopped = reply.token_ids[-1] == tokenizer.eos_token_id
                assert stopped == (reply.finish is Finish.STOP)


def groups_of(run: Run, step: int) -> list[Group]:
    return [g for one in RunFolder(run.path).episodes(step) for g in one.episode.groups()]


def test_a_team_whose_policies_are_swapped_solves_less(learnt: Run) -> None:
    own = evaluate(learnt.path, tasks=40)
    swapped = evaluate(learnt.path, tasks=40, swaps=[("flag", "lamp")])
    assert {role: one["policy"] for role, one in swapped["policies"].items()} == {
        "flag": "lamp",
        "lamp": "flag",
    }
    assert own["success"] - swapped["success"] > 0.3


def test_a_stopped_and_resumed_run_equals_the_unbroken_one(team: Team, tmp_path: Path) -> None:
    settings = team.settings(run__steps=4, run__evaluate_every=2)
    straight = train(None, settings, tmp_path / "straight")
    asked = iter([False, True])
    train(None, settings, tmp_path / "broken", stop=lambda: next(asked))
    resumed = train(None, settings, tmp_path / "broken", resume=True)
    assert (straight.finished, resumed.finished) == (True, True)
    assert rows(straight) == rows(resumed)
    for part in ("policies", "optimizers"):
        before, after = (contents(run.checkpoints[-1] / part) for run in (straight, resumed))
        assert before == after
        assert {Path(name).parts[0] for name in before} == set(ROLES)


def rows(run: Run) -> list[list[dict[str, Any]]]:
    return [[timeless(row) for row in found] for found in (run.metrics, run.evaluations)]


def test_an_adapter_and_a_whole_model_are_trained_side_by_side(team: Team, tmp_path: Path) -> None:
    base = contents(team.qwen3)
    settings = team.settings(run__steps=4, run__checkpoint_every=2, team__roles__flag__lora_rank=4)
    run = train(None, settings, tmp_path / "run")
    assert all(run.metrics[-1][f"policy.{role}.version"] > 2 for role in ROLES)
    early, late = (load_file(policy_folder(run, "flag", place) / ADAPTER) for place in (0, 1))
    assert {tensor.shape[0] for name, tensor in late.items() if "lora_A" in name} == {4}
    assert all(not early[name].equal(late[name]) for name in early)
    assert not (policy_folder(run, "flag") / WEIGHTS).exists()
    assert differ(load_file(policy_folder(run, "lamp") / WEIGHTS), team.weights("lamp"))
    state = read_state(run.checkpoints[-1])
    assert {role: needed["name"] for role, needed in state.bases.items()} == {
        "flag": str(team.qwen3),
        "lamp": str(team.gpt2),
    }
    assert contents(team.qwen3) == base


@pytest.mark.parametrize("frozen", ROLES)
def test_a_frozen_role_keeps_its_weights_while_the_other_one_is_trained(
    team: Team, tmp_path: Path, frozen: str
) -> None:
    settings = team.settings(run__steps=3) | {f"team.roles.{frozen}.trainable": False}
    run = train(None, settings, tmp_path / "run")
    for role in ROLES:
        saved = load_file(policy_folder(run, role) / WEIGHTS)
        assert differ(saved, team.weights(role)) == (role != frozen)
        assert (run.metrics[-1][f"policy.{role}.version"] > 0) == (role != frozen)
        found = {(g.width, g.trained) for g in groups_of(run, 3) if g.role == role}
        assert found == {(1, False) if role == frozen else (8, True)}


def test_a_frozen_adapter_plays_beside_a_trained_whole_model(team: Team, tmp_path: Path) -> None:
    changes = {"team.roles.flag.lora_rank": 4, "team.roles.flag.trainable": False}
    run = train(None, team.settings(run__steps=2) | changes, tmp_path / "run")
    adapter = load_file(policy_folder(run, "flag") / ADAPTER)
    assert not any(tensor.any() for name, tensor in adapter.items() if "lora_B" in name)
    assert [run.metrics[-1][f"policy.{role}.version"] > 0 for role in ROLES] == [False, True]
