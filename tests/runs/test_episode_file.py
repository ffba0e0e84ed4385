"""Episodes come back from their file exactly as they were."""

import gzip
import json
import math
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cotrain.core.episode import (
    CandidateStatus,
    Episode,
    EpisodeStatus,
    Evidence,
    Phase,
    Request,
    Task,
    Turn,
)
from cotrain.runs.durable import RunFolderError
from cotrain.runs.episode_file import (
    decode_episode,
    encode_episode,
    read_episodes,
    thin,
    write_episodes,
)

LEAVES = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text()
JSON = st.recursive(
    LEAVES,
    lambda inner: (
        st.lists(inner, max_size=3).map(tuple) | st.dictionaries(st.text(), inner, max_size=3)
    ),
    max_leaves=6,
)


def with_candidate(episode: Episode, **changes: object) -> Episode:
    """The episode with its first candidate changed."""
    phase = episode.turns[0].phases[0]
    first, *others = phase.groups
    candidate = replace(first.candidates[0], **changes)
    group = replace(first, candidates=(candidate, *first.candidates[1:]))
    turn = replace(episode.turns[0], phases=(replace(phase, groups=(group, *others)),))
    return replace(episode, turns=(turn,))


def test_every_field_comes_back_with_its_type(episode, tmp_path):
    write_episodes(tmp_path / "e.jsonl.gz", [episode], {})
    [stored] = read_episodes(tmp_path / "e.jsonl.gz")
    assert stored.episode == episode
    assert stored.advantages == {}
    assert repr(stored.episode) == repr(episode)
    hash(stored.episode.groups()[0].candidates[0].reply)


def test_a_file_from_before_rewards_were_settled_is_read(episode):
    line = json.loads(encode_episode(episode, {}))
    del line["settled"]
    assert decode_episode(json.dumps(line)).episode == replace(episode, settled=())


def test_a_tasks_data_is_not_stored_but_what_names_it_is(episode):
    task = Task("train", 17, "0af3", data=object())
    stored = decode_episode(encode_episode(replace(episode, task=task), {}))
    assert stored.episode.task == Task("train", 17, "0af3", data=None)


def test_advantages_are_stored_with_their_candidates(episode):
    key = episode.groups()[0].key
    advantages = {(key, 0): -1 / 3, (key, 1): None}
    line = encode_episode(episode, advantages)
    assert decode_episode(line).advantages == advantages
    first, second = json.loads(line)["turns"][0]["phases"][0]["groups"][0]["candidates"]
    assert (first["advantage"], second["advantage"]) == (-1 / 3, None)


def test_numbers_that_are_not_finite_come_back_and_every_json_reader_can_read_them(episode):
    reply = replace(episode.groups()[0].candidates[0].reply, logprobs=(-math.inf, -0.5, -1.0))
    answer = {"score": math.inf, "non_finite": "no number"}
    evidence = Evidence(Request.of("verifier"), answer, CandidateStatus.SCORED)
    odd = with_candidate(episode, reply=reply, team=math.nan, evidence=(evidence,))
    line = encode_episode(odd, {})
    json.loads(line, parse_constant=pytest.fail)
    candidate = decode_episode(line).episode.groups()[0].candidates[0]
    assert math.isnan(candidate.team)
    assert candidate.reply.logprobs == reply.logprobs
    assert candidate.evidence == (evidence,)


@settings(deadline=None)
@given(answer=JSON, argument=JSON, text=st.text())
def test_any_evidence_and_text_come_back(answer, argument, text):
    evidence = Evidence(Request.of("check", value=argument), answer, CandidateStatus.ERROR, text)
    episode = Episode(
        step=1,
        number=0,
        task_number=0,
        task=Task("test", 0, "00", None),
        status=EpisodeStatus.DONE,
        success=True,
        turns=(Turn(1, (Phase((), (evidence,), text),)),),
        message=text,
    )
    line = encode_episode(episode, {})
    assert line.count(b"\n") == 1
    assert decode_episode(line).episode == episode


def test_retries_come_back_and_a_file_from_before_they_were_kept_has_none(episode):
    evidence = Evidence(Request.of("verify"), 1, retries=2)
    line = encode_episode(with_candidate(episode, evidence=(evidence,)), {})
    assert decode_episode(line).episode.groups()[0].candidates[0].evidence == (evidence,)
    former = line.replace(b', "retries": 2', b"")
    assert former != line
    [read] = decode_episode(former).episode.groups()[0].candidates[0].evidence
    assert read == replace(evidence, retries=0)


def test_equal_episodes_give_equal_bytes(episode, tmp_path):
    for name in ("a.jsonl.gz", "b.jsonl.gz"):
        write_episodes(tmp_path / name, [episode], {})
    assert (tmp_path / "a.jsonl.gz").read_bytes() == (tmp_path / "b.jsonl.gz").read_bytes()


def test_a_record_that_json_cannot_hold_is_refused(episode):
    with pytest.raises(TypeError, match="set cannot be stored"):
        encode_episode(replace(episode, opening={1}), {})


def test_thinning_to_the_followed_keeps_their_index_and_the_prompt(episode):
    [thinned] = thin([episode], "followed")
    followed, unscored = thinned.groups()
    assert followed.chosen == episode.groups()[0].chosen
    assert (followed.width, len(followed.candidates), followed.chosen.index) == (2, 1, 1)
    assert (unscored.candidates, unscored.chosen) == ((), None)
    assert followed.messages == episode.groups()[0].messages


def test_thinning_by_number_all_or_none(episode):
    episodes = [replace(episode, number=number) for number in range(3)]
    assert thin(episodes, 2) == episodes[:2]
    assert thin(episodes, "all") == episodes
    assert thin(episodes, "none") == []
    with pytest.raises(ValueError, match=r"logging\.episodes is 'some'"):
        thin(episodes, "some")


def test_a_cut_file_is_named(episode, tmp_path):
    path = tmp_path / "step_000003.jsonl.gz"
    write_episodes(path, [episode] * 3, {})
    path.write_bytes(path.read_bytes()[:-30])
    with pytest.raises(RunFolderError, match="step_000003"):
        list(read_episodes(path))


def test_a_line_that_is_no_episode_is_named(tmp_path):
    path = tmp_path / "step_000003.jsonl.gz"
    path.write_bytes(gzip.compress(b'{"step": 3}\n'))
    with pytest.raises(RunFolderError, match="episode 1 cannot be read"):
        list(read_episodes(path))
