"""What answers the program's own kinds: opened once, at the first request, refused where absent."""

import threading
from collections.abc import Mapping
from typing import Any

import pytest
from tests.rollouts.rated import RatedAlone
from tests.rollouts.settings import make_openings, make_player, make_rules, rows

from cotrain.assembly.checking import Answers
from cotrain.assembly.engines import engine_of
from cotrain.assembly.services import Find, Opened, Service, Services, sandbox_kind
from cotrain.config import Config, ConfigurationError, SandboxSettings
from cotrain.core.episode import CandidateStatus, Request
from cotrain.environments.base import ServiceLostError, UndecidedError
from cotrain.environments.playing import UnansweredError
from cotrain.rollouts.evidence import Handler

SETTINGS = SandboxSettings()


class Adder:
    """A small service: adds two numbers, and says which settings it was opened with."""

    def __init__(self) -> None:
        self.log: list[str] = []

    def open(self, settings: SandboxSettings, find: Find) -> Opened:
        self.log.append(f"opened with {settings.workers}")
        return Opened({"add": self.add, "undecided": self.undecided}, self.close)

    def add(self, request: Request) -> int:
        self.log.append("asked")
        first, second = request["first"], request["second"]
        assert isinstance(first, int)
        assert isinstance(second, int)
        return first + second

    def undecided(self, request: Request) -> int:
        raise UndecidedError("odd numbers are odd")

    def close(self) -> None:
        self.log.append("closed")

    @property
    def service(self) -> Service:
        return Service(("add", "undecided"), self.open, lambda settings: None)


class Adding(RatedAlone):
    """Whatever is replied is worth the half of 0 + 1, added by the service."""

    services = ("add",)

    def evidence(self, state: Any, agent: str, reply: str) -> tuple[Request, ...]:
        return (added(0, 1),)

    def act(self, state: Any, agent: str, reply: str, evidence: Any) -> Any:
        return super().act(state, agent, f"{evidence[0].answer / 2}", evidence)


def added(first: int, second: int) -> Request:
    return Request.of("add", first=first, second=second)


def test_a_service_is_opened_at_the_first_request_once_for_all_and_closed_once() -> None:
    adder = Adder()
    with Services([adder.service]) as services:
        first, second = (services.tries(["add"], SETTINGS)["add"] for _ in range(2))
        assert adder.log == []
        assert (first(added(1, 2)).answer, second(added(3, 4)).answer) == (3, 7)
    services.close()
    assert adder.log == ["opened with 4", "asked", "asked", "closed"]


def test_other_settings_open_another_service() -> None:
    adder = Adder()
    with Services([adder.service]) as services:
        for workers in (1, 2, 1):
            services.tries(["add"], SandboxSettings(workers=workers))["add"](added(1, 2))
    opened = [line for line in adder.log if line.startswith("opened")]
    assert opened == ["opened with 1", "opened with 2"]
    assert adder.log.count("closed") == 2


def test_threads_that_ask_at_once_open_a_service_once() -> None:
    adder, barrier = Adder(), threading.Barrier(6)
    with Services([adder.service]) as services:
        once = services.tries(["add"], SETTINGS)["add"]

        def asks() -> None:
            barrier.wait()
            once(added(1, 1))

        threads = [threading.Thread(target=asks) for _ in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert adder.log.count("opened with 4") == 1


def test_a_service_may_be_made_of_another_one() -> None:
    adder = Adder()

    def open_double(settings: SandboxSettings, find: Find) -> Opened:
        add: Handler = find("add")

        def double(request: Request) -> Any:
            return add(Request.of("add", first=request["number"], second=request["number"]))

        return Opened({"double": double}, lambda: adder.log.append("double closed"))

    doubling = Service(("double",), open_double, lambda settings: None)
    with Services([adder.service, doubling]) as services:
        once = services.tries(["double"], SETTINGS)["double"]
        assert once(Request.of("double", number=4)).answer == 8
    assert adder.log[-2:] == ["double closed", "closed"]


def test_an_engine_asks_the_services_that_its_environment_names() -> None:
    with Services([Adder().service]) as services:
        engine = engine_of(Config(), Adding(), services)
        players = {"solo": make_player("solo", rows(["a", "b"]))}
        [episode] = engine.play(make_openings(), players, make_rules())
    candidates = episode.groups()[0].candidates
    assert [candidate.score for candidate in candidates] == [0.5, 0.5]
    assert [candidate.evidence[0].answer for candidate in candidates] == [1, 1]


def test_a_service_that_cannot_be_opened_is_lost_and_says_why() -> None:
    def broken(settings: SandboxSettings, find: Find) -> Opened:
        raise OSError("no such device")

    with Services([Service(("add",), broken, lambda settings: None)]) as services:
        engine = engine_of(Config(), Adding(), services)
        players = {"solo": make_player("solo", rows(["a", "b"]))}
        with pytest.raises(ServiceLostError, match="kind add cannot be started: OSError: no such"):
            engine.play(make_openings(), players, make_rules())


def refused(services: Services, environment: RatedAlone, config: Config) -> str:
    with pytest.raises(ConfigurationError) as caught:
        services.refuse_unfit(config, environment)
    return str(caught.value)


def test_an_unknown_service_is_refused_with_the_nearest_one() -> None:
    class Misspelt(RatedAlone):
        services = ("ad",)

    said = refused(Services([Adder().service]), Misspelt(), Config())
    assert said.startswith("environment.name = \"plan_path\": asks for the service 'ad', which")
    assert said.endswith("allowed are add, undecided; nearest known: add")


def test_a_kind_that_both_the_environment_and_the_program_answer_is_refused() -> None:
    class Both(Adding):
        handlers: Mapping[str, Any] = {"add": lambda request: 1}

    said = refused(Services([Adder().service]), Both(), Config())
    assert "names 'add' in services and in handlers" in said


def test_what_cannot_be_had_is_refused_only_where_it_is_asked_for() -> None:
    def refuse(settings: SandboxSettings) -> None:
        raise ConfigurationError([])

    services = Services([Service(("add",), Adder().open, refuse)])
    services.refuse_unfit(Config(), RatedAlone())
    with pytest.raises(ConfigurationError):
        services.refuse_unfit(Config(), Adding())


def test_a_check_asks_the_same_services_and_an_undecided_answer_is_no_failure() -> None:
    class Both(Adding):
        services = ("add", "undecided")

    with Services([Adder().service]) as services:
        answers = Answers.of(Config(), Both(), services)
        assert answers(added(2, 3)).answer == 5
        undecided = answers(Request.of("undecided"))
        broken = answers(Request.of("add"))
        with pytest.raises(UnansweredError, match="handlers and services are add, undecided"):
            answers(Request.of("program"))
    assert undecided.status is CandidateStatus.UNKNOWN
    assert broken.status is CandidateStatus.ERROR
    assert [line.split(",")[0] for line in answers.failures] == ["add: error"]


def test_no_sandbox_is_named_where_no_program_of_a_reply_runs() -> None:
    class Programs(RatedAlone):
        services = ("program",)

    assert sandbox_kind(Config(), RatedAlone()) == "none"
    assert sandbox_kind(Config(), Programs()) == "bubblewrap"
