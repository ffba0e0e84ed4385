"""Training one policy leaves every other one as it was, to the bit: on one base, or with models of
their own.
"""

import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.torch import load_file
from tests.learning.batches import MIXED, NO_SIGNAL, SETTINGS, Scores, credited, draw, moments
from tests.policies.lora_policies import (
    adapted,
    add_filled,
    base_tensors,
    identities,
    logits,
    lora_pair,
    plain_model,
    policy_on,
    requiring_gradients,
    toy_base,
)
from tests.policies.toy_policies import WORDS
from torch import Tensor

from cotrain.core.samples import CreditedSample
from cotrain.learning.base import LearningError
from cotrain.learning.batching import WeightedSample
from cotrain.learning.forward import PACKED, PLAIN, Form, lay_out, reply_logprobs
from cotrain.learning.frozen import FrozenLearner
from cotrain.learning.moments import MOMENTS
from cotrain.learning.update import PolicyLearner
from cotrain.policies.adapters import ADAPTER_FILE
from cotrain.policies.base import WeightsError
from cotrain.policies.causal_lm import CausalPolicy
from cotrain.policies.networks import Network, WholeModel
from cotrain.policies.toy import toy_tokenizer
from cotrain.policies.weights import MasterWeights, cast_parameters, checksum

FAST = replace(SETTINGS, learning_rate=1e-2, max_grad_norm=1.0, max_logprob_gap=10.0)
NEAR = replace(FAST, kl_coefficient=0.1)
ROLES = ("coder", "tester")


@dataclass(frozen=True, slots=True)
class Saved:
    """A save of one role, with what the role said at that moment."""

    folder: Path
    version: int
    logits: Tensor


@dataclass(frozen=True, slots=True)
class Role:
    """A trained policy; with a reference, it is also kept near its start."""

    policy: CausalPolicy
    weights: MasterWeights
    learner: PolicyLearner
    reference: Network | None = None
    saves: list[Saved] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Team:
    """Two trained roles, a frozen one, and every network whose logits are watched."""

    roles: dict[str, Role]
    idle: FrozenLearner
    watched: dict[str, Network]


def role_on(network: Network, name: str, dtype: torch.dtype, near: Network | None = None) -> Role:
    policy = policy_on(network, name)
    weights = MasterWeights(network.tensors(), dtype)
    chosen = FAST if near is None else NEAR
    return Role(policy, weights, PolicyLearner(policy, weights, PACKED, chosen, near), near)


def lora_team(dtype: torch.dtype) -> Team:
    base = toy_base(dtype=dtype)
    coder, tester = add_filled(base, 11), add_filled(base, 12)
    return team(coder, tester, tester.frozen_copy(), add_filled(base, 13), dtype)


def model_team(dtype: torch.dtype) -> Team:
    coder, tester, idle = (WholeModel(plain_model(i), toy_tokenizer(WORDS)) for i in range(3))
    return team(coder, tester, tester.frozen_copy(), idle, dtype)


def team(
    coder: Network, tester: Network, reference: Network, idle: Network, dtype: torch.dtype
) -> Team:
    cast_parameters(reference.tensors().values(), dtype)
    roles = {
        "coder": role_on(coder, "coder", dtype),
        "tester": role_on(tester, "tester", dtype, reference),
    }
    watched = {"coder": coder, "tester": tester, "reference": reference, "idle": idle}
    return Team(roles, FrozenLearner(policy_on(idle, "idle"), dtype), watched)


def drawn(policy: CausalPolicy, scores: Scores = MIXED, seed: int = 0) -> list[CreditedSample]:
    """A credited batch of this policy, sampled from it as it is."""
    return credited([replace(s, policy=policy.name) for s in draw(policy, scores, seed=seed)])


@dataclass(frozen=True, slots=True)
class Deed:
    """Something that happens to one role; `number` is its seed, or which save it loads."""

    what: str
    role: str
    number: int


def update(present: Team, deed: Deed, folder: Path) -> set[str]:
    return step(present.roles[deed.role], MIXED[:1], deed.number)


def update_without_signal(present: Team, deed: Deed, folder: Path) -> set[str]:
    return step(present.roles[deed.role], NO_SIGNAL[:1], deed.number)


def update_without_samples(present: Team, deed: Deed, folder: Path) -> set[str]:
    report = present.roles[deed.role].learner.update([], step=1, rate_factor=1.0)
    return set() if report.skipped else {deed.role}


def step(role: Role, scores: Scores, seed: int) -> set[str]:
    before = role.policy.version
    report = role.learner.update(drawn(role.policy, scores, seed), step=1, rate_factor=1.0)
    assert role.policy.version == before + (not report.skipped)
    return set() if report.skipped else {role.policy.name}


def sample(present: Team, deed: Deed, folder: Path) -> set[str]:
    drawn(present.roles[deed.role].policy, seed=deed.number)
    return set()


def save(present: Team, deed: Deed, folder: Path) -> set[str]:
    saved(present.roles[deed.role], folder)
    return set()


def load(present: Team, deed: Deed, folder: Path) -> set[str]:
    role = present.roles[deed.role]
    if not role.saves:
        return save(present, deed, folder)
    return loaded(role, role.saves[deed.number % len(role.saves)])


def swap(present: Team, deed: Deed, folder: Path) -> set[str]:
    """Each role goes on with the weights, moments and version of the other."""
    coder, tester = present.roles.values()
    of_coder, of_tester = saved(coder, folder), saved(tester, folder)
    return loaded(coder, of_tester) | loaded(tester, of_coder)


def saved(role: Role, folder: Path) -> Saved:
    place = folder / f"{role.policy.name}_{len(role.saves)}"
    role.learner.save_policy(place / "policy")
    role.learner.save_optimizer(place / "optimizer")
    role.saves.append(Saved(place, role.policy.version, logits(role.policy.network)))
    return role.saves[-1]


def loaded(role: Role, save: Saved) -> set[str]:
    before = logits(role.policy.network)
    role.learner.load(save.folder / "policy", save.folder / "optimizer", save.version)
    assert torch.equal(logits(role.policy.network), save.logits)
    return set() if torch.equal(before, save.logits) else {role.policy.name}


DEEDS: dict[str, Callable[[Team, Deed, Path], set[str]]] = {
    "update": update,
    "update without signal": update_without_signal,
    "update without samples": update_without_samples,
    "sample": sample,
    "save": save,
    "load": load,
    "swap": swap,
}
HISTORIES = st.lists(
    st.builds(Deed, st.sampled_from(sorted(DEEDS)), st.sampled_from(ROLES), st.integers(0, 3)),
    min_size=3,
    max_size=9,
)


@dataclass(frozen=True, slots=True)
class Effect:
    """What a deed did: the roles that it moved, and the networks that say something else."""

    deed: Deed
    moved: frozenset[str]
    changed: frozenset[str]

    @property
    def is_right(self) -> bool:
        """Nothing changed but what was moved, and an update with signal did move its role."""
        # One without signal has a KL divergence alone, which at the start has no gradient.
        must_move = self.deed.what == "update"
        return self.changed <= self.moved and (not must_move or self.changed == {self.deed.role})


def effects(present: Team, history: Sequence[Deed], folder: Path) -> list[Effect]:
    """Does it all and looks at every network after each deed; every role can go on from there."""
    found: list[Effect] = []
    said = {name: logits(network) for name, network in present.watched.items()}
    for deed in history:
        moved = DEEDS[deed.what](present, deed, folder)
        assert present.idle.update([], step=1, rate_factor=1.0).skipped
        refuse_unsealed(present)
        now = {name: logits(network) for name, network in present.watched.items()}
        changed = {name for name, value in now.items() if not torch.equal(value, said[name])}
        found.append(Effect(deed, frozenset(moved), frozenset(changed)))
        said = now
    return found


def refuse_unsealed(present: Team) -> None:
    """Raises WeightsError unless every role could go on from here."""
    for role in present.roles.values():
        with role.policy.computing():
            pass


@settings(max_examples=8, deadline=None)
@given(history=HISTORIES, dtype=st.sampled_from([torch.float32, torch.bfloat16]))
def test_an_adapter_changes_only_when_it_is_updated_or_loaded(
    history: list[Deed], dtype: torch.dtype
) -> None:
    present = lora_team(dtype)
    model = present.watched["coder"].model
    base = base_tensors(model)
    with tempfile.TemporaryDirectory() as folder:
        found = effects(present, history, Path(folder))
    assert [effect for effect in found if not effect.is_right] == []
    left = base_tensors(model)
    assert [name for name, value in base.items() if not torch.equal(value, left[name])] == []


@settings(max_examples=8, deadline=None)
@given(history=HISTORIES, dtype=st.sampled_from([torch.float32, torch.bfloat16]))
def test_a_model_changes_only_when_it_is_updated_or_loaded(
    history: list[Deed], dtype: torch.dtype
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        found = effects(model_team(dtype), history, Path(folder))
    assert [effect for effect in found if not effect.is_right] == []


@pytest.mark.parametrize("make", [lora_team, model_team])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_every_kind_of_deed_touches_its_role_alone(
    make: Callable[[torch.dtype], Team], dtype: torch.dtype, tmp_path: Path
) -> None:
    whole = ("save", "update", "save", "sample", "update without signal", "update", "load", "load")
    history = [Deed(what, role, n) for n, what in enumerate(whole) for role in ROLES]
    found = effects(make(dtype), [*history, Deed("swap", "coder", 0)], tmp_path)
    assert [effect for effect in found if not effect.is_right] == []
    assert {e.deed.role for e in found if e.deed.what == "load" and e.changed} == set(ROLES)
    assert found[-1].changed == set(ROLES)


def trainer_logprobs(
    network: Network, samples: Sequence[CreditedSample], form: Form
) -> tuple[Tensor, Tensor]:
    """What the trainer and the sampler say of each reply token, in the same order."""
    packs = form.packing([WeightedSample(i, each, 1.0) for i, each in enumerate(samples)])
    layout = lay_out(packs, form.mask, network.model.device)
    with torch.no_grad(), network.computing() as model:
        trainer = reply_logprobs(model, layout)
    sampled = [v for p in packs for s in p.samples for v in s.credited.sample.sampler_logprobs]
    return trainer, torch.tensor(sampled)


@pytest.mark.parametrize("form", [PACKED, PLAIN])
@pytest.mark.parametrize("num_updates", [0, 2])
def test_sampler_and_trainer_of_each_role_agree(form: Form, num_updates: int) -> None:
    base = toy_base()
    adapters = [add_filled(base, 11), add_filled(base, 12)]
    roles = [
        role_on(adapter, name, torch.float32) for adapter, name in zip(adapters, ROLES, strict=True)
    ]
    for number in range(num_updates):
        for role in roles:
            step(role, MIXED, number)
    for role, other in ((roles[0], roles[1]), (roles[1], roles[0])):
        samples = drawn(role.policy)
        with role.policy.computing():
            trainer, sampler = trainer_logprobs(role.policy.network, samples, form)
        assert float((trainer - sampler).abs().max()) < 1e-4
        wrong, _ = trainer_logprobs(other.policy.network, samples, form)
        assert float((wrong - sampler).abs().mean()) > 1e-2


def fill_masters(weights: MasterWeights, value: float) -> None:
    with torch.no_grad():
        for name, master in weights.parameters.items():
            if ".lora_B." in name:
                master.fill_(value)


def test_an_update_that_was_not_published_is_refused_when_sampling() -> None:
    # verl#7495
    coder, tester = lora_pair(dtype=torch.bfloat16)
    weights = MasterWeights(coder.network.tensors(), torch.bfloat16)
    fill_masters(weights, 0.5)
    coder.seal(weights.checksum())
    with pytest.raises(WeightsError, match="policy coder version 0"):
        drawn(coder)
    drawn(tester)
    weights.publish()
    drawn(coder)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_what_is_published_reaches_the_sampler_of_its_role_alone(dtype: torch.dtype) -> None:
    # verl#7495
    coder, tester = lora_pair(dtype=dtype)
    weights = MasterWeights(coder.network.tensors(), dtype)
    sums = [checksum(policy.network.tensors().values()) for policy in (coder, tester)]
    replies = [[s.sample.reply_ids for s in drawn(policy)] for policy in (coder, tester)]
    said = logits(tester.network)
    fill_masters(weights, 0.5)
    weights.publish()
    coder.seal(weights.checksum())
    assert checksum(coder.network.tensors().values()) == weights.checksum() != sums[0]
    assert [s.sample.reply_ids for s in drawn(coder)] != replies[0]
    assert checksum(tester.network.tensors().values()) == sums[1]
    assert [s.sample.reply_ids for s in drawn(tester)] == replies[1]
    assert torch.equal(logits(tester.network), said)


def test_an_optimiser_over_all_roles_is_noticed_by_the_role_that_it_moved() -> None:
    coder, tester = lora_pair()
    trained = role_on(tester.network, "tester", torch.float32)
    samples = drawn(trained.policy)
    everything = [*coder.network.tensors().values(), *tester.network.tensors().values()]
    optimizer = torch.optim.AdamW(everything, lr=0.1, weight_decay=0.1)
    for parameter in everything:
        parameter.grad = torch.zeros_like(parameter)
    optimizer.step()
    coder.seal(checksum(coder.network.tensors().values()))
    drawn(coder)
    for use in (
        lambda: drawn(trained.policy),
        lambda: trained.learner.update(samples, step=1, rate_factor=1.0),
    ):
        with pytest.raises(WeightsError, match="policy tester version 0"):
            use()


def test_a_learner_refuses_the_samples_of_another_role() -> None:
    coder, tester = lora_pair()
    role = role_on(coder.network, "coder", torch.float32)
    with pytest.raises(LearningError, match=r"policy coder .* sampled from tester version 0"):
        role.learner.update(drawn(tester), step=1, rate_factor=1.0)


def test_the_optimiser_of_a_role_holds_its_own_tensors_and_all_of_them(tmp_path: Path) -> None:
    # peft#3580, peft#2759: the one made last used to be frozen, or the other one trained
    base = toy_base()
    adapters = [add_filled(base, 11), add_filled(base, 12)]
    for order in ((0, 1), (1, 0)):
        roles = [role_on(adapters[i], ROLES[i], torch.float32) for i in order]
        before = [{n: t.clone() for n, t in role.weights.state().items()} for role in roles]
        weights = base_tensors(base.model)
        own = identities(roles[0].policy.network)
        for parameter in base.model.parameters():
            # An optimiser that holds more than its own would take a step on these, too.
            parameter.grad = None if id(parameter) in own else torch.ones_like(parameter)
        step(roles[0], MIXED, seed=0)
        moved = [
            {n for n, t in role.weights.state().items() if not torch.equal(t, start[n])}
            for role, start in zip(roles, before, strict=True)
        ]
        names = set(roles[0].policy.network.tensors())
        assert moved == [names, set()]
        assert all(torch.equal(t, weights[n]) for n, t in base_tensors(base.model).items())
        kept = set(moments(roles[0].learner, tmp_path / str(order)))
        assert kept == {f"{name}/{moment}" for name in names for moment in MOMENTS}
        assert moments(roles[1].learner, tmp_path / "other") == {}


def test_after_an_update_nothing_requires_gradients_and_nothing_has_one() -> None:
    base = toy_base()
    coder = role_on(add_filled(base, 11), "coder", torch.float32)
    other = add_filled(base, 12)
    step(coder, MIXED, seed=0)
    assert requiring_gradients(base.model) == set()
    assert [n for n, p in base.model.named_parameters() if p.grad is not None] == []
    with coder.policy.computing():
        assert requiring_gradients(base.model) == identities(coder.policy.network)
    with other.computing():
        assert requiring_gradients(base.model) == identities(other)


def test_a_save_holds_the_tensors_of_its_role_alone(tmp_path: Path) -> None:
    coder, tester = lora_pair()
    for policy in (coder, tester):
        role = role_on(policy.network, policy.name, torch.bfloat16)
        role.learner.save_policy(tmp_path / policy.name)
        saved = load_file(tmp_path / policy.name / ADAPTER_FILE)
        masters = role.weights.state()
        assert saved.keys() == masters.keys()
        assert len(saved) == 2 * 2 * 7
        assert all(torch.equal(saved[name], masters[name]) for name in masters)
        assert {tensor.dtype for tensor in saved.values()} == {torch.float32}
    assert adapted(coder).base is adapted(tester).base
