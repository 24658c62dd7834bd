"""What waits in a session waits for something that comes, and not longer than the docs say."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Any

import pytest
from livekit.agents import Agent, AgentSession, RunContext, function_tool
from livekit.agents.llm import Toolset
from realtime_stage import Says, realtime

from turnfsm.livekit import TurnSession, on_interruption
from turnfsm.runtime.testing.livekit import (
    Call,
    Reply,
    ScriptedLLM,
    ScriptedTTS,
    ScriptedUser,
    Stage,
)

BOOK = Reply("Let me see.", calls=Call("book"))


def _booking(session_class: Any, *tools: Any, **parts: Any) -> Stage:
    """The user asks for a table at 1 s; the tool is called at about 2.3 s."""
    model = ScriptedLLM({"book": BOOK, "joke": "Here is a joke."}, {"book": "It is booked."})
    user = ScriptedUser().says("book a table", at=1.0)
    return Stage(session_class, **{"user": user, "llm": model, "tools": tools} | parts)


@pytest.mark.parametrize("how", ["await the handle", "wait_for_playout", "current_speech"])
def test_a_tool_that_awaits_its_own_speech_is_told_at_once(session_class: Any, how: str) -> None:
    """The speech waits for the tool: LiveKit's error names the circular wait and the remedy."""

    @function_tool
    async def book(context: RunContext[None]) -> str:
        """Book."""
        if how == "await the handle":
            await context.speech_handle
        elif how == "wait_for_playout":
            await context.speech_handle.wait_for_playout()
        else:
            assert context.session.current_speech is not None
            await context.session.current_speech
        return "booked"

    outcome = _booking(session_class, book).run(10.0)
    (run,) = outcome.tools
    assert run.end is not None
    assert run.end - run.start < 0.01
    assert run.status == "error"
    assert any("circular wait" in text for _, text in outcome.warnings + outcome.errors)


class _Watcher(Agent):
    """Its on_enter watches something and never returns."""

    def __init__(self) -> None:
        super().__init__(instructions="Watch.")

    async def on_enter(self) -> None:
        await asyncio.Event().wait()


@pytest.mark.parametrize("first", [0.0, 15.0])
def test_an_on_enter_that_never_returns_delays_one_run_at_most(first: float) -> None:
    """Reported after settle_limit, 10 s, it holds up no run any more, as on AgentSession."""
    took: list[float] = []

    async def runs(stage: Stage) -> None:
        for text in ("hello", "how are you", "thanks"):
            begun = stage.now
            await stage.session.run(user_input=text)
            took.append(round(stage.now - begun, 1))

    outcomes = []
    for session_class in (AgentSession, TurnSession):
        stage = Stage(session_class, agent=_Watcher, timers=LIMITS)
        stage.at(first, runs)
        outcomes.append(stage.run(40.0))
    stock, ours = took[:3], took[3:]
    assert ours == [stock[0] if first else 10.0 + stock[0], *stock[1:]]
    reports = [text for _, text in outcomes[1].warnings if "without waiting for it" in text]
    assert len(reports) == 1


@pytest.mark.parametrize("at", [1.5, 3.0], ids=["one behind the other", "alone"])
def test_a_handoff_that_waits_for_what_is_said_is_no_on_enter_that_hangs(at: float) -> None:
    """The second agent is asked to hand over before, or after, it has begun its story of 15 s."""
    story = "Once upon a time."

    class Teller(Agent):
        async def on_enter(self) -> None:
            self.session.say(story)

    voice = ScriptedTTS(durations={"One moment.": 1.0, story: 15.0})
    stage = Stage(TurnSession, user=ScriptedUser(), llm=ScriptedLLM({}), tts=voice)
    stage.at(0.5, lambda s: s.session.say("One moment.") and None)
    stage.at(1.0, lambda s: s.session.update_agent(Teller(instructions="Tell.")))
    stage.at(at, lambda s: s.session.update_agent(Agent(instructions="Help.")))
    outcome = stage.run(25.0)
    assert outcome.heard_saying(story) is not None, outcome.timeline()
    assert outcome.warnings == []


def _slow(seconds: float, policy: Any = "detach") -> Any:
    async def book() -> str:
        """Book."""
        await asyncio.sleep(seconds)
        return "booked"

    return on_interruption(policy)(function_tool(book))


async def _ends(stage: Stage, how: str) -> float:
    """Seconds until the session has closed, is drained, or another agent is in charge."""
    begun, session = stage.now, stage.session
    ended = asyncio.Event()
    session.on("close", lambda _: ended.set())
    if how == "shutdown":
        session.shutdown()
        await ended.wait()
    elif how == "update_agent":
        session.on("conversation_item_added", lambda ev: ev.item.type == "message" or ended.set())
        session.update_agent(Says("The clerk here.", waits=True))
        await ended.wait()
    else:
        await getattr(session, how)()
    return stage.now - begun


LIMITS = {"drain_limit": 5.0, "cleanup_limit": 60.0}
ENDS = ["shutdown", "drain", "aclose", "update_agent"]
TAIL = 2.1  # LiveKit waits 2 s for a last transcript when it closes


@pytest.mark.parametrize("user", [None, 4.0, 6.0], ids=["alone", "user before", "user after"])
@pytest.mark.parametrize("how", ENDS)
def test_a_tool_that_hangs_holds_up_no_end(how: str, user: float | None) -> None:
    """With limits. A close and a drain wait 5 s, a handoff as long again for the released call."""
    took: list[float] = []

    async def end(stage: Stage) -> None:
        took.append(await _ends(stage, how))

    stage = _booking(TurnSession, _slow(1000.0), timers=LIMITS)
    if user is not None:
        stage.user.says("tell me a joke", at=user)
    outcome = stage.at(5.0, end).run(20.0)
    assert took[0] <= (10.0 if how == "update_agent" else 5.0 + TAIL), outcome.timeline()
    if how == "update_agent" and user is not None:
        joke = outcome.heard_saying("Here is a joke.")
        assert joke is not None
        assert joke.start < 17.0
    assert outcome.orphans == ()


@pytest.mark.parametrize("seconds", [1.0, 2.0])
def test_a_close_with_a_short_limit_leaves_no_task_of_the_stt(seconds: float) -> None:
    """The wait for the last transcript is LiveKit's, and longer than what toolsets may take."""
    user = ScriptedUser().says("hello there", at=1.0)
    outcome = Stage(TurnSession, user=user, timers={"cleanup_limit": seconds}).run(5.0)
    assert outcome.orphans == (), outcome.timeline()
    assert outcome.warnings == []


@pytest.mark.parametrize("how", ENDS)
def test_a_call_that_must_not_be_interrupted_is_waited_for(how: str) -> None:
    """hold: it takes 12 s, and no end cancels it."""

    async def end(stage: Stage) -> None:
        await _ends(stage, how)

    outcome = _booking(TurnSession, _slow(12.0, "hold")).at(5.0, end).run(20.0)
    assert [run.status for run in outcome.tools] == ["done"]


@pytest.mark.parametrize("how", ["shutdown", "aclose", "update_agent"])
def test_a_call_that_must_not_be_interrupted_is_waited_for_up_to_the_tool_limit(how: str) -> None:
    """The one of the session; then 5 s, as for any call, and what is said."""
    took: list[float] = []

    async def end(stage: Stage) -> None:
        took.append(await _ends(stage, how))

    stage = _booking(TurnSession, _slow(1000.0, "hold"), timers={**LIMITS, "tool_limit": 3.0})
    outcome = stage.at(5.0, end).run(25.0)
    assert took[0] <= 9.0 + 2 * TAIL, outcome.timeline()
    assert outcome.orphans == ()


class _Hanging(Agent):
    """One of its hooks never returns."""

    def __init__(self, hook: str) -> None:
        super().__init__(instructions="Hang.")
        self.hook = hook

    async def on_enter(self) -> None:
        await self._run("on_enter")

    async def on_exit(self) -> None:
        await self._run("on_exit")

    async def on_user_turn_completed(self, turn_ctx: Any, new_message: Any) -> None:
        await self._run("on_user_turn_completed")

    async def _run(self, hook: str) -> None:
        if hook == self.hook:
            await asyncio.Event().wait()


@pytest.mark.parametrize("how", ["shutdown", "update_agent"])
@pytest.mark.parametrize("hook", ["on_enter", "on_exit", "on_user_turn_completed"])
def test_a_hook_that_hangs_holds_up_no_end(hook: str, how: str) -> None:
    """With limits: on_enter for 5 s, the others, in which an agent may clean up, for 60 s."""
    took: list[float] = []

    async def end(stage: Stage) -> None:
        took.append(await _ends(stage, how))

    user = ScriptedUser().says("hello there", at=1.0)
    stage = Stage(TurnSession, user=user, agent=lambda: _Hanging(hook), timers=LIMITS)
    outcome = stage.at(5.0, end).run(70.0)
    assert took[0] <= (5.0 if hook == "on_enter" else 60.0) + TAIL
    assert any(f"{hook} of _hanging did not end in time" in text for _, text in outcome.warnings)
    assert outcome.closed_in < 5.0
    assert outcome.orphans == ()


def test_an_on_exit_that_speaks_is_heard_to_its_end() -> None:
    """What is said is waited for, however long it takes."""
    farewell = "It was a pleasure to talk to you."

    class Polite(Agent):
        async def on_exit(self) -> None:
            await self.session.say(farewell)
            await asyncio.sleep(3.0)
            await self.session.say("Goodbye.")

    stage = Stage(
        TurnSession,
        agent=lambda: Polite(instructions="Be polite."),
        tts=ScriptedTTS(durations={farewell: 65.0}),
    )
    outcome = stage.at(1.0, lambda s: s.session.shutdown()).run(75.0)
    assert [heard.text for heard in outcome.heard] == [farewell, "Goodbye."]


class _Stuck(Toolset):
    """Its connection does not close."""

    def __init__(self) -> None:
        super().__init__(id="stuck", tools=[])

    async def aclose(self) -> None:
        await asyncio.Event().wait()


@pytest.mark.parametrize("of", ["agent", "session"])
def test_a_toolset_that_does_not_close_holds_up_no_close(of: str) -> None:
    """Of the agent or of the session: with a limit of 60 s the close goes on then, and says so."""
    mine: dict[str, Any] = {"agent": {"tools": [_Stuck()]}} if of == "agent" else {}
    if of == "session":
        mine["options"] = {"tools": [_Stuck()]}

    def make(**options: Any) -> TurnSession[None]:
        return TurnSession(**options, **mine.get("options", {}), timers=LIMITS)

    agent: Any = partial(Agent, instructions="Help.", **mine.get("agent", {}))
    stage = Stage(make, agent=agent)  # type: ignore[arg-type]
    outcome = stage.run(2.0)
    assert 60.0 <= outcome.closed_in <= 63.0
    assert any("toolsets" in text for _, text in outcome.warnings)


def test_a_handoff_after_the_report_is_waited_for_again() -> None:
    """The agents count as settled until the next handoff only: a run waits for that one."""
    who: list[str] = []

    class Slow(Agent):
        def __init__(self) -> None:
            super().__init__(instructions="Enter slowly.")

        async def on_enter(self) -> None:
            await asyncio.sleep(2.0)

    async def run(stage: Stage) -> None:
        stage.session.update_agent(Slow())
        result = await stage.session.run(user_input="hello")
        who.append(f"{type(stage.session.current_agent).__name__} {len(result.events)}")
        assert stage.now >= 17.0

    Stage(TurnSession, agent=_Watcher, timers=LIMITS).at(15.0, run).run(40.0)
    assert who == ["Slow 1"]


def test_a_tool_that_is_cancelled_with_its_turn_says_nothing_more() -> None:
    """What it was to say waited for the reply that the user interrupts. The answer to the user does
    not come behind it."""

    @on_interruption("cancel")
    @function_tool
    async def book(context: RunContext[None]) -> str:
        """Book."""
        await context.session.say("I have looked at all the tables for you.")
        return "booked"

    user = ScriptedUser().says("book a table", at=1.0).says("no tell me a joke", at=4.5)
    answers = ScriptedLLM(
        {"joke": "Here is a joke.", "table": Reply("Let me see. " * 8, calls=Call("book"))}
    )
    outcome = realtime(user, answers, book, detects=False).run(20.0)
    assert outcome.tools[0].status == "cancelled", outcome.timeline()
    assert [heard.text for heard in outcome.heard][1:] == ["Here is a joke."], outcome.timeline()


@pytest.mark.parametrize("how", ["the tool", "another tool", "the application"])
def test_what_a_tool_says_after_an_interruption_by_code_is_heard(
    session_class: Any, how: str
) -> None:
    """Nobody has spoken: what the tool says is wanted, as on `AgentSession`."""

    @function_tool
    async def book(context: RunContext[None]) -> None:
        """Book."""
        await asyncio.sleep(1.0)
        if how == "the tool":
            context.session.interrupt()
        await context.session.say("Your table is booked.")

    @function_tool
    async def stop(context: RunContext[None]) -> None:
        """Stop."""
        await asyncio.sleep(0.5)
        if how == "another tool":
            context.session.interrupt()

    let_me_see = Reply("Let me see. " * 8, calls=[Call("book"), Call("stop")])
    stage = _booking(session_class, book, stop, llm=ScriptedLLM({"book": let_me_see}))
    if how == "the application":
        stage.at(3.0, lambda s: s.session.interrupt())
    outcome = stage.run(15.0)
    assert outcome.heard[-1].text == "Your table is booked.", outcome.timeline()
