"""Every broken promise of an environment in one report: the checker, and the reward audit."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from cotrain.assembly.environments import environment_to_check, said
from cotrain.assembly.services import SERVICES, Services, sandbox_settings
from cotrain.config import Config, ConfigurationError, replaced
from cotrain.core.episode import CandidateStatus, Evidence, Request
from cotrain.environments.audit import Auditable, AuditReport, AuditSettings, audit
from cotrain.environments.base import Environment
from cotrain.environments.checker import MAX_DETAILS, Broken, check
from cotrain.environments.playing import UnansweredError
from cotrain.environments.returned import RULE_FAULTS, PhasesError
from cotrain.rollouts.evidence import HandlerPool

HANDLER_SECONDS = 60.0
REQUESTS = "requests are answered"
AUDIT = "solving earns most"


@dataclass(frozen=True, slots=True)
class Checked:
    """The whole report.

    `groups` and `episodes` are those that the audit compared; `cases` are those in which solving
    does not earn most, of which `broken` shows a few.
    """

    environment: str
    rules: tuple[str, ...]
    broken: tuple[Broken, ...]
    not_checked: tuple[str, ...]
    groups: int
    episodes: int
    cases: int

    @property
    def passed(self) -> bool:
        """Whether no promise is broken."""
        return not self.broken

    def as_json(self) -> dict[str, Any]:
        """The report as one document."""
        return {"passed": self.passed, **asdict(self)}

    def as_text(self) -> str:
        """One line a promise, and what is broken below it."""
        lines = [f"{self.environment}: {len(self.rules)} promises"]
        for rule in self.rules:
            found = [broken.detail for broken in self.broken if broken.rule == rule]
            lines.append(f"  {'BROKEN' if found else self._seen(rule):12}{rule}")
            lines += [f"      {line}" for detail in found for line in detail.splitlines()]
        lines += [f"  not checked: {reason}" for reason in self.not_checked]
        if self.groups or self.episodes:
            audited = f"audited: {self.groups} groups and {self.episodes} episodes"
            lines.append(f"{audited}; in {self.cases} cases solving does not earn most")
        broken = len({broken.rule for broken in self.broken})
        lines.append(f"{self.environment}: {broken} of {len(self.rules)} promises broken")
        return "\n".join(lines)

    def _seen(self, rule: str) -> str:
        skipped = any(reason.startswith(f"{rule}:") for reason in self.not_checked)
        return "not checked" if skipped else "kept"


def check_environment(name: str, overrides: Mapping[str, object]) -> Checked:
    """Checks and audits the environment of this name; `overrides` are those of a configuration.

    The audit takes the run's `team.turns` and `team.team_weight`. Raises ConfigurationError for an
    environment that is not there or cannot be made, and for wrong overrides.

    >>> check_environment("plan_path", {"environment.options.size": 4}).passed
    True
    """
    config = replaced(Config(), {**overrides, "environment.name": name})
    environment = environment_to_check(config)
    SERVICES.refuse_unfit(config, environment)
    answers = Answers.of(config, environment, SERVICES)
    report = check(environment, answers)
    audited = _audited(environment, config, answers)
    requests = [Broken(REQUESTS, detail) for detail in dict.fromkeys(answers.failures)]
    return Checked(
        environment=environment.name,
        rules=(*report.rules, REQUESTS, AUDIT),
        broken=(*report.broken, *requests[:MAX_DETAILS], *audited.broken),
        not_checked=(*report.not_checked, *audited.not_checked),
        groups=audited.groups,
        episodes=audited.episodes,
        cases=audited.cases,
    )


@dataclass(frozen=True, slots=True)
class Answers:
    """Fulfils requests as a run does, once each, and keeps what failed.

    An answer that cannot be told (`unknown`) is no failure.
    """

    pool: HandlerPool
    kinds: frozenset[str]
    failures: list[str] = field(default_factory=list[str])

    @classmethod
    def of(cls, config: Config, environment: Environment[Any], services: Services) -> "Answers":
        """The environment's own handlers, each with a time limit, and the services it names."""
        seconds = config.limits.act_seconds or HANDLER_SECONDS
        answered = services.tries(environment.services, sandbox_settings(config))
        pool = HandlerPool(environment.handlers, seconds, retries=0, timed=answered)
        return cls(pool, frozenset([*environment.handlers, *answered]))

    def __call__(self, request: Request) -> Evidence:
        """The evidence. Raises UnansweredError for a kind that nothing answers."""
        if request.kind not in self.kinds:
            raise UnansweredError(
                f"nothing here answers requests of kind {request.kind!r}; the environment's "
                f"handlers and services are {', '.join(sorted(self.kinds)) or 'none'}"
            )
        evidence = self.pool.fulfil([request])[0]
        if evidence.status in {CandidateStatus.ERROR, CandidateStatus.TIMEOUT}:
            self.failures.append(f"{request.kind}: {evidence.status.value}, {evidence.message}")
        return evidence


@dataclass(frozen=True, slots=True)
class _Audited:
    broken: tuple[Broken, ...] = ()
    not_checked: tuple[str, ...] = ()
    groups: int = 0
    episodes: int = 0
    cases: int = 0


def _audited(environment: Environment[Any], config: Config, answers: Answers) -> _Audited:
    if not isinstance(environment, Auditable):
        missing = "solve(state, agent), would_solve(agent, outcome) and attempts(...)"
        return _Audited(not_checked=(f"{AUDIT}: the audit needs {missing}",))
    settings = AuditSettings(max_turns=config.team.turns, team_weight=config.team.team_weight)
    try:
        found = audit(environment, settings, answers)
    except ConfigurationError:
        raise
    except (UnansweredError, PhasesError) as error:
        return _Audited(not_checked=(f"{AUDIT}: {error}",))
    except RULE_FAULTS as error:
        return _Audited((Broken(AUDIT, f"stopped by {said(error)}"),))
    cases = len(found.findings)
    return _Audited(tuple(_findings(found)), (), found.groups, found.episodes, cases)


def _findings(found: AuditReport) -> Iterator[Broken]:
    for finding in found.findings[:MAX_DETAILS]:
        yield Broken(AUDIT, f"{finding.form} of {finding.agent}: {finding.detail}")
    if not found.findings and not found.passed:
        yield Broken(
            AUDIT,
            f"too little could be compared ({found.groups} groups, {found.episodes} episodes): "
            "solve(state, agent) or attempts(...) gives no reply that solves",
        )
