"""docs/hosts.md: its table is that of the ports, its code runs, and it names what exists."""

from __future__ import annotations

import ast
import asyncio
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from turnfsm.fsm import Taken
from turnfsm.host import Conductor
from turnfsm.runtime.conversation.floor import Floor
from turnfsm.runtime.conversation.request_reports import RequestReports
from turnfsm.runtime.conversation.speech_reports import SpeechReports
from turnfsm.runtime.conversation.tool_calls import ToolCalls
from turnfsm.runtime.conversation.turn_reports import TurnReports
from turnfsm.runtime.conversation.user_reports import UserReports
from turnfsm.runtime.conversation.user_turns import UserTurns
from turnfsm.runtime.conversation.utterance import Utterance
from turnfsm.testing import conformance, run

ROOT = Path(__file__).parents[2]
PORTS = ROOT / "runtime" / "conversation" / "ports.py"
PARTS: dict[str, object] = {
    "": Conductor,
    "commits": TurnReports,
    "floor": Floor(lambda *_: None, lambda _: None, lambda _: None, lambda _: None),
    "requests": RequestReports,
    "speech": SpeechReports,
    "tools": ToolCalls,
    "turns": UserTurns,
    "user": UserReports,
    "utterance": Utterance,
}
PAGE = (ROOT / "docs" / "hosts.md").read_text(encoding="utf-8")


def _protocols() -> Iterator[ast.ClassDef]:
    for node in ast.parse(PORTS.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ClassDef) and "Protocol" in map(ast.unparse, node.bases):
            yield node


def _rows(port: ast.ClassDef) -> Iterator[str]:
    for member, after in zip(port.body, [*port.body[1:], None], strict=True):
        if isinstance(member, ast.FunctionDef):
            call = "" if member.decorator_list else f"({_arguments(member)})"
            name, text = f"{member.name}{call}", ast.get_docstring(member) or ""
        elif isinstance(member, ast.AnnAssign) and isinstance(after, ast.Expr):
            name, text = ast.unparse(member.target), ast.literal_eval(after.value)
        else:
            continue
        said = " ".join(text.partition("\n\n")[0].split()).replace("``", "`")
        yield f"| `{port.name}` | `{name}` | {said} |"


def _arguments(method: ast.FunctionDef) -> str:
    names = method.args
    return ", ".join(one.arg for one in [*names.args[1:], *names.kwonlyargs])


def test_the_table_is_that_of_the_ports() -> None:
    """If it is not: the table below is the one to write."""
    wanted = [row for port in _protocols() for row in _rows(port)]
    shown = [line for line in PAGE.splitlines() if re.match(r"\| `[A-Z]\w+` \|", line)]
    assert shown == wanted, "\n".join(wanted)


def test_each_report_that_it_names_exists() -> None:
    """The conductor has it, or the part that is named."""
    named = re.findall(r"`(?:await )?conductor\.(?:(\w+)\.)?(\w+)[(`]", PAGE)
    assert len(named) > 20
    lacking = [(part, name) for part, name in named if not hasattr(PARTS[part], name)]
    assert lacking == []


def _code(**names: object) -> dict[str, Any]:
    """Each block of Python, one after the other, as one file."""
    code = "\n".join(re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL))
    exec(compile(code, "docs/hosts.md", "exec"), names)
    return names


def test_its_test_runs() -> None:
    _code(play=_play)["test_my_host"]("an answer")


def test_its_host_talks(capsys: pytest.CaptureFixture[str]) -> None:
    """The flow governs it: a line interrupts what is printed, and a message is answered once."""

    async def model(messages: list[str]) -> str:
        await asyncio.sleep(0.5)
        return f"You said {messages[-1]}."

    async def talk() -> list[str]:
        chat = _code()["Console"](model)
        chat.start()
        for words, seconds in [("hello", 1.0), ("goodbye", 5.0)]:
            chat.user_typed(words)
            await asyncio.sleep(seconds)
        await chat.aclose()
        taken = [entry.verdict for entry in chat.conductor.turn.journal.read().entries]
        return [v.dest for v in taken if isinstance(v, Taken) and v.dest != v.state]

    states = run(talk())
    assert capsys.readouterr().out.splitlines() == ["You said hello.", "You said goodbye."]
    assert states[:5] == ["thinking", "speaking", "paused", "interrupted", "listening"]
    assert states[-4:] == ["thinking", "speaking", "thinking", "listening"]


def _play(talk: conformance.Talk) -> conformance.Played:
    from livekit_host import on_livekit

    return on_livekit(talk)


def test_the_example_host_is_read_in_one_sitting() -> None:
    chat = ROOT / "examples" / "text_host" / "chat.py"
    assert len(chat.read_text(encoding="utf-8").splitlines()) <= 150
