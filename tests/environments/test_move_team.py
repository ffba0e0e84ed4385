"""The team of the games with moves: who plays, and what is read from a reply."""

from cotrain.core.episode import Evidence
from cotrain.environments.move_team import Said, parts_of, read_reply, requests_of

PROGRAM = "Here:\n```python\nprint('Up')\n```"
(REQUEST,) = requests_of("tool", PROGRAM, ["A . G"])


def ran(status: str, stdout: str = "", stderr: str = "") -> list[Evidence]:
    return [Evidence(REQUEST, ({"status": status, "stdout": stdout, "stderr": stderr},))]


def test_a_tools_program_alone_is_run_with_the_board_on_its_input() -> None:
    assert (REQUEST.kind, REQUEST["source"]) == ("program", "print('Up')")
    assert REQUEST["inputs"] == ("A . G\n",)
    assert requests_of("planner", PROGRAM, ["A . G"]) == ()
    assert requests_of("tool", "<answer>Up</answer>", ["A . G"]) == ()


def test_what_a_program_printed_before_it_failed_does_not_count() -> None:
    assert read_reply("tool", PROGRAM, ran("finished", "Up")) == Said(("Up",), True)
    said = read_reply("tool", PROGRAM, ran("failed", "Up", "Traceback ...\nIndexError: 3\n"))
    assert said == Said(None, True, "IndexError: 3")
    assert read_reply("tool", PROGRAM, ran("timeout", "Up")) == Said(None, True, "timeout")


def test_the_answer_tag_of_a_tool_without_a_program_is_no_answer() -> None:
    assert read_reply("tool", "<answer>Up</answer>", ()).moves is None


def test_the_second_part_of_a_tool_is_whether_its_program_gave_moves() -> None:
    names = {agent: parts_of(agent, Said(("Up",), True), 0.0)[1] for agent in ("tool", "planner")}
    assert (names["tool"].name, names["tool"].value) == ("ran", 1.0)
    assert (names["planner"].name, names["planner"].value) == ("legal", 0.0)
