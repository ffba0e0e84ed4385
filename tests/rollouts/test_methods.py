"""The families of methods, training steps and evaluations."""

import random
from collections.abc import Mapping, Sequence
from dataclasses import replace

from tests.rollouts.rated import RatedInOrder, answer_tie
from tests.rollouts.settings import make_engine, scores

from cotrain.core.episode import Episode, EpisodeKey, EpisodeStatus, Message, TurnKey
from cotrain.core.rewards import episode_score
from cotrain.core.selection import follow_best
from cotrain.environments.plan_path import PlanPath, PlanPathOptions
from cotrain.policies.base import Decoding
from cotrain.policies.scripted import Script, ScriptedPolicy
from cotrain.rollouts.base import Player
from cotrain.rollouts.episodes import EvaluationEpisodes, Limits, TrainingEpisodes
from cotrain.rollouts.evidence import HandlerPool
from cotrain.rollouts.methods import Method, TreeMethod, WholeEpisodeMethod

LIMITS = Limits(max_turns=3, max_prompt_tokens=1000, team_weight=1.0)
AGENTS = ("left", "right")


def guess(messages: Sequence[Message], generator: random.Random) -> str:
    return "done" if generator.random() < 0.1 else f"{generator.randint(0, 9) / 10}"


def cast(script: Script, width: int, trained: Sequence[str] = AGENTS) -> Mapping[str, Player]:
    """Both agents; those that are not trained give one reply."""
    return {
        agent: Player(
            agent=agent,
            role=agent,
            sampler=ScriptedPolicy("shared", script),
            decoding=Decoding(1.0, 64),
            width=width if agent in trained else 1,
            trained=agent in trained,
        )
        for agent in AGENTS
    }


def training(
    method: Method,
    *,
    seed: int = 5,
    trained: Sequence[str] = AGENTS,
    script: Script = guess,
    workers: int = 2,
) -> TrainingEpisodes:
    return TrainingEpisodes(
        engine=make_engine(RatedInOrder(), HandlerPool({"tie": answer_tie}, workers=workers)),
        cast_of=lambda step: cast(script, method.width, trained),
        method=method,
        limits=LIMITS,
        selection=follow_best,
        tasks_per_step=4,
        seed=seed,
    )


def evaluation(script: Script, team_weight: float = 1.0, seed: int = 5) -> EvaluationEpisodes:
    limits = Limits(max_turns=3, max_prompt_tokens=1000, team_weight=team_weight)
    players = cast(script, width=1, trained=())
    return EvaluationEpisodes(make_engine(RatedInOrder(), HandlerPool({})), players, limits, seed)


def texts(episodes: Sequence[Episode]) -> list[str]:
    return [c.reply.text for e in episodes for group in e.groups() for c in group.candidates]


def test_the_tree_groups_by_step_episode_agent_and_turn() -> None:
    method = TreeMethod(candidates=3)
    episodes = training(method).play(2)
    groups = method.groups(episodes)
    played = {group.key for episode in episodes for group in episode.groups()}
    assert {group.key for group in groups} == played
    assert {len(group.members) for group in groups} == {3}
    assert all(isinstance(group.key, TurnKey) and group.key.step == 2 for group in groups)


def test_turns_that_were_not_played_make_no_groups() -> None:
    # RLHive#205: an episode that ended early has no phantom rows
    method = TreeMethod(candidates=3)
    episodes = training(method).play(1)
    assert {len(episode.turns) for episode in episodes} > {3}
    assert len(method.groups(episodes)) == sum(len(episode.groups()) for episode in episodes)


def test_a_step_plays_the_next_tasks_of_the_split() -> None:
    source = training(TreeMethod(candidates=2))
    assert [e.task.index for e in source.play(1)] == [0, 1, 2, 3]
    assert [e.task.index for e in source.play(3)] == [8, 9, 10, 11]
    assert [(e.number, e.task_number, e.step) for e in source.play(3)][1] == (1, 1, 3)


def test_a_step_is_the_same_for_the_same_seed_and_differs_from_every_other() -> None:
    # trl#2824
    method = TreeMethod(candidates=3)
    straight = training(method).play(1)
    assert training(method, workers=4).play(1) == straight
    assert texts(training(method, seed=6).play(1)) != texts(straight)
    assert texts(training(method).play(2)) != texts(straight)
    first = [group for episode in straight for group in episode.groups() if group.key.turn == 1]
    drawn = [tuple(c.reply.text for c in group.candidates) for group in first]
    assert len(set(drawn)) == len(drawn)


def test_an_untrained_role_gives_one_reply_and_no_samples() -> None:
    method = TreeMethod(candidates=3)
    episodes = training(method, trained=("right",)).play(1)
    widths = {(g.role, g.width, len(g.candidates), g.trained) for e in episodes for g in e.groups()}
    assert widths == {("left", 1, 1, False), ("right", 3, 3, True)}
    groups = method.groups(episodes)
    assert {sample.role for g in groups for member in g.members for sample in member} == {"right"}


def test_whole_episodes_are_grouped_by_task_and_scored_by_their_end() -> None:
    method = WholeEpisodeMethod(candidates=3, team_weight=1.0, max_turns=3)
    episodes = training(method).play(2)
    assert [(e.number, e.task_number) for e in episodes[:4]] == [(0, 0), (1, 0), (2, 0), (3, 1)]
    assert {len(g.candidates) for e in episodes for g in e.groups()} == {1}
    groups = method.groups(episodes)
    keys = [EpisodeKey(2, task, agent) for task in range(4) for agent in AGENTS]
    assert [group.key for group in groups] == keys
    for group in groups:
        assert isinstance(group.key, EpisodeKey)
        key, own = group.key, episodes[3 * group.key.task : 3 * group.key.task + 3]
        played = [e for e in own if any(g.key.agent == key.agent for g in e.groups())]
        assert list(group.scores) == [episode_score(e, key.agent, 1.0, 3) for e in played]


def test_whole_episodes_of_a_task_differ() -> None:
    method = WholeEpisodeMethod(candidates=4, team_weight=1.0, max_turns=3)
    episodes = training(method, script=show_draw).play(1)
    assert len({tuple(texts([episode])) for episode in episodes}) == len(episodes)


def test_an_episode_with_an_unscored_reply_is_a_masked_member_for_all_its_agents() -> None:
    def script(messages: Sequence[Message], generator: random.Random) -> str:
        unlucky = "right" in messages[0].content and generator.random() < 0.3
        return "boom" if unlucky else f"{generator.randint(0, 9) / 10}"

    method = WholeEpisodeMethod(candidates=4, team_weight=1.0, max_turns=3)
    episodes = training(method, script=script).play(1)
    masked = {e.number for e in episodes if e.status is EpisodeStatus.UNSCORED}
    assert 0 < len(masked) < len(episodes)
    for group in method.groups(episodes):
        numbers = [member[0].key.episode for member in group.members]
        assert [score is None for score in group.scores] == [n in masked for n in numbers]


def test_in_the_tree_only_a_phase_without_any_score_ends_unscored() -> None:
    episodes = training(TreeMethod(candidates=2)).play(1)
    [group] = [g for g in episodes[0].groups() if g.key == TurnKey(1, 0, "left", 1)]
    tree, whole = TreeMethod(2), WholeEpisodeMethod(2, 1.0, 3)
    assert [group.followed is None, tree.ends_unscored([group])] == [False, False]
    silent = replace(group, followed=None)
    assert not tree.ends_unscored([group, silent])
    assert whole.ends_unscored([group, silent])
    assert tree.ends_unscored([silent, silent])


def test_an_evaluation_gives_one_reply_and_trains_none() -> None:
    episodes = list(evaluation(guess).play("test", range(6), step=7))
    groups = [group for episode in episodes for group in episode.groups()]
    assert {(len(g.candidates), g.followed, g.trained) for g in groups} == {(1, 0, False)}
    assert [(e.task.split, e.task.index, e.step) for e in episodes] == [
        ("test", index, 7) for index in range(6)
    ]
    assert TreeMethod(4).groups(episodes) == []


def test_an_evaluation_consults_no_score() -> None:
    plain, upside_down = (
        list(evaluation(guess, team_weight).play("test", range(8), step=0))
        for team_weight in (1.0, -3.0)
    )
    assert texts(plain) == texts(upside_down)
    assert [e.success for e in plain] == [e.success for e in upside_down]
    assert [scores(g) for g in plain[0].groups()] != [scores(g) for g in upside_down[0].groups()]


def test_an_evaluation_is_the_same_at_every_step_and_for_every_number_of_tasks() -> None:
    short = texts(list(evaluation(guess).play("test", range(3), step=0)))
    assert texts(list(evaluation(guess).play("test", range(3), step=50))) == short
    longer = texts(list(evaluation(guess).play("test", range(300), step=0)))
    assert set(short) <= set(longer)
    first = list(evaluation(guess).play("test", range(300), step=0))[:3]
    assert texts(first) == short
    assert texts(list(evaluation(guess, seed=6).play("test", range(3), step=0))) != short


def test_an_unscored_reply_ends_an_evaluated_episode_unsolved() -> None:
    episodes = list(evaluation(lambda messages, generator: "nan").play("test", range(2), step=0))
    assert {(e.status, e.success) for e in episodes} == {(EpisodeStatus.UNSCORED, False)}


def test_training_and_evaluation_never_share_a_seed() -> None:
    trained = set(texts(training(TreeMethod(2), script=show_draw).play(1)))
    evaluated = set(texts(list(evaluation(show_draw).play("train", range(8), step=1))))
    assert not trained & evaluated


def show_draw(messages: Sequence[Message], generator: random.Random) -> str:
    return f"{generator.random()}"


def test_a_shipped_environment_is_solved_by_whoever_knows_the_way() -> None:
    environment = PlanPath(PlanPathOptions(size=5, min_distance=3))
    ways = {}
    for index in range(10):
        state = environment.start(environment.task("test", 5, index), "evaluate")
        board = environment.view.state(environment.seen(state, "planner"), None)
        ways[board] = environment.solve(state, "planner")

    def script(messages: Sequence[Message], generator: random.Random) -> str:
        shown = messages[-1].content
        return next(way for board, way in ways.items() if way and shown.startswith(board))

    policy = ScriptedPolicy("shared", script)
    players = {
        role: Player(role, role, policy, Decoding(0.0, 512), 1, trained=False)
        for role in ("proposer", "planner")
    }
    engine = make_engine(environment, HandlerPool({}))
    source = EvaluationEpisodes(engine, players, Limits(4, 10_000, 1.0), seed=5)
    episodes = list(source.play("test", range(10), step=0))
    assert [(e.status, e.success, len(e.turns)) for e in episodes] == [
        (EpisodeStatus.DONE, True, 1)
    ] * 10
