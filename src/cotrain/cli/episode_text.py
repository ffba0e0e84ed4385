"""An episode turn by turn as styled text, readable without colour too."""

from collections.abc import Iterator, Sequence

from rich.console import Console
from rich.text import Text

from cotrain.assembly.playing import Played
from cotrain.cli.evidence_text import evidence_lines
from cotrain.core.episode import Candidate, Episode, Evidence, Group, Message, Phase, Turn

SHORT_PROMPT = 160
INDENT = "    "


def print_played(played: Played, whole_prompts: bool) -> None:
    """Prints the task, every turn and the ending on stdout."""
    console = Console(highlight=False, markup=False, emoji=False)
    for text in episode_text(played, whole_prompts):
        console.print(encodable(text, console.encoding), soft_wrap=True)


def episode_text(played: Played, whole_prompts: bool) -> Iterator[Text]:
    """The episode in pieces, one or more lines each; the last says how it ended."""
    task = played.episode.task
    where = f"{played.environment}, {task.split} task {task.index}"
    yield Text(
        f"{where} (seed {played.seed}, digest {task.digest[:12]}), at most {played.max_turns} "
        f"turns, team of step {played.team_step}",
        style="bold",
    )
    yield _block(played.episode.opening)
    for turn in played.episode.turns:
        yield Text(f"\n---- turn {turn.number} ----", style="bold")
        yield from _turn_text(turn, played, whole_prompts)
    yield _ending(played.episode)


def printable(text: str) -> str:
    """The text with control characters written out, so that a reply cannot drive the terminal.

    >>> printable("up\\x1b[2J\\tdown")
    'up\\\\x1b[2J\\tdown'
    """
    shown = (c if c.isprintable() or c in "\n\t" else repr(c)[1:-1] for c in text)
    return "".join(shown)


def encodable(text: Text, encoding: str) -> Text:
    """The text in characters that this encoding has, with the styles of the whole text."""
    plain = text.plain.encode(encoding, "backslashreplace").decode(encoding)
    return text if plain == text.plain else Text(plain, style=text.style)


def _turn_text(turn: Turn, played: Played, whole_prompts: bool) -> Iterator[Text]:
    for phase in turn.phases:
        for group in phase.groups:
            yield Text(
                f"\n{group.key.agent} (policy {group.policy}, version {group.version})",
                style="bold cyan",
            )
            yield from _prompt_text(group.messages, whole_prompts)
            yield from _candidate_text(_shown_candidate(group), played.team_weight)
        yield from _after_phase(phase)


def _shown_candidate(group: Group) -> Candidate:
    return group.chosen or group.candidates[0]


def _prompt_text(messages: Sequence[Message], whole: bool) -> Iterator[Text]:
    yield _head("prompt")
    for message in messages:
        content = message.content if whole else _short(message.content, SHORT_PROMPT)
        yield _block(f"{message.role}: {content}", "dim")


def _candidate_text(candidate: Candidate, team_weight: float) -> Iterator[Text]:
    reply = candidate.reply
    yield _head(f"reply ({len(reply.token_ids)} tokens, {reply.finish.value})")
    yield _block(reply.text)
    for evidence in candidate.evidence:
        yield _evidence_text(evidence)
    yield _head(score_line(candidate, team_weight))


def _after_phase(phase: Phase) -> Iterator[Text]:
    for evidence in phase.joint_evidence:
        yield _evidence_text(evidence)
    if phase.rendering:
        yield _head("state after")
        yield _block(phase.rendering)


def score_line(candidate: Candidate, team_weight: float) -> str:
    """The score with its parts, or why there is none.

    >>> from cotrain.core.episode import CandidateStatus, Finish, Part, Reply
    >>> reply = Reply("", (), (), Finish.STOP)
    >>> parts = (Part("format", 0.2, 1.0), Part("legal", 0.8, 0.5))
    >>> score_line(Candidate(0, reply, CandidateStatus.SCORED, 0.85, 0.25, parts), 1.0)
    'score 0.850 = team 0.250 + format 0.2 x 1.000 + legal 0.8 x 0.500'
    """
    if candidate.score is None:
        return f"no score: {candidate.status.value} {printable(candidate.message)}".rstrip()
    weight = "" if team_weight == 1.0 else f"{team_weight:g} x "
    parts = [f"{part.name} {part.weight:g} x {part.value:.3f}" for part in candidate.local]
    own = " + ".join(parts)
    if parts and candidate.gate != 1.0:
        own = f"gate {candidate.gate:.3f} x ({own})"
    sums = " + ".join(filter(None, [f"team {weight}{candidate.team or 0.0:.3f}", own]))
    return f"score {candidate.score:.3f} = {sums}"


def _evidence_text(evidence: Evidence) -> Text:
    lines = (printable(line) for line in evidence_lines(evidence))
    return Text("\n".join(f"  {line}" for line in lines))


def _ending(episode: Episode) -> Text:
    solved = "solved" if episode.success else "not solved"
    ending = f"\n{solved} after {len(episode.turns)} turns, ending: {episode.status.value}"
    said = f", {printable(episode.message)}" if episode.message else ""
    return Text(f"{ending}{said}", style="bold green" if episode.success else "bold red")


def _head(text: str) -> Text:
    return Text(f"  {text}")


def _block(text: str, style: str = "") -> Text:
    lines = printable(text).split("\n")
    return Text("\n".join(f"{INDENT}{line}" for line in lines), style=style)


def _short(text: str, limit: int) -> str:
    """The text on one line, cut; says how long it was."""
    line = " ".join(text.split())
    return line if len(line) <= limit else f"{line[:limit]} ... ({len(text)} characters)"
