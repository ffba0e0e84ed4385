"""Records that the tests of the run folder share."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from cotrain.core.episode import (
    Candidate,
    CandidateStatus,
    Episode,
    EpisodeStatus,
    Evidence,
    Finish,
    Group,
    Message,
    Part,
    Phase,
    Reply,
    Request,
    Settled,
    Task,
    Turn,
    TurnKey,
)
from cotrain.runs.store import RunStore


def candidate(index: int, score: float | None, status: CandidateStatus) -> Candidate:
    """A candidate with evidence, parts and log-probs that only an exact float survives."""
    request = Request.of("program", source="print('é')", limits=(1, 2.5, None, {"deep": (True,)}))
    evidence = Evidence(request, {"stdout": "1\n", "codes": (0, -1)}, CandidateStatus.SCORED, "")
    return Candidate(
        index=index,
        reply=Reply(f"go {index}\ud800", (5, 7, 2), (-0.1, -1 / 3, -1e-300), Finish.STOP),
        status=status,
        score=score,
        team=score,
        local=(Part("format", 0.2, 1.0), Part("legal", 0.8, 0.1 + 0.2)),
        gate=0.5,
        evidence=(evidence,),
        message="",
    )


@pytest.fixture
def episode() -> Episode:
    """Two agents at once; one followed, one without a scored candidate."""
    scored, failed = CandidateStatus.SCORED, CandidateStatus.TIMEOUT
    groups = tuple(
        Group(
            key=TurnKey(3, 1, agent, 1),
            role=agent,
            policy="shared",
            version=2,
            messages=(Message("system", agent), Message("user", "legal Up - Left -")),
            prompt_ids=(1, 2, 3),
            temperature=1.0,
            width=2,
            candidates=(candidate(0, score, status), candidate(1, score, status)),
            followed=None if score is None else 1,
        )
        for agent, score, status in (("coder", 0.7, scored), ("tester", None, failed))
    )
    phase = Phase(groups, (Evidence(Request("joint"), "ok"),), "A . G")
    return Episode(
        step=3,
        number=1,
        task_number=0,
        task=Task("train", 17, "0af3", data=None),
        status=EpisodeStatus.TURN_LIMIT,
        success=False,
        turns=(Turn(1, (phase,)),),
        opening="A # G",
        settled=(Settled("coder", 1, -1 / 3),),
    )


@pytest.fixture
def store(tmp_path: Path):
    """A new run in an empty folder."""
    with RunStore.create(tmp_path / "run", {"run": {"steps": 4}}, {"seeds": {"run": 1}}) as new:
        yield new


@pytest.fixture
def fill() -> Callable[[str], Callable[[Path], None]]:
    """Makes a `fill` for a checkpoint whose files hold this text."""

    def of(text: str) -> Callable[[Path], None]:
        def write(folder: Path) -> None:
            (folder / "state.json").write_text(json.dumps({"text": text}))
            (folder / "policies" / "planner").mkdir(parents=True)
            (folder / "policies" / "planner" / "model.safetensors").write_text(text * 100)
            (folder / "optimizers").mkdir()
            (folder / "optimizers" / "planner.safetensors").write_text(text * 200)

        return write

    return of
