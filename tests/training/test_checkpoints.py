from pathlib import Path

import pytest
from tests.training.parts import Counter

from cotrain.runs.durable import RunFolderRefusedError
from cotrain.training.checkpoints import SavedState, fill_checkpoint, read_state, restore
from cotrain.training.progress import Progress

BASES = {"shared": {"name": "tiny", "identity": "sha256:0"}}


def saved(folder: Path, version: int = 4) -> Path:
    folder.mkdir()
    learners = {"shared": Counter(version=version)}
    state = SavedState(Progress(7, 99, 1), {"shared": version}, {"run": {"seed": 3}}, BASES)
    fill_checkpoint(folder, learners, state)
    return folder


def test_progress_versions_and_configuration_come_back(tmp_path: Path) -> None:
    state = read_state(saved(tmp_path / "c"))
    assert (state.progress, state.versions, state.config, state.bases) == (
        Progress(7, 99, 1),
        {"shared": 4},
        {"run": {"seed": 3}},
        BASES,
    )


def test_a_restored_learner_has_its_version(tmp_path: Path) -> None:
    learner = Counter()
    assert restore(saved(tmp_path / "c"), {"shared": learner}, BASES) == Progress(7, 99, 1)
    assert learner.version == 4


@pytest.mark.parametrize("policies", [("planner",), ("shared", "planner"), ()])
def test_a_checkpoint_of_other_policies_is_refused(
    tmp_path: Path, policies: tuple[str, ...]
) -> None:
    said = f"holds policies shared, this run has {', '.join(sorted(policies))}"
    with pytest.raises(RunFolderRefusedError, match=f"{said}.*team.policies"):
        restore(saved(tmp_path / "c"), {name: Counter() for name in policies}, BASES)


@pytest.mark.parametrize("present", [{}, {"shared": {"name": "other", "identity": "sha256:1"}}])
def test_a_checkpoint_on_another_base_is_refused(
    tmp_path: Path, present: dict[str, dict[str, str]]
) -> None:
    learner = Counter()
    with pytest.raises(RunFolderRefusedError, match=r"began as tiny with the identity sha256:0"):
        restore(saved(tmp_path / "c"), {"shared": learner}, present)
    assert learner.version == 0


def test_a_base_may_be_called_otherwise_if_its_weights_are_the_same(tmp_path: Path) -> None:
    moved = {"shared": {"name": "elsewhere/tiny", "identity": "sha256:0"}}
    assert restore(saved(tmp_path / "c"), {"shared": Counter()}, moved) == Progress(7, 99, 1)


@pytest.mark.parametrize(
    "content",
    [
        "",
        "{}",
        "[1]",
        '{"progress": {"steps": 1}}',
        '{"progress": {"step": "1"}, "versions": {}, "config": {}}',
        '{"progress": {"step": -1}, "versions": {}, "config": {}}',
        '{"progress": {"step": 1}, "versions": null, "config": {}}',
        '{"progress": {"step": 1}, "versions": {"shared": "x"}, "config": {}}',
        '{"progress": {"step": 1}, "versions": {}, "config": [1]}',
        '{"progress": {"step": 1}, "versions": {}, "config": {}, "bases": {"a": "tiny"}}',
    ],
)
def test_a_foreign_state_is_named(tmp_path: Path, content: str) -> None:
    (tmp_path / "state.json").write_text(content)
    with pytest.raises(RunFolderRefusedError, match=r"state\.json"):
        read_state(tmp_path)
