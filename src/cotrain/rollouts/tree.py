"""One phase of one episode: the prompt, the judged candidates, the choice, the commit.

These functions are the inside of the tree (paper, Algorithm 1, lines 5 to 14): the K candidates of
an agent are all judged on the phase's opening state before any is followed.
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
from cotrain.environments.base import Environment, Judged, Outcome
from cotrain.environments.returned import (
    RULE_FAULTS,
    checked_bool,
    checked_commit,
    checked_outcome,
    checked_requests,
    checked_text,
)
from cotrain.rollouts.base import Opening, Player, PlayRules

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

    def end(self, status: EpisodeStatus, message: str = "") -> "OpenEpisode":
        """The episode, ended with this status; what was played of the turn stays."""
        return replace(self.close_turn(), ended=status, message=message)

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
    outcomes: tuple[Outcome[object] | None, ...]

    @property
    def followed_outcome(self) -> Outcome[object] | None:
        """The outcome of the followed candidate."""
        return None if self.group.followed is None else self.outcomes[self.group.followed]


def judge(
    environment: Environment[Any],
    state: object,
    agent: str,
    reply: Reply,
    evidence: Sequence[Evidence],
) -> tuple[CandidateStatus, Outcome[object] | None, str]:
    """The status of one reply and the outcome it would have on this state.

    A failed call, failed evidence or an exception of the rules is a status, never a score of 0.
    """
    if reply.finish in FAILED_REPLIES:
        return FAILED_REPLIES[reply.finish], None, reply.message
    for item in evidence:
        if item.status is not CandidateStatus.SCORED:
            return item.status, None, item.message
    try:
        outcome = checked_outcome(environment.act(state, agent, reply.text, tuple(evidence)))
    except RULE_FAULTS as error:
        return CandidateStatus.ERROR, None, f"{type(error).__name__}: {error}"
    return CandidateStatus.SCORED, outcome, ""


def make_candidate(
    index: int,
    reply: Reply,
    evidence: Sequence[Evidence],
    judged: tuple[CandidateStatus, Outcome[object] | None, str],
    team_weight: float,
) -> Candidate:
    """The record of one judged reply; a score that is not finite leaves it unscored."""
    status, outcome, message = judged
    if outcome is None:
        return Candidate(index, reply, status, None, evidence=tuple(evidence), message=message)
    score = turn_score(outcome.team, outcome.local, outcome.gate, team_weight)
    if score is None:
        status, message = CandidateStatus.ERROR, "the score is not a finite number"
    return Candidate(
        index=index,
        reply=reply,
        status=status,
        score=score,
        team=outcome.team,
        local=outcome.local,
        gate=outcome.gate,
        evidence=tuple(evidence),
        message=message,
    )


def choose(
    asked: Asked,
    candidates: Sequence[Candidate],
    outcomes: Sequence[Outcome[object] | None],
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
    return JudgedGroup(group, tuple(outcomes))


def requests_for(
    environment: Environment[Any], state: object, agent: str, reply: Reply
) -> Sequence[Request | Evidence]:
    """What must be run to judge a reply; nothing for a failed call.

    When the rules themselves fail here, that failure is the evidence.
    """
    if reply.finish in FAILED_REPLIES:
        return ()
    try:
        return checked_requests("evidence", environment.evidence(state, agent, reply.text))
    except RULE_FAULTS as error:
        return (_failed_request("evidence", error),)


def joint_requests(
    environment: Environment[Any], state: object, groups: Sequence[JudgedGroup]
) -> Sequence[Request | Evidence]:
    """What must be run on the followed replies of a phase of several agents."""
    if len(groups) < 2:
        return ()
    replies = {agent: judged.reply for agent, judged in _followed(groups).items()}
    try:
        return checked_requests("joint_evidence", environment.joint_evidence(state, replies))
    except RULE_FAULTS as error:
        return (_failed_request("joint_evidence", error),)


def _failed_request(where: str, error: BaseException) -> Evidence:
    message = f"{where}: {type(error).__name__}: {error}"
    return Evidence(Request(where), None, CandidateStatus.ERROR, message)


def commit(
    environment: Environment[Any],
    episode: OpenEpisode,
    groups: Sequence[JudgedGroup],
    joint_evidence: Sequence[Evidence],
) -> OpenEpisode:
    """The episode after the phase. With one agent the followed outcome is the commit."""
    outcome = groups[0].followed_outcome
    if len(groups) == 1 and outcome is not None:
        state, done = outcome.state, outcome.done
    else:
        state, done = checked_commit(
            environment.commit(episode.state, _followed(groups), tuple(joint_evidence))
        )
    rendering = checked_text("render", environment.render(state))
    phase = Phase(tuple(judged.group for judged in groups), tuple(joint_evidence), rendering)
    return replace(episode, state=state, done=done, phases=(*episode.phases, phase))


def finish(environment: Environment[Any], episode: OpenEpisode) -> Episode:
    """The record of an ended episode. An ending for want of a score is never a success."""
    status, success, message = _ending(environment, episode)
    opening = episode.opening
    return Episode(
        step=opening.step,
        number=opening.number,
        task_number=opening.task_number,
        task=opening.task,
        status=status,
        success=success,
        turns=episode.close_turn().turns,
        opening=episode.opening_rendering,
        message=message,
    )


def _ending(environment: Environment[Any], episode: OpenEpisode) -> tuple[EpisodeStatus, bool, str]:
    status = episode.ended or EpisodeStatus.TURN_LIMIT
    if status in UNSCORED_ENDINGS:
        return status, False, episode.message
    try:
        success = checked_bool("success", environment.success(episode.state))
        return status, success, episode.message
    except RULE_FAULTS as error:
        message = f"success: {type(error).__name__}: {error}"
        return EpisodeStatus.ENVIRONMENT_ERROR, False, message


def _followed(groups: Sequence[JudgedGroup]) -> Mapping[str, Judged]:
    return {
        judged.group.key.agent: Judged(chosen.reply.text, chosen.evidence)
        for judged in groups
        if (chosen := judged.group.chosen) is not None
    }
