"""Supervised runs: what they imitate, what they refuse, and that they learn."""

import gzip
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from safetensors.torch import load_file

import cotrain
from cotrain.assembly.commands import train
from cotrain.assembly.environments import build_environment
from cotrain.assembly.imitating import imitating, imitating_still
from cotrain.config import Config, ConfigurationError, load_config
from cotrain.core.episode import Episode, Group
from cotrain.environments.base import Environment
from cotrain.environments.plan_path import PlanPath
from cotrain.environments.playing import play
from cotrain.runs.episode_file import write_episodes
from cotrain.runs.store import RunFolder

SMALL: dict[str, Any] = {
    "run.steps": 3,
    "run.seed": 5,
    "run.checkpoint_every": 2,
    "run.evaluate_every": 0,
    "run.keep_checkpoints": 9,
    "sampling.tasks_per_step": 4,
    "team.turns": 4,
    "evaluation.tasks": 2,
    "evaluation.validation_tasks": 1,
    "evaluation.baselines": [],
    "model.threads": 1,
    "logging.console": False,
}
LEARNS: dict[str, Any] = {
    "run.steps": 15,
    "run.checkpoint_every": 0,
    "sampling.tasks_per_step": 24,
    "optimizer.learning_rate": 1e-3,
    "evaluation.tasks": 80,
}
RATES = {"shared": 1e-3, "lora_per_role": 5e-3, "model_per_role": 1e-3}


def solved_by_hand(config: Config, count: int) -> list[Episode]:
    """Episodes that the environment's own solver wrote, as text alone: no ids of any tokenizer."""
    environment: Environment[Any] = build_environment(config)
    assert isinstance(environment, PlanPath)

    def write(state: Any, agent: str, turn: int) -> str:
        return environment.solve(state, agent) or ""

    tasks = [environment.task("train", 11, index) for index in range(count)]
    episodes = [play(environment, task, write, max_turns=4) for task in tasks]
    return [replace(e, number=n, task_number=n) for n, e in enumerate(episodes)]


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file of given demonstrations."""
    path = tmp_path_factory.mktemp("given") / "written.jsonl.gz"
    episodes = solved_by_hand(load_config(None, SMALL), 64)
    assert sum(episode.success for episode in episodes) > 32
    write_episodes(path, episodes, {})
    return path


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> cotrain.Run:
    """A short run of AT-GRPO, whose episodes are there to be imitated."""
    settings = SMALL | {"run.steps": 1, "sampling.tasks_per_step": 12}
    return cotrain.train(None, settings, tmp_path_factory.mktemp("played") / "run")


def imitate(folder: Path, source: Path, settings: Mapping[str, Any] = SMALL) -> cotrain.Run:
    return train(None, imitating(None, settings, [str(source)]), folder)


def weights(run: cotrain.Run, policy: str = "shared") -> dict[str, Any]:
    [path] = (run.checkpoints[-1] / "policies" / policy).glob("*.safetensors")
    return load_file(path)


def same(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    return one.keys() == other.keys() and all(one[n].equal(other[n]) for n in one)


def without_clock(run: cotrain.Run) -> list[dict[str, Any]]:
    clock = ("_seconds", "_per_second", "_bytes")
    return [{k: v for k, v in row.items() if not k.endswith(clock)} for row in run.metrics]


def notes(run: cotrain.Run) -> str:
    return "\n".join(e["message"] for e in RunFolder(run.path).events() if e["kind"] == "note")


def refused(settings: Mapping[str, Any], sources: Sequence[object], folder: Path) -> str:
    with pytest.raises(ConfigurationError) as caught:
        train(None, imitating(None, settings, [str(source) for source in sources]), folder)
    assert not folder.exists()
    return str(caught.value)


@pytest.mark.parametrize("regime", sorted(RATES))
def test_a_team_that_imitates_solved_episodes_solves_more_tasks(
    regime: str, written: Path, tmp_path: Path
) -> None:
    own = {"team.policies": regime, "optimizer.learning_rate": RATES[regime]}
    run = imitate(tmp_path / "run", written, SMALL | LEARNS | own)
    before, after = (row for row in run.evaluations if row["split"] == "test")
    assert (before["method"], before["step"]) == ("sft", 0)
    assert (after["method"], after["step"]) == ("sft", 15)
    assert after["success"] > before["success"] + 0.15
    names = ["shared"] if regime == "shared" else ["proposer", "planner"]
    for name in names:
        losses = [row[f"policy.{name}.loss"] for row in run.metrics]
        assert 0 < losses[-1] < losses[0]
        assert run.metrics[-1][f"policy.{name}.version"] == 15


def test_a_run_of_imitation_says_what_it_imitated(played: cotrain.Run, tmp_path: Path) -> None:
    run = imitate(tmp_path / "run", played.path)
    config = RunFolder(run.path).config()
    episodes = [stored.episode for stored in RunFolder(played.path).episodes(1)]
    solved = sum(episode.success for episode in episodes)
    assert config["algorithm"]["method"] == "sft"
    assert config["run"]["max_sampled_tokens"] is None
    assert config["imitation"]["episodes"] == [str(played.path)]
    assert [len(text) for text in config["imitation"]["sha256"]] == [64]
    assert f"{len(episodes)} episodes were read, {solved} of them solved" in notes(run)
    assert "anew" not in notes(run)


def test_what_a_step_imitated_is_stored_with_the_ids_that_were_played(
    played: cotrain.Run, tmp_path: Path
) -> None:
    run = imitate(tmp_path / "run", played.path)
    solved = {
        stored.episode.task.digest: stored.episode
        for stored in RunFolder(played.path).episodes(1)
        if stored.episode.success
    }
    shown = [stored.episode for stored in RunFolder(run.path).episodes(1)]
    assert len(shown) == 4
    for episode in shown:
        original = solved[episode.task.digest]
        pairs = zip(episode.groups(), original.groups(), strict=True)
        assert [_ids(group) for group, _ in pairs] == [_ids(g) for g in original.groups()]
        assert {group.key.step for group in episode.groups()} == {1}
    assert next(row["policy.shared.samples"] for row in run.metrics) == sum(
        len(episode.groups()) for episode in shown
    )


def _ids(group: Group) -> tuple[tuple[int, ...], tuple[int, ...]]:
    assert group.chosen is not None
    return group.prompt_ids, group.chosen.reply.token_ids


def test_two_runs_are_equal_to_the_bit(played: cotrain.Run, tmp_path: Path) -> None:
    one, other = (imitate(tmp_path / name, played.path) for name in ("one", "other"))
    assert without_clock(one) == without_clock(other)
    assert one.evaluations == other.evaluations
    assert same(weights(one), weights(other))


def test_a_resumed_run_is_the_unbroken_one(played: cotrain.Run, tmp_path: Path) -> None:
    whole = imitate(tmp_path / "whole", played.path)
    asked = iter([False, True])
    overrides = imitating(None, SMALL, [str(played.path)])
    broken = train(None, overrides, tmp_path / "broken", stop=lambda: next(asked))
    assert not broken.finished
    resumed = train(None, imitating_still([], []), broken.path, resume=True)
    assert resumed.finished
    assert without_clock(resumed) == without_clock(whole)
    assert resumed.evaluations == whole.evaluations
    assert same(weights(resumed), weights(whole))


def test_a_resume_refuses_episodes_that_have_changed(written: Path, tmp_path: Path) -> None:
    source = tmp_path / "moved.jsonl.gz"
    source.write_bytes(written.read_bytes())
    asked = iter([True])
    overrides = imitating(None, SMALL, [str(written)])
    broken = train(None, overrides, tmp_path / "run", stop=lambda: next(asked))
    rows = broken.metrics
    write_episodes(source, solved_by_hand(load_config(None, SMALL), 8), {})
    with pytest.raises(ConfigurationError, match=r"imitation.sha256 .*it has changed"):
        train(None, imitating_still([], [str(source)]), broken.path, resume=True)
    assert broken.metrics == rows
    source.write_bytes(written.read_bytes())
    assert train(None, imitating_still([], [str(source)]), broken.path, resume=True).finished


def test_replies_of_frozen_roles_are_left_out_with_a_note(written: Path, tmp_path: Path) -> None:
    frozen = {"team.policies": "model_per_role", "team.roles.proposer.trainable": False}
    run = imitate(tmp_path / "run", written, SMALL | {"run.steps": 1} | frozen)
    [row] = run.metrics
    assert (row["policy.proposer.samples"], row["policy.proposer.version"]) == (0, 0)
    assert row["policy.planner.samples"] > 0
    assert row["policy.planner.version"] == 1
    assert "replies of proposer are not imitated" in notes(run)


def test_text_alone_is_encoded_for_the_policies_and_said(written: Path, tmp_path: Path) -> None:
    run = imitate(tmp_path / "run", written, SMALL | {"run.steps": 1})
    assert "replies of planner were encoded anew" in notes(run)
    assert "replies of proposer were encoded anew" in notes(run)


def test_a_finished_run_is_evaluated_like_any_other(played: cotrain.Run, tmp_path: Path) -> None:
    run = imitate(tmp_path / "run", played.path, SMALL | {"run.steps": 1})
    row = cotrain.evaluate(run.path)
    last = next(r for r in run.evaluations if r["split"] == "test" and r["step"] == 1)
    assert row == json.loads(json.dumps(last))


def test_episodes_without_a_solved_one_are_refused_with_what_was_found(tmp_path: Path) -> None:
    lost = [replace(e, success=False) for e in solved_by_hand(load_config(None, SMALL), 3)]
    source = tmp_path / "lost.jsonl.gz"
    write_episodes(source, lost, {})
    said = refused(SMALL, [source], tmp_path / "run")
    assert said.startswith("imitation.episodes = ")
    assert "hold no solved training episode: 3 episodes were read, 0 of them solved" in said


def test_episodes_on_held_out_tasks_are_not_imitated(tmp_path: Path) -> None:
    found = [e for e in solved_by_hand(load_config(None, SMALL), 6) if e.success]
    tests = [replace(e, task=replace(e.task, split="test")) for e in found]
    source = tmp_path / "tests.jsonl.gz"
    write_episodes(source, tests, {})
    said = refused(SMALL, [source], tmp_path / "run")
    assert f"{len(found)} left out, whose tasks are no training tasks" in said


def renamed(episode: Episode, names: Mapping[str, str]) -> Episode:
    turns = tuple(
        replace(
            turn,
            phases=tuple(
                replace(
                    phase,
                    groups=tuple(
                        replace(g, role=names[g.role]) for g in phase.groups if g.role in names
                    ),
                )
                for phase in turn.phases
            ),
        )
        for turn in episode.turns
    )
    return replace(episode, turns=turns)


@pytest.mark.parametrize(
    ("names", "settings", "said"),
    [
        (
            {"proposer": "tester", "planner": "coder"},
            {},
            "hold replies of tester, coder; plan_path has proposer, planner",
        ),
        (
            {"planner": "planner"},
            {"team.policies": "model_per_role"},
            "hold no reply of proposer, which is to be trained",
        ),
    ],
)
def test_episodes_of_other_roles_are_refused(
    names: Mapping[str, str], settings: Mapping[str, Any], said: str, tmp_path: Path
) -> None:
    source = tmp_path / "other.jsonl.gz"
    found = solved_by_hand(load_config(None, SMALL), 4)
    write_episodes(source, [renamed(episode, names) for episode in found], {})
    assert said in refused(SMALL | settings, [source], tmp_path / "run")


def test_a_run_on_another_game_is_refused(played: cotrain.Run, tmp_path: Path) -> None:
    other = {"environment.name": "sokoban", "environment.options": {}}
    said = refused(SMALL | other, [played.path], tmp_path / "run")
    assert f"{played.path} is a run on plan_path; this one plays sokoban" in said


def test_replies_longer_than_the_policies_may_write_are_refused(
    written: Path, tmp_path: Path
) -> None:
    said = refused(SMALL | {"sampling.max_reply_tokens": 1}, [written], tmp_path / "run")
    assert "each has a prompt or reply that does not fit" in said


def test_replies_that_were_all_cut_teach_nothing_and_are_refused(
    written: Path, tmp_path: Path
) -> None:
    source = tmp_path / "cut.jsonl"
    source.write_text(
        gzip.decompress(written.read_bytes())
        .decode()
        .replace('"finish": "stop"', '"finish": "length"')
    )
    said = refused(SMALL | {"algorithm.cut_replies": "mask"}, [source], tmp_path / "run")
    assert "replies alone that were cut" in said


def test_one_source_named_twice_is_refused(written: Path, tmp_path: Path) -> None:
    assert "name each source once" in refused(SMALL, [written, written], tmp_path / "run")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"success": true', '"success": "no"'),
        ('"followed": 0', '"followed": -1'),
        ('"followed": 0', '"followed": 7'),
        ('"followed": 0', '"followed": "x"'),
        ('"role": "planner"', '"role": ["planner"]'),
        ('"token_ids": [', '"token_ids": [-1, '),
        ('"token_ids": [', '"token_ids": [1000000000000, '),
        ('"token_ids": [', '"token_ids": ["1", '),
        ('"text": "', '"text": 5, "other": "'),
        ('"evidence": []', '"evidence": [{"request": {"kind": "a", "arguments": []}}]'),
        ('"turns": [', '"turns": [' + "[" * 100_000),
    ],
)
def test_episodes_of_another_program_are_read_with_care(
    old: str, new: str, written: Path, tmp_path: Path
) -> None:
    text = gzip.decompress(written.read_bytes()).decode()
    assert old in text
    source = tmp_path / "odd.jsonl"
    source.write_text(text.replace(old, new, 1))
    said = refused(SMALL, [source], tmp_path / "run")
    assert re.search(r"odd\.jsonl: episode \d+ cannot be", said)


def test_sources_that_are_none_are_refused(tmp_path: Path) -> None:
    broken = tmp_path / "broken.jsonl.gz"
    broken.write_text("no gzip")
    assert "neither a run folder nor a file" in refused(SMALL, ["nowhere"], tmp_path / "run")
    assert "broken.jsonl.gz" in refused(SMALL, [broken], tmp_path / "run")


def test_scripts_learn_nothing_and_are_refused(written: Path, tmp_path: Path) -> None:
    script = tmp_path / "script.json"
    script.write_text(json.dumps({"replies": ["Up"]}))
    scripted = {
        f"team.roles.{role}.model": f"scripted:{script}" for role in ("proposer", "planner")
    }
    assert "leaves nothing to train" in refused(SMALL | scripted, [written], tmp_path / "run")


def test_a_configuration_of_a_single_agent_is_refused(written: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"single_grpo.* plays no team"):
        imitating(None, {"algorithm.method": "single_grpo"}, [str(written)])


def test_a_budget_of_sampled_tokens_that_is_asked_for_is_refused(written: Path) -> None:
    given = imitating(None, {"run.max_sampled_tokens": 100}, [str(written)])
    with pytest.raises(ConfigurationError, match="samples nothing; set run"):
        load_config(None, given)


def test_episodes_are_not_named_for_a_method_that_samples(written: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"imitation\.episodes .* must not be set"):
        cotrain.train(None, SMALL | {"imitation.episodes": [str(written)]}, tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_a_run_that_kept_no_episodes_is_refused(tmp_path: Path) -> None:
    silent = cotrain.train(
        None, SMALL | {"run.steps": 1, "logging.episodes": "none"}, tmp_path / "silent"
    )
    said = refused(SMALL, [silent.path], tmp_path / "run")
    assert "kept no episodes (logging.episodes)" in said
