"""The same flow and the same conversation: the same states in the same order on both hosts."""

import asyncio
from pathlib import Path

import pytest

pytest.importorskip("pipecat.frames", reason="Pipecat is not installed; `make pipecat` installs it")

import pipecat_stage as on_pipecat
from livekit.agents import function_tool
from pipecat_stage import Messages, Says, said, shows

from turnfsm import JsonlSink, Taken, load_flow, read_journal, replay
from turnfsm.livekit import TurnSession
from turnfsm.testing import Call, Reply, ScriptedLLM, ScriptedUser, Stage

COUNT = "One two three four five six seven eight nine ten. " * 3
RESULT = "It arrives on Friday."
WORDS = {"please count": COUNT, "hello there": "You are welcome here dear caller."}
TOOL = 6.0  # seconds
Script = tuple[tuple[str, float], ...]  # what the user says, and when; a noise without words
SCRIPTS: dict[str, Script] = {
    "an answer": (("please count", 0.0),),
    "a noise over the answer": (("please count", 0.0), ("", 4.0)),
    "a barge-in": (("please count", 0.0), ("hello there", 4.0)),
    "a tool": (("look it up", 0.0),),
    "a noise over a tool": (("look it up", 0.0), ("", 4.0)),
    "words over a tool": (("look it up", 0.0), ("hello there", 3.5)),
}


def _answers(messages: Messages) -> Says:
    if shows(messages[-1:], "The result of") or shows(messages[-1:], "on its way"):
        return Says(RESULT)
    if (words := said(messages)) in WORDS:
        return Says(WORDS[words])
    return Says(calls=(("look_up", {}),))


def _on_pipecat(script: Script, **governor: object) -> on_pipecat.Stage:
    async def play(stage: on_pipecat.Stage) -> None:
        for words, at in script:
            await stage.until(at)
            await (stage.says(words) if words else stage.coughs(1.0))

    tools = {"look_up": on_pipecat.Tool(TOOL, "it is on its way")}
    return on_pipecat.Stage(_answers, tools, **governor).play(play, seconds=40.0)


def _on_livekit(script: Script) -> list[str]:
    @function_tool
    async def look_up() -> str:
        """Look it up."""
        await asyncio.sleep(TOOL)
        return "it is on its way"

    user = ScriptedUser()
    for words, at in script:
        if words:
            user = user.says(words, at=1.0 + at, duration=1.0)
        else:
            user = user.makes_noise(at=1.0 + at, duration=1.0)
    llm = ScriptedLLM(
        on_user={**WORDS, "look it up": Reply(calls=Call("look_up", {}))},
        on_tool={"look_up": RESULT},
    )
    stage = Stage(TurnSession, user=user, llm=llm, tools=[look_up])
    stage.run(40.0)
    session: TurnSession = stage.session  # type: ignore[assignment]
    states = ["listening"]
    for entry in session.turn.journal:
        if isinstance(entry.verdict, Taken) and entry.verdict.dest != states[-1]:
            states.append(entry.verdict.dest)
    return states


@pytest.mark.parametrize("script", SCRIPTS)
def test_both_hosts_go_through_the_same_states(script: str) -> None:
    states = _on_pipecat(SCRIPTS[script]).states
    assert states == _on_livekit(SCRIPTS[script])
    assert len(states) > 4


def test_the_journal_of_pipecat_replays(tmp_path: Path) -> None:
    """`turnfsm why` and the others read it as any other."""
    path = tmp_path / "call.jsonl"
    stage = _on_pipecat(SCRIPTS["words over a tool"], sinks=[JsonlSink(path)])
    journal = read_journal(path)
    assert len(journal.entries) > 20
    assert replay(journal, load_flow("turn")) is None
    assert stage.heard.endswith(RESULT)
