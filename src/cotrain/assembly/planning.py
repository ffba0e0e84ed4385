"""What a run would do, before it does it: the plan that `--dry-run` prints."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import torch
from transformers import AutoConfig, AutoModelForCausalLM

from cotrain.assembly.casting import method_of, reply_limit
from cotrain.assembly.environments import build_environment
from cotrain.assembly.evaluating import check_baselines
from cotrain.assembly.policies import SHARED, policy_names
from cotrain.config import Config, ConfigurationError, Fault, show
from cotrain.environments.base import Environment
from cotrain.policies.loading import ModelNotFoundError, model_folder

BYTES = {"float32": 4, "bfloat16": 2, "float64": 8, "auto": 4}


@dataclass(frozen=True, slots=True)
class RunPlan:
    """The resolved plan. Counts a step are upper bounds: episodes may end before the turn limit.

    `memory_bytes` is an estimate of weights, gradients, optimiser moments, and the larger of what
    one sampling batch and one update batch take.
    """

    method: str
    environment: str
    roles: Mapping[str, Mapping[str, Any]]
    roles_not_played: tuple[str, ...]
    policies: Mapping[str, int | None]
    steps: int
    max_sampled_tokens: int | None
    episodes_a_step: int
    groups_a_step: int
    replies_a_step: int
    sampled_tokens_a_step: int
    memory_bytes: int | None
    config: Mapping[str, Any]

    def as_json(self) -> dict[str, Any]:
        """The plan as one document."""
        return asdict(self)

    def as_text(self) -> str:
        """The plan for a person."""
        budget = (
            ""
            if self.max_sampled_tokens is None
            else f", at most {self.max_sampled_tokens:,} tokens"
        )
        lines = [f"{self.method} on {self.environment}, {self.steps} steps{budget}"]
        for name, role in self.roles.items():
            trained = "trained" if role["trained"] else "frozen"
            lines.append(
                f"  role {name}: policy {role['policy']} ({trained}), {role['replies']} replies a "
                f"prompt, at most {role['max_reply_tokens']} tokens each"
            )
        if self.roles_not_played:
            lines.append(f"  not played: {', '.join(self.roles_not_played)}")
        for name, parameters in self.policies.items():
            size = "a script" if parameters is None else f"{parameters:,} parameters"
            lines.append(f"  policy {name}: {size}")
        lines.append(
            f"at most, a step: {self.episodes_a_step:,} episodes, {self.groups_a_step:,} groups, "
            f"{self.replies_a_step:,} replies, {self.sampled_tokens_a_step:,} sampled tokens"
        )
        if self.memory_bytes is not None:
            lines.append(f"memory, estimated: {self.memory_bytes / 2**30:.2f} GiB")
        return "\n".join(lines)


def plan_of(config: Config) -> RunPlan:
    """The plan of a configuration, without weights. Raises ConfigurationError as training would."""
    environment = build_environment(config)
    method = method_of(config, environment)
    check_baselines(config)
    of_role = policy_names(config, environment)
    roles = {
        role.name: _role(config, role.name, of_role, method.width) for role in environment.roles
    }
    seats = {role.name: role.seats for role in environment.roles}
    episodes = config.sampling.tasks_per_step * method.episodes_per_task
    prompts = {name: episodes * config.team.turns * seats[name] for name in roles}
    replies = {name: prompts[name] * roles[name]["replies"] for name in roles}
    architecture = _architecture(config) if SHARED in of_role.values() else None
    trained = [name for name in roles if roles[name]["trained"]]
    tree = method.episodes_per_task == 1
    tasks_and_agents = config.sampling.tasks_per_step * sum(seats[name] for name in trained)
    return RunPlan(
        method=config.algorithm.method,
        environment=environment.name,
        roles=roles,
        roles_not_played=_not_played(environment),
        policies={
            name: architecture.num_parameters() if name == SHARED and architecture else None
            for name in dict.fromkeys(of_role.values())
        },
        steps=config.run.steps,
        max_sampled_tokens=config.run.max_sampled_tokens,
        episodes_a_step=episodes,
        groups_a_step=sum(prompts[n] for n in trained) if tree else tasks_and_agents,
        replies_a_step=sum(replies.values()),
        sampled_tokens_a_step=sum(replies[n] * roles[n]["max_reply_tokens"] for n in roles),
        memory_bytes=_memory(config, architecture, sum(prompts.values())) if architecture else None,
        config=config.model_dump(mode="json"),
    )


def _role(config: Config, name: str, of_role: Mapping[str, str], width: int) -> dict[str, Any]:
    trained = config.team.role(name).trainable
    return {
        "policy": of_role[name],
        "trained": trained,
        "replies": width if trained else 1,
        "max_reply_tokens": reply_limit(config, name),
    }


def _not_played(environment: Environment[Any]) -> tuple[str, ...]:
    played = {role.name for role in environment.roles}
    return tuple(role.name for role in environment.all_roles() if role.name not in played)


def _architecture(config: Config) -> Any:
    """The model without memory for its weights."""
    name = config.model.name
    try:
        settings = AutoConfig.from_pretrained(str(model_folder(name) or name))
        with torch.device("meta"):
            return AutoModelForCausalLM.from_config(settings)
    except ModelNotFoundError as error:
        raise ConfigurationError(
            [Fault("model.name", show(name), str(error).partition(": ")[2])]
        ) from error
    except (OSError, ValueError) as error:
        first_line = str(error).strip().partition("\n")[0]
        allowed = f"must be a folder or a Hub id of a causal language model: {first_line}"
        raise ConfigurationError([Fault("model.name", show(name), allowed)]) from error


def _memory(config: Config, architecture: Any, prompts: int) -> int:
    """Masters, gradients and two moments in float32, a cast copy, and the larger batch.

    `prompts` is the number of prompts of a step: a batch is no larger than the step.
    """
    sampling = config.sampling
    replies = sampling.candidates * sampling.max_reply_tokens
    pack = sampling.max_prompt_tokens + replies
    sampled = min(
        sampling.max_batch_tokens,
        prompts * (sampling.candidates * sampling.max_prompt_tokens + replies),
    )
    trained = min(max(config.algorithm.microbatch_tokens, pack), prompts * pack)
    parameters = architecture.num_parameters()
    text = architecture.config.get_text_config()
    copy = 2 * parameters if config.model.dtype == "bfloat16" else 0
    width = BYTES[config.model.dtype]
    heads = getattr(text, "num_key_value_heads", None) or text.num_attention_heads
    head = getattr(text, "head_dim", None) or text.hidden_size // text.num_attention_heads
    cache = 2 * text.num_hidden_layers * heads * head * width * sampled
    activations = 16 * text.num_hidden_layers * text.hidden_size * width
    logits = 3 * 4 * text.vocab_size
    update = (activations + logits) * trained
    return 16 * parameters + copy + max(cache, update)
