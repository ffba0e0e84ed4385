"""Every training method, estimator and rule of following in a short real run, from its files."""

import random
import statistics
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

import cotrain
from cotrain.assembly.environments import build_environment
from cotrain.config import load_config
from cotrain.core.episode import Episode, EpisodeKey, Group, TurnKey
from cotrain.core.rewards import episode_score, local_reward
from cotrain.core.seeds import derive_seed
from cotrain.core.selection import Selection, follow_best, follow_mixed, follow_random
from cotrain.runs.episode_file import StoredEpisode
from cotrain.runs.store import RunFolder

TURNS = 3
TINY: dict[str, Any] = {
    "run.steps": 2,
    "run.seed": 11,
    "run.evaluate_every": 0,
    "team.turns": TURNS,
    "sampling.tasks_per_step": 3,
    "sampling.candidates": 4,
    "evaluation.tasks": 2,
    "evaluation.validation_tasks": 2,
    "evaluation.baselines": [],
    "model.threads": 1,
    "logging.console": False,
}


def train(path: Path, **settings: Any) -> cotrain.Run:
    """A run of two steps; `algorithm__follow` is the key `algorithm.follow`."""
    given = {key.replace("__", "."): value for key, value in settings.items()}
    return cotrain.train(None, TINY | given, path / "run")


def stored(run: cotrain.Run) -> list[StoredEpisode]:
    return [e for step in (1, 2) for e in RunFolder(run.path).episodes(step)]


def groups_of(run: cotrain.Run) -> Iterator[Group]:
    return (group for one in stored(run) for group in one.episode.groups())


def scores(group: Group) -> list[float]:
    return [candidate.score for candidate in group.candidates if candidate.score is not None]


# by the formulas, in other words than the code's


def normalised(score: float, others: Sequence[float]) -> float:
    spread = statistics.stdev([score, *others])
    return (score - statistics.mean([score, *others])) / (spread + 1e-6) if spread else 0.0


def centered(score: float, others: Sequence[float]) -> float:
    return score - statistics.mean([score, *others])


def leave_one_out(score: float, others: Sequence[float]) -> float:
    return score - statistics.mean(others)


BY_HAND = {"normalised": normalised, "centered": centered, "leave_one_out": leave_one_out}


def by_hand(advantage: str, found: Sequence[float]) -> list[float]:
    places = range(len(found))
    return [
        BY_HAND[advantage](found[place], [found[other] for other in places if other != place])
        for place in places
    ]


@pytest.mark.parametrize(
    ("advantage", "follow", "rule"),
    [
        ("centered", "best", follow_best),
        ("leave_one_out", "random", follow_random),
        ("normalised", 0.5, follow_mixed(0.5)),
    ],
)
def test_an_estimator_and_a_rule_of_following_are_what_the_files_of_a_run_show(
    advantage: str, follow: str | float, rule: Selection, tmp_path: Path
) -> None:
    run = train(tmp_path, algorithm__advantage=advantage, algorithm__follow=follow)
    assert [row["policy.shared.skipped"] for row in run.metrics] == [False, False]
    for one in stored(run):
        for group in one.episode.groups():
            got = [one.advantages[group.key, c.index] for c in group.candidates]
            assert got == pytest.approx(by_hand(advantage, scores(group)), abs=1e-9)
            assert group.followed == rule(scores(group), generator_of(group))
    for row in run.metrics:
        own = [group for group in groups_of(run) if group.key.step == row["step"]]
        gains = [scores(g)[g.followed or 0] - statistics.mean(scores(g)) for g in own]
        assert row["spine_gain"] == pytest.approx(statistics.mean(gains))


def generator_of(group: Group) -> random.Random:
    """The generator of the choice between these candidates."""
    key = group.key
    return random.Random(
        derive_seed(TINY["run.seed"], "train", key.step, key.episode, key.agent, key.turn, -1)
    )


def test_following_the_best_gains_on_the_mean_in_every_step(tmp_path: Path) -> None:
    run = train(tmp_path, algorithm__follow="best")
    assert all(row["spine_gain"] > 0 for row in run.metrics)
    assert all(g.chosen and g.chosen.score == max(scores(g)) for g in groups_of(run))


def test_following_at_random_is_the_same_choice_whatever_the_siblings_score(
    tmp_path: Path,
) -> None:
    run = train(tmp_path, algorithm__follow="random")
    followed = [group.followed for group in groups_of(run)]
    assert len(set(followed)) > 1
    shuffled = random.Random(1)
    for group in groups_of(run):
        permuted = shuffled.sample(scores(group), k=len(group.candidates))
        assert follow_random(permuted, generator_of(group)) == group.followed


def test_whole_episodes_of_a_team_are_compared_by_task_and_agent(tmp_path: Path) -> None:
    run = train(tmp_path, algorithm__method="team_grpo")
    assert [row["policy.shared.skipped"] for row in run.metrics] == [False, False]
    assert [row["groups"] for row in run.metrics] == [3 * 2, 3 * 2]
    assert [row["groups_by_turn"] for row in run.metrics] == [[], []]
    by_task = members(stored(run))
    assert {len(found) for found in by_task.values()} == {4}
    turns = [{len(one.episode.turns) for one in found} for found in by_task.values()]
    assert any(len(counts) > 1 for counts in turns)
    assert stored_advantages(run) == pytest.approx(expected(by_task), abs=1e-9)


def members(found: Sequence[StoredEpisode]) -> Mapping[EpisodeKey, list[StoredEpisode]]:
    """The episodes of each (step, task, agent), in order."""
    by_task: dict[EpisodeKey, list[StoredEpisode]] = {}
    for one in found:
        for agent in dict.fromkeys(group.key.agent for group in one.episode.groups()):
            key = EpisodeKey(one.episode.step, one.episode.task_number, agent)
            by_task.setdefault(key, []).append(one)
    return by_task


def stored_advantages(run: cotrain.Run) -> dict[TurnKey, float | None]:
    """The advantage of each reply of whole episodes, which have one candidate a prompt."""
    return {key: a for one in stored(run) for (key, _), a in one.advantages.items()}


def expected(by_task: Mapping[EpisodeKey, list[StoredEpisode]]) -> dict[TurnKey, float]:
    """The advantage of each reply, from the episode scores of the same task and agent."""
    found: dict[TurnKey, float] = {}
    for key, episodes in by_task.items():
        own = [score_by_hand(one.episode, key.agent) for one in episodes]
        for one, advantage in zip(episodes, by_hand("normalised", own), strict=True):
            keys = [g.key for g in one.episode.groups() if g.key.agent == key.agent]
            found |= dict.fromkeys(keys, advantage)
    return found


def score_by_hand(episode: Episode, agent: str) -> float:
    """The planner's best team value, the agent's mean own reward, and what was settled."""
    chosen = [(g.key.agent, c) for g in episode.groups() if (c := g.chosen) is not None]
    team = max(c.team or 0.0 for name, c in chosen if name == "planner")
    local = [local_reward(c.local, c.gate) for name, c in chosen if name == agent]
    unneeded = TURNS - len(local) if episode.success else 0
    settled = sum(credit.reward for credit in episode.settled if credit.agent == agent)
    return team + (sum(local) + unneeded) / TURNS + settled


def test_credit_from_later_turns_enters_the_score_of_the_episode(tmp_path: Path) -> None:
    name = "tests.assembly.foresight:Foresight"
    run = train(tmp_path, algorithm__method="team_grpo", environment__name=name)
    by_task = members(stored(run))
    settled = [credit for one in stored(run) for credit in one.episode.settled]
    assert {credit.agent for credit in settled} == {"proposer"}
    assert any(credit.reward > 0 for credit in settled)
    assert stored_advantages(run) == pytest.approx(expected(by_task), abs=1e-9)
    for key, found in by_task.items():
        own = [episode_score(one.episode, key.agent, 1.0, TURNS) for one in found]
        assert own == pytest.approx([score_by_hand(one.episode, key.agent) for one in found])


@pytest.mark.parametrize(
    ("variant", "agents"), [("plain", ["solo"]), ("draft", ["drafter", "answerer"])]
)
def test_the_tree_with_one_policy_groups_turns_and_follows_one_spine(
    variant: str, agents: list[str], tmp_path: Path
) -> None:
    settings = {"algorithm__method": "single_at_grpo", "environment__options__single": variant}
    run = train(tmp_path, **settings)
    assert run.evaluations[0]["method"] == "single_at_grpo"
    assert list(run.evaluations[0]["roles"]) == agents
    found = stored(run)
    assert [e.episode.number for e in found] == [0, 1, 2] * 2
    for one in found:
        played = [(group.key.turn, group.key.agent) for group in one.episode.groups()]
        turns = range(1, len(one.episode.turns) + 1)
        assert played == [(turn, agent) for turn in turns for agent in agents]
        assert replayed_prompts(run, one.episode) == [g.messages for g in one.episode.groups()]
    for group in groups_of(run):
        assert (len(group.candidates), group.policy, group.trained) == (4, "shared", True)
    assert [row["groups"] for row in run.metrics] == [
        sum(group.key.step == step for group in groups_of(run)) for step in (1, 2)
    ]


def replayed_prompts(run: cotrain.Run, episode: Episode) -> list[tuple[object, ...]]:
    """What the agents read when the followed replies alone are played again."""
    config = load_config(None, TINY | {"algorithm.method": "single_at_grpo"} | variant_of(run))
    environment = build_environment(config)
    task = environment.task("train", TINY["run.seed"], episode.task.index)
    state, prompts = environment.start(task, "train"), []
    for group in episode.groups():
        prompts.append(tuple(environment.observe(state, group.key.agent)))
        assert group.chosen is not None
        state = environment.act(state, group.key.agent, group.chosen.reply.text, ()).state
    return prompts


def variant_of(run: cotrain.Run) -> dict[str, object]:
    options = RunFolder(run.path).config()["environment"]["options"]
    return {"environment.options.single": options["single"]}


@pytest.mark.parametrize("role", ["planner", "proposer"])
@pytest.mark.parametrize("method", ["at_grpo", "team_grpo"])
def test_one_role_alone_is_trained_and_evaluated(role: str, method: str, tmp_path: Path) -> None:
    settings = {"algorithm__method": method, "environment__options__only": role}
    run = train(tmp_path, run__steps=1, **settings)
    assert {group.key.agent for group in groups_of_step(run)} == {role}
    assert run.metrics[0]["policy.shared.version"] == 1
    assert moved(run)
    row = cotrain.evaluate(run.path, tasks=3)
    assert list(row["policies"]) == list(row["roles"]) == [role]
    assert row["policies"][role]["version"] == 1


def groups_of_step(run: cotrain.Run) -> list[Group]:
    return [g for one in RunFolder(run.path).episodes(1) for g in one.episode.groups()]


def moved(run: cotrain.Run) -> bool:
    """Whether the moves of the one role are played: some turn opens on another state."""
    episodes = [one.episode for one in RunFolder(run.path).episodes(1)]
    return any(
        phase.rendering.splitlines()[:-1] != episode.opening.splitlines()[:-1]
        for episode in episodes
        for turn in episode.turns
        for phase in turn.phases
    )
