"""`function_tools_executed`: an application reads the results of its tools there."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Any

import pytest
from both import Session, listening
from livekit.agents import AgentSession, RunContext, ToolError, function_tool, llm
from scripted_tool import tool

from turnfsm.livekit import TurnSession
from turnfsm.runtime.testing.livekit import (
    Call,
    Outcome,
    Reply,
    ScriptedLLM,
    ScriptedRealtime,
    ScriptedTTS,
    ScriptedUser,
    Stage,
)

RAIN = "It rains."


def _asks(
    session_class: Session,
    ends: str = "a result",
    *,
    realtime: bool = False,
    listener: Any = None,
    at: tuple[float, Any] | None = None,
    **parts: Any,
) -> tuple[Outcome, dict[str, list[Any]]]:
    """A tool runs for 3 s; the user says something else at 2.5 s. What the event says of the call,
    each time that it comes."""

    @function_tool
    async def look_up(ctx: RunContext) -> str | None:
        """Look the weather up."""
        if ends == "an update":
            await ctx.update("I am looking.")
        await asyncio.sleep(3.0)
        if ends == "an error":
            raise ToolError("no service")
        return None if ends == "nothing" else "rain"

    note = tool("note", "noted")
    model = ScriptedLLM(
        {"weather": Reply(calls=[Call("look_up"), Call("note")]), "open": "We are open."},
        {"look_up": RAIN},
    )
    user = ScriptedUser().says("weather please", at=1.0).says("are you open", at=2.5)
    tts = ScriptedTTS()
    make, events = listening(session_class, "function_tools_executed")

    def listened(**options: Any) -> AgentSession[Any]:
        session: AgentSession[Any] = make(**options)
        session.on("function_tools_executed", listener)
        return session

    stage = Stage(
        make if listener is None else listened,  # type: ignore[arg-type]
        user=user,
        llm=ScriptedRealtime(user, model, tts, turn_detection=False) if realtime else model,
        tts=tts,
        tools=[look_up, note],
        **parts,
    )
    if at is not None:
        stage.at(*at)
    outcome = stage.run(15.0)
    said: dict[str, list[Any]] = {}
    for event in events:
        for call, output in event.zipped():
            assert (output.call_id, output.name) == (call.call_id, call.name)
            said.setdefault(call.name, []).append(output)
    return outcome, said


@pytest.mark.parametrize("session_class", [AgentSession, TurnSession])
@pytest.mark.parametrize(
    ("ends", "last"),
    [("a result", ("rain", False)), ("an error", ("no service", True)), ("nothing", ("", False))],
)
@pytest.mark.parametrize("realtime", [False, True], ids=["pipeline", "realtime"])
def test_it_has_the_result_of_a_call_that_the_user_has_interrupted(
    session_class: Session, ends: str, last: tuple[str, bool], realtime: bool
) -> None:
    """At the latest when the call has ended."""
    outcome, said = _asks(session_class, ends, realtime=realtime)
    output = said["look_up"][-1]
    assert (output.output, output.is_error) == last, outcome.timeline()
    assert [output.output for output in said["note"]] == ["noted"]


def test_it_has_the_result_of_a_call_that_was_given_up() -> None:
    """Its time, `tool_limit`, was over."""
    _, said = _asks(TurnSession, timers={"tool_limit": 1.0})
    assert said["look_up"][-1].output == "rain"


def test_it_says_so_when_a_call_is_cancelled_after_all() -> None:
    """The user has interrupted; then the application cancels the call."""

    def cancel(stage: Stage) -> None:
        activity: Any = stage.session._activity
        activity.cancel_call("call_1")

    outcome, said = _asks(TurnSession, at=(4.5, cancel))
    last = said["look_up"][-1]
    assert (last.is_error, "cancelled" in last.output) == (True, True), outcome.timeline()


def test_a_listener_that_cancels_the_reply_to_a_late_result_has_its_way() -> None:
    """The caller is not told of it; on AgentSession nobody replies to it either."""
    heard = [
        _asks(session_class, listener=lambda event: event.cancel_tool_reply())[0].heard_saying(RAIN)
        for session_class in (AgentSession, TurnSession)
    ]
    assert heard == [None, None]


def test_what_a_call_reports_that_goes_on_by_itself_is_in_it_as_on_agent_session() -> None:
    """`ctx.update()`: LiveKit gives the result of such a call in `tool_execution_updated`."""
    said = {}
    for session_class in (AgentSession, TurnSession):
        outputs = _asks(session_class, "an update")[1]["look_up"]
        said[session_class] = [output.output for output in outputs]
    assert said[TurnSession] == said[AgentSession] != []


@pytest.mark.one_in(5)
@pytest.mark.parametrize("realtime", [False, True], ids=["pipeline", "realtime"])
@pytest.mark.parametrize("by", ["tool", "listener"])
@pytest.mark.parametrize("goes_on", [None, 4.5, 9.0])
def test_a_result_that_asks_for_no_reply_gets_none_as_on_agent_session(
    realtime: bool, by: str, goes_on: float | None
) -> None:
    """`ToolResult(..., reply_required=False)`, or a listener that cancels the reply."""

    @function_tool
    async def note() -> llm.ToolResult:
        """Take a note."""
        return llm.ToolResult("noted", reply_required=by != "tool")

    def listener(event: Any) -> None:
        if by == "listener":
            event.cancel_tool_reply()

    heard = []
    for kind in (AgentSession, TurnSession):
        user = ScriptedUser().says("note it please", at=1.0)
        if goes_on is not None:
            user.says("and then", at=goes_on)
        tts = ScriptedTTS()
        model = ScriptedLLM(
            {"note it": Reply("One moment.", calls=Call("note")), "and then": "Then."},
            otherwise="I see.",
        )
        make = partial(_listened, kind, listener)
        stage = Stage(
            make,  # type: ignore[arg-type]
            user=user,
            llm=ScriptedRealtime(user, model, tts, turn_detection=False) if realtime else model,
            tts=tts,
            tools=[note],
        )
        heard.append([one.text for one in stage.run(15.0).heard])
    assert heard[1] == heard[0] == ["One moment.", *(["Then."] if goes_on else [])]


def _listened(kind: Session, listener: Any, **options: Any) -> AgentSession[Any]:
    session: AgentSession[Any] = kind(**options)
    session.on("function_tools_executed", listener)
    return session
