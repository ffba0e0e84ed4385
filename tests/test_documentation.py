"""The pages say what is so: their code runs, their commands work, their links lead somewhere."""

import doctest
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from contextlib import chdir
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from cotrain.assembly.checking import check_environment
from cotrain.cli.app import app
from cotrain.config import load_config
from cotrain.runs.metrics import EVALUATIONS, METRICS

ROOT = Path(__file__).parents[1]
PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    ROOT / "CHANGELOG.md",
    *sorted((ROOT / "docs").glob("*.md")),
    *sorted((ROOT / "examples").glob("*/README.md")),
]
GAME = "examples/two_role_game/treasure.py"
QUICK = ("check", "environments", "presets", "doctor", "grade")
COMMANDS: Any = typer.main.get_command(app)

FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
INLINE = re.compile(r"`(cotrain [a-z][^`]*)`")
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)


@dataclass(frozen=True)
class Block:
    """A fenced block; `line` is that of its first line."""

    line: int
    language: str
    text: str


@dataclass(frozen=True)
class Command:
    """A command of a console block with the output that the page shows, or one in a sentence."""

    page: Path
    words: tuple[str, ...]
    shown: str = ""

    def __str__(self) -> str:
        return f"{self.page.relative_to(ROOT)}: {shlex.join(self.words)}"


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


def blocks(page: Path, *languages: str) -> list[Block]:
    text = page.read_text("utf-8")
    found = [Block(text[: m.start(2)].count("\n"), m[1], m[2]) for m in FENCE.finditer(text)]
    return [block for block in found if block.language in languages]


def prose(page: Path) -> str:
    return FENCE.sub("", page.read_text("utf-8"))


def commands() -> Iterator[Command]:
    for page in PAGES:
        for block in blocks(page, "console"):
            for part in re.split(r"^\$ ", block.text, flags=re.MULTILINE)[1:]:
                line, _, shown = part.partition("\n")
                yield Command(page, tuple(shlex.split(line)), shown)
        for found in INLINE.finditer(prose(page)):
            yield Command(page, tuple(shlex.split(found[1])))


OURS = [command for command in commands() if command.words[0] == "cotrain"]
OTHERS = [command for command in commands() if command.words[0] != "cotrain"]
SHOWN = [
    command
    for command in OURS
    if command.shown and (command.words[1] in QUICK or "--dry-run" in command.words)
]


@pytest.fixture
def workplace(tmp_path: Path) -> Path:
    """A folder that looks like the repository's root, and takes what the pages' code writes."""
    for entry in ROOT.iterdir():
        if entry.name not in {"runs", "models"}:
            (tmp_path / entry.name).symlink_to(entry)
    return tmp_path


@pytest.mark.parametrize(
    "page", [page for page in PAGES if blocks(page, "python", "pycon")], ids=name_of
)
def test_the_code_of_a_page_runs(page: Path, workplace: Path):
    namespace: dict[str, Any] = {"__name__": "page"}
    with chdir(workplace):
        for block in blocks(page, "python", "pycon"):
            if block.language == "python":
                text = "\n" * block.line + block.text
                exec(compile(text, str(page), "exec"), namespace)
            else:
                run_examples(page, block, namespace)
    assert set(namespace) > {"__name__"}, "the page's code defines nothing"


def run_examples(page: Path, block: Block, namespace: dict[str, Any]) -> None:
    test = doctest.DocTestParser().get_doctest(
        block.text, namespace, name_of(page), str(page), block.line
    )
    said: list[str] = []
    outcome = doctest.DocTestRunner(verbose=False).run(test, out=said.append, clear_globs=False)
    namespace.update(test.globs)
    assert outcome.failed == 0, "".join(said)


@pytest.mark.parametrize("command", OURS, ids=str)
def test_a_command_of_a_page_is_one_that_cotrain_has(command: Command):
    name, *arguments = command.words[1:]
    assert name in COMMANDS.commands
    if arguments:
        COMMANDS.commands[name].make_context(name, arguments)


@pytest.mark.parametrize(
    "command", [c for c in OURS if c.words[1] == "train" and "--resume" not in c.words], ids=str
)
def test_the_settings_of_a_command_are_allowed(command: Command):
    given = COMMANDS.commands["train"].make_context("train", list(command.words[2:])).params
    with chdir(ROOT):
        assert load_config(given["config"], given["assignments"] or []).run.steps >= 1


@pytest.mark.parametrize("command", SHOWN, ids=str)
def test_a_command_prints_what_its_page_shows(command: Command):
    with chdir(ROOT):
        result = CliRunner().invoke(app, list(command.words[1:]))
    same = doctest.OutputChecker().check_output(command.shown, result.stdout, doctest.ELLIPSIS)
    assert (result.exit_code, same) == (0, True), result.output


@pytest.mark.parametrize("command", OTHERS, ids=str)
def test_a_make_target_or_script_of_a_page_is_there(command: Command):
    program, subject = command.words[:2]
    if program == "make":
        makefile = (ROOT / "Makefile").read_text("utf-8")
        assert re.search(rf"^{re.escape(subject)}:", makefile, re.MULTILINE)
    else:
        assert program == "python"
        assert (ROOT / subject).is_file()


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_link_of_a_page_leads_somewhere(page: Path):
    for target in LINK.findall(prose(page)):
        if target.startswith(("https://", "http://")):
            continue
        path, _, anchor = target.partition("#")
        file = page.parent / path if path else page
        assert file.exists(), f"{target} is not there"
        assert not anchor or anchor in anchors(file), f"{target}: no such heading"


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as GitHub makes them."""
    headings = HEADING.findall(prose(page))
    return {re.sub(r"[^\w\- ]", "", h.lower()).strip().replace(" ", "-") for h in headings}


def test_the_readme_lists_every_command():
    listed = re.findall(r"^\| `cotrain (\w+)` \|", prose(PAGES[0]), re.MULTILINE)
    assert sorted(listed) == sorted(COMMANDS.commands)


@pytest.mark.parametrize("name", [*METRICS, *EVALUATIONS])
def test_the_page_on_runs_explains_every_figure(name: str):
    assert f"`{name}`" in (ROOT / "docs" / "runs.md").read_text("utf-8")


def test_the_example_keeps_every_promise():
    with chdir(ROOT):
        assert check_environment(f"{GAME}:Treasure", {}).broken == ()


def test_two_roles_with_rewards_take_40_lines():
    lines = (ROOT / GAME).read_text("utf-8").splitlines()
    code = [line for line in lines if line.strip() and not line.startswith(("#", '"""'))]
    assert len(code) <= 40


def test_the_tests_of_the_examples_pass():
    tests = [str(path) for path in (ROOT / "examples").glob("*/test_*.py")]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", *tests],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert tests
    assert done.returncode == 0, done.stdout
