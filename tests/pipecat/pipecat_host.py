"""Pipecat as a host of the conformance suite."""

from __future__ import annotations

import asyncio
from functools import partial

from livekit_host import STT
from pipecat.frames.frames import InterruptionWorkerFrame, TTSSpeakFrame
from pipecat_stage import Stage

from turnfsm.livekit import on_interruption
from turnfsm.runtime.testing.pipecat import Messages, Says
from turnfsm.runtime.testing.pipecat import Tool as PipecatTool
from turnfsm.testing.conformance import Played, Sound, Step, Talk

__all__ = ["on_pipecat"]

WHO = {"assistant": "agent"}


def on_pipecat(talk: Talk) -> Played:
    """Play it on a governed pipeline. The VAD takes 0.2 s of silence, the strategy 0.6 s."""

    def model(messages: Messages) -> Says:
        said = [(WHO.get(str(m["role"]), str(m["role"])), str(m.get("content"))) for m in messages]
        try:
            answer = talk.answer(said)
        except RuntimeError:
            return Says(fails=True, after=0.2)
        calls = tuple((call.tool, dict(call.arguments)) for call in answer.calls)
        return Says(answer.text, calls, answer.after)

    marks = {n: {"mark": on_interruption(t.policy)} for n, t in talk.tools.items() if t.policy}
    tools = {n: PipecatTool(t.seconds, t.result, **marks.get(n, {})) for n, t in talk.tools.items()}
    moments = sorted(
        [(s.at, partial(_sound, s)) for s in talk.user]
        + [(s.at, partial(_do, s)) for s in talk.do],
        key=lambda moment: moment[0],
    )

    async def play(stage: Stage) -> None:
        async with asyncio.TaskGroup() as group:
            for at, act in moments:
                await stage.until(at)
                group.create_task(act(stage))

    stage = Stage(model, tools, flow=talk.flow, timers=talk.timers, proof="off")
    stage.play(play, seconds=talk.seconds)
    assert stage.governor is not None
    return Played(stage.governor.turn.journal.read(), stage.heard, stage.effects)


async def _sound(sound: Sound, stage: Stage) -> None:
    if sound.says is not None:
        await stage.says(sound.says, sound.lasts or 1.0, late=STT - 0.2)
    else:
        await stage.coughs(sound.noise or 0.0)


async def _do(step: Step, stage: Stage) -> None:
    if step.interrupt:
        await stage.pushes(InterruptionWorkerFrame())
    elif step.say is not None:
        await stage.pushes(TTSSpeakFrame(step.say))
