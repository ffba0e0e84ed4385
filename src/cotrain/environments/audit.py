"""The reward audit: a search for anything that out-earns solving.

Two promises. In one group, every candidate that solves (a proposal: that would solve) scores above
every one that does not. For whole episodes, putting replies that solve in place of the replies of
any turn of an unsolved episode raises the score of every agent that could solve. A role for which
`solve` gives None is exempt in that state: no reply of its own decides.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any, Protocol, TypeAlias, cast, runtime_checkable

from cotrain.core.episode import Episode, Task
from cotrain.core.rewards import episode_score, turn_score
from cotrain.core.seeds import derive_seed
from cotrain.environments.base import Environment, Outcome
from cotrain.environments.playing import GARBAGE, Answer, Writer, judge, play, shortened, unanswered


@runtime_checkable
class Auditable(Protocol):
    """What an environment defines beside the contract of `base.py` in order to be audited."""

    def solve(self, state: Any, agent: str) -> str | None:
        """A reply of this agent that solves (a proposal: would), None where there is none."""
        ...

    def would_solve(self, agent: str, outcome: Outcome[Any]) -> bool:
        """Whether this outcome of the agent's reply solves, or proposes what would."""
        ...

    def attempts(self, state: Any, agent: str, generator: Random) -> list[str]:
        """Well-formed replies of all worths: short, long, repeating, to and fro, random."""
        ...


@dataclass(frozen=True, slots=True)
class Finding:
    """A case in which solving does not earn most. `form` is `"group"` or `"episode"`."""

    form: str
    agent: str
    detail: str


@dataclass(frozen=True, slots=True)
class AuditReport:
    """What the search found, and how much it looked at."""

    environment: str
    findings: tuple[Finding, ...]
    groups: int
    episodes: int

    @property
    def passed(self) -> bool:
        """Whether the search looked at groups and episodes, and nothing out-earned solving."""
        return not self.findings and self.groups > 0 and self.episodes > 0


@dataclass(frozen=True, slots=True)
class AuditSettings:
    """How far the search goes; `max_turns` and `team_weight` are those of the run to be judged."""

    tasks: int = 6
    max_turns: int = 4
    team_weight: float = 1.0
    seed: int = 0


def audit(
    environment: Environment[Any],
    settings: AuditSettings = AuditSettings(),
    answer: Answer = unanswered,
) -> AuditReport:
    """Searches groups and whole episodes of drawn tasks; `answer` fulfils requests for evidence.

    Raises TypeError when the environment is not `Auditable`.

    >>> from cotrain.environments.plan_path import PlanPath
    >>> audit(PlanPath(), AuditSettings(tasks=1)).passed
    True
    """
    if not isinstance(environment, Auditable):
        raise TypeError(
            f"{type(environment).__name__} cannot be audited: it must define solve(state, agent), "
            "would_solve(agent, outcome) and attempts(state, agent, generator)"
        )
    search = _Search(environment, settings, answer)
    for index in range(settings.tasks):
        task = environment.task("train", settings.seed, index)
        for strategy in STRATEGIES.values():
            search.plays(task, strategy)
    findings = tuple(dict.fromkeys(search.findings))
    return AuditReport(environment.name, findings, search.groups, search.episodes)


@dataclass(frozen=True, slots=True)
class _Tried:
    reply: str
    score: float
    solves: bool


class _Search:
    """One search: what it has found and counted so far."""

    def __init__(
        self, environment: Environment[Any], settings: AuditSettings, answer: Answer
    ) -> None:
        self.environment = environment
        self.hints = cast("Auditable", environment)
        self.settings = settings
        self.answer = answer
        self.findings: list[Finding] = []
        self.groups = 0
        self.episodes = 0

    def plays(self, task: Task, strategy: "Strategy") -> None:
        """Plays a task without solving it, looks at its groups, and then solves each turn."""
        generator = Random(derive_seed("audit", self.settings.seed, task.index))
        said: dict[tuple[str, int], str] = {}

        def write(state: Any, agent: str, turn: int) -> str:
            tried = self._try_replies(state, agent, generator)
            self._look_at_group(state, agent, tried)
            said[agent, turn] = strategy([t for t in tried if not t.solves], turn, generator)
            return said[agent, turn]

        episode = self._play(task, write)
        if episode.success:
            return
        for turn in range(1, len(episode.turns) + 1):
            self._solve_turn(task, episode, said, turn)

    def _play(self, task: Task, write: Writer) -> Episode:
        return play(self.environment, task, write, self.settings.max_turns, self.answer)

    def _try_replies(self, state: Any, agent: str, generator: Random) -> list[_Tried]:
        prompt = "\n".join(message.content for message in self.environment.observe(state, agent))
        replies = [*self.hints.attempts(state, agent, generator), *GARBAGE, prompt]
        solving = self.hints.solve(state, agent)
        replies += [] if solving is None else [solving, f"{prompt}\n{solving}", solving * 2]
        tried = (self._try(state, agent, reply) for reply in dict.fromkeys(replies))
        return [one for one in tried if one is not None]

    def _try(self, state: Any, agent: str, reply: str) -> _Tried | None:
        outcome = judge(self.environment, state, agent, reply, self.answer)[0]
        if outcome is None:
            return None
        weight = self.settings.team_weight
        score = turn_score(outcome.team, outcome.local, outcome.gate, weight)
        return (
            None if score is None else _Tried(reply, score, self.hints.would_solve(agent, outcome))
        )

    def _look_at_group(self, state: Any, agent: str, tried: Sequence[_Tried]) -> None:
        solving = [one for one in tried if one.solves]
        others = [one for one in tried if not one.solves]
        if not solving or not others:
            return
        self.groups += 1
        worst = min(solving, key=lambda one: one.score)
        best = max(others, key=lambda one: one.score)
        if worst.score <= best.score:
            detail = (
                f"{shortened(best.reply)} scores {best.score:.4f} and does not solve, "
                f"{shortened(worst.reply)} scores {worst.score:.4f} and solves, "
                f"in\n{self.environment.render(state)}"
            )
            self.findings.append(Finding("group", agent, detail))

    def _solve_turn(
        self, task: Task, episode: Episode, said: Mapping[tuple[str, int], str], solved: int
    ) -> None:
        solvers: list[str] = []

        def write(state: Any, agent: str, turn: int) -> str:
            solving = self.hints.solve(state, agent) if turn == solved else None
            if solving is None:
                return said.get((agent, turn), "")
            solvers.append(agent)
            return solving

        replaced = self._play(task, write)
        if not replaced.success:
            return
        self.episodes += 1
        for agent in solvers:
            self._compare(agent, solved, episode, replaced)

    def _compare(self, agent: str, turn: int, episode: Episode, replaced: Episode) -> None:
        weight, max_turns = self.settings.team_weight, self.settings.max_turns
        before = episode_score(episode, agent, weight, max_turns)
        after = episode_score(replaced, agent, weight, max_turns)
        if before is not None and (after is None or after <= before):
            replies = [shortened(group.candidates[0].reply.text) for group in episode.groups()]
            detail = (
                f"unsolved with {', '.join(replies)} it scores {before}; "
                f"solved in turn {turn} it scores {after}, in\n{episode.opening}"
            )
            self.findings.append(Finding("episode", agent, detail))


Strategy: TypeAlias = Callable[[Sequence[_Tried], int, Random], str]
"""How replies that do not solve are chosen in an episode: tried ones, turn, generator."""


def _random(others: Sequence[_Tried], turn: int, generator: Random) -> str:
    return generator.choice(others).reply


def _greedy(others: Sequence[_Tried], turn: int, generator: Random) -> str:
    return max(others, key=lambda one: one.score).reply


def _patient(others: Sequence[_Tried], turn: int, generator: Random) -> str:
    best = max(one.score for one in others)
    worth = sorted({one.score for one in others if one.score > 0.5 * best}) or [best]
    return next(one.reply for one in others if one.score == worth[0])


def _back_and_forth(others: Sequence[_Tried], turn: int, generator: Random) -> str:
    return _random(others, turn, generator) if turn % 2 else _greedy(others, turn, generator)


STRATEGIES: Mapping[str, Strategy] = {
    "random": _random,
    "greedy": _greedy,
    "patient": _patient,
    "back and forth": _back_and_forth,
}
