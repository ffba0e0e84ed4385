"""One phase of one episode: the prompt, the judged candidates, the choice, the commit.

These functions are the inside of the tree (paper, Algorithm 1, lines 5 to 14): the K candidates of
an agent are all judged on the phase's opening state before any is followed. None of them asks the
rules: they say what to ask, and make records of the answers.
"""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from cotrain.core.episode import (
    Candidate,
    CandidateStatus,
    Episode,
    EpisodeStatus,
    Evidence,
    Finish,
    Group,
    Message,
    Phase,
    Reply,
    Request,
    Turn,
    TurnKey,
)
from cotrain.core.rewards import UNSCORED_ENDINGS, turn_score
from cotrain.environments import rules as ask
from cotrain.environments.base import Judged, Outcome
from cotrain.environments.rules import Committed
from cotrain.rollouts.base import Opening, Player, PlayRules
from cotrain.rollouts.referee import Call, Failure

FAILED_REPLIES = {
    Finish.TIMEOUT: CandidateStatus.TIMEOUT,
    Finish.ERROR: CandidateStatus.ERROR,
}


@dataclass(frozen=True, slots=True)
class OpenEpisode:
    """An episode in the making, as a value. `ended` is None while it goes on."""

    opening: Opening
    state: object
    started: float
    opening_rendering: str
    turns: tuple[Turn, ...] = ()
    phases: tuple[Phase, ...] = ()
    done: bool = False
    ended: EpisodeStatus | None = None
    message: str = ""

    @property
    def goes_on(self) -> bool:
        """Whether another phase may follow."""
        return self.ended is None and not self.done

    def end(self, status: EpisodeStatus, message: str = "") -> "OpenEpisode":
        """The episode, ended with this status; what was played of the turn stays."""
        return replace(self.close_turn(), ended=status, message=message)

    def fail(self, failure: Failure) -> "OpenEpisode":
        """The episode, ended because the rules gave no answer."""
        return self.end(failure.ending, failure.message)

    def with_phase(
        self, groups: Sequence["JudgedGroup"], joint_evidence: Sequence[Evidence], shown: str = ""
    ) -> "OpenEpisode":
        """The episode with one more phase, and the state it led to as text."""
        phase = Phase(tuple(judged.group for judged in groups), tuple(joint_evidence), shown)
        return replace(self, phases=(*self.phases, phase))

    def close_turn(self) -> "OpenEpisode":
        """The episode with its open phases made a turn."""
        if not self.phases:
            return self
        turn = Turn(len(self.turns) + 1, self.phases)
        return replace(self, turns=(*self.turns, turn), phases=())


@dataclass(frozen=True, slots=True)
class Asked:
    """A prompt on its way to a sampler: one agent of one episode at its turn."""

    player: Player
    key: TurnKey
    messages: tuple[Message, ...]
    prompt_ids: tuple[int, ...]
    max_reply_tokens: int
    seeds: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class JudgedGroup:
    """A group with the outcome that each candidate would have; None where it is unscored."""

    group: Group
    outcomes: tuple[Outcome[Any] | None, ...]

    @property
    def followed_outcome(self) -> Outcome[Any] | None:
        """The outcome of the followed candidate."""
        return None if self.group.followed is None else self.outcomes[self.group.followed]


def open_episode(opening: Opening, started: float, answer: Committed | Failure) -> OpenEpisode:
    """The episode at its opening state, or ended where the rules gave none."""
    if isinstance(answer, Failure):
        return OpenEpisode(opening, None, started, "").fail(answer)
    return OpenEpisode(opening, answer.state, started, answer.rendering)


def to_request(
    state: object, agent: str, reply: Reply
) -> Call[tuple[Request, ...]] | tuple[Request, ...]:
    """How to ask what must be run to judge a reply; nothing for a failed call."""
    if reply.finish in FAILED_REPLIES:
        return ()
    return Call(ask.evidence, (state, agent, reply.text))


def to_request_jointly(
    state: object, groups: Sequence[JudgedGroup]
) -> Call[tuple[Request, ...]] | tuple[Request, ...]:
    """How to ask what must be run on the followed replies of a phase of several agents."""
    if len(groups) < 2:
        return ()
    replies = {agent: judged.reply for agent, judged in _followed(groups).items()}
    return Call(ask.joint_evidence, (state, replies))


def wanted(
    rule: str, answer: tuple[Request, ...] | Failure
) -> tuple[Request, ...] | tuple[Evidence]:
    """The requests of this rule. When the rule itself failed, its failure is the evidence."""
    if not isinstance(answer, Failure):
        return answer
    return (Evidence(Request(rule), None, answer.status, f"{rule}: {answer.message}"),)


def to_judge(
    state: object, agent: str, reply: Reply, evidence: Sequence[Evidence]
) -> Call[Outcome[Any]] | Failure:
    """How to ask for the outcome of one reply on this state.

    A failed call and failed evidence are failures already: a status, never a score of 0.
    """
    if reply.finish in FAILED_REPLIES:
        return Failure(FAILED_REPLIES[reply.finish], reply.message)
    for item in evidence:
        if item.status is not CandidateStatus.SCORED:
            return Failure(item.status, item.message)
    return Call(ask.act, (state, agent, reply.text, tuple(evidence)))


def make_candidate(
    index: int,
    reply: Reply,
    evidence: Sequence[Evidence],
    judged: Outcome[Any] | Failure,
    team_weight: float,
) -> Candidate:
    """The record of one judged reply; a score that is not finite leaves it unscored."""
    found = tuple(evidence)
    if isinstance(judged, Failure):
        status, message = judged.status, judged.message
        return Candidate(index, reply, status, None, evidence=found, message=message)
    score = turn_score(judged.team, judged.local, judged.gate, team_weight)
    failed = score is None
    return Candidate(
        index=index,
        reply=reply,
        status=CandidateStatus.ERROR if failed else CandidateStatus.SCORED,
        score=score,
        team=judged.team,
        local=judged.local,
        gate=judged.gate,
        evidence=found,
        message="the score is not a finite number" if failed else "",
    )


def choose(
    asked: Asked,
    candidates: Sequence[Candidate],
    judged: Sequence[Outcome[Any] | Failure],
    rules: PlayRules,
    opening: Opening,
) -> JudgedGroup:
    """Closes a group: follows one of its scored candidates, by the rules' selection."""
    player, key = asked.player, asked.key
    generator = random.Random(rules.seed(opening, key.agent, key.turn, -1))
    group = Group(
        key=key,
        role=player.role,
        policy=player.sampler.name,
        version=player.sampler.version,
        messages=asked.messages,
        prompt_ids=asked.prompt_ids,
        temperature=player.decoding.temperature,
        width=player.width,
        candidates=tuple(candidates),
        followed=rules.selection([candidate.score for candidate in candidates], generator),
        trained=player.trained,
    )
    outcomes = [
        result if candidate.score is not None and not isinstance(result, Failure) else None
        for candidate, result in zip(candidates, judged, strict=True)
    ]
    return JudgedGroup(group, tuple(outcomes))


@dataclass(frozen=True, slots=True)
class Ended:
    """Why an episode ends with this phase, before it is committed."""

    status: EpisodeStatus
    message: str


def to_commit(
    state: object,
    groups: Sequence[JudgedGroup],
    joint_evidence: Sequence[Evidence],
    rules: PlayRules,
) -> Call[Committed] | Ended:
    """How to ask for the state after a phase. With one agent its followed outcome is the commit."""
    recorded = [judged.group for judged in groups]
    if rules.ends_unscored(recorded):
        return Ended(EpisodeStatus.UNSCORED, "; ".join(_failures(recorded)))
    for item in joint_evidence:
        if item.status is not CandidateStatus.SCORED:
            failure = Failure(item.status, f"joint evidence: {item.message}")
            return Ended(failure.ending, failure.message)
    outcome = groups[0].followed_outcome
    if len(groups) == 1 and outcome is not None:
        return Call(ask.render, ((outcome.state, outcome.done),))
    return Call(ask.commit, (state, _followed(groups), tuple(joint_evidence)))


def after_phase(
    episode: OpenEpisode,
    groups: Sequence[JudgedGroup],
    joint_evidence: Sequence[Evidence],
    answer: Committed | Ended | Failure,
) -> OpenEpisode:
    """The episode after a phase: committed, or ended with what was judged of it."""
    if isinstance(answer, Committed):
        after = episode.with_phase(groups, joint_evidence, answer.rendering)
        return replace(after, state=answer.state, done=answer.done)
    played = episode.with_phase(groups, joint_evidence)
    if isinstance(answer, Failure):
        return played.fail(answer)
    return played.end(answer.status, answer.message)


def after_turn(episode: OpenEpisode) -> OpenEpisode:
    """The episode with its turn closed, and ended where the rules have said that it is over."""
    closed = episode.close_turn()
    if closed.done and closed.ended is None:
        return replace(closed, ended=EpisodeStatus.DONE)
    return closed


def to_solve(episode: OpenEpisode) -> Call[bool] | bool:
    """How to ask whether the task is solved. An ending for want of a score is never a success."""
    return False if episode.ended in UNSCORED_ENDINGS else Call(ask.success, (episode.state,))


def finish(episode: OpenEpisode, solved: bool | Failure) -> Episode:
    """The record of an ended episode."""
    status, message = episode.ended or EpisodeStatus.TURN_LIMIT, episode.message
    if isinstance(solved, Failure):
        status, message = solved.ending, f"success: {solved.message}"
    opening = episode.opening
    return Episode(
        step=opening.step,
        number=opening.number,
        task_number=opening.task_number,
        task=opening.task,
        status=status,
        success=solved is True,
        turns=episode.close_turn().turns,
        opening=episode.opening_rendering,
        message=message,
    )


def _followed(groups: Sequence[JudgedGroup]) -> Mapping[str, Judged]:
    return {
        judged.group.key.agent: Judged(chosen.reply.text, chosen.evidence)
        for judged in groups
        if (chosen := judged.group.chosen) is not None
    }


def _failures(groups: Sequence[Group]) -> list[str]:
    return [
        f"{group.key.agent}: {candidate.status.value} {candidate.message}".rstrip()
        for group in groups
        for candidate in group.candidates
        if candidate.score is None
    ]
