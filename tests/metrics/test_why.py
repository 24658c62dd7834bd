"""Every cause of a silence is found, with the names and times of the conversation."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from livekit.agents import Agent
from scripted_tool import tool

from turnfsm import Flow, Journal, load_flow, parse_flow
from turnfsm.fsm.journal import journal_of
from turnfsm.livekit import TurnSession
from turnfsm.metrics import CAUSES, explain, explain_at
from turnfsm.testing import (
    Call,
    Reply,
    ScriptedLLM,
    ScriptedTTS,
    ScriptedUser,
    ScriptedVAD,
    Stage,
)

STORY = "Once upon a time there was a king who had three daughters and a horse."


def journal(user: ScriptedUser, model: ScriptedLLM, seconds: float = 20.0, **more: Any) -> Journal:
    """What a session writes of this conversation."""
    stage = Stage(TurnSession, user=user.says("hello there", at=1.0), llm=model, **more)
    stage.run(seconds)
    return stage.session.turn.journal.read()


def _slow_model() -> Journal:
    return journal(ScriptedUser(), ScriptedLLM({"hello": Reply("Hello.", ttft=6.0)}))


def _slow_voice() -> Journal:
    tts = ScriptedTTS(latency=5.0)
    return journal(ScriptedUser(), ScriptedLLM({"hello": "Hello."}), tts=tts)


def _slow_stt() -> Journal:
    user = ScriptedUser().says("hello there", at=1.0, stt_delay=6.0)
    stage = Stage(TurnSession, user=user, llm=ScriptedLLM({"hello": "Hello."}))
    stage.run(20.0)
    return stage.session.turn.journal.read()


def _slow_output() -> Journal:
    return journal(ScriptedUser(), ScriptedLLM({"hello": "Hello."}), faults=["no_start"])


def _no_vad() -> Journal:
    return journal(ScriptedUser(), ScriptedLLM({"hello": "Hi."}), vad=ScriptedVAD(fails_at=4.0))


def _no_audio() -> Journal:
    user = ScriptedUser().drops_out(at=4.0, duration=30.0)
    return journal(user, ScriptedLLM({"hello": "Hi."}))


def _endpointing() -> Journal:
    handling = {"endpointing": {"min_delay": 4.0, "max_delay": 4.0}}
    return journal(ScriptedUser(), ScriptedLLM({"hello": "Hello."}), turn_handling=handling)


class _Thinks(Agent):
    async def on_user_turn_completed(self, *_: Any, **__: Any) -> None:
        await asyncio.sleep(4.0)


def _application() -> Journal:
    agent = _Thinks(instructions="Think.")
    return journal(ScriptedUser(), ScriptedLLM({"hello": "Hello."}), agent=agent)


def _tool(policy: str, user: ScriptedUser) -> Journal:
    look_up = tool("look_up", "rain", seconds=8.0, policy=policy)
    model = ScriptedLLM({"hello": Reply(calls=Call("look_up"))}, {"look_up": "It rains."})
    return journal(user, model, tools=[look_up])


def _tool_running() -> Journal:
    return _tool("detach", ScriptedUser())


def _refused() -> Journal:
    return _tool("hold", ScriptedUser().says("hurry up", at=4.0))


def _noise() -> Journal:
    user = ScriptedUser().makes_noise(at=6.0, duration=4.0)
    return journal(user, ScriptedLLM({"hello": "Hello."}))


def _held() -> Journal:
    user = ScriptedUser().makes_noise(at=3.0, duration=3.0)
    return journal(user, ScriptedLLM({"hello": Reply("Hello.", ttft=1.5)}))


def _paused() -> Journal:
    user = ScriptedUser().makes_noise(at=4.0, duration=3.0)
    tts = ScriptedTTS(durations={STORY: 9.0})
    return journal(user, ScriptedLLM({"hello": STORY}), tts=tts)


def _winding_down() -> Journal:
    user = ScriptedUser().says("stop", at=4.0)
    tts = ScriptedTTS(durations={STORY: 9.0})
    model = ScriptedLLM({"hello": STORY, "stop": "All right."})
    return journal(user, model, tts=tts, faults=["no_end"], timers={"settle": 4.0})


def _idle() -> Journal:
    user = ScriptedUser().says("goodbye", at=9.0)
    return journal(user, ScriptedLLM({"hello": "Hello.", "goodbye": "Goodbye."}))


CASES: dict[str, tuple[Callable[[], Journal], str]] = {
    "stt": (_slow_stt, "the transcript of the speech that ended at 1.85 s came at 7.60 s"),
    "llm": (_slow_model, "the model was asked at 2.10 s, nothing has come"),
    "tts": (_slow_voice, "the first text came at 2.10 s, no audio has come"),
    "output": (_slow_output, "the first audio came at 2.20 s, the output has not begun"),
    "vad": (_no_vad, "the VAD failed (RuntimeError) at 4.10 s: speech is no longer detected"),
    "no_audio": (_no_audio, "no audio of the user has come since 3.60 s"),
    "endpointing": (_endpointing, "it is not decided whether the user's turn has ended"),
    "application": (_application, "the turn committed at 2.10 s is in on_user_turn_completed"),
    "tool_running": (_tool_running, "the turn waits for a tool: look_up since 2.10 s"),
    "refused": (_refused, "turn_committed was refused in tool_running at 5.10 s: "),
    "user_has_the_floor": (_noise, "the user has been speaking since 6.05 s"),
    "output_held": (
        _held,
        "the output is held before its first frame by user_started_speaking at 3.05 s, "
        "the user keeps speaking",
    ),
    "winding_down": (_winding_down, "the interrupted reply is ending"),
    "nothing_asked": (_idle, "no reply was requested"),
}


@pytest.mark.parametrize("cause", CASES)
def test_the_cause_is_named(cause: str) -> None:
    """The silence that is made has a part with this cause and this sentence."""
    play, sentence = CASES[cause]
    told = [line for silence in explain(play(), load_flow("turn")) for line in silence.lines]
    assert any(f"  {cause}: {sentence}" in line for line in told), told


def test_an_output_that_was_cut_says_by_what() -> None:
    """A pause over voice without words."""
    [pause] = [s for s in explain(_paused()) if s.cause == "output_held"]
    assert "the output is paused by barge_in at 4.5" in pause.lines[0]


def test_a_refusal_names_the_lines_of_the_flow() -> None:
    """Those whose guards did not hold."""
    flow = load_flow("turn")
    refused = next(s for s in explain(_refused(), flow) if s.cause == "refused")
    assert flow.source is not None
    place = flow.source.place(("states", "tool_running", "on", "turn_committed", 0))
    assert f"  turn_committed in tool_running: {place}" in refused.lines


def _flow() -> Flow:
    text = "flow: mine\nextends: turn\nstates: {consulting: {is: Somebody is asked.}}\n"
    flow, _ = parse_flow(text)
    return flow


def test_a_state_of_ones_own_is_named() -> None:
    """Only the author of a flow knows what such a state waits for."""
    entry = {"trigger": "consult", "of": None, "facts": [], "verdict": "taken", "row": None}
    entry |= {"actions": [], "entered": True, "cause": None, "data": {}}
    records = [
        {"journal": 1, "flow": "mine", "initial": "listening"},
        {"seq": 1, "t": 1.0, "state": "listening", "dest": "consulting", **entry},
        {"seq": 2, "t": 9.0, "state": "consulting", "dest": "listening", **entry},
    ]
    [silence] = explain(journal_of(records))
    assert silence.cause == "own_state"
    assert silence.lines[1] == "1.00 to 9.00 s  own_state: the flow is in the state consulting"


def test_every_cause_has_a_case() -> None:
    """A cause that is added is shown here."""
    assert {*CASES, "own_state"} == set(CAUSES)


def test_the_words_of_the_user_are_no_silence() -> None:
    """However long they take."""
    words = "well " * 40
    user = ScriptedUser().says(words, at=5.0)
    spoken = journal(user, ScriptedLLM({"hello": "Hello.", "well": "I see."}))
    assert all(s.cause == "nothing_asked" for s in explain(spoken))
    moment = explain_at(spoken, 10.0)
    assert moment is not None
    assert moment.cause == "user_has_the_floor"


def test_any_moment_can_be_explained() -> None:
    """Also one that is shorter, one in which the agent is heard, and one that is not there."""
    spoken = _slow_model()
    asked, heard = explain_at(spoken, 2.0), explain_at(spoken, 8.1)
    assert asked is not None
    assert heard is not None
    assert (asked.cause, heard.cause) == ("endpointing", None)
    silence = explain(spoken)[0]
    length = f"{silence.end - silence.start:.2f} s"
    assert asked.end - asked.start < silence.end - silence.start
    assert asked.lines[-1].startswith(f"part of a silence of {length}, from ")
    assert "the agent is heard" in str(heard)
    assert explain_at(spoken, 500.0) is None
