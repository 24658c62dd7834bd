"""What the application sets up in Pipecat itself: mute strategies, an idle timer, an output that
stalls."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

pytest.importorskip("pipecat.frames", reason="Pipecat is not installed; `make pipecat` installs it")

from pipecat.frames import frames as f
from pipecat.turns.user_mute import (
    AlwaysUserMuteStrategy,
    BaseUserMuteStrategy,
    FirstSpeechUserMuteStrategy,
    MuteUntilFirstBotCompleteUserMuteStrategy,
)
from pipecat_stage import Stage, moments

from turnfsm.pipecat import TurnGovernor
from turnfsm.runtime.conversation.waits import TurnWaitsLong
from turnfsm.runtime.testing.pipecat import Messages, Says, Tool, said, shows

LONG = "One two three four five six seven eight nine ten."
INTERRUPTED = "One two three four five six You said wait."


def _echo(messages: Messages) -> Says:
    return Says(LONG if said(messages) == "count" else f"You said {said(messages)}.")


@pytest.mark.parametrize(
    ("strategy", "first", "second"),
    [
        (AlwaysUserMuteStrategy, LONG, LONG),
        (FirstSpeechUserMuteStrategy, LONG, INTERRUPTED),
        (
            MuteUntilFirstBotCompleteUserMuteStrategy,
            LONG,
            INTERRUPTED,
        ),
    ],
)
def test_a_user_who_is_muted_interrupts_nothing_and_asks_nothing(
    strategy: Callable[[], BaseUserMuteStrategy], first: str, second: str
) -> None:
    """The application greets; then the user asks for a count. They say "wait" into both."""

    script = moments(
        (0.0, f.TTSSpeakFrame(LONG)), (1.5, "wait", 0.5), (6.0, "count"), (10.0, "wait", 0.5)
    )
    stage = Stage(_echo, mutes=[strategy()]).play(script)
    assert stage.heard.startswith(first)
    assert stage.heard.removeprefix(first).strip() == second


async def _idle_after(stage: Stage, seconds: float) -> list[float]:
    """The times at which Pipecat says that the user is idle, up to this second."""
    times: list[float] = []

    async def idle(*_: object) -> None:
        times.append(round(stage.now, 1))

    stage.pair.user().add_event_handler("on_user_turn_idle", idle)
    await stage.until(seconds)
    return times


def _weighs(messages: Messages) -> Says:
    if any("80" in str(message.get("content")) for message in messages):
        return Says("You weigh 80.")
    return Says("One moment.", calls=(("weigh", {}),))


def test_the_idle_timer_runs_from_the_last_answer_and_not_while_a_tool_runs() -> None:
    """A noise restarts it, when its turn has ended after `user_turn_stop_timeout`: 5 s."""
    idle: list[float] = []

    async def script(stage: Stage) -> None:
        watching = asyncio.ensure_future(_idle_after(stage, 29.0))
        await stage.says("weigh me")
        await stage.until(14.0)  # the answer is over
        await stage.coughs()
        idle.extend(await watching)

    stage = Stage(_weighs, {"weigh": Tool(8.0, 80)}, idle=4.0).play(script)
    assert stage.heard == "One moment. You weigh 80."
    assert idle == [23.6]


def _stalls(begins: float, ends: float) -> Callable[[list[Any]], list[Any]]:
    """The output takes no audio for a while."""

    def around(parts: list[Any]) -> list[Any]:
        write = parts[4].write_audio_frame

        async def write_late(frame: f.OutputAudioRawFrame) -> bool:
            now = asyncio.get_running_loop().time() - start
            if begins < now < ends:
                await asyncio.sleep(ends - now)
            return bool(await write(frame))

        start = asyncio.get_running_loop().time()
        parts[4].write_audio_frame = write_late
        return parts

    return around


@pytest.mark.parametrize("noise", [False, True])
def test_an_answer_goes_on_when_the_output_has_stalled(noise: bool) -> None:
    async def script(stage: Stage) -> None:
        await stage.says("count")
        await stage.until(5.0)
        if noise:
            await stage.coughs()

    stage = Stage(_echo, around=_stalls(4.0, 12.0)).play(script)
    assert stage.heard == LONG
    assert stage.when("ten") > 12.0
    assert stage.user_turns == {"replied": 1}
    assert stage.states[-1] == "listening"


def test_an_output_that_has_stalled_is_interrupted_and_the_next_turn_is_answered() -> None:
    stage = Stage(_echo, around=_stalls(4.0, 9.0)).play(moments((0.0, "count"), (5.0, "wait", 0.5)))
    assert stage.heard.endswith("You said wait.")
    assert "ten" not in stage.heard
    assert stage.when("You") > 9.0
    assert stage.user_turns == {"replied": 2}


def test_an_output_that_pipecat_gives_up_leaves_the_flow_listening() -> None:
    """Pipecat waits for 10 s. The application is told before that the turn waits."""

    stage = Stage(_echo, around=_stalls(4.0, 20.0)).play(moments((0.0, "count")))
    assert stage.heard == "One two three four five six"
    assert [error for error in stage.errors if "stopped reading" in error]
    assert {one.cause for one in stage.reports if isinstance(one, TurnWaitsLong)} == {"output"}
    assert stage.states[-1] == "listening"
    assert stage.user_turns == {"replied": 1}


@pytest.mark.parametrize("governor", [TurnGovernor, None])
def test_a_filler_that_is_given_to_the_tts_follows_the_preamble(
    governor: type[TurnGovernor] | None,
) -> None:
    """Pipecat's own pattern for a tool that takes a while."""

    def around(parts: list[Any]) -> list[Any]:
        async def fill(*_: Any) -> None:
            await parts[3].queue_frame(f.TTSSpeakFrame("One moment."))

        parts[2].add_event_handler("on_function_calls_started", fill)
        return parts

    def model(messages: Messages) -> Says:
        if shows(messages, "booked"):
            return Says("It is booked.")
        return Says("I book it.", (("book", {}),))

    async def script(stage: Stage) -> None:
        await stage.says("book")

    stage = Stage(model, {"book": Tool(4.0, "booked")}, governor=governor, around=around)
    stage.play(script)
    assert stage.heard == "I book it. One moment. It is booked."


@pytest.mark.parametrize("governor", [TurnGovernor, None])
def test_a_line_that_is_typed_while_the_agent_speaks_is_answered(
    governor: type[TurnGovernor] | None,
) -> None:
    """The governed request is sent when the answer was heard, which then follows the line."""

    def model(messages: Messages) -> Says:
        if messages[-1].get("role") != "user":
            return Says("There is nothing to answer.")
        return _echo(messages)

    async def script(stage: Stage) -> None:
        await stage.says("count")
        await stage.until(3.5)
        line = {"role": "user", "content": "hello"}
        await stage.pushes(f.LLMMessagesAppendFrame([line], run_llm=True))

    stage = Stage(model, governor=governor).play(script)
    assert stage.heard == f"{LONG} You said hello."
    assert len(stage.requests) == 2
