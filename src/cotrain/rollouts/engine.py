"""Many episodes at once, in waves.

All open episodes stand at the same turn and phase; a wave asks for all their replies together, in
episode order, so that what is batched never depends on time. The rules are asked by waves too, and
every failure is turned into a recorded status.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar
from typing import cast as typed

from cotrain.core.episode import Episode, EpisodeStatus, Evidence, Message, Reply, Request, TurnKey
from cotrain.environments import rules as ask
from cotrain.environments.base import Environment, Outcome
from cotrain.policies.base import Sampler, SampleRequest
from cotrain.rollouts.base import Cast, Fulfiller, Opening, Player, PlayRules, PromptTooLongError
from cotrain.rollouts.referee import Call, Failure, Referee
from cotrain.rollouts.tree import (
    Asked,
    JudgedGroup,
    OpenEpisode,
    after_phase,
    after_turn,
    choose,
    finish,
    make_candidate,
    open_episode,
    to_commit,
    to_judge,
    to_request,
    to_request_jointly,
    to_solve,
    wanted,
)

Value = TypeVar("Value")
Known = TypeVar("Known")


@dataclass(frozen=True, slots=True)
class Engine:
    """Plays episodes of one environment. Holds no state between two calls of `play`."""

    referee: Referee
    fulfiller: Fulfiller
    clock: Callable[[], float] = time.monotonic

    @property
    def environment(self) -> Environment[Any]:
        """The environment that is played."""
        return self.referee.environment

    def close(self) -> None:
        """Ends what the rules run in; nothing can be played after it."""
        self.referee.close()

    def play(self, openings: Sequence[Opening], cast: Cast, rules: PlayRules) -> list[Episode]:
        """The episodes of these openings, in their order.

        Raises PromptTooLongError when a prompt of turn 1 does not fit, ServiceLostError when what
        the rules need is gone.
        """
        episodes = self._open(openings)
        for turn in range(1, rules.max_turns + 1):
            for phase in self.environment.phases:
                players = [cast[agent] for agent in phase]
                episodes = self._wave(episodes, players, turn, rules)
            episodes = [after_turn(episode) for episode in episodes]
        solved = self._answers([to_solve(episode) for episode in episodes])
        return [finish(*pair) for pair in zip(episodes, solved, strict=True)]

    def _open(self, openings: Sequence[Opening]) -> list[OpenEpisode]:
        started = [self.clock() for _ in openings]
        calls = [Call(ask.start, (opening.task, opening.purpose)) for opening in openings]
        answers = self.referee.ask(calls)
        return [open_episode(*one) for one in zip(openings, started, answers, strict=True)]

    def _wave(
        self,
        episodes: Sequence[OpenEpisode],
        players: Sequence[Player],
        turn: int,
        rules: PlayRules,
    ) -> list[OpenEpisode]:
        """One phase of every open episode."""
        episodes = [self._in_time(episode, rules) for episode in episodes]
        observed = self._observed(episodes, [player.agent for player in players])
        pairs = [
            _questions(episode, players, messages, turn, rules)
            for episode, messages in zip(episodes, observed, strict=True)
        ]
        episodes, asked = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
        groups = iter(self._judged_groups(episodes, asked, rules))
        judged = [[next(groups) for _ in questions] for questions in asked]
        return self._commit(episodes, judged, rules)

    def _in_time(self, episode: OpenEpisode, rules: PlayRules) -> OpenEpisode:
        limit = rules.episode_seconds
        if not episode.goes_on or limit is None or self.clock() - episode.started <= limit:
            return episode
        return episode.end(EpisodeStatus.TIMEOUT, f"longer than {limit} s (limits.episode_seconds)")

    def _observed(
        self, episodes: Sequence[OpenEpisode], agents: Sequence[str]
    ) -> list[tuple[tuple[Message, ...], ...] | Failure | None]:
        """What these agents read, None where the episode is over."""
        return self._answers(
            [
                Call(ask.observe, (episode.state, tuple(agents))) if episode.goes_on else None
                for episode in episodes
            ]
        )

    def _judged_groups(
        self, episodes: Sequence[OpenEpisode], asked: Sequence[list[Asked]], rules: PlayRules
    ) -> list[JudgedGroup]:
        """Samples, fulfils and judges; one group a question, in order."""
        flat = [(episode, q) for episode, qs in zip(episodes, asked, strict=True) for q in qs]
        replies = _sample([question for _, question in flat])
        tried = [
            (episode.state, question.key.agent, reply)
            for (episode, question), group in zip(flat, replies, strict=True)
            for reply in group
        ]
        evidence = self._evidence("evidence", [to_request(*one) for one in tried])
        answers = self._answers(
            [to_judge(*one, found) for one, found in zip(tried, evidence, strict=True)]
        )
        judged = iter(zip(evidence, answers, strict=True))
        return [
            _group(episode.opening, question, [(reply, *next(judged)) for reply in group], rules)
            for (episode, question), group in zip(flat, replies, strict=True)
        ]

    def _commit(
        self,
        episodes: Sequence[OpenEpisode],
        judged: Sequence[Sequence[JudgedGroup]],
        rules: PlayRules,
    ) -> list[OpenEpisode]:
        """Every episode of the wave after its phase."""
        joint = self._joint_evidence(episodes, judged, rules)
        answers = self._answers(
            [
                to_commit(episode.state, groups, found, rules) if groups else None
                for episode, groups, found in zip(episodes, judged, joint, strict=True)
            ]
        )
        return [
            episode if answer is None else after_phase(episode, groups, found, answer)
            for episode, groups, found, answer in zip(episodes, judged, joint, answers, strict=True)
        ]

    def _joint_evidence(
        self,
        episodes: Sequence[OpenEpisode],
        judged: Sequence[Sequence[JudgedGroup]],
        rules: PlayRules,
    ) -> list[tuple[Evidence, ...]]:
        """The evidence of every phase that will be committed."""
        return self._evidence(
            "joint_evidence",
            [
                ()
                if rules.ends_unscored([found.group for found in groups])
                else to_request_jointly(episode.state, groups)
                for episode, groups in zip(episodes, judged, strict=True)
            ],
        )

    def _evidence(
        self, rule: str, calls: Sequence[Call[tuple[Request, ...]] | tuple[Request, ...]]
    ) -> list[tuple[Evidence, ...]]:
        """The evidence that a rule asks for, fulfilled in one pool; its own failure is evidence."""
        asked = [wanted(rule, answer) for answer in self._answers(calls)]
        requests = [item for one in asked for item in one if isinstance(item, Request)]
        found = iter(self.fulfiller.fulfil(requests) if requests else [])
        return [
            tuple(next(found) if isinstance(item, Request) else item for item in one)
            for one in asked
        ]

    def _answers(self, calls: Sequence[Call[Value] | Known]) -> list[Value | Failure | Known]:
        """Puts the answer in the place of each call; what is known already stays."""
        asked = [typed("Call[Value]", item) for item in calls if isinstance(item, Call)]
        answers = iter(self.referee.ask(asked))
        return [next(answers) if isinstance(item, Call) else item for item in calls]


def _questions(
    episode: OpenEpisode,
    players: Sequence[Player],
    observed: tuple[tuple[Message, ...], ...] | Failure | None,
    turn: int,
    rules: PlayRules,
) -> tuple[OpenEpisode, list[Asked]]:
    """What the episode asks its agents, or its ending and no question."""
    if observed is None:
        return episode, []
    if isinstance(observed, Failure):
        return episode.fail(observed), []
    try:
        return episode, [
            _question(episode.opening, player, messages, turn, rules)
            for player, messages in zip(players, observed, strict=True)
        ]
    except PromptTooLongError as error:
        if turn == 1:
            raise
        return episode.end(EpisodeStatus.CONTEXT_LENGTH, str(error)), []


def _question(
    opening: Opening,
    player: Player,
    messages: tuple[Message, ...],
    turn: int,
    rules: PlayRules,
) -> Asked:
    agent = player.agent
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


def _group(
    opening: Opening,
    asked: Asked,
    judged: Sequence[tuple[Reply, tuple[Evidence, ...], Outcome[Any] | Failure]],
    rules: PlayRules,
) -> JudgedGroup:
    candidates = [
        make_candidate(index, *one, rules.team_weight) for index, one in enumerate(judged)
    ]
    return choose(asked, candidates, [outcome for _, _, outcome in judged], rules, opening)


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
