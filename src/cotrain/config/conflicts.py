"""What no key says alone: combinations of values that contradict each other."""

from collections.abc import Iterator

from cotrain.config.faults import Fault, show
from cotrain.config.schema import (
    GROUP_METHODS,
    IMITATION,
    SCRIPTED_PREFIX,
    TEAM_METHODS,
    Config,
    RoleSettings,
)


def conflicts(config: Config) -> list[Fault]:
    """A fault for every contradiction; each names all keys that take part in it.

    >>> from cotrain.config.schema import ModelSettings
    >>> print(conflicts(Config(model=ModelSettings(lora_alpha=32.0)))[0])
    model.lora_alpha = 32.0: must not be set without model.lora_rank
    """
    return [
        *_without_baseline(config),
        *_other_distribution(config),
        *_alpha_without_rank(config),
        *_roles_of_one_policy(config),
        *_single_variant_of_a_team(config),
        *_draft_of_two_policies(config),
        *_training_of_a_script(config),
        *_imitation_of_nothing(config),
        *_imitation_with_sampling(config),
    ]


def _without_baseline(config: Config) -> Iterator[Fault]:
    method = config.algorithm.method
    if config.sampling.candidates == 1 and method in GROUP_METHODS:
        allowed = (
            f"must be >= 2 with algorithm.method = {show(method)}, which compares a reply "
            "with its siblings"
        )
        yield Fault("sampling.candidates", "1", allowed)


def _other_distribution(config: Config) -> Iterator[Fault]:
    sampling = config.sampling
    neutral = {
        "top_p": (sampling.top_p, 1.0),
        "top_k": (sampling.top_k, 0),
        "repetition_penalty": (sampling.repetition_penalty, 1.0),
    }
    for name, (value, required) in neutral.items():
        if value != required:
            allowed = (
                f"must be {required}: training samples must come from the distribution that is "
                "trained"
            )
            yield Fault(f"sampling.{name}", show(value), allowed)


def _alpha_without_rank(config: Config) -> Iterator[Fault]:
    ranks = [config.model.lora_rank, *(role.lora_rank for role in config.team.roles.values())]
    adapters = config.team.policies == "lora_per_role" or any(rank is not None for rank in ranks)
    if config.model.lora_alpha is not None and not adapters:
        allowed = "must not be set without model.lora_rank"
        yield Fault("model.lora_alpha", show(config.model.lora_alpha), allowed)


def _roles_of_one_policy(config: Config) -> Iterator[Fault]:
    if config.team.policies != "shared":
        return
    for name, role in config.team.roles.items():
        for key, general in _own_weights(role).items():
            allowed = (
                'must not be set with team.policies = "shared": one policy plays all roles; '
                f"set {general}"
            )
            yield Fault(f"team.roles.{name}.{key}", show(getattr(role, key)), allowed)


def _own_weights(role: RoleSettings) -> dict[str, str]:
    """The keys set for this role that only weights of its own can honour, and the general key."""
    general = {"learning_rate": "optimizer.learning_rate", "lora_rank": "model.lora_rank"}
    given = {key: other for key, other in general.items() if getattr(role, key) is not None}
    if role.model is not None and not role.model.startswith(SCRIPTED_PREFIX):
        given["model"] = "model.name"
    return given


def _single_variant_of_a_team(config: Config) -> Iterator[Fault]:
    variant, method = config.environment.options.get("single"), config.algorithm.method
    if variant is not None and method in TEAM_METHODS:
        allowed = (
            f"must not be set with algorithm.method = {show(method)}, which plays the team; "
            "the single methods play this variant"
        )
        yield Fault("environment.options.single", show(variant), allowed)


def _draft_of_two_policies(config: Config) -> Iterator[Fault]:
    if config.environment.options.get("single") == "draft" and config.team.policies != "shared":
        allowed = (
            'must be "shared" with environment.options.single = "draft", where one policy writes '
            "the draft and the answer"
        )
        yield Fault("team.policies", show(config.team.policies), allowed)


def _training_of_a_script(config: Config) -> Iterator[Fault]:
    for name, role in config.team.roles.items():
        if role.model is None or not role.model.startswith(SCRIPTED_PREFIX):
            continue
        for key in ("learning_rate", "lora_rank"):
            value = getattr(role, key)
            if value is not None:
                allowed = "must not be set for a role that a script plays"
                yield Fault(f"team.roles.{name}.{key}", show(value), allowed)


def _imitation_of_nothing(config: Config) -> Iterator[Fault]:
    named, hashes = config.imitation.episodes, config.imitation.sha256
    if config.algorithm.method == IMITATION and not named:
        allowed = (
            f"must name run folders or files of episodes with algorithm.method = {show(IMITATION)} "
            "(cotrain sft --from)"
        )
        yield Fault("imitation.episodes", show(named), allowed)
    if hashes and len(hashes) != len(named):
        allowed = f"must be one hash for each of imitation.episodes, which are {len(named)}"
        yield Fault("imitation.sha256", show(hashes), allowed)


def _imitation_with_sampling(config: Config) -> Iterator[Fault]:
    if config.algorithm.method != IMITATION:
        return
    method = f"algorithm.method = {show(IMITATION)}"
    if config.run.max_sampled_tokens is not None:
        allowed = f"must not be set with {method}, which samples nothing; set run.steps"
        yield Fault("run.max_sampled_tokens", show(config.run.max_sampled_tokens), allowed)
    if config.algorithm.kl_coefficient > 0:
        allowed = f"must be 0 with {method}: its replies are not the policy's own"
        yield Fault("algorithm.kl_coefficient", show(config.algorithm.kl_coefficient), allowed)
