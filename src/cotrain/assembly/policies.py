"""The policies of a run: which weights play which role, and what trains them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

import torch

from cotrain.config import SCRIPTED_PREFIX, Config, ConfigurationError, Fault
from cotrain.core.aggregation import AGGREGATIONS
from cotrain.core.seeds import derive_seed
from cotrain.environments.base import Environment
from cotrain.learning.base import Learner
from cotrain.learning.probe import choose_form
from cotrain.learning.scripted import ScriptedLearner
from cotrain.learning.update import PolicyLearner, UpdateSettings
from cotrain.policies.base import Sampler
from cotrain.policies.causal_lm import CausalPolicy
from cotrain.policies.chat import ChatCodec, end_token_ids
from cotrain.policies.loading import (
    ModelNotFoundError,
    accelerator,
    choose_dtype,
    dtype_name,
    load_base,
)
from cotrain.policies.scripted import ScriptedPolicy, load_script
from cotrain.policies.weights import MasterWeights

SHARED = "shared"


@dataclass(frozen=True, slots=True)
class Policies:
    """The samplers by policy name, their learners, the policy of each role, and what is to be said.

    `dtype` is the resolved compute type.
    """

    samplers: Mapping[str, Sampler]
    learners: Mapping[str, Learner]
    of_role: Mapping[str, str]
    dtype: str
    notes: tuple[str, ...] = ()


def policy_names(config: Config, environment: Environment[Any]) -> dict[str, str]:
    """The policy of each played role: `shared`, or the role's own where a script plays it."""
    return {
        role.name: SHARED if _script_of(config, role.name) is None else role.name
        for role in environment.roles
    }


def build_policies(
    config: Config,
    environment: Environment[Any],
    weights_from: Path | None = None,
    versions: Mapping[str, int] = MappingProxyType({}),
) -> Policies:
    """Loads models and scripts.

    `weights_from` is a `policies/` folder to take weights from, which have these versions.

    Raises ConfigurationError for models and scripts that are not there.
    """
    of_role = policy_names(config, environment)
    samplers: dict[str, Sampler] = {}
    learners: dict[str, Learner] = {}
    notes: list[str] = []
    dtype = "float32"
    for name in dict.fromkeys(of_role.values()):
        script = _script_of(config, name)
        if script is not None:
            samplers[name], learners[name] = _scripted(name, script)
            continue
        source = config.model.name if weights_from is None else str(weights_from / name)
        policy, learner, said = _causal(config, name, source)
        policy.version = versions.get(name, 0)
        samplers[name], learners[name] = policy, learner
        dtype = dtype_name(policy.model.dtype)
        notes += said
    return Policies(samplers, learners, of_role, dtype, tuple(notes))


def _scripted(name: str, script: str) -> tuple[ScriptedPolicy, ScriptedLearner]:
    try:
        return ScriptedPolicy(name, load_script(Path(script))), ScriptedLearner(script)
    except ValueError as error:
        fault = Fault(f"team.roles.{name}.model", f'"{SCRIPTED_PREFIX}{script}"', str(error))
        raise ConfigurationError([fault]) from error


def _causal(
    config: Config, name: str, source: str
) -> tuple[CausalPolicy, PolicyLearner, Sequence[str]]:
    try:
        model, tokenizer = load_base(source, torch.float32)
    except ModelNotFoundError as error:
        fault = Fault("model.name", f'"{source}"', str(error).partition(": ")[2])
        raise ConfigurationError([fault]) from error
    torch.nn.Module.to(model, accelerator())
    weights = MasterWeights(model, choose_dtype(config.model.dtype, model))
    ends = end_token_ids(model.config, model.generation_config, tokenizer)
    codec = ChatCodec(tokenizer, ends, config.model.chat_template_options)
    policy = CausalPolicy(
        name, model, codec, config.sampling.max_batch_tokens, config.limits.reply_seconds
    )
    form = choose_form(model)
    notes = [] if form.name == "packed" else [_said_of_plain_form(model)]
    return policy, PolicyLearner(policy, weights, form, _update_settings(config)), notes


def _said_of_plain_form(model: torch.nn.Module) -> str:
    return (
        f"{type(model).__name__} cannot take a tree attention mask: each reply is trained with its "
        "prompt computed again, which is slower and equal"
    )


def _update_settings(config: Config) -> UpdateSettings:
    algorithm, optimizer = config.algorithm, config.optimizer
    return UpdateSettings(
        aggregation=AGGREGATIONS[algorithm.loss_aggregation],
        max_reply_tokens=config.sampling.max_reply_tokens,
        learning_rate=optimizer.learning_rate,
        weight_decay=optimizer.weight_decay,
        max_grad_norm=optimizer.max_grad_norm,
        clip_low=algorithm.clip_low,
        clip_high=algorithm.clip_high,
        num_minibatches=algorithm.minibatches,
        microbatch_tokens=algorithm.microbatch_tokens,
        max_logprob_gap=algorithm.max_logprob_gap,
        seed=derive_seed("update", config.run.seed),
    )


def _script_of(config: Config, role: str) -> str | None:
    model = config.team.role(role).model
    if model is None or not model.startswith(SCRIPTED_PREFIX):
        return None
    return model.removeprefix(SCRIPTED_PREFIX)
