"""The rules of the house that a program can check."""

import ast
import importlib
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from cotrain.compare.command import comparison_of
from cotrain.config import load_config

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "src" / "cotrain"
MODULES = sorted(PACKAGE.rglob("*.py"))
BANNED_NAMES = {"utils", "util", "helpers", "helper", "common", "misc", "manager"}
MAX_MODULE_LINES, MAX_FUNCTION_LINES, MAX_TRAINER_LINES = 350, 50, 200
MAX_CORE_DEPENDENCIES = 10
ASKED_BY_A_USER = {"commands.py train", "options.py require"}
"""`--resume` as Python spells it, and a condition that is checked: no choice between behaviours."""
UNTIL_HERE_WITHOUT_TORCH = ("cotrain", "cotrain.config", "cotrain.runs.store", "cotrain.cli")


def name_of(path: Path) -> str:
    return str(path.relative_to(ROOT))


def functions(path: Path) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


def lines_of(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    return (node.end_lineno or node.lineno) - node.lineno + 1


def swallows(path: Path) -> list[int]:
    """The lines of broad handlers that do nothing."""
    handlers = [
        n for n in ast.walk(ast.parse(path.read_text())) if isinstance(n, ast.ExceptHandler)
    ]
    return [
        handler.lineno
        for handler in handlers
        if (handler.type is None or ast.unparse(handler.type) in {"Exception", "BaseException"})
        and all(isinstance(step, ast.Pass | ast.Continue) for step in handler.body)
    ]


def test_modules_fit_their_size() -> None:
    sizes = {name_of(path): len(path.read_text().splitlines()) for path in MODULES}
    assert {name: size for name, size in sizes.items() if size > MAX_MODULE_LINES} == {}


def test_every_function_fits_one_screen() -> None:
    sizes = {(name_of(path), f.name): lines_of(f) for path in MODULES for f in functions(path)}
    assert {name: size for name, size in sizes.items() if size > MAX_FUNCTION_LINES} == {}


def test_no_function_takes_a_flag() -> None:
    # The options of commands are a user's; `cli` turns them into calls.
    paths = (path for path in MODULES if "cli" not in path.parts)
    flagged = {
        f"{path.name} {f.name}"
        for path in paths
        for f in functions(path)
        for argument in (*f.args.args, *f.args.kwonlyargs)
        if argument.annotation is not None and ast.unparse(argument.annotation) == "bool"
    }
    assert flagged == ASKED_BY_A_USER


def test_the_trainer_is_short() -> None:
    trainer = (PACKAGE / "training" / "trainer.py").read_text()
    assert len(trainer.splitlines()) < MAX_TRAINER_LINES


def test_every_module_says_what_it_is() -> None:
    assert [name_of(p) for p in MODULES if not ast.get_docstring(ast.parse(p.read_text()))] == []


def test_no_file_or_folder_has_a_name_that_says_nothing() -> None:
    parts = {path: {part.removesuffix(".py") for part in path.parts} for path in MODULES}
    assert [name_of(path) for path in MODULES if parts[path] & BANNED_NAMES] == []


def test_nothing_is_left_half_done() -> None:
    marks = re.compile(r"\b(TODO|FIXME|XXX|HACK)\b|NotImplementedError")
    assert [name_of(path) for path in MODULES if marks.search(path.read_text())] == []


def test_no_exception_is_swallowed() -> None:
    assert {name_of(path): lines for path in MODULES if (lines := swallows(path))} == {}


@pytest.mark.parametrize("path", sorted((PACKAGE / "config").rglob("*.toml")), ids=name_of)
def test_every_preset_is_a_configuration(path: Path) -> None:
    assert load_config(path) == load_config(path.stem)


@pytest.mark.parametrize("path", sorted((ROOT / "examples").rglob("*.toml")), ids=name_of)
def test_every_example_is_a_configuration_or_a_comparison(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)  # a comparison names its base from here
    if path.stem == "compare":
        assert comparison_of(str(path), [], None).claims
    else:
        assert load_config(path).run.steps >= 1


@pytest.mark.parametrize("module", UNTIL_HERE_WITHOUT_TORCH)
def test_a_fresh_process_imports_it_without_torch(module: str) -> None:
    code = f"import sys, {module}; print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_public_names_are_there() -> None:
    cotrain = importlib.import_module("cotrain")
    for name in cotrain.__all__:
        assert getattr(cotrain, name).__doc__, name
    assert set(cotrain.__all__) == set(cotrain._HOMES)


def test_the_core_has_few_dependencies() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert len(project["dependencies"]) <= MAX_CORE_DEPENDENCIES


def test_the_tree_in_the_readme_is_the_tree_on_the_disk() -> None:
    readme = (ROOT / "README.md").read_text()
    listed = set(re.findall(r"^\s+((?:\w+/)*\w+\.py)\s", readme, re.MULTILINE))
    on_disk = {str(path.relative_to(PACKAGE)) for path in MODULES}
    assert listed == on_disk


SCRIPTS = sorted(
    path for folder in ("bench", "scripts", "examples") for path in (ROOT / folder).rglob("*.py")
)


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_what_a_script_imports_from_the_package_is_there(script: Path) -> None:
    found = (node for node in ast.walk(ast.parse(script.read_text())))
    imports = [node for node in found if isinstance(node, ast.ImportFrom)]
    for node in (node for node in imports if (node.module or "").startswith("cotrain")):
        module = importlib.import_module(str(node.module))
        assert [a.name for a in node.names if not hasattr(module, a.name)] == []
