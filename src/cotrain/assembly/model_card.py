"""The card of an exported policy: what it is, how it was trained, how it did, how to load it."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from cotrain.assembly.environments import build_environment
from cotrain.assembly.policy_plans import base_of, own_or_general, policy_of_role
from cotrain.assembly.saved import SavedPolicy, run_name
from cotrain.policies.loading import revision_of
from cotrain.runs import layout
from cotrain.runs.store import RunFolder

PAPER = "https://arxiv.org/abs/2510.11062"

LOADING = {
    "whole": (
        "model = AutoModelForCausalLM.from_pretrained(FOLDER)",
        "tokenizer = AutoTokenizer.from_pretrained(FOLDER)",
    ),
    "adapter": (
        "base = AutoModelForCausalLM.from_pretrained(BASE)",
        "model = PeftModel.from_pretrained(base, FOLDER)",
        "tokenizer = AutoTokenizer.from_pretrained(FOLDER)",
    ),
}


def model_card(saved: SavedPolicy, form: str) -> str:
    """The text of `README.md`, with the front matter that the Hugging Face Hub reads.

    `form` is `"whole"`, `"merged"` or `"adapter"`.
    """
    parts = [
        _front_matter(saved, form),
        f"# {saved.name}, a policy of a team",
        _what(saved, form),
        "## Its roles",
        *_roles(saved),
        "## Its training",
        _training(saved),
        *_evaluations(saved),
        "## To load it",
        _loading(form),
    ]
    return "\n\n".join(parts) + "\n"


def _front_matter(saved: SavedPolicy, form: str) -> str:
    library = "peft" if form == "adapter" else "transformers"
    lines = [f"library_name: {library}", "pipeline_tag: text-generation"]
    name, identity = _base(saved)
    if revision_of(identity) is not None:
        lines.append(f"base_model: {name}")
    lines.append("tags: [cotrain, at-grpo, reinforcement-learning, multi-agent]")
    return "\n".join(["---", *lines, "---"])


def _base(saved: SavedPolicy) -> tuple[str, str]:
    """Name and identity of the model that the policy began as."""
    found = saved.state.bases.get(saved.name, {})
    name = found.get("name") or base_of(saved.config, saved.name)[0]
    return name, found.get("identity", "")


def _what(saved: SavedPolicy, form: str) -> str:
    version = saved.state.versions[saved.name]
    weights = {
        "whole": "All of its weights were trained.",
        "merged": "A LoRA adapter was trained; here it is added to the weights of the base.",
        "adapter": "A LoRA adapter was trained; here it is alone, and needs the base.",
    }[form]
    if version == 0:
        weights = "No update has changed it."
    return (
        f"Policy `{saved.name}`, version {version}, of step {saved.state.progress.step} of the run "
        f"`{run_name(saved.checkpoint)}`, trained by cotrain. It began as `{_base(saved)[0]}`. "
        f"{weights}"
    )


def _roles(saved: SavedPolicy) -> Iterator[str]:
    environment = build_environment(saved.config)
    of_role = policy_of_role(saved.config, environment)
    for role in environment.roles:
        if of_role[role.name] != saved.name:
            continue
        yield f"`{role.name}`, whose standing instruction in `{environment.name}` is:"
        yield "\n".join(f"> {line}".rstrip() for line in environment.prompt(role.name).splitlines())


def _training(saved: SavedPolicy) -> str:
    config = saved.config
    own = config.team.role(saved.name)
    rate = own_or_general(own.learning_rate, config.optimizer.learning_rate)
    temperature = own_or_general(own.temperature, config.sampling.temperature)
    options = json.dumps(dict(config.environment.options))
    return "\n".join(
        [
            f"- environment `{config.environment.name}` with options `{options}`, "
            f"{config.team.turns} turns",
            f"- method `{config.algorithm.method}`, policies `{config.team.policies}`, "
            f"K = {config.sampling.candidates} ([paper]({PAPER}))",
            f"- {saved.state.progress.step} steps of {config.sampling.tasks_per_step} tasks, "
            f"{saved.state.progress.tokens_sampled:,} sampled tokens, seed {config.run.seed}",
            f"- learning rate {rate:g}, sampling temperature {temperature:g}",
        ]
    )


def _evaluations(saved: SavedPolicy) -> Iterator[str]:
    rows = _rows_of_step(saved)
    if not rows:
        return
    yield "## How its team did"
    lines = ["| split | tasks | success | 95 % interval |", "| --- | --- | --- | --- |"]
    lines += [
        f"| {row['split']} | {row['tasks']} | {row['success']:.3f} | "
        f"{row['success_low']:.3f} to {row['success_high']:.3f} |"
        for row in rows
    ]
    yield "\n".join(lines)


def _rows_of_step(saved: SavedPolicy) -> list[Mapping[str, Any]]:
    """The evaluations of the run's own team at this step; none outside of a run."""
    run = saved.checkpoint.resolve().parent.parent
    if not (run / layout.EVALUATIONS).is_file():
        return []
    step, method = saved.state.progress.step, saved.config.algorithm.method
    rows = RunFolder(run).evaluations()
    return [row for row in rows if row["step"] == step and row["method"] == method]


def _loading(form: str) -> str:
    lines = LOADING["adapter" if form == "adapter" else "whole"]
    names = "AutoModelForCausalLM, AutoTokenizer"
    imports = ["from peft import PeftModel"] if form == "adapter" else []
    imports.append(f"from transformers import {names}")
    return "\n".join(["```python", *imports, "", *lines, "```"])
