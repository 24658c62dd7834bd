"""What the next agent is asked, and with which calls, when the user speaks into a handoff."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from typing import Any

import pytest
from both import conversation, conversation_is_given
from livekit.agents import Agent, AgentSession, RunContext, function_tool, llm
from realtime_stage import realtime

from turnfsm.livekit import TurnSession, on_interruption
from turnfsm.runtime.livekit.overrides.handoff import results_when_copied
from turnfsm.runtime.testing.livekit import (
    Call,
    Outcome,
    Reply,
    ScriptedLLM,
    ScriptedTTS,
    ScriptedUser,
    Stage,
)


class Desk(Agent):
    """Books, hands over, and greets if it takes over."""

    def __init__(self, booked: list[str], given: dict[str, Any] | None = None) -> None:
        super().__init__(instructions="Help.", **(given or {}))
        self._booked, self._greets = booked, given is not None

    async def on_enter(self) -> None:
        if self._greets:
            self.session.say("Welcome to the desk.")

    @function_tool
    async def book(self, context: RunContext) -> str:
        """Book."""
        await asyncio.sleep(6.0)
        self._booked.append("booked")
        return "booked"

    @function_tool
    async def transfer(self, context: RunContext) -> tuple[Agent, str]:
        """Hand over."""
        await asyncio.sleep(1.0)
        return Desk(self._booked, conversation(context.session)), "transferred"


class Porter(Agent):
    """Takes the conversation over, and has no tools."""

    def __init__(self, booked: list[str], given: dict[str, Any]) -> None:
        super().__init__(instructions="Help.", **given)


def desk_stage(user: ScriptedUser, booked: list[str], *, by_tool: bool = False) -> Stage:
    """A conversation at the desk; `by_tool` hands over with the booking."""
    calls = [Call("book"), Call("transfer")] if by_tool else [Call("book")]
    model = ScriptedLLM(
        {"book a table": Reply("One moment.", calls=calls), "how long": "An hour."},
        {"book": "It is booked.", "transfer": "It is booked."},
    )
    return Stage(TurnSession, user=user, llm=model, agent=lambda: Desk(booked))


def a_kept_turn(
    booked: list[str],
    *,
    by_tool: bool = False,
    make: Callable[[list[str], dict[str, Any]], Agent] = Desk,
) -> Outcome:
    """The user speaks while the handoff waits for a call, or for what is said about it."""
    speaks = 9.2 if by_tool else 4.5
    user = ScriptedUser().says("book a table", at=1.0).says("how long", at=speaks, stt_delay=0.05)
    stage = desk_stage(user, booked, by_tool=by_tool)
    if not by_tool:
        stage.at(
            3.8,
            lambda s: s.session.update_agent(make(booked, conversation(s.session))),
        )
    return stage.run(35.0)


@pytest.mark.parametrize("by_tool", [False, True])
def test_a_kept_turn_is_asked_with_the_call_that_ended_meanwhile(by_tool: bool) -> None:
    """The conversation was copied before; the model would make the call again. The next agent is
    heard before it answers: the user's words are older than what it says as it enters."""
    booked: list[str] = []
    outcome = a_kept_turn(booked, by_tool=by_tool)
    assert booked == ["booked"]
    assert "booked" in _results(outcome, "how long")
    greeting = outcome.heard_saying("Welcome to the desk.")
    answer = outcome.heard_saying("An hour.")
    assert greeting is not None
    assert answer is not None
    assert greeting.end < answer.start


def test_a_pending_result_is_delivered_by_the_next_agent_who_is_shown_it() -> None:
    """The user interrupted and was answered; then the application handed over."""
    booked: list[str] = []
    user = ScriptedUser().says("book a table", at=1.0).says("how long", at=4.5)
    stage = desk_stage(user, booked)
    stage.at(7.0, lambda s: s.session.update_agent(Desk(booked, conversation(s.session))))
    outcome = stage.run(30.0)
    assert booked == ["booked"]
    told = [request for request in outcome.requests if "has arrived" in str(request.shown)]
    assert len(told) == 1
    assert "booked" in [entry.text for entry in told[0].shown if entry.kind == "result"]


@pytest.mark.skipif(not conversation_is_given, reason="in 2.0 the session has the conversation")
def test_an_agent_with_a_conversation_of_its_own_is_shown_no_call() -> None:
    """Nothing of the old conversation belongs to it."""
    outcome = a_kept_turn([], make=lambda booked, _: Desk(booked, {}))
    assert _results(outcome, "how long") == []


def test_an_agent_is_shown_no_call_of_a_tool_that_it_has_not() -> None:
    """It cannot make it again, and some providers refuse calls of unknown tools."""
    assert _results(a_kept_turn([], make=Porter), "how long") == []


def test_results_that_are_older_than_what_was_copied_were_left_out_on_purpose() -> None:
    """Those that came after the copy could not be in it."""
    history = llm.ChatContext.empty()
    asked = history.add_message(role="user", content="book", created_at=1.0)
    for number, at in ((1, 2.0), (2, 4.0)):
        made: dict[str, Any] = {"call_id": f"call_{number}", "name": "book", "created_at": at}
        history.insert(llm.FunctionCall(arguments="{}", **made))
        history.insert(llm.FunctionCallOutput(output="booked", is_error=False, **made))
    said = history.add_message(role="assistant", content="It is booked.", created_at=3.0)
    copy = llm.ChatContext([asked, said])
    assert results_when_copied(history, copy, {}) == {"call_1"}
    assert results_when_copied(history, copy, {"call_1": 3.5}) == frozenset()  # committed late
    assert results_when_copied(history, copy, {"call_1": 3.0}) == frozenset()  # or as it was copied


def test_a_result_that_was_committed_after_the_copy_is_shown_with_a_kept_turn() -> None:
    """It had ended before: LiveKit commits it with the slower call that hands over."""
    noted: list[int] = []

    @function_tool
    async def note() -> str:
        """Note."""
        noted.append(1)
        return "noted"

    @function_tool
    async def transfer(context: RunContext[Any]) -> tuple[Agent, str]:
        """Hand over."""
        await asyncio.sleep(1.0)
        await context.session.say("I put you through.")
        return Clerk([note], conversation(context.session)), "transferred"

    user = ScriptedUser().says("note it", at=1.0).says("how long", at=5.4, stt_delay=0.1)
    calls = [Call("note"), Call("transfer")]
    model = ScriptedLLM(
        {"note it": Reply("", calls=calls), "how long": "An hour."},
        {"transfer": "It is noted, and you are being put through now."},
        retries="nothing was done",
    )
    agent = lambda: Clerk([note, transfer])  # noqa: E731
    outcome = Stage(TurnSession, user=user, llm=model, agent=agent).run(16.0)
    assert _results(outcome, "how long") == ["noted"], outcome.timeline()
    assert noted == [1]


class Clerk(Agent):
    """Hands over to another of its kind, whose conversation it copies in the tool."""

    def __init__(self, tools: list[Any], given: dict[str, Any] | None = None) -> None:
        super().__init__(instructions="Help.", tools=tools, **(given or {}))


SESSIONS = AgentSession, TurnSession


def _handed_over(
    policy: Any, session_class: Any = TurnSession, *, interrupted: bool = True
) -> Outcome:
    """The application interrupts while a call runs that hands over, and later the user asks."""

    @on_interruption(policy)
    @function_tool
    async def transfer(context: RunContext[Any]) -> tuple[Agent, str]:
        """Hand over."""
        await asyncio.sleep(2.0)
        return Clerk([transfer], conversation(context.session)), "transferred"

    async def interrupt(stage: Stage) -> None:
        with contextlib.suppress(RuntimeError):
            await stage.session.interrupt()

    user = ScriptedUser().says("transfer me", at=1.0).says("how long", at=8.0)
    model = ScriptedLLM(
        {"transfer": Reply("", calls=Call("transfer")), "how long": "An hour."},
        {"transfer": "Here you are."},
        retries="nothing was done",
    )
    stage = Stage(session_class, user=user, llm=model, agent=lambda: Clerk([transfer]))
    if interrupted:
        stage.at(3.0, interrupt)
    return stage.run(16.0)


@pytest.mark.parametrize("policy", ["hold", "finish"])
def test_a_call_that_hands_over_although_somebody_interrupts_is_made_once(policy: str) -> None:
    """The copy lacks that very call. LiveKit refuses the handoff of an interrupted turn."""
    outcome = _handed_over(policy)
    assert len(outcome.tools) == 1
    assert _results(outcome, "how long") == ["transferred"]


@pytest.mark.one_in(3)
@pytest.mark.parametrize("policy", ["detach", "cancel", "hold", "finish"])
@pytest.mark.parametrize("words_at", [2.5, 3.2, 4.5, 5.3])
def test_the_next_agents_greeting_is_heard_though_the_user_talks_over_the_reply_before(
    policy: Any, words_at: float
) -> None:
    """The tool gave an agent and a text; the reply about the text is what the user talks over."""

    @on_interruption(policy)
    @function_tool
    async def transfer() -> tuple[Agent, str]:
        """Hand over."""
        await asyncio.sleep(1.0)
        return Desk([], {}), "transferred"

    user = ScriptedUser().says("transfer me", at=1.0).says("how long", at=words_at, stt_delay=0.6)
    model = ScriptedLLM(
        {"transfer": Reply("", calls=Call("transfer")), "how long": "An hour."},
        {"transfer": "I put you through to the other desk now, please wait."},
        retries="nothing was done",
    )
    outcome = Stage(TurnSession, user=user, llm=model, agent=lambda: Clerk([transfer])).run(25.0)
    greeting, answer = (
        outcome.heard_saying("Welcome to the desk."),
        outcome.heard_saying("An hour."),
    )
    assert answer is not None, outcome.timeline()
    if greeting is None:  # the user spoke into the call, which was to end with the turn
        assert policy not in ("hold", "finish")
        assert words_at < 3.1
    else:
        assert greeting.end < answer.start


def test_after_an_ordinary_handoff_the_call_that_handed_over_is_not_made_again() -> None:
    """The tool copies the conversation while it runs. On stock the next agent calls it again,
    unless LiveKit passes the conversation on. Ours is also shown what was said of the call."""
    stock, ours = (_handed_over("detach", kind, interrupted=False) for kind in SESSIONS)
    assert (len(stock.tools) > 1) == conversation_is_given
    assert len(ours.tools) == 1
    assert _results(ours, "how long") == ["transferred"]
    asked = next(request for request in ours.requests if "how long" in request.prompt)
    texts = [entry.text for entry in asked.shown]
    assert texts.index("transferred") < texts.index("Here you are.") < texts.index("how long")


def test_a_run_that_waits_for_a_handoff_does_not_repeat_the_call_that_ended_meanwhile() -> None:
    """The application copied the conversation while the call ran."""
    booked: list[str] = []
    stage = desk_stage(ScriptedUser().says("book a table", at=1.0), booked)
    stage.at(3.0, lambda s: s.session.update_agent(Desk(booked, conversation(s.session))))
    stage.at(3.2, lambda s: s.session.run(user_input="how long"))
    outcome = stage.run(20.0)
    assert booked == ["booked"]
    assert _results(outcome, "how long") == ["booked"]


def test_words_whose_transcript_is_late_asked_for_the_call_that_the_history_has_before_them() -> (
    None
):
    """A realtime model detects turns. The conversation is copied before the transcript, with an
    empty message for the words."""
    booked: list[int] = []

    @function_tool
    async def book() -> str:
        """Book a table."""
        booked.append(1)
        await asyncio.sleep(3.0)
        return "booked"

    user = ScriptedUser().says("book a table", at=1.0, stt_delay=0.9).says("how long", at=4.0)
    answers = ScriptedLLM(
        {"a table": Reply("I see to it.", calls=Call("book"))},
        {"book": "It is booked."},
        otherwise="An hour.",
        retries="nothing was done",
    )
    stage = realtime(user, answers, agent=lambda: Clerk([book]))
    stage.at(
        2.7,
        lambda s: s.session.update_agent(Clerk([book], conversation(s.session))),
    )
    outcome = stage.run(20.0)
    assert booked == [1], outcome.timeline()
    assert "booked" in [e.text for e in outcome.requests[-1].shown if e.kind == "result"]


def test_the_next_agent_gets_a_call_that_was_made_behind_words_that_nobody_has_answered() -> None:
    """Another reply is about to make the call as they come. The call does not belong to them."""
    booked: list[int] = []

    @function_tool
    async def book() -> str:
        """Book a table."""
        booked.append(1)
        return "booked"

    user = ScriptedUser().says("book a table", at=1.0, duration=0.6, stt_delay=0.1)
    user.says("how long", at=2.0, duration=0.6, stt_delay=0.2)
    answers = ScriptedLLM(
        {"a table": Reply("I see to it.", Call("book"), ttft=1.5), "how long": "An hour."},
        {"book": "It is booked."},
        retries="nothing was done",
    )
    stage = realtime(user, answers, detects=False, detection="manual", agent=lambda: Clerk([book]))
    for at in (1.8, 2.8):
        stage.at(at, lambda s: s.session.commit_user_turn() and None)
    stage.at(
        2.2,
        lambda s: s.session.update_agent(Clerk([book], conversation(s.session))),
    )
    outcome = stage.run(20.0)
    assert booked == [1], outcome.timeline()
    assert _results(outcome, "how long") == ["booked"]


def _results(outcome: Outcome, prompt: str) -> list[str]:
    """What the request for this prompt shows of calls."""
    request = next(request for request in outcome.requests if prompt in request.prompt)
    return [entry.text for entry in request.shown if entry.kind == "result"]


def test_a_filler_is_silent_while_the_agent_hands_over() -> None:
    """The handoff waits for the call. LiveKit refuses what is said then, and logs an error."""

    @on_interruption("hold")
    @function_tool
    async def book(ctx: RunContext[Any]) -> str:
        """Book."""
        async with ctx.with_filler("One moment.", delay=1.0, interval=1.0):
            await asyncio.sleep(6.0)
        return "booked"

    user = ScriptedUser().says("book it", at=0.5)
    model = ScriptedLLM({"book it": Reply(calls=Call("book"))}, {"book": "It is booked."})
    stage = Stage(TurnSession, user=user, llm=model, tools=[book])
    stage.at(4.5, lambda stage: stage.session.update_agent(Agent(instructions="Go on.")))
    outcome = stage.run(20.0)
    assert outcome.heard_saying("One moment.") is not None, outcome.timeline()
    assert outcome.heard_saying("It is booked.") is not None, outcome.timeline()
    assert outcome.errors == [], outcome.timeline()


def test_a_commit_without_words_during_a_handoff_is_not_answered_by_the_next_agent() -> None:
    """The application commits at 4.0 s; LiveKit waits for words until 5.0 s. The agent hands over
    when the answer was heard."""
    story = "Once upon a time there was a lighthouse."
    user = ScriptedUser().says("tell me a story", at=1.0)
    voice = ScriptedTTS(durations={story: 6.0})
    stage = Stage(
        TurnSession,
        user=user,
        llm=ScriptedLLM({"story": story}),
        tts=voice,
        turn_handling={"turn_detection": "manual"},
    )
    stage.at(2.5, lambda stage: stage.session.commit_user_turn())
    stage.at(4.0, lambda stage: stage.session.commit_user_turn())
    stage.at(4.1, lambda stage: stage.session.update_agent(Agent(instructions="Help.")))
    outcome = stage.run(20.0)
    assert [heard.text for heard in outcome.heard] == [story], outcome.timeline()
