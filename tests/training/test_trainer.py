import pytest
from tests.builders import make_credited, make_sample
from tests.training.parts import Counter, Diary, Source, make_trainer

from cotrain.core.episode import Finish
from cotrain.training.progress import Horizon, Progress
from cotrain.training.trainer import TrainingFailedError, route


def test_a_run_evaluates_first_and_then_updates_records_evaluates_and_saves_each_step() -> None:
    source, learner, diary = Source(), Counter(), Diary()
    progress = make_trainer(source, learner, diary, Horizon(2)).run(Progress())
    assert progress == Progress(2, tokens_sampled=12)
    assert diary.entries == [
        "evaluate first",
        *("row 1", "evaluate 1 if due", "save 1 if due"),
        *("row 2", "evaluate 2 last", "save 2"),
    ]


def test_a_resumed_run_goes_on_with_the_next_step_and_does_not_evaluate_before_it() -> None:
    source, learner, diary = Source(), Counter(), Diary()
    make_trainer(source, learner, diary, Horizon(3)).run(Progress(2, tokens_sampled=12))
    assert source.played == [3]
    assert diary.entries[0] == "row 3"


def test_every_scored_candidate_reaches_its_policy_with_its_advantage() -> None:
    source, learner = Source(scores=(0.0, None, 1.0)), Counter()
    make_trainer(source, learner, Diary(), Horizon(1)).run(Progress())
    [batch] = learner.batches
    assert [(c.sample.candidate, round(c.advantage, 3)) for c in batch] == [(0, -0.707), (2, 0.707)]


def test_the_token_budget_ends_a_run_at_the_first_boundary_past_it() -> None:
    source, learner = Source(), Counter()
    progress = make_trainer(source, learner, Diary(), Horizon(100, 15)).run(Progress())
    assert progress.step == 3
    assert progress.tokens_sampled == 18


def test_with_a_budget_the_schedule_follows_tokens() -> None:
    learner = Counter()
    make_trainer(Source(), learner, Diary(), Horizon(100, 12)).run(Progress())
    assert learner.rates == [1.0, 0.5]


def test_a_stop_saves_at_the_step_boundary() -> None:
    source, diary = Source(), Diary()
    progress = make_trainer(source, Counter(), diary, Horizon(9), stop_after=2).run(Progress())
    assert progress.step == 2
    assert diary.entries[-3:] == ["row 2", "evaluate 2 if due", "save 2"]


def test_three_refused_steps_in_a_row_end_the_run_and_name_the_last_checkpoint() -> None:
    learner = Counter(not_finite=frozenset({2, 4, 5, 6}))
    source = Source()
    with pytest.raises(TrainingFailedError, match="checkpoints/step_000002"):
        make_trainer(source, learner, Diary(), Horizon(9)).run(Progress())
    assert source.played == [1, 2, 3, 4, 5, 6]


def test_three_steps_without_a_single_reply_end_the_run() -> None:
    failed = Source(scores=(None, None), finish=Finish.ERROR)
    with pytest.raises(TrainingFailedError, match="3 steps in a row failed, the last one step 3"):
        make_trainer(failed, Counter(), Diary(), Horizon(9)).run(Progress())
    assert failed.played == [1, 2, 3]


def test_three_steps_without_a_score_end_the_run_with_what_failed_most() -> None:
    unscored = Source(scores=(None, None))
    diary = Diary()
    with pytest.raises(TrainingFailedError, match=r"most often: candidate error \(2 times\)"):
        make_trainer(unscored, Counter(), diary, Horizon(9)).run(Progress())
    assert unscored.played == [1, 2, 3]
    assert diary.entries[-1] == "row 3"


def test_a_step_with_one_score_does_not_count_as_failed() -> None:
    barely = Source(scores=(None, 0.5))
    progress = make_trainer(barely, Counter(), Diary(), Horizon(5)).run(Progress())
    assert (progress.step, progress.failed_in_a_row) == (5, 0)


def test_a_sample_of_a_policy_that_nothing_trains_is_not_passed_over() -> None:
    stray = make_credited(make_sample(policy="tester"), 1.0)
    with pytest.raises(KeyError, match="tester"):
        route([stray], ["coder"])


def test_samples_go_to_the_policy_that_wrote_them() -> None:
    coder = make_credited(make_sample(policy="coder"), 1.0)
    tester = make_credited(make_sample(policy="tester"), 1.0)
    assert route([tester, coder], ["coder", "tester"]) == {"coder": [coder], "tester": [tester]}
