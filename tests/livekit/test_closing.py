"""What an application asks of a session that closes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest
from livekit.agents import Agent, AgentSession, AgentTask, RunContext, function_tool
from livekit.agents.voice import SpeechHandle
from realtime_stage import realtime
from scripted_tool import tool

from turnfsm.livekit import TurnSession, on_interruption
from turnfsm.runtime.testing.livekit import (
    Call,
    Reply,
    ScriptedLLM,
    ScriptedUser,
    Stage,
)


class Errand(AgentTask[str]):
    """A task with a tool that hangs and must not be interrupted."""

    def __init__(self) -> None:
        super().__init__(instructions="Do this.")

    @function_tool
    @on_interruption("hold")
    async def book(self, context: RunContext) -> None:
        """Book the seat."""
        await asyncio.get_running_loop().create_future()


class Caller(Agent):
    """An agent that has a task done by a tool."""

    def __init__(self) -> None:
        super().__init__(instructions="Help.")

    @function_tool
    async def collect(self, context: RunContext) -> str:
        """Have it done."""
        return await Errand()


@function_tool
@on_interruption("hold")
async def transfer_money() -> None:
    """Transfer money."""
    await asyncio.get_running_loop().create_future()


def closes(history: list[str]) -> Callable[[Stage], Coroutine[Any, Any, None]]:
    """Closes the session. The list gets the messages that its history has when it has closed."""

    async def close(stage: Stage) -> None:
        session = stage.session
        texts = (str(item.text_content) for item in session.history.items if item.type == "message")
        session.on("close", lambda event: history.extend(texts))
        await session.aclose()

    return close


LIMITS = {"tool_limit": 300.0, "drain_limit": 5.0}
"""A tool hangs: without limits the close waits for it, as on AgentSession."""


@pytest.mark.parametrize("closes_at", [4.5, 20.0])
def test_words_that_a_hold_call_keeps_are_in_the_history_when_the_session_closes(
    closes_at: float,
) -> None:
    """The tool hangs: the words were to be answered after its end."""
    history: list[str] = []

    user = ScriptedUser().says("transfer it", at=1.0).says("how long", at=3.0)
    model = ScriptedLLM({"transfer it": Reply("I do it.", calls=Call("transfer_money"))})
    stage = Stage(TurnSession, user=user, llm=model, tools=[transfer_money], timers=LIMITS)
    stage.at(closes_at, closes(history))
    stage.run(400.0)
    assert history == ["transfer it", "I do it.", "how long"]


look_up = tool("look_up", "found", seconds=6.0)


def test_words_whose_turn_ends_as_the_session_closes_are_not_answered() -> None:
    """They are in the history. A call that they ask for would be cancelled."""
    history: list[str] = []

    user = ScriptedUser().says("look", at=1.0)
    user.says("look again", at=2.5, duration=0.5, stt_delay=1.0)  # the words come at 4 s
    calls = {words: Reply(calls=Call("look_up")) for words in ("look", "look again")}
    stage = Stage(TurnSession, user=user, llm=ScriptedLLM(calls), tools=[look_up])
    stage.at(3.8, lambda stage: stage.session.say("one moment")).at(4.0, closes(history))
    outcome = stage.run(30.0)
    assert len(outcome.tools) == 1
    assert history == ["look", "look again"]


@function_tool
@on_interruption("detach")
async def search(context: RunContext) -> str:
    """Search."""
    await context.update("I look.")
    await asyncio.sleep(4.0)
    return "found"


def test_a_close_in_a_handoff_waits_for_a_call_and_for_words_at_the_same_time() -> None:
    """The call takes 4 s; LiveKit waits 2 s for words of the user."""

    async def close(stage: Stage) -> None:
        stage.session.update_agent(Agent(instructions="Go on."))
        await stage.session.aclose()
        stage.note("closed")

    user = ScriptedUser().says("look", at=1.0)
    model = ScriptedLLM({"look": Reply("I look.", calls=Call("search"))})
    stage = Stage(
        TurnSession,
        user=user,
        llm=model,
        tools=[search],
        turn_handling={"turn_detection": "manual"},
    )
    stage.at(2.0, lambda stage: stage.session.commit_user_turn(stt_flush_duration=0.5))
    outcome = stage.at(4.0, close).run(30.0)
    assert outcome.marks["closed"] == outcome.tools[0].end


@pytest.mark.parametrize("detection", ["manual", "vad"])
def test_words_that_a_task_hears_are_in_the_history_when_the_session_closes(detection: str) -> None:
    """The task of a tool is active, and its turn is not committed yet."""
    model = ScriptedLLM({"hello": Reply(calls=[Call("collect")])})
    user = ScriptedUser().says("hello", at=0.5).says("and this", at=4.0)
    stage = Stage(
        TurnSession,
        user=user,
        llm=model,
        agent=Caller,
        turn_handling={"turn_detection": detection, "endpointing": {"min_delay": 3.0}},
    )
    if detection == "manual":
        stage.at(1.5, lambda stage: stage.session.commit_user_turn())
    outcome = stage.at(6.0, lambda stage: stage.session.aclose()).run(20.0)
    said = [m.text_content or "" for m in outcome.history.messages() if m.role == "user"]
    assert [*filter(None, said)] == ["hello", "and this"], outcome.timeline()


def test_a_turn_without_words_leaves_no_message_when_the_session_closes() -> None:
    """A realtime model has heard the audio; there is no transcript to keep."""
    texts: list[str | None] = []

    async def close(stage: Stage) -> None:
        session = stage.session
        messages = (item for item in session.history.items if item.type == "message")
        session.on("close", lambda event: texts.extend(item.text_content for item in messages))
        await session.aclose()

    user = ScriptedUser().says("transfer it", at=1.0).says("how long", at=3.0)
    model = ScriptedLLM({"transfer it": Reply("I do it.", calls=Call("transfer_money"))})
    stage = realtime(user, model, transfer_money, detects=False, timers=LIMITS)
    stage.at(5.5, close).run(400.0)
    assert sorted(map(str, texts)) == ["I do it.", "transfer it"]


def test_a_run_that_is_asked_of_a_session_that_closes_is_refused_in_plain_words() -> None:
    """It is not nested in another."""

    async def ask(stage: Stage) -> None:
        closing = asyncio.create_task(stage.session.aclose())
        await asyncio.sleep(0)
        with pytest.raises(RuntimeError, match="AgentSession is closing, cannot use run"):
            stage.session.run(user_input="hello")
        await closing
        stage.note("closed")

    outcome = Stage(TurnSession, llm=ScriptedLLM({"hello": "Hello."})).at(1.0, ask).run(8.0)
    assert "closed" in outcome.marks


def test_a_replaced_task_whose_tool_hangs_is_closed_with_the_session() -> None:
    """The tool is cancelled, and the rest of its agent is closed."""

    async def hand_over(stage: Stage) -> None:
        stage.session.update_agent(Agent(instructions="Go on."))

    model = ScriptedLLM(
        {"hello": Reply(calls=[Call("collect")]), "book": Reply(calls=[Call("book")])}
    )
    user = ScriptedUser().says("hello", at=0.5).says("book", at=3.0)
    limits = {"tool_limit": 4.0, "drain_limit": 4.0}
    stage = Stage(TurnSession, user=user, llm=model, agent=Caller, timers=limits)
    outcome = stage.at(6.0, hand_over).run(8.0)
    assert outcome.orphans == ()
    assert outcome.closed_in <= 8.5


def test_nobody_has_the_floor_when_an_agent_is_closed() -> None:
    """A session that closes during a handoff closes an agent that it has left behind. What still
    has the floor, or waits for it, ends: results of a realtime model would wait for ever."""
    handles: list[SpeechHandle] = []

    async def close(stage: Stage) -> None:
        activity: Any = stage.session._activity
        handles.extend(stage.session.say(text) for text in ("One two three.", "Four five six."))
        await asyncio.sleep(0.5)
        stage.session._activity = None
        await activity.aclose()
        assert activity._current_speech is None
        assert activity._speech_q == []

    stage = Stage(TurnSession, user=ScriptedUser())
    stage.at(1.0, close)
    stage.run(10.0)
    assert [(handle.done(), handle.interrupted) for handle in handles] == [(True, True)] * 2


class Speech(AgentTask[str]):
    """A task that says something long."""

    def __init__(self) -> None:
        super().__init__(instructions="Say this.")

    async def on_enter(self) -> None:
        self.session.say(" ".join(["word"] * 40), allow_interruptions=False)


class Released(Agent):
    """An agent whose tool has this task done."""

    def __init__(self, task: Speech) -> None:
        super().__init__(instructions="Help.")
        self._task = task

    @function_tool
    async def collect(self, context: RunContext) -> str:
        """Have it done."""
        return await self._task


def test_a_close_ends_if_the_tool_is_cancelled_whose_task_is_about_to_hand_back() -> None:
    """The task is over, and hands back when the close has heard what it says; the close cancels the
    tool before that."""
    task = None

    def agent() -> Agent:
        nonlocal task
        task = Speech()
        return Released(task)

    def release(stage: Stage) -> None:
        stage.session._conductor.tools.unblock()  # type: ignore[attr-defined]

    async def complete(stage: Stage) -> None:
        assert task is not None
        if not task.done():  # before 1.8.9 the close cancels it
            task.complete("done")

    model = ScriptedLLM({"hello": Reply(calls=[Call("collect")])})
    user = ScriptedUser().says("hello", at=0.5)
    stage = Stage(TurnSession, user=user, llm=model, agent=agent, timers={"drain_limit": 5.0})
    stage.at(2.0, release).at(4.0, lambda stage: stage.session.shutdown()).at(5.0, complete)
    outcome = stage.run(30.0)
    assert outcome.orphans == (), outcome.timeline()
    assert "the session does not close" not in outcome.timeline()


class Receptionist(Agent):
    """Its tool ends the call, as LiveKit's examples do it."""

    def __init__(self, how: str) -> None:
        super().__init__(instructions="Help.")
        self.how = how

    @function_tool
    async def end_call(self, context: RunContext) -> str | None:
        """End the call."""
        session = context.session
        if self.how == "after its own words":
            await context.wait_for_playout()
        elif self.how == "after a goodbye":
            await session.say("Goodbye.")
        elif self.how == "when the reply has ended":
            context.speech_handle.add_done_callback(lambda _: session.shutdown())
            return "say goodbye"
        session.shutdown()
        return None


@pytest.mark.parametrize("session_class", [AgentSession, TurnSession])
@pytest.mark.parametrize(
    "how", ["at once", "after its own words", "after a goodbye", "when the reply has ended"]
)
def test_a_run_whose_tool_ends_the_call_has_its_result(
    session_class: type[AgentSession[Any]], how: str
) -> None:
    """Everything that the run asked for was done before the session closed."""
    found: list[str] = []

    async def evaluate(stage: Stage) -> None:
        result = await stage.session.run(user_input="that is all")
        found.extend(event.type for event in result.events if event.type != "message")
        result.expect.contains_function_call(name="end_call")

    model = ScriptedLLM(
        {
            "that is all": Reply("Very well.", calls=Call("end_call")),
            "say goodbye": "Goodbye.",
        }
    )
    outcome = Stage(session_class, llm=model, agent=lambda: Receptionist(how)).at(1.0, evaluate)
    outcome.run(15.0)
    assert found == ["function_call", "function_call_output"]


def test_a_run_that_a_close_cuts_has_no_result() -> None:
    """The tool's result was not said yet."""

    async def evaluate(stage: Stage) -> None:
        run = stage.session.run(user_input="that is all")
        await asyncio.sleep(1.2)
        await stage.session.aclose()
        with pytest.raises(RuntimeError, match="session closed"):
            await run

    model = ScriptedLLM({"that is all": "Thank you for your call, and have a very nice day."})
    Stage(TurnSession, llm=model, agent=lambda: Agent(instructions="Help.")).at(1.0, evaluate).run(
        15.0
    )


look_far = tool("look_far", "found", seconds=60.0, policy="detach")


@pytest.mark.parametrize(
    ("call", "reply", "limit"),
    [("search", "I do it.", 4.2), ("look_far", "I do it now, and it takes a while.", 5.2)],
)
def test_a_close_waits_for_a_handoff_and_for_the_users_words_at_the_same_time(
    call: str, reply: str, limit: float
) -> None:
    """A call continues in the background, or its turn is interrupted by the close. No agent
    follows: nothing is waited for after the call."""
    took: list[float] = []

    async def close(stage: Stage) -> None:
        begun = asyncio.get_running_loop().time()
        await stage.session.aclose()
        took.append(asyncio.get_running_loop().time() - begun)

    stage = Stage(
        TurnSession,
        user=ScriptedUser().says("hello", at=0.5),
        llm=ScriptedLLM({"hello": Reply(reply, calls=Call(call))}),
        tools=[search, look_far],
        timers={"drain_limit": 5.0},
    )
    stage.at(2.2, lambda stage: stage.session.update_agent(Agent(instructions="Go on.")))
    outcome = stage.at(2.4, close).run(30.0)
    assert took[0] <= limit, outcome.timeline()


def test_words_said_before_a_close_during_a_handoff_are_in_the_history() -> None:
    """The handoff waits for a call, and nobody has answered the words yet."""
    stage = Stage(
        TurnSession,
        user=ScriptedUser().says("hello", at=0.5).says("and this", at=3.5),
        llm=ScriptedLLM({"hello": Reply("I do it.", calls=Call("search"))}),
        tools=[search],
        turn_handling={"turn_detection": "vad"},
    )
    stage.at(3.4, lambda stage: stage.session.update_agent(Agent(instructions="Go on.")))
    outcome = stage.at(4.3, lambda stage: stage.session.aclose()).run(30.0)
    said = [m.text_content or "" for m in outcome.history.messages() if m.role == "user"]
    assert [*filter(None, said)] == ["hello", "and this"], outcome.timeline()
