"""The team of the games with moves: who proposes and who decides, and what a reply of each says.

tools = "none"     proposer, then planner       moves in an answer tag from both
tools = "code"     tool, then planner           the tool's program prints its moves
single = "plain"   solo                         one policy that plays at once
single = "draft"   drafter, then answerer       one policy that proposes, then decides
only = ROLE        that role alone; its moves are played, also a proposer's
"""

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Any, ClassVar, Generic, Literal, Protocol, TypeVar

from cotrain.core.episode import Evidence, Message, Part, Request
from cotrain.environments.base import Environment, Role
from cotrain.environments.options import require, require_one_of
from cotrain.environments.parsing import parse_moves, parse_printed_moves
from cotrain.environments.printed import printed, tool_requests
from cotrain.environments.requests import PROGRAM as PROGRAM_RUNS

State = TypeVar("State")

TOOL = "tool"
PROPOSERS = ("proposer", TOOL, "drafter")
DECIDERS = ("planner", "answerer")

REPLY = """
Reply with the moves in one answer tag, with little or no text before it, in this form:
<answer>Up Right Right</answer>"""
PROGRAM = """
Reply with one Python program in a fenced block. It reads the {board} from its standard input, in \
the lines that you see, and prints the moves on one line, for example: Up Right Right"""

CLOSING = "\nReply with your moves, like this: <answer>Up Right Right</answer>"
CLOSING_OF_TOOL = "\nReply with your program in one ```python block."
PROGRAM_THAT_PRINTS = '```python\nprint("{}")\n```'


NUM_PROGRAMS = 12
PROGRAMS_WITHOUT_MOVES = (
    "```python\nprint(1 / 0)\n```",
    "```python\nprint('Up, or maybe not')\n```",
    "```python\npass\n```",
    "```python\nimport sys\nprint(sys.stdin.read())\n```",
)


class Variant(Protocol):
    """The options that say who plays, and what they read."""

    @property
    def view(self) -> Literal["text", "compact"]:
        """How prompts are written."""
        ...

    @property
    def tools(self) -> Literal["none", "code"]:
        """Whether a program proposes in the team."""
        ...

    @property
    def single(self) -> Literal["plain", "draft"] | None:
        """The variant of one policy, if it is played."""
        ...

    @property
    def only(self) -> str | None:
        """The one role that plays, if there is one."""
        ...


def team_roles(propose: str, program: str, decide: str, alone: str) -> dict[str, Role]:
    """The roles of every variant by name, with the instruction of each kind.

    >>> list(team_roles("Propose.", "Write.", "Decide.", "Go."))
    ['proposer', 'tool', 'planner', 'solo', 'drafter', 'answerer']
    """
    prompts = {
        "proposer": propose,
        TOOL: program,
        "planner": decide,
        "solo": alone,
        "drafter": propose,
        "answerer": decide,
    }
    return {name: Role(name, prompt) for name, prompt in prompts.items()}


def require_variant(options: Variant, roles: Mapping[str, Role]) -> None:
    """Raises ConfigurationError unless the options name one variant that there is."""
    require_one_of("view", options.view, ("text", "compact"))
    require_one_of("tools", options.tools, ("none", "code"))
    if options.single is not None:
        require_one_of("single", options.single, ("plain", "draft"))
    if options.only is None:
        return
    require_one_of("only", options.only, roles)
    allowed = (
        f"leave it out with single = {options.single!r}, which single methods also choose: "
        "one of the two says who plays"
    )
    require("only", options.only, options.single is None, allowed)
    other = {"none": TOOL, "code": "proposer"}[options.tools]
    allowed = f'tools = "{options.tools}" has no such role: it plays {", ".join(_team(options))}'
    require("only", options.only, options.only != other, allowed)


def played_roles(options: Variant) -> tuple[str, ...]:
    """The names of the roles that play, in the order in which they act."""
    if options.only is not None:
        return (options.only,)
    variants = {None: _team(options), "plain": ("solo",), "draft": ("drafter", "answerer")}
    return variants[options.single]


def _team(options: Variant) -> tuple[str, ...]:
    return (TOOL if options.tools == "code" else "proposer", "planner")


@dataclass(frozen=True, slots=True)
class Said:
    """What a reply says: its moves, None where none can be read.

    `written` tells whether the reply has the form that was asked for: a tag with moves, or a
    program. `fault` is what kept a tool's program from giving moves, in words for a prompt.
    """

    moves: tuple[str, ...] | None
    written: bool
    fault: str = ""


def services_of(roles: Sequence[Role]) -> tuple[str, ...]:
    """What the program must answer for these roles: a tool's programs are run."""
    return (PROGRAM_RUNS,) if any(role.name == TOOL for role in roles) else ()


def requests_of(agent: str, reply: str, board: Sequence[str]) -> tuple[Request, ...]:
    """What must be run to judge a reply: a tool's program, with the board on standard input."""
    return tool_requests(reply, "\n".join(board) + "\n") if agent == TOOL else ()


def read_reply(agent: str, reply: str, evidence: Sequence[Evidence]) -> Said:
    """What an agent says: a tool by what its program printed, the others in an answer tag.

    >>> read_reply("planner", "<answer>Up, left</answer>", ())
    Said(moves=('Up', 'Left'), written=True, fault='')
    >>> read_reply("tool", "<answer>Up</answer>", ())
    Said(moves=None, written=False, fault='there is no program')
    """
    if agent != TOOL:
        moves = parse_moves(reply)
        return Said(moves, moves is not None)
    run = printed(evidence)
    if not run.ran:
        return Said(None, run.written, run.error)
    moves = parse_printed_moves(run.text)
    return Said(moves, True, "" if moves else "the program printed no list of moves")


def parts_of(agent: str, said: Said, legal: float, *own: Part) -> tuple[Part, ...]:
    """The parts of a local reward: the form, then legal moves or a program that ran, then these."""
    second = Part("legal", 0.1, legal)
    if agent == TOOL:
        second = Part("ran", 0.1, float(said.moves is not None))
    return (Part("format", 0.1, float(said.written)), second, *own)


@dataclass(frozen=True, slots=True)
class View(Generic[State]):
    """How standing instructions, states, proposals and replies are written.

    `state` and `proposal` take the state and the most moves of a reply, None without a limit;
    `between` stands between the two. What is to be replied stands last, since a small language
    model answers what it read last.
    """

    prompt: Callable[[Role], str]
    state: Callable[[State, int | None], str]
    proposal: Callable[[State, int | None], str]
    between: str
    closing: str
    closing_of_tool: str
    reply: str

    def user(self, state: State, agent: str, max_moves: int | None) -> str:
        """The current state as this agent reads it; deciders also read the proposal."""
        text = self.state(state, max_moves)
        if agent in DECIDERS:
            text += self.between + self.proposal(state, max_moves)
        return text + (self.closing_of_tool if agent == TOOL else self.closing)

    def say(self, agent: str, moves: Sequence[str]) -> str:
        """A reply of this agent that says these moves."""
        form = PROGRAM_THAT_PRINTS if agent == TOOL else self.reply
        return form.format(" ".join(moves))


def attempts_of(
    agent: str, lists: Sequence[Sequence[str]], view: View[Any], generator: Random
) -> list[str]:
    """Replies that say these lists; of a tool a few of them, since each is a program to be run."""
    if agent != TOOL:
        return [view.say(agent, moves) for moves in lists]
    few = generator.sample(lists, min(len(lists), NUM_PROGRAMS))
    return [view.say(agent, moves) for moves in few] + list(PROGRAMS_WITHOUT_MOVES)


def no_proposal_in_words(fault: str) -> str:
    """The line that stands for a proposal where there is none.

    >>> no_proposal_in_words("NameError: name 'x' is not defined")
    "Proposal: none, the program of your partner failed (NameError: name 'x' is not defined)."
    """
    if not fault:
        return "Proposal: none that can be read."
    return f"Proposal: none, the program of your partner failed ({fault})."


def text_view(
    state: Callable[[State, int | None], str], proposal: Callable[[State, int | None], str]
) -> View[State]:
    """A view for language models: whole instructions, and lines of words."""
    return View(
        prompt=lambda role: role.prompt,
        state=state,
        proposal=proposal,
        between="\n",
        closing=CLOSING,
        closing_of_tool=CLOSING_OF_TOOL,
        reply="<answer>{}</answer>",
    )


def compact_view(
    state: Callable[[State, int | None], str], proposal: Callable[[State, int | None], str]
) -> View[State]:
    """A view for a small word-level vocabulary: tokens with one blank between them."""
    return View(
        prompt=lambda role: role.name,
        state=state,
        proposal=proposal,
        between=" ",
        closing="",
        closing_of_tool="",
        reply="<answer> {} </answer>",
    )


class MoveTeam(Environment[State], Generic[State]):
    """A game with moves, as the team plays it: a game adds its tasks, its rules and its rewards.

    `options` are a `Variant`; `named_roles` and `views` are all that its fields can choose from.
    Prompts are written from what `seen` gives, by default the state.
    """

    views: ClassVar[Mapping[str, View[Any]]]

    def __init__(self, options: Any = None, prompts: Mapping[str, str] | None = None) -> None:
        super().__init__(options, prompts)
        variant: Variant = self.options
        self.view = self.views[variant.view]
        named = self.named_roles().items()
        roles = {name: replace(role, prompt=self.view.prompt(role)) for name, role in named}
        self.roles = tuple(roles[name] for name in played_roles(variant))
        self.services = services_of(self.roles)
        self._all_roles = tuple(roles.values())

    @abstractmethod
    def named_roles(self) -> Mapping[str, Role]:
        """The roles of all variants by name, with their instructions in words."""

    @abstractmethod
    def limit(self, state: State) -> int | None:
        """How many moves the next reply may hold; None where there is no limit."""

    @abstractmethod
    def board(self, state: State) -> Sequence[str]:
        """The lines that a tool's program finds on its standard input."""

    @abstractmethod
    def solution(self, state: State) -> tuple[str, ...]:
        """A shortest list of moves that solves the task; empty where none is known."""

    def seen(self, state: State, agent: str) -> Any:
        """What an agent's prompt is written from."""
        return state

    def all_roles(self) -> tuple[Role, ...]:
        """The team's roles and those of the variants with one policy."""
        return self._all_roles

    def observe(self, state: State, agent: str) -> tuple[Message, ...]:
        """The standing instruction and the current state; deciders also read the proposal."""
        user = self.view.user(self.seen(state, agent), agent, self.limit(state))
        return (Message("system", self.prompt(agent)), Message("user", user))

    def evidence(self, state: State, agent: str, reply: str) -> tuple[Request, ...]:
        """A tool's program is run with the board on its standard input."""
        return requests_of(agent, reply, self.board(state))

    def shortest_moves(self, state: State) -> tuple[str, ...]:
        """A shortest solution, cut at the limit of a reply: what imitation teaches."""
        return self.solution(state)[: self.limit(state)]

    def reply_with(self, moves: Sequence[str]) -> str:
        """A reply that says these moves, in the form that the view asks for."""
        return self.view.reply.format(" ".join(moves))

    def solve(self, state: State, agent: str) -> str | None:
        """A reply that solves the task (a proposal: would), None where no single one can."""
        solution = self.solution(state)
        too_long = len(solution) > len(self.shortest_moves(state))
        return None if too_long or not solution else self.view.say(agent, solution)
