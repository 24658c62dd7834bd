"""`turnfsm soak`: random conversations with an agent of one's own."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from random import Random

import pytest
from command import run as command_run

from turnfsm.runtime.testing.livekit.soak import draw_conversation
from turnfsm.runtime.testing.livekit.soak.model import draw_value

AGENT = """\
from livekit.agents import Agent, RunContext, ToolError, function_tool


class Clerk(Agent):
    def __init__(self) -> None:
        super().__init__(instructions="Help.")

    @function_tool
    async def look_up(self, context: RunContext, name: str, size: int = 3) -> str:
        \"\"\"Look something up.\"\"\"
        return f"{name} {context.userdata}" if context.session._userdata else name


class Fails(Agent):
    def __init__(self) -> None:
        super().__init__(instructions="Help.")

    async def on_enter(self) -> None:
        if hasattr(self.session, "turn"):
            raise LookupError("not on this session")


class Spends(Agent):
    def __init__(self) -> None:
        super().__init__(instructions="Help.")

    async def on_user_turn_completed(self, turn_ctx, new_message) -> None:
        self.session.userdata.append(new_message)


class Confused(Agent):
    def __init__(self) -> None:
        super().__init__(instructions="Help.")

    @function_tool
    async def look_up(self, name: str) -> str:
        \"\"\"Look something up.\"\"\"
        return {"known": "yes"}[name[:1]]


class Refuses(Confused):
    @function_tool
    async def look_up(self, name: str) -> str:
        \"\"\"Look something up.\"\"\"
        raise ToolError("there is no such name")


def userdata() -> str:
    return "the data"


shared = Clerk()
wrong = lambda: 5
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with an agent, in which the command is called."""
    (tmp_path / "agent.py").write_text(AGENT)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path


run = partial(command_run, "soak")


def test_an_agent_that_does_no_worse_passes(capsys: pytest.CaptureFixture[str]) -> None:
    """The model calls its tool, in the conversations of four seeds."""
    assert run("agent.py:Clerk", "--count", "4", "--userdata", "agent.py:userdata") == 0
    said = capsys.readouterr().out
    assert said.startswith("agent.py:Clerk: 4 conversations, ")
    assert " 0 tool calls" not in said
    assert said.endswith(" 0 findings\n")


def test_what_goes_wrong_on_one_session_only_is_found(capsys: pytest.CaptureFixture[str]) -> None:
    """The finding names its seed, and how to see the conversation."""
    assert run("agent.py:Fails", "--count", "1", "--seed", "3") == 1
    said = capsys.readouterr().out
    assert "seed 3: an error is logged that AgentSession does not log: " in said
    assert "not on this session" in said
    assert "= help: turnfsm soak agent.py:Fails --seed 3 --show" in said


def test_an_agent_without_its_user_data_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    """Each of its turns raises on both sessions, so nothing can be compared."""
    assert run("agent.py:Spends", "--count", "1") == 2
    said = capsys.readouterr().err
    assert "seed 1: the agent uses the session's userdata, which is not set" in said
    assert "= help: name a class or function that makes it" in said
    assert "--userdata module:Name" in said
    assert run("agent.py:Spends", "--count", "1", "--userdata", "builtins:list") == 0


def test_what_the_agent_raises_on_both_sessions_is_a_finding(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Once for each error, however many conversations have it; a `ToolError` is an answer."""
    assert run("agent.py:Confused", "--count", "4") == 1
    said = capsys.readouterr().out
    assert said.count("the agent raises on both sessions, in ") == 1
    assert "exception occurred while executing tool [KeyError('w')]" in said
    assert "= help: turnfsm soak agent.py:Confused --seed " in said
    assert said.endswith(" 1 findings\n")
    assert run("agent.py:Refuses", "--count", "4") == 0


def test_a_flow_that_does_not_hear_the_user_is_found(capsys: pytest.CaptureFixture[str]) -> None:
    """The user talks into the agent's words; half duplex loses that."""
    assert run("agent.py:Clerk", "--flow", "half_duplex", "--count", "5") == 1
    assert "of the user is 0 times in the history, not 1" in capsys.readouterr().out


def test_a_conversation_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    """The script, and what happened on both sessions."""
    run("agent.py:Clerk", "--seed", "7", "--show")
    said = capsys.readouterr().out
    assert said.startswith("seed 7: ")
    assert "\nAgentSession:\n" in said
    assert "\nTurnSession:\n" in said


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("agent.py:Clrk", "agent.py has no 'Clrk'; did you mean 'Clerk'?"),
        ("agnt.py:Clerk", "there is no file"),
        ("nowhere_at_all:Clerk", "No module named 'nowhere_at_all'"),
        ("Clerk", "write 'module:Name' or 'file.py:Name'"),
        ("agent.py:shared", "every conversation needs a new agent; name its class"),
        ("agent.py:wrong", "makes no agent"),
        ("agent.py:Clerk --flow trun", "did you mean 'turn'?"),
    ],
)
def test_what_is_no_agent_is_refused(
    words: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """In a line, with exit status 2."""
    assert run(*words.split()) == 2
    assert said in capsys.readouterr().err


def test_a_module_that_fails_is_named(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Its own error is said, without a traceback."""
    (folder / "broken.py").write_text("1 / 0\n")
    assert run("broken.py:Clerk") == 2
    said = capsys.readouterr().err
    assert "cannot import broken.py: ZeroDivisionError: division by zero" in said
    assert "Traceback" not in said


def test_a_seed_is_a_conversation() -> None:
    """The same seed draws the same script."""
    assert draw_conversation(5).text() == draw_conversation(5).text()
    assert draw_conversation(5).text() != draw_conversation(6).text()


def test_arguments_are_drawn_as_the_schema_allows() -> None:
    """Numbers in their range, choices, lists, optional keys, definitions by name."""
    schema = {
        "type": "object",
        "required": ["n", "c", "xs", "s", "b"],
        "properties": {
            "n": {"type": "integer", "minimum": 3, "maximum": 5},
            "c": {"$ref": "#/$defs/C"},
            "xs": {"type": "array", "items": {"type": "number"}, "minItems": 1},
            "s": {"type": ["string", "null"]},
            "b": {"type": "boolean"},
            "z": {"anyOf": [{"const": 7}, {"type": "null"}]},
        },
    }
    named = {"C": {"enum": ["a", "b"]}}
    drawn = [draw_value(Random(seed), schema, named) for seed in range(50)]
    assert {value["n"] for value in drawn} == {3, 4, 5}
    assert {value["c"] for value in drawn} == {"a", "b"}
    assert all(1 <= len(value["xs"]) <= 4 for value in drawn)
    assert {type(value["s"]) for value in drawn} == {str, type(None)}
    assert {value.get("z", "left out") for value in drawn} == {7, None, "left out"}
