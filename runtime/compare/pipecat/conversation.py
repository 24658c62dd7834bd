"""Makes a conversation of an entry in `scenarios.yaml`."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
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
from turnfsm.runtime.conversation.policies import once
from turnfsm.runtime.pipecat.governor import TurnGovernor
from turnfsm.runtime.testing.pipecat import Model, Script, Stage, Tool, own_strategies
from turnfsm.runtime.testing.script import Sound

from .checks import check_of, problems_of
from .models import MODELS, slowly, with_preamble

__all__ = ["conversation", "script_of"]


def conversation(id: str, entry: dict[str, Any]) -> tuple[Build, Verdict]:
    """How to play a scenario, and to judge it. Removes from the entry what it uses.

    Args:
        entry: The `model`, which first says its `preamble`, and `thinks` a number of seconds; the
            sounds of the `user`, or a `script`; the `tools`; the checks that are to `expect`.
    """
    model: Model = MODELS[entry.pop("model")]
    if (preamble := entry.pop("preamble", None)) is not None:
        model = with_preamble(model, preamble)
    if (seconds := entry.pop("thinks", None)) is not None:
        model = slowly(model, seconds)
    sounds = [Sound(**sound) for sound in entry.pop("user", ())]
    stage: dict[str, Any] = {
        "script": script_of(*sounds) if sounds else SCRIPTS[entry.pop("script")],
        "tools": {name: _tool(of) for name, of in entry.pop("tools", {}).items()},
    }
    for key, named in NAMED.items():
        if key in entry:
            stage |= named[entry.pop(key)]
    if "flow" in entry:
        stage["flow"] = parse_flow(entry.pop("flow"))[0]
    stage |= {key: entry.pop(key) for key in ("limits", "times_words") if key in entry}
    checks = [check_of(written) for written in entry.pop("expect")]
    entry.setdefault("seconds", 30.0)
    return partial(_build, model, stage), partial(problems_of, checks=checks)


def _build(model: Model, stage: Mapping[str, Any], governor: type[TurnGovernor] | None) -> Stage:
    return Stage(model, governor=governor, **stage)


def _tool(of: dict[str, Any]) -> Tool:
    return Tool(**of, mark=once) if of.pop("once", False) else Tool(**of)


def script_of(*sounds: Sound) -> Script:
    """The user makes these sounds."""

    async def script(stage: Stage) -> None:
        for sound in sounds:
            await stage.until(sound.at)
            if sound.says is not None:
                await stage.says(sound.says, sound.lasts or 1.0)
            else:
                await stage.coughs(sound.noise or 0.4)

    return script


async def _is_greeted(stage: Stage) -> None:
    await stage.pushes(f.TTSSpeakFrame("Welcome to the shop dear customer."))
    await stage.until(1.0)
    await stage.coughs()


async def _app_adds_a_message(stage: Stage) -> None:
    await stage.says("when does my order arrive")
    await stage.until(3.2)
    await stage.pushes(
        f.LLMMessagesAppendFrame([{"role": "user", "content": "please hurry"}], run_llm=True)
    )


async def _app_runs_the_model(stage: Stage) -> None:
    await stage.says("please count")
    await stage.until(4.0)
    await stage.pushes(f.LLMRunFrame())


async def _speaks_with_predicted_ends(stage: Stage) -> None:
    user = stage.microphone
    await user.broadcast_frame(f.ProposedUserStartedSpeakingFrame)
    await stage.until(1.0)
    await user.push_frame(f.TranscriptionFrame("weather in rome", "user", "now", finalized=True))
    await user.broadcast_frame(f.ProposedUserStoppedSpeakingFrame)
    await stage.until(3.5)  # the tool runs from 1.4 to 5.4
    await user.broadcast_frame(f.ProposedUserStartedSpeakingFrame)
    await stage.until(4.8)
    await user.push_frame(f.EagerTranscriptionFrame("how is it then", "user", "now"))
    await stage.until(6.1)
    await user.push_frame(f.TranscriptionFrame("how is it then", "user", "now", finalized=True))
    await user.broadcast_frame(f.ProposedUserStoppedSpeakingFrame)


SCRIPTS: Mapping[str, Script] = {
    "is_greeted": _is_greeted,
    "app_adds_a_message": _app_adds_a_message,
    "app_runs_the_model": _app_runs_the_model,
    "speaks_with_predicted_ends": _speaks_with_predicted_ends,
}
"""Conversations that need more than the sounds of the user."""


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
