"""The manifest says what a run was made with, and nothing about whom or where."""

import contextlib
import getpass
import json
import platform
from pathlib import Path

import pytest

from cotrain.runs.manifest import PACKAGES, collect_manifest


@pytest.fixture
def manifest():
    return collect_manifest({"run": 1}, {"test": "0af3"}, threads=2, dtype="float32", sandbox="x")


def test_it_holds_what_the_run_was_made_with(manifest):
    assert set(manifest["packages"]) == set(PACKAGES)
    assert manifest["packages"]["pydantic"]
    assert manifest["python"] == platform.python_version()
    assert manifest["machine"]["memory_bytes"] > 0
    assert (manifest["threads"], manifest["dtype"], manifest["sandbox"]) == (2, "float32", "x")
    assert (manifest["seeds"], manifest["task_hashes"]) == ({"run": 1}, {"test": "0af3"})


def test_it_names_no_host_user_or_folder(manifest):
    values = [str(v) for v in _leaves(manifest)]
    assert getpass.getuser() not in values
    assert platform.node() not in values
    assert str(Path.cwd()) not in json.dumps(manifest)


def test_a_folder_without_git_has_no_commit(tmp_path):
    with contextlib.chdir(tmp_path):
        assert collect_manifest({}, {}, 1, "float32", "x")["git_commit"] is None


def _leaves(value):
    if not isinstance(value, dict):
        return [value]
    return [leaf for item in value.values() for leaf in _leaves(item)]
