"""`environments`, `presets` and `doctor`: what is there, and what works here."""

import json
import platform
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

from tests.cli.commands import call, program, shell

from cotrain.assembly.doctor import (
    Accelerator,
    Examination,
    SandboxFindings,
    TorchFindings,
    advice,
)
from cotrain.environments.sandbox.probes import Proof

FOUND = Examination(
    python="3.11.9",
    packages={"torch": "2.11.0", "peft": "0.18"},
    torch=TorchFindings("12.8", (Accelerator("H200", 2**37, True),)),
    cpu_threads=8,
    nvidia_driver=True,
    vllm="0.20",
    ray="2.50",
    sandbox=SandboxFindings(proofs=(Proof("the network is not there", proven=True),)),
)


def named(items: Iterable[dict[str, Any]], name: str) -> dict[str, Any]:
    """The item of this name."""
    return next(item for item in items if item["name"] == name)


def test_environments_are_listed_with_roles_of_every_variant_data_and_options() -> None:
    plan_path = named(call("environments", "--json").document, "plan_path")
    assert plan_path["description"].startswith("Two roles lead an agent over a grid")
    played = {role["name"]: role["played"] for role in plan_path["roles"]}
    assert played["proposer"] is True
    assert played["solo"] is False
    assert plan_path["data"] == "none: tasks are generated"
    size = {"name": "size", "allowed": "an integer", "default": 10, "required": False}
    assert named(plan_path["options"], "size") == size
    assert named(plan_path["options"], "view")["allowed"] == '"text" or "compact"'
    assert plan_path["problem"] == ""


def test_environments_for_a_person_show_the_options_as_a_file_writes_them() -> None:
    shown = call("environments").stdout
    assert "in other variants: tool, solo, drafter, answerer" in shown
    assert 'view = "text"  ("text" or "compact")' in shown
    assert "max_moves = not set" in shown


def test_an_installed_environment_that_is_broken_hides_no_other(tmp_path: Path) -> None:
    package = tmp_path / "attic-1.0.dist-info"
    package.mkdir()
    (package / "METADATA").write_text("Metadata-Version: 2.1\nName: attic\nVersion: 1.0\n")
    entry = "[cotrain.environments]\nattic = attic.games:Attic\n"
    (package / "entry_points.txt").write_text(entry)
    listed = shell("environments", "--json", path=tmp_path).document
    assert "attic" in named(listed, "attic")["problem"]
    assert named(listed, "plan_path")["problem"] == ""


def test_presets_are_listed_and_the_default_is_marked() -> None:
    default = named(call("presets", "--json").document, "plan_path_tiny")
    assert default["default"] is True
    assert default["description"]
    assert "takes plan_path_tiny" in call("presets").stdout


def test_comparisons_are_listed_beside_the_configurations() -> None:
    found = named(call("presets", "--json").document, "plan_path_methods")
    assert (found["kind"], found["default"]) == ("comparison", False)
    assert found["description"] in call("presets").stdout


def test_the_doctor_reports_this_machine() -> None:
    found = call("doctor", "--json")
    assert found.code == 0
    assert found.document["python"] == platform.python_version()
    assert found.document["packages"]["torch"] is not None
    assert found.document["torch"]["problem"] == ""
    assert found.document["cpu_threads"] >= 1
    sandbox = found.document["sandbox"]
    assert bool(sandbox["problem"]) != bool(sandbox["proofs"])
    assert all(proof["proven"] for proof in sandbox["proofs"]), sandbox["proofs"]


def test_a_machine_with_everything_gets_no_advice() -> None:
    assert list(advice(FOUND)) == []
    assert "H200, 128 GiB" in FOUND.as_text()


def test_each_thing_that_is_missing_is_named_with_what_to_install() -> None:
    bare = replace(FOUND, packages={"peft": None}, vllm=None, ray=None)
    said = "\n".join(advice(bare))
    for word in ("pip install peft", "cotrain[vllm]", "cotrain[ray]"):
        assert word in said


def test_what_a_sandbox_does_not_prove_is_named_and_so_is_what_is_missing_for_one() -> None:
    unproven = Proof("the network is not there", proven=False, said="finished: connected")
    found = replace(FOUND, sandbox=SandboxFindings(one_each="refused", proofs=(unproven,)))
    first, second = advice(found)
    assert first.endswith("not proven that the network is not there: finished: connected")
    assert second.endswith("lets none be nested in it: refused")
    assert "NOT PROVEN: the network is not there" in found.as_text()
    missing = replace(FOUND, sandbox=SandboxFindings(problem="install the package bubblewrap"))
    assert list(advice(missing)) == ["sandbox: install the package bubblewrap"]
    assert "cannot be run in isolation" in missing.as_text()


def test_a_driver_beside_the_cpu_build_of_torch_is_pointed_out() -> None:
    (line,) = advice(replace(FOUND, torch=TorchFindings()))
    assert "install its CUDA build" in line


def test_a_driver_that_torch_finds_no_gpu_with_is_pointed_out() -> None:
    (line,) = advice(replace(FOUND, torch=TorchFindings("12.8")))
    assert "torch (CUDA 12.8) finds no GPU" in line


def test_a_torch_that_cannot_be_loaded_is_a_finding() -> None:
    (line,) = advice(replace(FOUND, torch=TorchFindings(problem="OSError: libcudart.so.12")))
    assert line == "torch: OSError: libcudart.so.12"


QUICK = """
import sys
from tests.cli.commands import call, program, shell
cases = sys.argv[1]
commands = (["environments"], ["presets"], ["grade", "moves", cases], ["check", "plan_path"])
codes = [call(*command).code for command in commands]
print(codes, "torch" in sys.modules)
"""


def test_commands_that_need_no_torch_do_not_load_it(tmp_path: Path) -> None:
    cases = tmp_path / "cases.json"
    cases.write_text(json.dumps([{"id": 1, "reply": ""}]))
    found = program(QUICK, cases)
    assert found.stdout == "[0, 0, 0, 0] False\n"
