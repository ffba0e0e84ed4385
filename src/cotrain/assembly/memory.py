"""How large policies are, and an estimate of the memory that a run takes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from transformers import PreTrainedModel

from cotrain.assembly.networks import load_or_fault
from cotrain.assembly.policy_plans import AdapterStart, PolicyPlan, unfit_start
from cotrain.config import Config
from cotrain.policies.adapters import (
    AdapterSettings,
    adapter_shapes,
    new_adapter_config,
    read_adapter,
    read_adapter_config,
)
from cotrain.policies.loading import architecture

WIDTHS = {"float32": 4, "bfloat16": 2, "float64": 8}


@dataclass(frozen=True, slots=True)
class PlannedPolicy:
    """A policy: the parameters of its model, those that are its own, and those that are trained.

    `base` is None for a script, whose counts are 0. `rank` is None without an adapter. All counts
    are None where the base cannot be reached; `unknown` then says why.
    """

    base: str | None
    parameters: int | None
    own_parameters: int | None
    trained_parameters: int | None
    rank: int | None = None
    unknown: str = ""

    def as_text(self) -> str:
        """The policy for a person."""
        if self.base is None:
            return "a script"
        if self.unknown:
            return f"{self.base}, of unknown size: {self.unknown}"
        if self.rank is not None:
            kept = "" if self.trained_parameters else ", frozen"
            return (
                f"adapter of rank {self.rank} on {self.base}, {self.own_parameters:,} of "
                f"{self.parameters:,} parameters{kept}"
            )
        kept = "" if self.trained_parameters else ", frozen"
        return f"{self.base}, {self.parameters:,} parameters{kept}"


A_SCRIPT = PlannedPolicy(None, 0, 0, 0)


@dataclass(frozen=True, slots=True)
class Sized:
    """A policy that is a model, the model without memory, and the parameters that are its own."""

    plan: PolicyPlan
    model: PreTrainedModel
    parameters: int
    own_parameters: int
    rank: int | None = None


def sized(plan: PolicyPlan) -> Sized:
    """The sizes of a policy that is no script. Raises ConfigurationError for a missing base."""
    model = load_or_fault(plan.base_key, plan.base, lambda: architecture(plan.base))
    parameters = model.num_parameters()
    if plan.adapter is None:
        return Sized(plan, model, parameters, parameters)
    if isinstance(plan.adapter, AdapterStart):
        return _sized_start(plan, plan.adapter.folder, model)
    config = new_adapter_config(AdapterSettings(plan.adapter.rank, plan.adapter.alpha, seed=0))
    return Sized(plan, model, parameters, _count(adapter_shapes(model, config)), config.r)


def _sized_start(plan: PolicyPlan, folder: Path, model: PreTrainedModel) -> Sized:
    """Raises ConfigurationError for a start that does not fit the base, as training does."""
    parameters = model.num_parameters()
    try:
        config = read_adapter_config(folder)
        shapes = adapter_shapes(model, config)
        found = {name: tensor.shape for name, tensor in read_adapter(folder).items()}
        if found != shapes:
            other = sorted(n for n in {*found, *shapes} if found.get(n) != shapes.get(n))
            raise ValueError(f"{folder} does not fit the model: {other[:5]} differ")
    except (ValueError, OSError) as error:
        raise unfit_start(plan.name, folder, error) from error
    return Sized(plan, model, parameters, _count(shapes), config.r)


def _count(shapes: Mapping[str, torch.Size]) -> int:
    return sum(shape.numel() for shape in shapes.values())


def planned(policy: Sized) -> PlannedPolicy:
    """What is said of a policy before the run."""
    plan, own = policy.plan, policy.own_parameters
    trained = own if plan.trained else 0
    return PlannedPolicy(plan.base, policy.parameters, own, trained, policy.rank)


def memory_bytes(config: Config, policies: Sequence[Sized], width: int, prompts: int) -> int:
    """All weights, and the larger batch of the policy whose batches are the largest.

    A step has `prompts` prompts, each with `width` replies; the program itself is left out.
    """
    size = WIDTHS[config.model.dtype]
    bases = {p.plan.base: p.parameters for p in policies if p.plan.adapter is not None}
    own = sum(_weight_bytes(config, policy) for policy in policies)
    batch = max(_batch_bytes(config, policy.model, width, prompts) for policy in policies)
    return size * sum(bases.values()) + own + batch


def _weight_bytes(config: Config, policy: Sized) -> int:
    """A policy's own weights: what computes, masters, gradients, two moments, and a reference."""
    width = WIDTHS[config.model.dtype]
    if not policy.plan.trained:
        return width * policy.own_parameters
    wide = max(width, 4)
    copy = 0 if width == wide else width
    reference = width if config.algorithm.kl_coefficient > 0 else 0
    return (4 * wide + copy + reference) * policy.own_parameters


def _batch_bytes(config: Config, model: PreTrainedModel, width: int, prompts: int) -> int:
    """The larger of a sampling batch and an update batch; neither is larger than the step."""
    sampling, size = config.sampling, WIDTHS[config.model.dtype]
    replies = width * sampling.max_reply_tokens
    pack = sampling.max_prompt_tokens + replies
    sampled = min(
        sampling.max_batch_tokens,
        prompts * (width * sampling.max_prompt_tokens + replies),
    )
    trained = min(max(config.algorithm.microbatch_tokens, pack), prompts * pack)
    text = model.config.get_text_config()
    heads = getattr(text, "num_key_value_heads", None) or text.num_attention_heads
    head = getattr(text, "head_dim", None) or text.hidden_size // text.num_attention_heads
    cache = 2 * text.num_hidden_layers * heads * head * size * sampled
    activations = 16 * text.num_hidden_layers * text.hidden_size * size
    logits = 3 * 4 * text.vocab_size
    return max(cache, (activations + logits) * trained)
