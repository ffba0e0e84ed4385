"""The learner of a script."""

import json
from pathlib import Path

from tests.builders import make_credited, make_sample

from cotrain.learning.scripted import ScriptedLearner


def test_a_script_learns_nothing_and_is_saved_by_name(tmp_path: Path) -> None:
    learner = ScriptedLearner("plans.py")
    report = learner.update([make_credited(make_sample(1.0), 0.5)], step=1, rate_factor=1.0)
    assert (report.skipped, report.version, report.samples, report.loss) == (True, 0, 1, None)
    learner.save_policy(tmp_path / "policy")
    learner.save_optimizer(tmp_path / "optimizer")
    learner.load(tmp_path / "policy", tmp_path / "optimizer", version=0)
    saved = json.loads((tmp_path / "policy" / "script.json").read_text())
    assert saved == {"script": "plans.py"}
