"""From episodes to credited samples."""

from tests.builders import make_candidate, make_episode, make_group, make_reply, make_sample

from cotrain.core.advantages import centered
from cotrain.core.episode import EpisodeKey, Finish
from cotrain.core.grouping import episode_groups, turn_groups
from cotrain.core.samples import credit, episode_samples, turn_samples


def test_every_candidate_of_a_trained_group_is_a_sample_followed_or_not() -> None:
    planner = make_group([make_candidate(0, 0.0), make_candidate(1, None), make_candidate(2, 1.0)])
    frozen = make_group([make_candidate(0, 1.0)], agent="tester", trained=False)
    samples = turn_samples(make_episode([[[planner], [frozen]]], number=0, task_number=3))
    assert [(s.role, s.candidate, s.score, s.width) for s in samples] == [
        ("planner", 0, 0.0, 3),
        ("planner", 1, None, 3),
        ("planner", 2, 1.0, 3),
    ]
    assert {s.task_number for s in samples} == {3}


def test_a_sample_has_the_ids_and_log_probs_that_were_sampled() -> None:
    # trl#5224: nothing is made again from the text
    reply = make_reply("hello", ids=(6, 8, 2), finish=Finish.STOP)
    group = make_group([make_candidate(reply=reply)])
    [sample] = turn_samples(make_episode([[[group]]]))
    assert sample.reply_ids == (6, 8, 2)
    assert sample.prompt_ids == group.prompt_ids
    assert sample.sampler_logprobs == reply.logprobs
    assert (sample.key, sample.policy, sample.version) == (group.key, "shared", 0)


def test_every_turn_of_a_whole_episode_bears_its_agents_episode_score() -> None:
    turns = [
        [
            [make_group([make_candidate(score=0.1)], "planner", turn)],
            [make_group([make_candidate(score=0.2)], "tester", turn)],
        ]
        for turn in (1, 2)
    ]
    scores = {"planner": 2.5, "tester": None}
    samples = episode_samples(make_episode(turns), 4, scores.__getitem__)
    assert [(s.role, s.key.turn, s.score, s.width) for s in samples] == [
        ("planner", 1, 2.5, 4),
        ("tester", 1, None, 4),
        ("planner", 2, 2.5, 4),
        ("tester", 2, None, 4),
    ]


def test_the_replies_of_agents_that_are_not_trained_are_no_samples_of_an_episode() -> None:
    group = make_group([make_candidate()], trained=False)
    assert episode_samples(make_episode([[[group]]]), 4, lambda agent: 1.0) == []


def test_unscored_samples_get_no_credit_and_are_no_zero() -> None:
    samples = [make_sample(s, candidate=c, width=3) for c, s in enumerate((1.0, None, 0.0))]
    credited = credit(turn_groups(samples), centered, "train")
    assert [(c.sample.candidate, c.advantage) for c in credited] == [(0, 0.5), (2, -0.5)]


def test_a_group_without_signal_stays_for_the_denominator() -> None:
    samples = [make_sample(0.5, candidate=c) for c in range(2)]
    credited = credit(turn_groups(samples), centered, "train")
    assert [(c.advantage, c.has_signal) for c in credited] == [(0.0, False), (0.0, False)]
    assert credited[0].group == samples[0].key


def test_cut_replies_are_trained_or_leave_both_sums_but_never_their_groups_mean() -> None:
    finishes = (Finish.STOP, Finish.LENGTH, Finish.STOP)
    samples = [
        make_sample(score, candidate=c, width=3, finish=finish)
        for c, (score, finish) in enumerate(zip((1.0, 0.0, 0.5), finishes, strict=True))
    ]
    trained = credit(turn_groups(samples), centered, "train")
    masked = credit(turn_groups(samples), centered, "mask")
    assert [c.advantage for c in trained] == [0.5, -0.5, 0.0]
    assert [(c.sample.candidate, c.advantage) for c in masked] == [(0, 0.5), (2, 0.0)]
    assert all(c.has_signal for c in masked)


def test_a_group_of_whole_episodes_is_named_in_the_credit() -> None:
    samples = [make_sample(float(e), episode=e, task=6) for e in (0, 1)]
    credited = credit(episode_groups(samples), centered, "train")
    assert {c.group for c in credited} == {EpisodeKey(1, 6, "coder")}
