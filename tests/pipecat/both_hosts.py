"""One conversation, written once, for the kits of both hosts."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from functools import partial
from typing import Any

import attrs
from livekit.agents import function_tool
from pipecat.frames.frames import InterruptionWorkerFrame, TTSSpeakFrame
from pipecat_stage import Messages, Says, said, shows
from pipecat_stage import Stage as PipecatStage
from pipecat_stage import Tool as PipecatTool

from turnfsm import Taken
from turnfsm.fsm.journal import Entry
from turnfsm.livekit import TurnSession, on_interruption
from turnfsm.runtime.journal import Sink
from turnfsm.runtime.testing.script import Answer, Sound, Step
from turnfsm.testing import Call, Reply, ScriptedLLM, ScriptedUser, Stage

__all__ = ["Decided", "Talk", "Tool", "on_livekit", "on_pipecat"]

Decided = list[tuple[str, str, str]]
"""What the flow has taken: state, trigger, next state."""

OTHERWISE = "I see."

STT = 0.4
"""Seconds from the end of a voice to its transcript."""

ENDPOINTING = 0.8
"""Seconds of silence after which a turn ends: 0.2 of the VAD and 0.6 of the strategy on Pipecat."""

BEFORE = 1.0
"""Seconds after which a conversation begins on LiveKit."""


@attrs.frozen
class Tool:
    """A tool: how long it takes, what it gives, and its policy."""

    seconds: float
    result: str = "it is on its way"
    policy: Any = None


@attrs.frozen
class Talk:
    """A conversation.

    Attributes:
        user: What the user says, and when.
        do: What the application does.
        answers: What the model answers to words of the user.
        results: What it says to results, each by a part of it.
        tools: By name.
        more: More arguments of `TurnSession` and `TurnGovernor`.
        seconds: How long it is played.
    """

    user: tuple[Sound, ...]
    do: tuple[Step, ...] = ()
    answers: Mapping[str, Answer | Exception] = attrs.field(factory=dict)
    results: Mapping[str, str] = attrs.field(factory=dict)
    tools: Mapping[str, Tool] = attrs.field(factory=dict)
    more: Mapping[str, Any] = attrs.field(factory=dict)
    seconds: float = 40.0


def _decided(turn: Any) -> Decided:
    taken = (e for e in turn.journal if isinstance(e, Entry) and isinstance(e.verdict, Taken))
    return [(entry.verdict.state, entry.trigger, entry.verdict.dest) for entry in taken]


def on_livekit(talk: Talk) -> Decided:
    """Play it on a `TurnSession`."""
    user = ScriptedUser()
    for sound in talk.user:
        if sound.says is not None:
            user.says(sound.says, at=BEFORE + sound.at, duration=sound.lasts or 1.0, stt_delay=STT)
        else:
            user.makes_noise(at=BEFORE + sound.at, duration=sound.noise or 0.0)
    llm = ScriptedLLM(
        {words: _reply(answer) for words, answer in talk.answers.items()},
        on_tool={name: talk.results[tool.result] for name, tool in talk.tools.items()},
    )
    tools = [_livekit_tool(name, tool) for name, tool in talk.tools.items()]
    stage = Stage(
        partial(TurnSession, **talk.more),  # type: ignore[arg-type]
        user=user,
        llm=llm,
        tools=tools,
        turn_handling={"endpointing": {"min_delay": ENDPOINTING, "max_delay": 3.0}},
    )
    for step in talk.do:
        stage.at(BEFORE + step.at, partial(_do_livekit, step))
    stage.run(BEFORE + talk.seconds)
    assert isinstance(stage.session, TurnSession)
    return _decided(stage.session.turn)


def _reply(answer: Answer | Exception) -> Reply:
    if isinstance(answer, Exception):
        return Reply(error=answer)
    calls = [Call(call.tool, call.arguments) for call in answer.calls]
    return Reply(answer.text, calls=calls, ttft=answer.after)


def _livekit_tool(name: str, tool: Tool) -> Any:
    async def run() -> str:
        await asyncio.sleep(tool.seconds)
        return tool.result

    made = function_tool(run, name=name, description="A tool.")
    return on_interruption(tool.policy)(made) if tool.policy is not None else made


def _do_livekit(step: Step, stage: Stage) -> None:
    if step.interrupt:
        stage.session.interrupt()
    elif step.say is not None:
        stage.session.say(step.say)
    else:
        stage.session.generate_reply(user_input=step.reply or "")


def on_pipecat(talk: Talk, *sinks: Sink) -> Decided:
    """Play it on a governed pipeline."""

    def model(messages: Messages) -> Says:
        told = [str(m.get("content")) for m in messages if m.get("role") == "assistant"]
        news = [
            words
            for result, words in talk.results.items()
            if shows(messages, result) and not any(words in one for one in told)
        ]
        if messages[-1].get("role") != "user":
            return Says(" ".join(news) or OTHERWISE, after=0.2)
        answer = talk.answers.get(said(messages), Answer(OTHERWISE))
        if isinstance(answer, Exception):
            return Says(fails=True, after=0.2)
        calls = tuple((call.tool, dict(call.arguments)) for call in answer.calls)
        return Says(answer.text, calls, answer.after)

    marks = {n: {"mark": on_interruption(t.policy)} for n, t in talk.tools.items() if t.policy}
    tools = {n: PipecatTool(t.seconds, t.result, **marks.get(n, {})) for n, t in talk.tools.items()}
    moments = sorted(
        [(s.at, partial(_sound, s)) for s in talk.user]
        + [(s.at, partial(_do_pipecat, s)) for s in talk.do],
        key=lambda moment: moment[0],
    )

    async def play(stage: PipecatStage) -> None:
        async with asyncio.TaskGroup() as group:
            for at, act in moments:
                await stage.until(at)
                group.create_task(act(stage))

    stage = PipecatStage(model, tools, sinks=sinks, **talk.more).play(play, seconds=talk.seconds)
    assert stage.governor is not None
    return _decided(stage.governor.turn)


async def _sound(sound: Sound, stage: PipecatStage) -> None:
    if sound.says is not None:
        await stage.says(sound.says, sound.lasts or 1.0, late=STT - 0.2)
    else:
        await stage.coughs(sound.noise or 0.0)


async def _do_pipecat(step: Step, stage: PipecatStage) -> None:
    if step.interrupt:
        await stage.pushes(InterruptionWorkerFrame())
    elif step.say is not None:
        await stage.pushes(TTSSpeakFrame(step.say))
