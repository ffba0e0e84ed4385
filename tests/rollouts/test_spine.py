"""The tree: K candidates judged on one state, one of them followed."""

import random
from collections.abc import Mapping, Sequence

import pytest
from tests.environments.two_hands import State, TwoHands, measure
from tests.rollouts.rated import RatedAlone, RatedInOrder, RatedTogether
from tests.rollouts.settings import (
    make_openings,
    make_player,
    make_rules,
    place_of,
    play,
    rows,
    scores,
)

from cotrain.core.advantages import group_advantages, normalised
from cotrain.core.episode import EpisodeStatus, Evidence, Task
from cotrain.core.samples import turn_samples
from cotrain.environments.base import Judged, Outcome
from cotrain.environments.grid import Grid
from cotrain.environments.parsing import MOVES
from cotrain.environments.plan_path import PlanPath, PlanPathOptions
from cotrain.policies.base import Decoding
from cotrain.policies.scripted import ScriptedPolicy
from cotrain.rollouts.base import Opening, Player


class WatchedHands(TwoHands):
    """Keeps a diary of what it is asked."""

    def __init__(self) -> None:
        super().__init__()
        self.diary: list[tuple[str, State]] = []

    def act(
        self, state: State, agent: str, reply: str, evidence: Sequence[Evidence]
    ) -> Outcome[State]:
        self.diary.append(("act", state))
        return super().act(state, agent, reply, evidence)

    def commit(
        self, state: State, replies: Mapping[str, Judged], joint_evidence: Sequence[Evidence]
    ) -> tuple[State, bool]:
        self.diary.append(("commit", state))
        return super().commit(state, replies, joint_evidence)


def hands(left: Sequence[str], right: Sequence[str]) -> list[list[float | None]]:
    """The scores of the left and the right hand's candidates; shelf at 9, hands at 0 and 5."""
    players = [make_player("left", rows(left), len(left)), make_player("right", rows(right))]
    handlers = {"measure": lambda r: measure(r).answer, "tilt": lambda r: measure(r).answer}
    openings = make_openings(data=(9, 0, 5))
    [episode] = play(TwoHands(), players, make_rules(), openings, handlers)
    return [scores(group) for group in episode.groups()]


def test_all_candidates_are_judged_on_the_opening_state_before_any_is_followed() -> None:
    # PettingLLMs at a054fb1: both agents moved before the choice
    environment = WatchedHands()
    players = [make_player(hand, rows(["3", "5"], ["4", "6"])) for hand in ("left", "right")]
    handlers = {"measure": lambda r: measure(r).answer, "tilt": lambda r: measure(r).answer}
    play(environment, players, make_rules(2), make_openings(data=(9, 0, 5)), handlers)
    assert [what for what, _ in environment.diary] == [*["act"] * 4, "commit"] * 2
    first, second = environment.diary[:5], environment.diary[5:]
    assert {state for _, state in first} == {State(9, 0, 5)}
    assert {state for _, state in second} == {State(9, 5, 5)}


def test_a_score_depends_on_the_candidates_own_text_alone() -> None:
    straight = hands(["3", "9", "nothing"], ["5", "9"])
    assert hands(["9", "nothing", "3"], ["9", "9"])[0] == [straight[0][i] for i in (1, 2, 0)]
    assert hands(["1", "1", "3"], ["9", "0"])[0][2] == straight[0][0]
    assert hands(["0", "0", "0"], ["5", "9"])[1] == straight[1]


def test_two_agents_of_a_phase_are_scored_on_their_own_candidates() -> None:
    # PettingLLMs at a054fb1: never two equal rewards read from one branch
    left, right = rows(["0", "1"]), rows(["0.2", "0.9"])
    players = [make_player("left", left), make_player("right", right)]
    [episode] = play(RatedTogether(), players, make_rules())
    assert [scores(group) for group in episode.groups()] == [[0.0, 1.0], [0.2, 0.9]]
    advantages = [group_advantages(scores(g), normalised) for g in episode.groups()]
    assert advantages[0] == pytest.approx([-0.7071, 0.7071], abs=1e-4)
    assert advantages[1] == pytest.approx([-0.7071, 0.7071], abs=1e-4)


def boards(step: int, seed: int = 3) -> list[str]:
    """The boards of 6 episodes of 4 candidates, as the prompts show them; one a group, checked."""
    environment = PlanPath(PlanPathOptions(size=5, single="plain"))
    tasks = [environment.task("train", seed, (step - 1) * 6 + index) for index in range(6)]
    openings = [Opening(step, n, n, task, "train") for n, task in enumerate(tasks)]
    moves = rows(["<answer>Up</answer>", "<answer>Left</answer>", "", "<answer>Down</answer>"])
    episodes = play(environment, [make_player("solo", moves, 4)], make_rules(), openings)
    groups = [group for episode in episodes for group in episode.groups()]
    assert [len(group.candidates) for group in groups] == [4] * 6
    prompts = [{s.prompt_ids for s in turn_samples(episode)} for episode in episodes]
    assert all(len(found) == 1 for found in prompts)
    return [group.messages[-1].content for group in groups]


def test_each_group_starts_from_one_board_and_different_episodes_differ() -> None:
    # stable-baselines#675, envpool#324: seeded anew, all environments got one start state
    first = boards(step=1)
    assert len(set(first)) == 6
    assert not set(first) & set(boards(step=2))
    assert boards(step=1) == first
    assert boards(step=1, seed=4) != first


def test_the_next_turn_starts_from_the_followed_state_for_prompt_and_play_alike() -> None:
    # PettingLLMs at a054fb1: the prompt came from one copy, the move was played on another
    grid = Grid.of_rows(["A..", "...", "..G"])
    environment = PlanPath(PlanPathOptions(size=3, single="plain"))
    first = [f"<answer>{moves}</answer>" for moves in ("Down Down", "Right", "Up", "Right")]
    player = make_player("solo", rows(first, ["<answer>Right</answer>"] * 4), 4)
    task = Task("train", 0, "00", grid)
    openings = [Opening(1, 0, 0, task, "train")]
    [episode] = play(environment, [player], make_rules(2), openings)
    opening, later = episode.groups()
    assert opening.followed == 0
    assert "Agent: row 0, column 0" in opening.messages[-1].content
    assert "Agent: row 2, column 0" in later.messages[-1].content
    assert len(set(scores(later))) == 1
    assert episode.turns[1].phases[0].rendering.splitlines()[2] == ".AG"


@pytest.mark.parametrize(("follow", "allowed"), [("best", {1, 3}), ("random", {0, 1, 2, 3})])
def test_the_spine_follows_by_the_setting_and_ties_go_to_the_seed(
    follow: str, allowed: set[int]
) -> None:
    player = make_player("solo", rows(["0", "1", "0.5", "1"]), 4)
    episodes = play(RatedAlone(), [player], make_rules(follow=follow), make_openings(60))
    assert {episode.groups()[0].followed for episode in episodes} == allowed


def test_a_probability_follows_the_best_that_often() -> None:
    player = make_player("solo", rows(["0", "1"]))
    episodes = play(RatedAlone(), [player], make_rules(follow=0.5), make_openings(400))
    best = sum(episode.groups()[0].followed == 1 for episode in episodes)
    assert best / 400 == pytest.approx(0.75, abs=0.08)


def test_random_following_does_not_look_at_the_scores() -> None:
    def followed(texts: Sequence[str]) -> list[int | None]:
        player = make_player("solo", rows(texts), 4)
        episodes = play(RatedAlone(), [player], make_rules(follow="random"), make_openings(40))
        return [episode.groups()[0].followed for episode in episodes]

    assert followed(["0", "1", "0.5", "1"]) == followed(["1", "0", "0", "0.25"])


def test_all_candidates_are_samples_and_only_the_followed_one_leads_on() -> None:
    player = make_player("solo", rows(["0", "1", "0.5"], ["0", "0", "0.5"]), 3)
    [episode] = play(RatedAlone(), [player], make_rules(2))
    assert [s.score for s in turn_samples(episode)] == [0.0, 1.0, 0.5, 0.0, 0.0, 0.5]
    assert episode.turns[1].phases[0].rendering == "1|0.5"
    assert "task0 1 solo" in episode.groups()[1].messages[0].content


def test_later_phases_of_a_turn_see_what_earlier_ones_did() -> None:
    players = [make_player("left", rows(["0.1", "0.9"])), make_player("right", rows(["0.3", "0"]))]
    [episode] = play(RatedInOrder(), players, make_rules())
    assert "task0 - left" in episode.groups()[0].messages[0].content
    assert "task0 0.9 right" in episode.groups()[1].messages[0].content


def test_the_score_is_alpha_times_team_plus_local() -> None:
    player = make_player("solo", rows(["0.5", "1"]))
    [episode] = play(RatedAlone(), [player], make_rules(team_weight=0.5))
    assert scores(episode.groups()[0]) == [0.25, 0.5]


def test_an_episode_is_done_after_the_phase_that_says_so() -> None:
    players = [make_player("left", rows(["0", "done"])), make_player("right", rows(["0", "0"]))]
    [episode] = play(RatedInOrder(), players, make_rules(4))
    assert (episode.status, episode.success) == (EpisodeStatus.DONE, True)
    assert [group.key.agent for group in episode.groups()] == ["left"]


def test_a_candidate_that_would_be_done_but_is_not_followed_ends_nothing() -> None:
    player = make_player("solo", rows(["done", "0.5"], ["0", "0"]))
    rules = make_rules(2, team_weight=-1.0)  # makes `done` the worst
    [episode] = play(RatedAlone(), [player], rules)
    assert (episode.status, episode.success) == (EpisodeStatus.TURN_LIMIT, False)
    assert len(episode.turns) == 2


def test_done_is_not_success() -> None:
    handlers = {"measure": lambda r: measure(r).answer, "tilt": lambda r: measure(r).answer}
    players = [make_player("left", rows(["9", "9"])), make_player("right", rows(["0", "0"]))]
    [episode] = play(TwoHands(), players, make_rules(3), make_openings(data=(9, 5, 5)), handlers)
    assert (episode.status, episode.success) == (EpisodeStatus.DONE, False)
    assert episode.turns[0].phases[0].rendering.endswith("dropped")


def test_joint_evidence_is_of_the_followed_replies_and_recorded() -> None:
    players = [make_player("left", rows(["0", "1"])), make_player("right", rows(["0.2", "0.1"]))]
    [episode] = play(RatedTogether(), players, make_rules())
    [evidence] = episode.turns[0].phases[0].joint_evidence
    assert evidence.answer == ("1", "0.2")


def test_the_same_seeds_play_the_same_episodes() -> None:
    def script(messages: object, generator: random.Random) -> str:
        return f"<answer>{' '.join(generator.choices(MOVES, k=4))}</answer>"

    def played() -> object:
        environment = PlanPath(PlanPathOptions(size=5, min_distance=2))
        policy = ScriptedPolicy("shared", script)
        decoding = Decoding(1.0, 64)
        roles = ("proposer", "planner")
        players = [Player(role, role, policy, decoding, 4, trained=True) for role in roles]
        tasks = [environment.task("train", 7, index) for index in range(5)]
        openings = [Opening(1, n, n, task, "train") for n, task in enumerate(tasks)]
        return play(environment, players, make_rules(3), openings)

    assert played() == played()


def test_a_seed_is_that_of_its_episode_turn_and_candidate() -> None:
    seen: list[tuple[int, int, int]] = []

    def write(seed: int) -> str:
        seen.append(place_of(seed))
        return "0"

    play(RatedAlone(), [make_player("solo", write)], make_rules(2), make_openings(2))
    # all open episodes of a turn are asked together, in episode order
    assert seen == [(e, turn, c) for turn in (1, 2) for e in (0, 1) for c in (0, 1)]
