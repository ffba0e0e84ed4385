"""Runs whose rules ask for programs of replies: in a real sandbox, or refused before they begin."""

from pathlib import Path

import pytest
from tests.cli.commands import call, program

from cotrain.runs.store import RunFolder

PRINTER = """
from cotrain import Environment, Message, Outcome, Role, Task
from cotrain.environments.requests import program_request


class Printer(Environment):
    name = "printer"
    roles = (Role("writer", "Print the number."),)
    services = ("program",)

    def task(self, split, seed, index):
        return Task(split, index, f"{split}-{index}", index)

    def start(self, task, purpose):
        return task.data

    def observe(self, state, agent):
        return [Message("user", f"{state}")]

    def evidence(self, state, agent, reply):
        return [program_request(reply, [f"{state}"])]

    def act(self, state, agent, reply, evidence):
        [run] = evidence[0].answer
        right = run["stdout"].strip() == f"{state}"
        return Outcome(state if right else -1, float(right), done=True)

    def success(self, state):
        return state >= 0

    def render(self, state):
        return f"{state}"
"""

WRITER = """
def reply(messages, generator):
    return generator.choice(["print(input())", "raise SystemExit(1)"])
"""


@pytest.fixture
def config(tmp_path: Path) -> Path:
    (tmp_path / "printer.py").write_text(PRINTER)
    (tmp_path / "writer.py").write_text(WRITER)
    found = tmp_path / "printer.toml"
    found.write_text(f"""
environment.name = "{tmp_path / "printer.py"}:Printer"
team.roles.writer.model = "scripted:{tmp_path / "writer.py"}"
run = {{ steps = 1, evaluate_every = 0 }}
sampling = {{ tasks_per_step = 3, candidates = 4, max_prompt_tokens = 200 }}
evaluation = {{ tasks = 2, validation_tasks = 1 }}
logging.console = false
model.threads = 1
""")
    return found


@pytest.mark.parametrize("where", [(), ("--set", "limits.act_seconds=60")], ids=["here", "workers"])
def test_a_run_in_the_unsafe_sandbox_is_scored_and_says_where_its_programs_ran(
    tmp_path: Path, config: Path, where: tuple[str, ...]
) -> None:
    # A sandbox warns when it is opened, which is once for equal settings.
    seconds = f"sandbox.seconds={30 + len(where)}"
    unsafe = ("--set", "sandbox.kind=unsafe-subprocess", "--set", seconds)
    with pytest.warns(UserWarning, match="all rights of this user"):
        done = call("train", config, *unsafe, *where, "--run-dir", tmp_path / "run")
    assert done.code == 0, done.stderr
    folder = RunFolder(tmp_path / "run")
    groups = [group for one in folder.episodes(1) for group in one.episode.groups()]
    scores = {c.reply.text: c.score for group in groups for c in group.candidates}
    assert scores == {"print(input())": 1.0, "raise SystemExit(1)": 0.0}
    assert '"sandbox": "unsafe-subprocess"' in (folder.path / "manifest.json").read_text()
    events = (folder.path / "events.jsonl").read_text()
    assert 'sandbox.kind = \\"unsafe-subprocess\\": programs of replies run as this user' in events


WITHOUT_BUBBLEWRAP = """
import os, sys
from tests.cli.commands import call

os.environ["PATH"] = ""
config, name = sys.argv[1:]
for command in (
    ["train", config], ["train", config, "--dry-run"], ["evaluate", config], ["play", config],
    ["check", name],
):
    refused = call(*command)
    print(refused.code, len(refused.lines), refused.stderr.strip())
"""


def test_programs_are_refused_before_anything_is_loaded_where_nothing_isolates_them(
    config: Path,
) -> None:
    name = f"{config.with_suffix('.py')}:Printer"
    lines = program(WITHOUT_BUBBLEWRAP, config, name).stdout.splitlines()
    assert len(lines) == 5
    for line in lines:
        assert line.startswith('2 1 sandbox.kind = "bubblewrap": ')
        assert "install" in line
        assert '"unsafe-subprocess"' in line


@pytest.mark.parametrize("limit", ["sandbox.memory_bytes=1000", "sandbox.seconds=1e9"])
def test_limits_that_nothing_can_run_within_are_refused_before_anything_is_loaded(
    config: Path, tmp_path: Path, limit: str
) -> None:
    folder = tmp_path / "run"
    refused = call("train", config, "--run-dir", folder, "--set", limit)
    assert refused.code == 2
    assert refused.stderr.startswith(limit.partition("=")[0])
    assert not folder.exists()
