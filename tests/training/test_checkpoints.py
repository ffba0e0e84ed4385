from pathlib import Path

import pytest
from tests.training.parts import Counter

from cotrain.runs.durable import RunFolderRefusedError
from cotrain.training.checkpoints import fill_checkpoint, read_state, restore
from cotrain.training.progress import Progress


def saved(folder: Path, version: int = 4) -> Path:
    folder.mkdir()
    learners = {"shared": Counter(version=version)}
    fill_checkpoint(folder, Progress(7, 99, 1), learners, {"shared": version}, {"run": {"seed": 3}})
    return folder


def test_progress_versions_and_configuration_come_back(tmp_path: Path) -> None:
    state = read_state(saved(tmp_path / "c"))
    assert (state.progress, state.versions, state.config) == (
        Progress(7, 99, 1),
        {"shared": 4},
        {"run": {"seed": 3}},
    )


def test_a_restored_learner_has_its_version(tmp_path: Path) -> None:
    learner = Counter()
    assert restore(saved(tmp_path / "c"), {"shared": learner}) == Progress(7, 99, 1)
    assert learner.version == 4


def test_a_checkpoint_without_the_policy_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RunFolderRefusedError, match="holds no policy planner"):
        restore(saved(tmp_path / "c"), {"planner": Counter()})


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
    ],
)
def test_a_foreign_state_is_named(tmp_path: Path, content: str) -> None:
    (tmp_path / "state.json").write_text(content)
    with pytest.raises(RunFolderRefusedError, match=r"state\.json"):
        read_state(tmp_path)
