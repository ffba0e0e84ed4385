"""Many episodes at once, in waves.

All open episodes stand at the same turn and phase; a wave asks for all their replies together, in
episode order, so that what is batched never depends on time. The engine fulfils what the rules
request, and turns every failure into a recorded status.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from cotrain.core.episode import (
    CandidateStatus,
    Episode,
    EpisodeStatus,
    Evidence,
    Group,
    Message,
    Phase,
    Reply,
    Request,
    TurnKey,
)
from cotrain.environments.base import Environment
from cotrain.environments.returned import RULE_FAULTS, checked_messages, checked_text
from cotrain.policies.base import Sampler, SampleRequest
from cotrain.rollouts.base import Cast, Fulfiller, Opening, Player, PlayRules, PromptTooLongError
from cotrain.rollouts.tree import (
    Asked,
    JudgedGroup,
    OpenEpisode,
    choose,
    commit,
    finish,
    joint_requests,
    judge,
    make_candidate,
    requests_for,
)

SCORED = CandidateStatus.SCORED


@dataclass(frozen=True, slots=True)
class Engine:
    """Plays episodes of one environment. Holds no state between two calls of `play`."""

    environment: Environment[Any]
    fulfiller: Fulfiller
    clock: Callable[[], float] = time.monotonic

    def play(self, openings: Sequence[Opening], cast: Cast, rules: PlayRules) -> list[Episode]:
        """The episodes of these openings, in their order.

        Raises PromptTooLongError when a prompt of turn 1 does not fit.
        """
        episodes = [self._open(opening) for opening in openings]
        for turn in range(1, rules.max_turns + 1):
            for phase in self.environment.phases:
                players = [cast[agent] for agent in phase]
                episodes = self._wave(episodes, players, turn, rules)
            episodes = [_close_turn(episode) for episode in episodes]
        return [finish(self.environment, episode) for episode in episodes]

    def _open(self, opening: Opening) -> OpenEpisode:
        started = self.clock()
        try:
            state = self.environment.start(opening.task, opening.purpose)
            rendering = checked_text("render", self.environment.render(state))
        except RULE_FAULTS as error:
            failed = OpenEpisode(opening, None, started, "")
            return failed.end(EpisodeStatus.ENVIRONMENT_ERROR, _said(error))
        return OpenEpisode(opening, state, started, rendering)

    def _wave(
        self, episodes: list[OpenEpisode], players: Sequence[Player], turn: int, rules: PlayRules
    ) -> list[OpenEpisode]:
        """One phase of every open episode."""
        after: list[OpenEpisode] = []
        asked: list[list[Asked]] = []
        for before in episodes:
            episode, questions = self._ask(before, players, turn, rules)
            after.append(episode)
            asked.append(questions)
        groups = iter(self._judged_groups(after, asked, rules))
        judged = [[next(groups) for _ in questions] for questions in asked]
        joint = self._joint_evidence(after, judged, rules)
        return [
            self._commit(episode, found, evidence, rules) if found else episode
            for episode, found, evidence in zip(after, judged, joint, strict=True)
        ]

    def _ask(
        self, episode: OpenEpisode, players: Sequence[Player], turn: int, rules: PlayRules
    ) -> tuple[OpenEpisode, list[Asked]]:
        """What the episode asks its agents, or its ending and no question."""
        if episode.ended is not None or episode.done:
            return episode, []
        limit = rules.episode_seconds
        if limit is not None and self.clock() - episode.started > limit:
            message = f"longer than {limit} s (limits.episode_seconds)"
            return episode.end(EpisodeStatus.TIMEOUT, message), []
        try:
            observed = [
                checked_messages(self.environment.observe(episode.state, player.agent))
                for player in players
            ]
        except RULE_FAULTS as error:
            return episode.end(EpisodeStatus.ENVIRONMENT_ERROR, _said(error)), []
        try:
            return episode, [
                self._question(episode, player, messages, turn, rules)
                for player, messages in zip(players, observed, strict=True)
            ]
        except PromptTooLongError as error:
            if turn == 1:
                raise
            return episode.end(EpisodeStatus.CONTEXT_LENGTH, str(error)), []

    def _question(
        self,
        episode: OpenEpisode,
        player: Player,
        messages: tuple[Message, ...],
        turn: int,
        rules: PlayRules,
    ) -> Asked:
        opening, agent = episode.opening, player.agent
        prompt_ids = player.sampler.encode(messages)
        context = player.sampler.context_tokens
        room = min(player.decoding.max_reply_tokens, context - len(prompt_ids))
        if len(prompt_ids) > rules.max_prompt_tokens or room < 1:
            raise PromptTooLongError(
                f"the prompt of {agent} at turn {turn} has {len(prompt_ids)} tokens; allowed are "
                f"{rules.max_prompt_tokens} (sampling.max_prompt_tokens) in a context of {context}"
            )
        key = TurnKey(opening.step, opening.number, agent, turn)
        seeds = tuple(rules.seed(opening, agent, turn, c) for c in range(player.width))
        return Asked(player, key, messages, prompt_ids, room, seeds)

    def _judged_groups(
        self, episodes: Sequence[OpenEpisode], asked: Sequence[list[Asked]], rules: PlayRules
    ) -> list[JudgedGroup]:
        """Samples, fulfils and judges; one group a question, in order."""
        flat = [(episode, q) for episode, qs in zip(episodes, asked, strict=True) for q in qs]
        replies = _sample([question for _, question in flat])
        evidence = self._evidence(flat, replies)
        return [
            self._judged_group(episode, question, group_replies, group_evidence, rules)
            for (episode, question), group_replies, group_evidence in zip(
                flat, replies, evidence, strict=True
            )
        ]

    def _judged_group(
        self,
        episode: OpenEpisode,
        asked: Asked,
        replies: Sequence[Reply],
        evidence: Sequence[Sequence[Evidence]],
        rules: PlayRules,
    ) -> JudgedGroup:
        judged = [
            judge(self.environment, episode.state, asked.key.agent, reply, found)
            for reply, found in zip(replies, evidence, strict=True)
        ]
        candidates = [
            make_candidate(index, reply, found, result, rules.team_weight)
            for index, (reply, found, result) in enumerate(
                zip(replies, evidence, judged, strict=True)
            )
        ]
        outcomes = [
            result[1] if candidate.score is not None else None
            for candidate, result in zip(candidates, judged, strict=True)
        ]
        return choose(asked, candidates, outcomes, rules, episode.opening)

    def _evidence(
        self, flat: Sequence[tuple[OpenEpisode, Asked]], replies: Sequence[Sequence[Reply]]
    ) -> list[list[tuple[Evidence, ...]]]:
        """The evidence of every reply of the wave, fulfilled in one pool."""
        wanted = [
            requests_for(self.environment, episode.state, question.key.agent, reply)
            for (episode, question), group in zip(flat, replies, strict=True)
            for reply in group
        ]
        found = iter(self._fulfilled(wanted))
        return [[next(found) for _ in group] for group in replies]

    def _joint_evidence(
        self,
        episodes: Sequence[OpenEpisode],
        judged: Sequence[Sequence[JudgedGroup]],
        rules: PlayRules,
    ) -> list[tuple[Evidence, ...]]:
        """The evidence of every phase that will be committed."""
        return self._fulfilled(
            [
                ()
                if rules.ends_unscored([found.group for found in groups])
                else joint_requests(self.environment, episode.state, groups)
                for episode, groups in zip(episodes, judged, strict=True)
            ]
        )

    def _fulfilled(
        self, wanted: Sequence[Sequence[Request | Evidence]]
    ) -> list[tuple[Evidence, ...]]:
        """Puts the evidence in the place of each request; what is evidence already stays."""
        requests = [item for one in wanted for item in one if isinstance(item, Request)]
        found = iter(self.fulfiller.fulfil(requests) if requests else [])
        return [
            tuple(next(found) if isinstance(item, Request) else item for item in one)
            for one in wanted
        ]

    def _commit(
        self,
        episode: OpenEpisode,
        judged: Sequence[JudgedGroup],
        joint_evidence: Sequence[Evidence],
        rules: PlayRules,
    ) -> OpenEpisode:
        groups = [found.group for found in judged]
        if rules.ends_unscored(groups):
            return _with_phase(episode, groups, ()).end(
                EpisodeStatus.UNSCORED, "; ".join(_failures(groups))
            )
        if failed := [item for item in joint_evidence if item.status is not SCORED]:
            return _with_phase(episode, groups, joint_evidence).end(
                EpisodeStatus.ENVIRONMENT_ERROR, f"joint evidence: {failed[0].message}"
            )
        try:
            return commit(self.environment, episode, judged, joint_evidence)
        except RULE_FAULTS as error:
            return _with_phase(episode, groups, joint_evidence).end(
                EpisodeStatus.ENVIRONMENT_ERROR, _said(error)
            )


def _sample(asked: Sequence[Asked]) -> list[tuple[Reply, ...]]:
    """The replies to every question, each policy asked once, in order."""
    replies: dict[int, tuple[Reply, ...]] = {}
    for sampler, places in _by_sampler(asked):
        requests = [
            SampleRequest(
                question.prompt_ids,
                question.seeds,
                replace(question.player.decoding, max_reply_tokens=question.max_reply_tokens),
            )
            for question in (asked[place] for place in places)
        ]
        replies.update(zip(places, sampler.sample(requests), strict=True))
    return [replies[place] for place in range(len(asked))]


def _by_sampler(asked: Sequence[Asked]) -> Iterator[tuple[Sampler, list[int]]]:
    places: dict[int, list[int]] = {}
    for place, question in enumerate(asked):
        places.setdefault(id(question.player.sampler), []).append(place)
    for found in places.values():
        yield asked[found[0]].player.sampler, found


def _close_turn(episode: OpenEpisode) -> OpenEpisode:
    closed = episode.close_turn()
    return replace(closed, ended=EpisodeStatus.DONE) if _just_done(closed) else closed


def _just_done(episode: OpenEpisode) -> bool:
    return episode.done and episode.ended is None


def _with_phase(
    episode: OpenEpisode, groups: Sequence[Group], joint_evidence: Sequence[Evidence]
) -> OpenEpisode:
    phase = Phase(tuple(groups), tuple(joint_evidence))
    return replace(episode, phases=(*episode.phases, phase))


def _failures(groups: Sequence[Group]) -> list[str]:
    return [
        f"{group.key.agent}: {candidate.status.value} {candidate.message}".rstrip()
        for group in groups
        for candidate in group.candidates
        if candidate.score is None
    ]


def _said(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"
