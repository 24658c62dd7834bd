"""Plays a scenario of a YAML file in a governed pipeline, and reports failed checks."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Coroutine, Iterator
from functools import partial
from typing import Any

from pipecat.frames import frames as f

from turnfsm.runtime.testing.heard import TimelineEntry
from turnfsm.runtime.testing.named import load_named
from turnfsm.runtime.testing.script import Answer, Script, Sound, Step
from turnfsm.runtime.testing.script_checks import Observed, Played, judge

from .outcome import Outcome
from .parts import SILENCE, Messages, Says, said
from .stage import Stage

__all__ = ["play_script"]


def play_script(script: Script) -> Played[Outcome]:
    """Play a scenario in virtual time, on its own loop.

    Args:
        script: The scenario, with ``host: pipecat``.

    Returns:
        The observations, and the failed checks.

    Raises:
        TurnfsmError: The agent that the file names cannot be imported.

    Example:
        >>> from turnfsm.testing import load_script
        >>> from turnfsm.testing.pipecat import play_script
        >>> play_script(load_script("pipeline.yaml")).problems
        ()
    """
    where = f"{script.place('agent')}: agent"
    tools = load_named(script.agent, script.file.parent, where) if script.agent else {}
    flow = script.load_flow()
    stage = Stage(
        partial(_answer, script),
        tools,
        script=partial(_play, script),
        flow=flow,
        timers=dict(script.timers),
    )
    outcome = stage.run(script.length)
    assert stage.governor is not None
    entries = tuple(e for e in stage.governor.turn.journal.read().entries)
    spoken = [TimelineEntry(h.start, "agent", f"is heard: {h.text!r}") for h in outcome.heard]
    observed = Observed(
        script,
        entries,
        outcome.heard,
        tuple((run.name, run.start) for run in outcome.tools),
        tuple(str(message) for message in outcome.context),
        (*outcome.notes, *spoken),
    )
    return judge(observed, outcome, [f"an error in the pipeline: {e}" for e in outcome.errors])


async def _play(script: Script, stage: Stage) -> None:
    acts: list[tuple[float, Callable[[], Coroutine[Any, Any, None]]]] = [
        *((sound.at, partial(_sound, sound, stage)) for sound in script.user),
        *((step.at, partial(_do, step, stage)) for step in script.do),
    ]
    async with asyncio.TaskGroup() as group:
        for at, act in sorted(acts, key=lambda act: act[0]):
            await stage.until(at)
            group.create_task(act())


async def _sound(sound: Sound, stage: Stage) -> None:
    if sound.says is None:
        await stage.coughs(sound.noise or 0.0)
        return
    seconds = 0.3 * len(sound.says.split()) if sound.lasts is None else sound.lasts
    await stage.says(sound.says, seconds, late=max(0.0, sound.stt_delay - SILENCE))


async def _do(step: Step, stage: Stage) -> None:
    if step.interrupt:
        await stage.pushes(f.InterruptionWorkerFrame())
    elif step.say is not None:
        await stage.pushes(f.TTSSpeakFrame(step.say))
    else:
        line = {"role": "user", "content": step.reply}
        await stage.pushes(f.LLMMessagesAppendFrame([line], run_llm=True))


def _answer(script: Script, messages: Messages) -> Says:
    """To the result of a tool that is newer than what the user has said, else to the user."""
    model, text = script.model, said(messages)
    tool = next(_results(messages), "")
    found = model.on_tool.get(tool)
    if found is None:
        user = (answer for key, answer in model.on_user.items() if key in text)
        found = model.otherwise if tool else next(user, model.otherwise)
    return _says(found)


def _says(answer: Answer) -> Says:
    calls = tuple((call.tool, dict(call.arguments)) for call in answer.calls)
    return Says(answer.text, calls, after=answer.after)


def _results(messages: Messages) -> Iterator[str]:
    """The tools whose results have come since the user's last message, the newest first."""
    called = {call["id"]: call["function"]["name"]
              for message in messages for call in message.get("tool_calls") or ()}  # fmt: skip
    for message in reversed(messages):
        if message["role"] in ("user", "assistant") and not message.get("tool_calls"):
            return
        late = _late(str(message.get("content")))
        id = message.get("tool_call_id") or late.get("tool_call_id")
        if id in called and late.get("status") != "running":
            yield called[id]


def _late(content: str) -> dict[str, Any]:
    """What Pipecat writes about a call whose result comes later."""
    try:
        payload = json.loads(content)
    except ValueError:
        return {}
    return payload if isinstance(payload, dict) and payload.get("type") == "async_tool" else {}
