"""Whatever a tool returns, raises or does: the user hears what they hear on AgentSession."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, Literal

import pytest
from livekit.agents import (
    Agent,
    AgentSession,
    RunContext,
    StopResponse,
    ToolError,
    function_tool,
    llm,
)

from turnfsm.livekit import TurnSession
from turnfsm.runtime.testing.livekit import (
    Call,
    Reply,
    ScriptedLLM,
    ScriptedRealtime,
    ScriptedTTS,
    ScriptedUser,
    Stage,
)

Body = Callable[[RunContext], Awaitable[object]]
Model = Literal["pipeline", "client", "server"]


class Next(Agent):
    """The agent that a tool hands over to.

    Args:
        greets: It greets the user.
    """

    def __init__(self, *, greets: bool = True) -> None:
        super().__init__(instructions="Go on.")
        self._greets = greets

    async def on_enter(self) -> None:
        if self._greets:
            self.session.say("Hello from the next agent.")


def _returns(make: Callable[[], object]) -> Body:
    async def body(context: RunContext) -> object:
        return make()

    return body


def _raises(error: Exception) -> Body:
    async def body(context: RunContext) -> object:
        raise error

    return body


def _then(act: Callable[[RunContext], object], result: object) -> Body:
    async def body(context: RunContext) -> object:
        done = act(context)
        if asyncio.iscoroutine(done):
            await done
        return result

    return body


def _updates(*times: float, result: object = "done", **how: Any) -> Body:
    async def body(context: RunContext) -> object:
        for n, seconds in enumerate(times):
            await context.update(f"step {n}", **how)
            await asyncio.sleep(seconds)
        return result

    return body


async def _filler(context: RunContext) -> object:
    async with context.with_filler("Wait please.", delay=0.5):
        await asyncio.sleep(3.0)
    return "ok"


BODIES: dict[str, Body] = {
    "text": _returns(lambda: "ok"),
    "nothing": _returns(lambda: None),
    "an empty text": _returns(lambda: ""),
    "a list": _returns(lambda: ["a", {"b": 1}]),
    "a result without a reply": _returns(lambda: llm.ToolResult("ok", reply_required=False)),
    "an empty result": _returns(lambda: llm.ToolResult(None, reply_required=True)),
    "an agent": _returns(Next),
    "a silent agent": _returns(lambda: Next(greets=False)),
    "an agent and a text": _returns(lambda: (Next(), "moved")),
    "an agent and a result without a reply": _returns(
        lambda: (Next(greets=False), llm.ToolResult("moved", reply_required=False))
    ),
    "StopResponse": _raises(StopResponse()),
    "a ToolError": _raises(ToolError("bad")),
    "an error": _raises(RuntimeError("boom")),
    "an update": _updates(2.0),
    "an update and nothing": _updates(2.0, result=None),
    "a silent update": _updates(2.0, silent=True),
    "an update with a template": _updates(2.0, template="{message}"),
    "two updates": _updates(1.5, 2.5),
    "a filler": _filler,
    "it says": _then(lambda c: c.session.say("From the tool."), "ok"),
    "it says, and returns nothing": _then(lambda c: c.session.say("From the tool."), None),
    "it asks": _then(lambda c: c.session.generate_reply(instructions="tell"), "ok"),
    "it asks, and returns nothing": _then(
        lambda c: c.session.generate_reply(instructions="tell"), None
    ),
    "it waits for playout": _then(lambda c: c.wait_for_playout(), "ok"),
    "it interrupts": _then(lambda c: c.session.interrupt(), "ok"),
    "it changes the agent": _then(lambda c: c.session.update_agent(Next()), "ok"),
    "it shuts down": _then(lambda c: c.session.shutdown(), "bye"),
    "it clears the turn": _then(lambda c: c.session.clear_user_turn(), "ok"),
    "it disallows interruptions": _then(lambda c: c.disallow_interruptions(), "ok"),
}


def _heard(session: type[AgentSession[Any]], body: Body, model: Model) -> list[str]:
    @function_tool
    async def note(context: RunContext) -> object:
        """Take a note."""
        return await body(context)

    user = ScriptedUser().says("note it please", at=1.0).says("and then", at=12.0)
    tts = ScriptedTTS()
    scripted = ScriptedLLM(
        {
            "note it": Reply("One moment.", calls=Call("note")),
            "and then": "Then.",
            "tell": "Told.",
        },
        otherwise="I see.",
    )
    stage = Stage(
        session,
        user=user,
        tts=tts,
        llm=scripted
        if model == "pipeline"
        else ScriptedRealtime(user, scripted, tts, turn_detection=model == "server"),
        tools=[note],
    )
    return [heard.text for heard in stage.run(20.0).heard]


@pytest.mark.one_in(2)
@pytest.mark.parametrize("body", BODIES)
@pytest.mark.parametrize(
    "model",
    [
        "pipeline",
        pytest.param("client", marks=pytest.mark.exhaustive),
        pytest.param("server", marks=pytest.mark.exhaustive),
    ],
)
def test_the_user_hears_the_same_as_on_agent_session(body: str, model: Model) -> None:
    stock, ours = (_heard(kind, BODIES[body], model) for kind in (AgentSession, TurnSession))
    assert ours == stock
    assert stock
