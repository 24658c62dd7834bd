"""Makes a conversation of an entry in `scenarios.yaml`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from operator import itemgetter
from typing import Any

from pipecat.frames import frames as f
from pipecat.turns.user_mute import FunctionCallUserMuteStrategy
from pipecat.turns.user_start import (
    MinWordsUserTurnStartStrategy,
    TranscriptionUserTurnStartStrategy,
    VADUserTurnStartStrategy,
)
from pipecat.turns.user_stop import SpeechTimeoutUserTurnStopStrategy
from pipecat.turns.user_turn_strategies import EagerUserTurnStrategies, UserTurnStrategies

from turnfsm.fsm import parse_flow
from turnfsm.runtime.compare.scenario import Build, Verdict
from turnfsm.runtime.compare.scenario_file import verdict_of
from turnfsm.runtime.conversation.policies import once
from turnfsm.runtime.pipecat.governor import TurnGovernor
from turnfsm.runtime.testing.pipecat import (
    Messages,
    Model,
    Says,
    ScriptedVAD,
    Stage,
    Tool,
    own_strategies,
)

from .checks import CHECKS
from .models import model

__all__ = ["conversation"]


def conversation(entry: dict[str, Any]) -> tuple[Build, Verdict]:
    """How to play a scenario, and to judge it. Removes from the entry what it uses.

    Args:
        entry: The `model`, which first says its `preamble`, and `thinks` a number of seconds; the
            sounds of the `user`, and what else the application and the pipeline `do`; the `tools`;
            the checks that are to `expect`. With `realtime` the model is a realtime service, which
            greets first; with `server_vad` it detects the turns, and the flow is
            ``speech_to_speech``.
    """
    how = {key: entry.pop(key) for key in ("preamble", "thinks") if key in entry}
    answers = partial(model, entry.pop("model"), **how)
    moments = sorted((*entry.pop("user", ()), *entry.pop("do", ())), key=itemgetter("at"))
    stage: dict[str, Any] = {
        "script": partial(_script, moments),
        "tools": {name: _tool(of) for name, of in entry.pop("tools", {}).items()},
    }
    for key, named in NAMED.items():
        if key in entry:
            stage |= named[entry.pop(key)]
    if "flow" in entry:
        stage["flow"] = parse_flow(entry.pop("flow"))[0]
    stage |= {key: entry.pop(key) for key in ("limits", "times_words") if key in entry}
    server_vad = entry.pop("server_vad", False)
    realtime = entry.pop("realtime", False) or server_vad
    if server_vad:
        stage |= {"server_vad": True, "flow": "speech_to_speech"}
    build = partial(_build_realtime if realtime else _build, answers, stage)
    # the server of a realtime service accepts that a call has no result yet
    accepted = () if realtime else ("requests_accepted",)
    verdict = verdict_of([*entry.pop("expect"), *accepted], CHECKS)
    entry.setdefault("seconds", 30.0)
    return build, verdict


def _build(model: Model, stage: Mapping[str, Any], governor: type[TurnGovernor] | None) -> Stage:
    return Stage(model, governor=governor, **stage)


def _build_realtime(
    model: Model, stage: Mapping[str, Any], governor: type[TurnGovernor] | None
) -> Stage:
    def greets(messages: Messages) -> Says:
        return model(messages) if messages else Says("Hello.")

    vad = None if "server_vad" in stage else ScriptedVAD(stop_secs=0.2)
    return Stage(greets, governor=governor, realtime=True, speaks=False, vad=vad, **stage)


def _tool(of: dict[str, Any]) -> Tool:
    return Tool(**of, mark=once) if of.pop("once", False) else Tool(**of)


async def _script(moments: Sequence[Mapping[str, Any]], stage: Stage) -> None:
    for moment in moments:
        await stage.until(moment["at"])
        await _happens(moment, stage)


async def _happens(moment: Mapping[str, Any], stage: Stage) -> None:
    """What happens: the user speaks or makes a noise; the application lets the agent say something,
    adds a message, or runs the model; the STT reports the transcript of words (`hears`), or of what
    the user may have said (`expects`); the beginning or the end of speech is predicted."""
    user = stage.microphone
    match moment:
        case {"says": words}:
            await stage.says(words, moment.get("lasts", 1.0))
        case {"noise": seconds}:
            await stage.coughs(seconds)
        case {"say": text}:
            await stage.pushes(f.TTSSpeakFrame(text))
        case {"add": text}:
            message = {"role": "user", "content": text}
            await stage.pushes(f.LLMMessagesAppendFrame([message], run_llm=True))
        case {"runs_model": True}:
            await stage.pushes(f.LLMRunFrame())
        case {"hears": words}:
            await user.push_frame(f.TranscriptionFrame(words, "user", "now", finalized=True))
        case {"expects": words}:
            await user.push_frame(f.EagerTranscriptionFrame(words, "user", "now"))
        case {"predicted": "start"}:
            await user.broadcast_frame(f.ProposedUserStartedSpeakingFrame)
        case {"predicted": "stop"}:
            await user.broadcast_frame(f.ProposedUserStoppedSpeakingFrame)


def _without_interruptions() -> UserTurnStrategies:
    return UserTurnStrategies(
        start=[
            VADUserTurnStartStrategy(enable_interruptions=False),
            TranscriptionUserTurnStartStrategy(enable_interruptions=False),
        ],
        stop=[SpeechTimeoutUserTurnStopStrategy()],
    )


def _three_words() -> UserTurnStrategies:
    own = own_strategies()
    own.start = [MinWordsUserTurnStartStrategy(min_words=3)]
    return own


def _mutes_while_a_tool_runs() -> dict[str, Any]:
    return {"user_mute_strategies": [FunctionCallUserMuteStrategy()]}


NAMED: Mapping[str, Mapping[str, Mapping[str, Any]]] = {
    "strategies": {
        "without_interruptions": {"strategies": _without_interruptions},
        "three_words": {"strategies": _three_words},
        "eager": {"strategies": EagerUserTurnStrategies},
    },
    "mutes": {"while_a_tool_runs": {"user": _mutes_while_a_tool_runs}},
}
"""Arguments of the stage, by the key of an entry and its value."""
