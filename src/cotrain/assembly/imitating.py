"""Supervised runs: the episodes that a configuration imitates, found, checked and encoded."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cotrain.assembly.casting import reply_limit
from cotrain.assembly.experience import Experience
from cotrain.assembly.policies import Policies
from cotrain.assembly.policy_plans import policy_of_role, trainable_roles, trained_roles
from cotrain.config import (
    IMITATION,
    SCRIPTED_PREFIX,
    TEAM_METHODS,
    Config,
    ConfigurationError,
    Fault,
    by_key,
    load_config,
    show,
)
from cotrain.config import replaced as with_overrides
from cotrain.config.values import table_of
from cotrain.core.episode import Episode
from cotrain.core.samples import demonstrated
from cotrain.environments.base import Environment
from cotrain.policies.causal_lm import CausalPolicy
from cotrain.runs.durable import RunFolderError
from cotrain.runs.episode_file import thin
from cotrain.runs.episode_sources import episodes_in, hash_of
from cotrain.runs.layout import CONFIG
from cotrain.runs.store import RunFolder
from cotrain.training.imitation import (
    KEEPING,
    Demonstrations,
    Encoded,
    ImitationCredit,
    Reader,
    encoded,
)

KEY = "imitation.episodes"


@dataclass(frozen=True, slots=True)
class DemonstrationData:
    """The episodes that a run imitates, as they are stored, with the hashes of their sources."""

    episodes: Sequence[Episode]
    hashes: tuple[str, ...]
    notes: tuple[str, ...]

    def pinned(self, config: Config) -> Config:
        """The configuration with the hashes in place."""
        return with_overrides(config, {"imitation.sha256": list(self.hashes)})

    def experience(
        self, config: Config, environment: Environment[Any], policies: Policies
    ) -> Experience:
        """The demonstrations in the ids of these policies.

        Raises ConfigurationError when all are longer than the policies may read or write.
        """
        found = encoded(self.episodes, _readers(config, environment, policies))
        if not found.episodes:
            allowed = (
                f"hold {len(self.episodes)} episodes to imitate, and each has a prompt or reply "
                "that does not fit (sampling.max_prompt_tokens, max_reply_tokens, the context)"
            )
            raise _refused(config, allowed)
        of_role = policy_of_role(config, environment)
        taught = {role: of_role[role] for role in trainable_roles(config, environment)}
        cut_replies = config.algorithm.cut_replies
        if not any(demonstrated(episode, taught, cut_replies) for episode in found.episodes):
            allowed = (
                "hold replies alone that were cut at the length limit, which "
                f"algorithm.cut_replies = {show(cut_replies)} leaves out"
            )
            raise _refused(config, allowed)

        def learners_of(step: int) -> Mapping[str, str]:
            return {role: of_role[role] for role in trained_roles(config, environment, step)}

        source = Demonstrations(
            found.episodes, config.sampling.tasks_per_step, seed=config.run.seed
        )
        return Experience(
            source=lambda engine: source,
            credit=ImitationCredit(learners_of, cut_replies),
            notes=(*self.notes, *_notes_of_encoding(found)),
        )


def demonstrations_of(config: Config, environment: Environment[Any]) -> DemonstrationData:
    """The kept episodes of the sources that a configuration names.

    Raises ConfigurationError for sources that are not there, have changed, are of another game or
    of other roles, or hold nothing that can be imitated.
    """
    _refuse_scripts_alone(config, environment)
    _refuse_other_game(config)
    sources = config.imitation.episodes
    try:
        hashes = tuple(map(hash_of, sources))
        _refuse_twice(config, hashes)
        _refuse_changed(config, hashes)
        counts = Counter[str]()
        kept = KEEPING[config.imitation.keep](_solved(sources, counts))
    except RunFolderError as error:
        raise _refused(config, str(error)) from error
    if not kept:
        raise _refused(config, f"hold no solved training episode: {_told(counts)}")
    _refuse_other_roles(config, environment, kept)
    notes = _notes_of_choice(config, environment, counts, len(kept))
    return DemonstrationData(kept, hashes, tuple(notes))


def imitating(
    source: str | Path | None,
    overrides: Mapping[str, object] | Sequence[str],
    episodes: Sequence[str],
) -> dict[str, object]:
    """The overrides that make a new run's configuration one of imitation.

    `run.max_sampled_tokens` of the configuration is left out: nothing is sampled. Raises
    ConfigurationError for a configuration whose method plays no team.
    """
    given = by_key(overrides)
    method = load_config(source, {**given, **_named(episodes)}).algorithm.method
    if method not in TEAM_METHODS:
        allowed = f"plays no team, and {show(IMITATION)} imitates one; name a team's configuration"
        raise ConfigurationError([Fault("algorithm.method", show(method), allowed)])
    return imitating_still(given, episodes)


def imitating_still(
    overrides: Mapping[str, object] | Sequence[str], episodes: Sequence[str]
) -> dict[str, object]:
    """The overrides with which a run of imitation goes on."""
    unlimited = {"run.max_sampled_tokens": None, "algorithm.method": IMITATION}
    return {**unlimited, **by_key(overrides), **_named(episodes)}


def _named(episodes: Sequence[str]) -> dict[str, object]:
    return {KEY: list(episodes)} if episodes else {}


def _solved(sources: Sequence[str], counts: Counter[str]) -> Iterator[Episode]:
    """Solved training episodes, of each group the followed candidate alone."""
    for episode in (episode for source in sources for episode in episodes_in(source)):
        counts["read"] += 1
        if episode.task.split != "train":
            counts["held out"] += 1
        elif episode.success:
            counts["solved"] += 1
            yield from thin([episode], "followed")


def _refuse_scripts_alone(config: Config, environment: Environment[Any]) -> None:
    roles = [role.name for role in environment.roles]
    first = trainable_roles(config, environment)[0]  # a script only where scripts play all roles
    model = config.team.role(first).model
    if model is not None and model.startswith(SCRIPTED_PREFIX):
        allowed = f"leaves nothing to train: scripts play {_listed(roles)}"
        raise ConfigurationError([Fault(f"team.roles.{first}.model", show(model), allowed)])


def _refuse_twice(config: Config, hashes: Sequence[str]) -> None:
    twice = [
        source
        for source, one in zip(config.imitation.episodes, hashes, strict=True)
        if hashes.count(one) > 1
    ]
    if twice:
        raise _refused(config, f"hold the same episodes: {_listed(twice)}; name each source once")


def _refuse_changed(config: Config, hashes: Sequence[str]) -> None:
    known = config.imitation.sha256
    pairs = zip(config.imitation.episodes, known, hashes, strict=True) if known else ()
    faults = [
        Fault("imitation.sha256", show(old), f"{source} now has the hash {new}: it has changed")
        for source, old, new in pairs
        if old != new
    ]
    if faults:
        raise ConfigurationError(faults)


def _refuse_other_game(config: Config) -> None:
    here = config.environment.name
    for source, there in _environments(config.imitation.episodes):
        name = str(there.get("name"))
        if name.rpartition(":")[2] != here.rpartition(":")[2]:
            raise _refused(config, f"{source} is a run on {name}; this one plays {here}")


def _environments(sources: Sequence[str]) -> Iterator[tuple[str, Mapping[str, object]]]:
    """The environment of each source that is a run; a file does not say its own."""
    for source in sources:
        if (Path(source) / CONFIG).is_file():
            yield source, table_of(RunFolder(source).config().get("environment"))


def _refuse_other_roles(
    config: Config, environment: Environment[Any], kept: Sequence[Episode]
) -> None:
    found = list(dict.fromkeys(g.role for e in kept for g in e.groups() if g.chosen is not None))
    played = [role.name for role in environment.roles]
    if not set(found) <= set(played):
        allowed = f"hold replies of {_listed(found)}; {environment.name} has {_listed(played)}"
        raise _refused(config, allowed)
    of_role = policy_of_role(config, environment)
    trained = trainable_roles(config, environment)
    taught = {of_role[role] for role in trained if role in found}
    untaught = [role for role in trained if of_role[role] not in taught]
    if untaught:
        raise _refused(config, f"hold no reply of {_listed(untaught)}, which is to be trained")


def _notes_of_choice(
    config: Config, environment: Environment[Any], counts: Counter[str], num_kept: int
) -> Iterator[str]:
    yield (
        f"imitates {num_kept:,} episodes (imitation.keep = {show(config.imitation.keep)}): "
        f"{_told(counts)}"
    )
    learning = trainable_roles(config, environment)
    for role in environment.roles:
        if role.name not in learning:
            yield f"replies of {role.name} are not imitated: it is frozen, or a script plays it"
    here = config.model_dump(mode="json")["environment"]["options"]
    for source, there in _environments(config.imitation.episodes):
        options = there.get("options")
        if options != here:
            yield f"{source} was played with other environment.options: {show(options)}"


def _notes_of_encoding(found: Encoded) -> Iterator[str]:
    for role, count in found.encoded_anew.items():
        yield (
            f"{count:,} replies of {role} were encoded anew from their text: their stored ids are "
            "of another tokenizer or chat template than its policy's"
        )
    if found.num_too_long:
        yield (
            f"{found.num_too_long:,} episodes are left out: a prompt or reply is longer than the "
            "policies may read or write here"
        )


def _readers(
    config: Config, environment: Environment[Any], policies: Policies
) -> dict[str, Reader]:
    samplers = {role: policies.sampler_of(role) for role in trainable_roles(config, environment)}
    return {
        role: Reader(
            sampler.codec,
            config.sampling.max_prompt_tokens,
            reply_limit(config, role),
            sampler.context_tokens,
        )
        for role, sampler in samplers.items()
        if isinstance(sampler, CausalPolicy)
    }


def _told(counts: Counter[str]) -> str:
    told = f"{counts['read']:,} episodes were read, {counts['solved']:,} of them solved"
    held_out = counts["held out"]
    return told + (f", {held_out:,} left out, whose tasks are no training tasks" * bool(held_out))


def _refused(config: Config, allowed: str) -> ConfigurationError:
    return ConfigurationError([Fault(KEY, show(config.imitation.episodes), allowed)])


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names)
