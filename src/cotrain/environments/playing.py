"""Plays an environment with written replies and no policy: what checker and audit stand on.

It follows the contract of `base.py` turn by turn, with one candidate a group.
"""

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from cotrain.core.episode import (
    Candidate,
    CandidateStatus,
    Episode,
    EpisodeStatus,
    Evidence,
    Finish,
    Group,
    Phase,
    Reply,
    Request,
    Task,
    Turn,
    TurnKey,
)
from cotrain.core.rewards import turn_score
from cotrain.environments import rules as ask
from cotrain.environments.base import Environment, Judged, Outcome, role_of
from cotrain.environments.returned import checked_phases
from cotrain.environments.rules import Committed

Answer: TypeAlias = Callable[[Request], Evidence]
"""What fulfils a request: runs the program, measures, grades."""
Writer: TypeAlias = Callable[[Any, str, int], str]
"""State, agent and turn (from 1) to a reply."""

GARBAGE = (
    "",
    " \n\t",
    "\x00" * 10,
    "a" * 200_000,
    "<answer>" * 1_000,
    "<answer>",
    "</answer>",
    "<answer></answer>",
    "<think>",
    "```",
    "```python\n",
    "\\boxed{",
    "null",
    "<answer>null</answer>",
    '<answer>[null, {"a": []}]</answer>',
    "<answer>" + "[" * 100_000 + "</answer>",
    "{" * 5_000,
    "9" * 5_000,
    "-1",
    "1e999",
    "NaN",
    "²",
    "\u0663 \U0001f642 \u202e \ufeff",
)
"""Replies that answer nothing: empty, huge, odd characters, unclosed tags, nulls, odd numbers."""


def shortened(reply: str) -> str:
    """A reply as a report shows it: quoted, and cut if it is long.

    >>> shortened("Up"), shortened("a" * 200)
    ("'Up'", "'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa'... (200 characters)")
    """
    return repr(reply) if len(reply) <= 60 else f"{reply[:40]!r}... ({len(reply)} characters)"


class UnansweredError(RuntimeError):
    """An environment asked for evidence, and nothing was given to fulfil the request."""


def unanswered(request: Request) -> Evidence:
    """Fulfils nothing: raises `UnansweredError` with the kind of the request."""
    raise UnansweredError(
        f"the environment asks for evidence of kind {request.kind!r}: give answer=, a function "
        "from a request to its evidence"
    )


def judge(
    environment: Environment[Any], state: Any, agent: str, reply: str, answer: Answer
) -> tuple[Outcome[Any] | None, tuple[Evidence, ...]]:
    """One reply judged on a state; no outcome where evidence for it could not be had."""
    evidence = tuple(map(answer, ask.evidence(environment, state, agent, reply)))
    if any(item.status is not CandidateStatus.SCORED for item in evidence):
        return None, evidence
    return ask.act(environment, state, agent, reply, evidence), evidence


def play(
    environment: Environment[Any],
    task: Task,
    write: Writer,
    max_turns: int,
    answer: Answer = unanswered,
) -> Episode:
    """One episode in which `write` writes every reply. Raises PhasesError for wrong phases."""
    checked_phases(environment)
    opening = ask.start(environment, task, "evaluate")
    state = opening.state
    turns: list[Turn] = []
    status = EpisodeStatus.TURN_LIMIT
    while len(turns) < max_turns and status is EpisodeStatus.TURN_LIMIT:
        turn, state, status = _play_turn(environment, state, write, len(turns) + 1, answer)
        turns.append(turn)
    return Episode(
        step=0,
        number=0,
        task_number=0,
        task=task,
        status=status,
        success=ask.success(environment, state),
        turns=tuple(turns),
        opening=opening.rendering,
    )


def _play_turn(
    environment: Environment[Any], state: Any, write: Writer, number: int, answer: Answer
) -> tuple[Turn, Any, EpisodeStatus]:
    phases: list[Phase] = []
    done = False
    for agents in environment.phases:
        written = {agent: write(state, agent, number) for agent in agents}
        judged = {a: judge(environment, state, a, text, answer) for a, text in written.items()}
        groups = tuple(
            _group(
                environment, state, TurnKey(0, 0, agent, number), _candidate(written[agent], *pair)
            )
            for agent, pair in judged.items()
        )
        if all(outcome is None for outcome, _ in judged.values()):
            phases.append(Phase(groups, (), ask.render(environment, (state, done)).rendering))
            return Turn(number, tuple(phases)), state, EpisodeStatus.UNSCORED
        after, joint = _after_phase(environment, state, written, judged, answer)
        phases.append(Phase(groups, joint, after.rendering))
        state, done = after.state, after.done
        if done:
            break
    status = EpisodeStatus.DONE if done else EpisodeStatus.TURN_LIMIT
    return Turn(number, tuple(phases)), state, status


def _after_phase(
    environment: Environment[Any],
    state: Any,
    written: Mapping[str, str],
    judged: Mapping[str, tuple[Outcome[Any] | None, tuple[Evidence, ...]]],
    answer: Answer,
) -> tuple[Committed, tuple[Evidence, ...]]:
    scored = {agent: pair for agent, pair in judged.items() if pair[0] is not None}
    outcomes = [outcome for outcome, _ in scored.values() if outcome is not None]
    if len(judged) == 1:
        return ask.render(environment, (outcomes[0].state, outcomes[0].done)), ()
    followed = {agent: written[agent] for agent in scored}
    joint = tuple(map(answer, ask.joint_evidence(environment, state, followed)))
    replies = {agent: Judged(written[agent], evidence) for agent, (_, evidence) in scored.items()}
    return ask.commit(environment, state, replies, joint), joint


def _candidate(
    text: str, outcome: Outcome[Any] | None, evidence: tuple[Evidence, ...]
) -> Candidate:
    reply = Reply(text, (), (), Finish.STOP)
    if outcome is None:
        failed = next(e for e in evidence if e.status is not CandidateStatus.SCORED)
        return Candidate(0, reply, failed.status, None, evidence=evidence, message=failed.message)
    return Candidate(
        index=0,
        reply=reply,
        status=CandidateStatus.SCORED,
        score=turn_score(outcome.team, outcome.local, outcome.gate, team_weight=1.0),
        team=outcome.team,
        local=outcome.local,
        gate=outcome.gate,
        evidence=evidence,
    )


def _group(environment: Environment[Any], state: Any, key: TurnKey, candidate: Candidate) -> Group:
    return Group(
        key=key,
        role=role_of(environment.roles, key.agent).name,
        policy="written",
        version=0,
        messages=ask.observe(environment, state, (key.agent,))[0],
        prompt_ids=(),
        temperature=0.0,
        width=1,
        candidates=(candidate,),
        followed=0 if candidate.status is CandidateStatus.SCORED else None,
        trained=False,
    )
