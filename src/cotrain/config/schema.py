"""Every setting of a run: its type, default, bound and meaning. One class a section.

The classes check shapes alone. What several keys say together is in `conflicts.py`, what this
version cannot do in `availability.py`; role names and environment options are checked where the
environment is known. A path is taken from the working directory.
"""

from collections.abc import Mapping
from typing import Annotated, Literal, TypeAlias

from pydantic import Field, JsonValue

from cotrain.config.imitation import ImitationSettings
from cotrain.config.machines import ClusterSettings, LimitsSettings, SandboxSettings
from cotrain.config.values import (
    AtLeastOne,
    Fraction,
    Name,
    NotNegative,
    Section,
    Seed,
    Temperature,
    Text,
)

MethodName: TypeAlias = Literal[
    "single", "single_grpo", "single_at_grpo", "team", "team_grpo", "at_grpo", "sft"
]
IMITATION: MethodName = "sft"
TEAM_METHODS = frozenset[MethodName]({"team", "team_grpo", "at_grpo", IMITATION})
GROUP_METHODS = frozenset[MethodName]({"single_grpo", "single_at_grpo", "team_grpo", "at_grpo"})

SCRIPTED_PREFIX = "scripted:"


class RunSettings(Section):
    """How long a run lasts, and what it saves."""

    name: Name = Field(default="run", description="The run's name, and the name of its folder.")
    seed: Seed = Field(
        default=0, description="Tasks, weights and sampling of the run derive from it."
    )
    steps: AtLeastOne = Field(
        default=50, description="Steps to train; one step updates every policy."
    )
    max_sampled_tokens: AtLeastOne | None = Field(
        default=None,
        description="The budget of sampled training tokens: the run ends at the first step "
        "boundary at or past it, and schedules follow tokens over budget.",
    )
    evaluate_every: NotNegative = Field(
        default=10,
        description="Steps between evaluations; 0 evaluates before the first and after the last.",
    )
    checkpoint_every: NotNegative = Field(
        default=10, description="Steps between checkpoints; 0 saves after the last step alone."
    )
    keep_checkpoints: AtLeastOne = Field(
        default=3, description="The newest checkpoints that are kept."
    )


class EnvironmentSettings(Section):
    """The game that the team plays."""

    name: Text = Field(
        default="plan_path", description="A shipped environment, or `file.py:Class`."
    )
    options: Mapping[str, JsonValue] = Field(
        default={}, description="The environment's own options; `cotrain environments` lists them."
    )


class RoleSettings(Section):
    """What one role does differently. Every key is optional.

    Roles of any variant of the environment may be named; `--dry-run` lists those not played.
    """

    model: Text | None = Field(
        default=None,
        description="This role's base model under `model_per_role`, the folder of the adapter it "
        "starts from under `lora_per_role`; `scripted:FILE` plays the replies of a file. Not set: "
        "`model.name`.",
    )
    trainable: bool = Field(
        default=True,
        description="False freezes the role: it plays, and its replies are not trained.",
    )
    learning_rate: Fraction | None = Field(
        default=None, description="This role's rate. Not set: `optimizer.learning_rate`."
    )
    lora_rank: AtLeastOne | None = Field(
        default=None, description="This role's adapter rank. Not set: `model.lora_rank`."
    )
    temperature: Temperature | None = Field(
        default=None,
        description="This role's temperature in training. Not set: `sampling.temperature`.",
    )
    max_reply_tokens: AtLeastOne | None = Field(
        default=None, description="This role's reply limit. Not set: `sampling.max_reply_tokens`."
    )
    prompt: Text | None = Field(
        default=None,
        description="A text file whose content replaces the role's standing instruction.",
    )


class TeamSettings(Section):
    """Who plays with which weights, and for how many turns."""

    policies: Literal["shared", "lora_per_role", "model_per_role"] = Field(
        default="shared",
        description="`shared`: one model plays every role; `lora_per_role`: one frozen base with "
        "an adapter a role; `model_per_role`: a model a role.",
    )
    turns: AtLeastOne = Field(default=4, description="The turn limit T of an episode.")
    team_weight: Annotated[float, Field(ge=0)] = Field(
        default=1.0, description="Alpha in `score = alpha * team + local`."
    )
    alternate_every: AtLeastOne | None = Field(
        default=None,
        description="Steps after which the next role is trained, alone. Not set: all are, always.",
    )
    roles: Mapping[Name, RoleSettings] = Field(
        default={}, description="One table a role.", json_schema_extra={"one_per": "ROLE"}
    )

    def role(self, name: str) -> RoleSettings:
        """The settings of this role; all unset where it has no table.

        >>> TeamSettings().role("planner").trainable
        True
        """
        return self.roles.get(name, RoleSettings())


class ModelSettings(Section):
    """The base model and its precision."""

    name: Text = Field(
        default="tiny", description="A Hub id, a folder, or the embedded model `tiny`."
    )
    dtype: Literal["auto", "float32", "bfloat16", "float64"] = Field(
        default="auto",
        description="The compute type; trained weights and moments stay float32 or wider. `auto` "
        "is resolved once and stored with the run.",
    )
    threads: Literal["auto"] | Annotated[int, Field(ge=1, le=1024)] = Field(
        default="auto",
        description="CPU threads; `auto` is `OMP_NUM_THREADS`, if set, or all of them, and is "
        "resolved once and stored with the run.",
    )
    lora_rank: AtLeastOne | None = Field(
        default=None,
        description="Trains an adapter of this rank. Not set: full weights, and 16 under "
        "`lora_per_role`.",
    )
    lora_alpha: Annotated[float, Field(gt=0)] | None = Field(
        default=None,
        description="The adapter's scale is `lora_alpha / lora_rank`. Not set: twice the rank.",
    )
    gradient_checkpointing: bool = Field(
        default=False,
        description="Computes activations again in the backward pass: slower, less memory.",
    )
    chat_template_options: Mapping[str, JsonValue] = Field(
        default={}, description="Passed to the chat template, as in `{enable_thinking = false}`."
    )


class SamplingSettings(Section):
    """How training replies are sampled."""

    candidates: AtLeastOne = Field(default=4, description="K, the replies sampled from one prompt.")
    tasks_per_step: AtLeastOne = Field(default=8, description="Tasks that one step plays.")
    temperature: Temperature = Field(
        default=1.0, description="Also applied to the log-probabilities that are trained."
    )
    top_p: Annotated[float, Field(gt=0, le=1)] = Field(default=1.0, description="Must stay 1.0.")
    top_k: NotNegative = Field(default=0, description="Must stay 0 (off).")
    repetition_penalty: Annotated[float, Field(gt=0)] = Field(
        default=1.0, description="Must stay 1.0."
    )
    max_prompt_tokens: AtLeastOne = Field(
        default=2048,
        description="A longer prompt stops the run at turn 1, and ends its episode later.",
    )
    max_reply_tokens: AtLeastOne = Field(default=512, description="The length limit of a reply.")
    max_batch_tokens: AtLeastOne = Field(
        default=65536,
        description="Tokens that the local engine samples together at most; bounds memory.",
    )
    engine: Literal["local", "vllm"] = Field(
        default="local", description="What samples the replies."
    )


class AlgorithmSettings(Section):
    """What is learnt from the replies."""

    method: MethodName = Field(
        default="at_grpo",
        description="`at_grpo`: groups of one agent's turn, sampled as a tree; `team_grpo` and "
        "`single_grpo`: groups of whole episodes; `single_at_grpo`: the tree with one agent; "
        "`team` and `single`: evaluation alone; `sft`: imitation of `imitation.episodes`.",
    )
    advantage: Literal["normalised", "centered", "leave_one_out"] = Field(
        default="normalised",
        description="`normalised`: (r - mean) / std; `centered`: r - mean; `leave_one_out`: r "
        "minus the mean of the others.",
    )
    loss_aggregation: Literal["sequence_mean", "token_mean", "token_sum_over_constant"] = Field(
        default="sequence_mean",
        description="`sequence_mean`: each reply weighs the same; `token_mean`: each token does; "
        "`token_sum_over_constant`: the token sum over replies times the reply limit.",
    )
    clip_low: Fraction = Field(
        default=0.2, description="The ratio is clipped below at `1 - clip_low`."
    )
    clip_high: Annotated[float, Field(ge=0)] = Field(
        default=0.2, description="The ratio is clipped above at `1 + clip_high`."
    )
    kl_coefficient: Annotated[float, Field(ge=0)] = Field(
        default=0.0,
        description="The weight of the KL divergence from what the policy started as (k3 "
        "estimator).",
    )
    minibatches: AtLeastOne = Field(
        default=1, description="Optimiser steps a step; 1 is strictly on-policy."
    )
    microbatch_tokens: AtLeastOne = Field(
        default=16384,
        description="Padded tokens in one forward pass of the update; bounds memory, and never "
        "changes the gradient.",
    )
    follow: Literal["best", "random"] | Fraction = Field(
        default="best",
        description="The candidate an episode goes on with: `best` by score, `random`, or the "
        "best with this probability, else a random one.",
    )
    cut_replies: Literal["train", "mask"] = Field(
        default="train", description="Whether replies cut at the length limit enter the loss."
    )
    ratio_cap: Annotated[float, Field(ge=1)] = Field(
        default=2.0,
        description="The cap of the importance weight between a sampler and a trainer that are "
        "different engines.",
    )
    max_logprob_gap: Annotated[float, Field(gt=0)] = Field(
        default=0.1,
        description="A mean gap of log-probabilities, sampler to trainer, that stops the run.",
    )


class OptimizerSettings(Section):
    """Adam with decoupled weight decay, one a trained policy."""

    learning_rate: Fraction = Field(default=1e-6, description="The highest rate of the schedule.")
    weight_decay: Annotated[float, Field(ge=0)] = Field(
        default=0.01, description="Decoupled decay."
    )
    max_grad_norm: Annotated[float, Field(gt=0)] = Field(
        default=1.0, description="The gradient of a policy is scaled down to this norm."
    )
    warmup_steps: NotNegative = Field(default=0, description="Steps of linear rise to the rate.")
    schedule: Literal["constant", "linear", "cosine"] = Field(
        default="constant",
        description="The course of the rate after the warm-up, down to 0 at the end.",
    )


class EvaluationSettings(Section):
    """How success is measured: one reply an agent and turn, no tree, its own decoding."""

    tasks: AtLeastOne = Field(default=200, description="Tasks of an evaluation on the test split.")
    validation_tasks: AtLeastOne = Field(
        default=100, description="Tasks of an evaluation on the validation split."
    )
    temperature: Annotated[float, Field(ge=0)] = Field(
        default=0.6, description="0 is greedy decoding."
    )
    top_p: Annotated[float, Field(gt=0, le=1)] = Field(default=0.95, description="1.0 is off.")
    top_k: NotNegative = Field(default=20, description="0 is off.")
    seed: Seed = Field(default=1, description="Tasks and sampling of evaluations derive from it.")
    watch: NotNegative = Field(
        default=2,
        description="Validation evaluations in a row, with success down while training scores are "
        "up, that raise the event `reward_hacking`; 0 is off.",
    )
    baselines: tuple[Text, ...] = Field(
        default=(),
        strict=False,
        description="Model folders that are evaluated once on the test split, as rows of step 0.",
    )


class LoggingSettings(Section):
    """What is shown and written while the run goes on; the run folder is always written."""

    console: bool = Field(default=True, description="Shows live progress.")
    episodes: Literal["all", "followed", "none"] | AtLeastOne = Field(
        default="all",
        description="Episodes written a step: `all` with all candidates, `followed` with the "
        "followed ones, the first N, or `none`.",
    )
    tensorboard: bool = Field(default=False, description="Also writes TensorBoard files.")
    wandb: bool = Field(default=False, description="Also logs to Weights & Biases.")
    trackio: bool = Field(default=False, description="Also logs to Trackio.")


class Config(Section):
    """The resolved configuration of a run.

    `config.model_dump(mode="json")` is what `config.json` holds; `config_from_json` reads it.

    >>> config = Config()
    >>> config.algorithm.method, config.sampling.candidates
    ('at_grpo', 4)
    """

    run: RunSettings = RunSettings()
    environment: EnvironmentSettings = EnvironmentSettings()
    team: TeamSettings = TeamSettings()
    model: ModelSettings = ModelSettings()
    sampling: SamplingSettings = SamplingSettings()
    algorithm: AlgorithmSettings = AlgorithmSettings()
    imitation: ImitationSettings = ImitationSettings()
    optimizer: OptimizerSettings = OptimizerSettings()
    evaluation: EvaluationSettings = EvaluationSettings()
    limits: LimitsSettings = LimitsSettings()
    sandbox: SandboxSettings | None = None
    cluster: ClusterSettings | None = None
    logging: LoggingSettings = LoggingSettings()
