"""What the model is told about tool calls is true, and no call is made twice because of it."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Any

import pytest
from livekit.agents import Agent, RunContext, function_tool, llm
from realtime_stage import Says
from scripted_tool import tool

from turnfsm.livekit import TurnContext, TurnSession, on_interruption
from turnfsm.runtime.testing.livekit import (
    Call,
    Outcome,
    Reply,
    Request,
    ScriptedLLM,
    ScriptedTTS,
    ScriptedUser,
    Stage,
)

CHARGE, AND = "charge my card", "wait and what else"
SAID = "I am charging your card now, this takes a moment."


def _believes(name: str, done: str, after: str) -> Any:
    """A model that makes a call again unless it is shown that the call was made and gave `done`,
    or still runs."""

    def answer(request: Request) -> Reply:
        calls = {i.call_id: i for i in request.chat_ctx.items if i.type == "function_call"}
        outputs = {i.call_id: i.output for i in request.chat_ctx.items if _is_output(i)}
        made = [outputs.get(id, "running") for id, call in calls.items() if call.name == name]
        if any(done in output or "running" in output for output in made):
            return Reply(after)
        return Reply(calls=Call(name))

    return answer


def _is_output(item: llm.ChatItem) -> bool:
    return item.type == "function_call_output"


def _outputs(outcome: Outcome) -> list[str]:
    return [i.output for i in outcome.history.items if i.type == "function_call_output"]


# -- a wait inside a tool


async def _says(ctx: RunContext[Any]) -> None:
    await ctx.session.say(SAID)


async def _replies(ctx: RunContext[Any]) -> None:
    await ctx.session.generate_reply(instructions="say that it takes a moment")


async def _waits_after_its_commit_point(ctx: RunContext[Any]) -> None:
    await ctx.wait_for_playout()


def _charges(effects: list[str], wait: Any, ask: bool) -> Any:
    @function_tool
    async def charge(ctx: TurnContext) -> str:
        """Charge the card."""
        if ask:
            await ctx.commit_point()
        effects.append("debited")
        await wait(ctx)
        effects.append("credited")
        return "charged"

    return charge


@pytest.mark.parametrize("policy", ["detach", "hold", "finish"])
@pytest.mark.parametrize(
    ("wait", "ask"),
    [
        (_says, False),
        (_replies, False),
        (_waits_after_its_commit_point, True),
    ],
    ids=["say", "generate_reply", "wait_for_playout"],
)
def test_a_tool_that_waits_after_its_effect_is_not_cut_off(
    policy: Any, wait: Any, ask: bool
) -> None:
    """The user talks into what the tool says: it goes on, and the model reads its result."""
    effects: list[str] = []
    tool = on_interruption(policy)(_charges(effects, wait, ask))
    preamble = SAID if wait is _waits_after_its_commit_point else ""
    model = ScriptedLLM(
        {
            "card": Reply(text=preamble, calls=Call("charge")),
            "what else": _believes("charge", "charged", "Nothing else."),
            "takes a moment": SAID,
        },
        {"charge": "It is charged."},
    )
    tts = ScriptedTTS(durations={SAID: 4.0})
    user = ScriptedUser().says(CHARGE, at=1.0).says(AND, at=4.0)
    stage = Stage(TurnSession, user=user, llm=model, tts=tts, tools=[tool])
    outcome = stage.run(30.0)
    assert effects == ["debited", "credited"], outcome.timeline()
    assert "charged" in _outputs(outcome)[-1]


def test_a_wait_that_is_cut_before_any_commit_point_says_what_is_known() -> None:
    """Nobody knows what a tool did before it waited for its preamble: the model reads that."""
    effects: list[str] = []

    @function_tool
    async def charge(ctx: RunContext[Any]) -> str:
        """Charge the card."""
        effects.append("debited")
        await ctx.wait_for_playout()
        effects.append("credited")
        return "charged"

    model = ScriptedLLM({"card": Reply(text=SAID, calls=Call("charge"))})
    tts = ScriptedTTS(durations={SAID: 4.0})
    user = ScriptedUser().says(CHARGE, at=1.0).says(AND, at=4.0)
    outcome = Stage(TurnSession, user=user, llm=model, tts=tts, tools=[charge]).run(15.0)
    assert effects == ["debited"]
    (output,) = _outputs(outcome)
    assert "nothing was done" not in output
    assert "not known whether it took effect" in output


def test_a_second_commit_point_does_not_say_that_nothing_was_done() -> None:
    """After the first one the tool may have had an effect."""

    @function_tool
    async def charge(ctx: TurnContext) -> str:
        """Charge the card."""
        await ctx.commit_point()
        await asyncio.sleep(5.0)
        await ctx.commit_point()
        return "charged"

    model = ScriptedLLM({"card": Reply(calls=Call("charge"))})
    user = ScriptedUser().says(CHARGE, at=1.0).says(AND, at=4.0)
    outcome = Stage(TurnSession, user=user, llm=model, tools=[charge]).run(15.0)
    assert ["not known whether it took effect" in output for output in _outputs(outcome)] == [True]


# -- a request that comes while a result is not in the conversation yet


def _book(ran: list[float], seconds: float) -> Any:
    @function_tool
    async def book() -> str:
        """Book a table."""
        ran.append(asyncio.get_running_loop().time())
        await asyncio.sleep(seconds)
        return "booked"

    return book


def test_a_request_has_the_results_that_are_not_committed() -> None:
    """The tool ends while its preamble is heard, and the application asks for a reply."""
    ran: list[float] = []
    preamble = "One moment, I am looking for a free table for you."
    model = ScriptedLLM(
        {
            "table": Reply(text=preamble, calls=Call("book")),
            "done": _believes("book", "booked", "Yes, it is."),
        },
        {"book": "Your table is booked."},
    )
    tts = ScriptedTTS(durations={preamble: 6.0})
    user = ScriptedUser().says("book a table", at=1.0)
    stage = Stage(TurnSession, user=user, llm=model, tts=tts, tools=[_book(ran, 0.5)])
    stage.at(5.0, lambda s: s.session.generate_reply(user_input="is it done") and None)
    outcome = stage.run(25.0)
    assert len(ran) == 1, outcome.timeline()
    asked = next(r for r in model.requests if "is it done" in r.prompt)
    assert asked.at < 5.1
    posted = [e for e in stage.session.turn.journal if e.trigger == "results_committed"]  # type: ignore[attr-defined]
    assert len(posted) == 1
    assert [e.data for e in posted if e.data] == []


class _Thoughtful(Agent):
    """Its hook takes as long as a look-up of the user."""

    def __init__(self, tools: list[Any]) -> None:
        super().__init__(instructions="Help.", tools=tools)

    async def on_user_turn_completed(
        self, turn_ctx: llm.ChatContext, new_message: llm.ChatMessage
    ) -> None:
        await asyncio.sleep(1.5)


def test_a_request_has_what_ended_while_the_agents_hook_ran() -> None:
    """LiveKit copies the conversation before the hook; the call ends during it."""
    ran: list[float] = []
    model = ScriptedLLM(
        {
            "table": Reply(calls=Call("book")),
            "done": _believes("book", "booked", "Yes, it is."),
        },
        {"book": "Your table is booked."},
    )
    user = ScriptedUser().says("book a table", at=1.0).says("is it done", at=6.0)
    agent = partial(_Thoughtful, [_book(ran, 4.0)])
    outcome = Stage(TurnSession, user=user, llm=model, agent=agent).run(25.0)
    assert len(ran) == 1, outcome.timeline()
    assert _outputs(outcome) == ["booked"]


def test_what_the_user_asks_comes_last_in_a_request() -> None:
    """A call that goes on in the background ends while the hook runs: the model is asked about the
    user's words, not about the result."""

    @function_tool
    async def book(ctx: RunContext[Any]) -> str:
        """Book."""
        await ctx.update("I am looking")
        await asyncio.sleep(8.0)
        return "booked"

    last: list[str] = []

    def joke(request: Request) -> Reply:
        last.append(request.shown[-1].text)
        assert any("booked" in entry.text for entry in request.shown)
        return Reply("Here is a joke.")

    model = ScriptedLLM(
        {"table": Reply(calls=Call("book")), "joke": joke}, {"book": "It is booked."}
    )
    user = ScriptedUser().says("book a table", at=1.0).says("tell me a joke", at=9.5)
    agent = partial(_Thoughtful, [book])
    turns = {"preemptive_generation": {"enabled": False}}
    stage = Stage(TurnSession, user=user, llm=model, agent=agent, turn_handling=turns)
    outcome = stage.run(25.0)
    assert last[0] == "tell me a joke", outcome.timeline()
    assert outcome.heard_saying("Here is a joke.") is not None


# -- a call that no turn waits for


@pytest.mark.parametrize("ttft", [0.2, 2.0], ids=["kept", "interrupted"])
def test_a_result_is_told_with_the_answer_to_what_the_user_said_meanwhile(ttft: float) -> None:
    """The call ends and the user's words, kept while it held its turn or said while the model
    thinks of the result, take the place of the reply that was to tell it. What was told, or begun
    to be told, is not asked for again."""

    @on_interruption("hold" if ttft < 1.0 else "detach")
    @function_tool
    async def book() -> str:
        """Book."""
        await asyncio.sleep(6.0 if ttft < 1.0 else 1.0)
        return "booked"

    def joke(request: Request) -> str:
        besides = any("not have heard of the result" in entry.text for entry in request.shown[-2:])
        return "Here is a joke." + " Your table is booked." * besides

    user = ScriptedUser().says("book a table", at=1.0).says("tell me a joke", at=3.7)
    user.says("tell me another joke", at=15.0)
    model = ScriptedLLM(
        {"book": Reply(calls=Call("book")), "joke": joke},
        {"book": Reply("Your table is booked.", ttft=ttft)},
    )
    outcome = Stage(TurnSession, user=user, llm=model, tools=[book]).run(25.0)
    assert [heard.text for heard in outcome.heard] == [
        "Here is a joke. Your table is booked.",
        "Here is a joke.",
    ]


def test_a_released_call_that_a_close_cancels_is_cancelled_for_all() -> None:
    """The ledger and the history say that it was cancelled; it is no empty success."""
    model = ScriptedLLM(
        {"table": Reply(calls=Call("book")), "joke": "Here is a joke."}, {"book": "It is not done."}
    )
    user = ScriptedUser().says("book a table", at=1.0).says("no stop tell me a joke", at=5.0)
    limits = {"drain_limit": 2.0}
    stage = Stage(TurnSession, user=user, llm=model, tools=[_book([], 12.0)], timers=limits)
    outcome = stage.at(8.5, lambda s: s.session.aclose()).run(30.0)
    (call,) = stage.session.ledger  # type: ignore[attr-defined]
    assert (call.end, call.gave) == ("released", "cancelled")
    (output,) = [i for i in outcome.history.items if i.type == "function_call_output"]
    assert "cancelled" in output.output
    assert output.is_error


@pytest.mark.exhaustive
def test_calls_of_the_past_are_forgotten() -> None:
    """After many interrupted turns nothing is kept of a call from which nothing more comes."""
    user, turns = ScriptedUser(), 30
    for number in range(turns):
        user.says("book a table", at=1.0 + 8.0 * number).says("tell a joke", at=5.0 + 8.0 * number)
    model = ScriptedLLM(
        {"table": Reply(calls=Call("book")), "joke": "Here is a joke."}, {"book": "It is booked."}
    )
    stage = Stage(TurnSession, user=user, llm=model, tools=[_book([], 3.0)])
    kept: list[int] = []
    tools = lambda: stage.session._conductor.tools  # type: ignore[attr-defined]  # noqa: E731
    stage.at(1.0 + 8.0 * turns, lambda s: kept.append(len(tools()._calls)))
    stage.run(4.0 + 8.0 * turns)
    assert len(stage.session.ledger) == turns  # type: ignore[attr-defined]
    assert kept == [0]


# -- a turn that waits for a call which holds its turn, while something else is said


def _holds(policy: Any, effects: list[str], wait: Any = None) -> Any:
    @on_interruption(policy)
    @function_tool
    async def charge(ctx: RunContext[Any]) -> str:
        """Charge the card."""
        effects.append("debited")
        await asyncio.sleep(1.0)
        if wait is not None:
            await wait(ctx)
        await asyncio.sleep(3.0)
        return "charged"

    return charge


@pytest.mark.parametrize("policy", ["hold", "finish"])
@pytest.mark.parametrize(
    ("wait", "user", "say"),
    [(_says, 2.6, None), (None, 2.3, 4.0)],
    ids=["the tool speaks", "the application speaks"],
)
def test_a_turn_waits_for_a_held_call_whatever_is_said(
    policy: Any, wait: Any, user: float, say: float | None
) -> None:
    """The model is asked once the call has ended, and sees its result."""
    effects: list[str] = []
    seen: list[str] = []

    def what_else(request: Request) -> Reply:
        seen.append(" ".join(entry.text for entry in request.shown if entry.kind == "result"))
        reply: Reply = _believes("charge", "charged", "Nothing else.")(request)
        return reply

    model = ScriptedLLM({"card": Reply(calls=Call("charge")), "what else": what_else})
    tts = ScriptedTTS(durations={SAID: 2.0})
    script = ScriptedUser().says(CHARGE, at=0.5).says(AND, at=user)
    stage = Stage(
        TurnSession, user=script, llm=model, tts=tts, tools=[_holds(policy, effects, wait)]
    )
    if say is not None:
        stage.at(say, lambda stage: stage.session.say(SAID))
    outcome = stage.run(20.0)
    assert effects == ["debited"]
    assert seen == ["charged"], outcome.timeline()
    assert outcome.heard_saying("Nothing else.") is not None


def test_words_come_last_although_a_call_was_made_after_them() -> None:
    """The hook looks at what the user said while the application has something else done. The
    request shows a call that goes on, and the words behind it: they are what is to be answered."""
    model = ScriptedLLM({"table": Reply(calls=Call("book")), "joke": "Here is a joke."})
    user = ScriptedUser().says("tell me a joke", at=1.0)
    agent = partial(_Thoughtful, [_book([], 6.0)])
    turns = {"preemptive_generation": {"enabled": False}}
    stage = Stage(TurnSession, user=user, llm=model, agent=agent, turn_handling=turns)
    stage.at(3.0, lambda s: s.session.generate_reply(user_input="book a table"))
    requests = stage.run(20.0).requests
    asked = next(r for r in requests if any(e.text == "tell me a joke" for e in r.shown))
    assert any("still in progress" in entry.text for entry in asked.shown)
    assert asked.shown[-1].text == "tell me a joke"


# -- two requests at a time


def _charge_once(ran: list[str]) -> Any:
    return tool("charge", "charged", ran=ran)


def test_two_requests_do_not_make_the_same_call() -> None:
    """The second is made before the model has answered the first: it waits for the first's calls,
    as it would be heard after it anyway."""
    ran: list[str] = []
    model = ScriptedLLM(
        {"card": Reply(calls=Call("charge"), ttft=1.0), "what else": "Nothing else."},
        {"charge": "It is charged."},
    )
    stage = Stage(TurnSession, user=ScriptedUser(), llm=model, tools=[_charge_once(ran)])
    stage.at(1.0, lambda s: s.session.generate_reply(user_input=CHARGE))
    stage.at(1.5, lambda s: s.session.generate_reply(user_input=AND))
    outcome = stage.run(15.0)
    assert ran == ["charge"], outcome.timeline()
    assert outcome.heard_saying("Nothing else.") is not None
    assert outcome.heard_saying("It is charged.") is not None


def test_words_whose_reply_was_cut_are_answered_once() -> None:
    """The reply to a question was interrupted before it was heard, the next one answers both. What
    the application asks for meanwhile sees neither."""
    model = ScriptedLLM({"card": Reply("Charged.", ttft=2.0), "what else": Reply("Both.", ttft=1)})
    stage = Stage(TurnSession, user=ScriptedUser(), llm=model)
    stage.at(1.0, lambda s: s.session.generate_reply(user_input=CHARGE))
    stage.at(1.5, lambda s: s.session.interrupt() and None)
    stage.at(1.6, lambda s: s.session.generate_reply(user_input=AND))
    stage.at(2.0, lambda s: s.session.generate_reply(instructions="Be kind."))
    last = stage.run(15.0).requests[-1]
    assert [entry.text for entry in last.shown if entry.kind == "user"] == []


def test_a_reply_to_a_result_does_not_answer_the_user_as_well() -> None:
    """A tool ends while the user's next words are being answered: the reply to its result is asked
    for without them, and makes no call for them."""
    ran: list[str] = []
    model = ScriptedLLM(
        {"table": Reply(calls=Call("book")), "card": Reply(calls=Call("charge"), ttft=2.0)},
        {"book": "It is booked.", "charge": "It is charged."},
    )
    tools = [_book([], 2.0), _charge_once(ran)]
    stage = Stage(TurnSession, user=ScriptedUser(), llm=model, tools=tools)
    stage.at(1.0, lambda s: s.session.generate_reply(user_input="book a table"))
    stage.at(2.5, lambda s: s.session.generate_reply(user_input=CHARGE))
    outcome = stage.run(15.0)
    assert ran == ["charge"], outcome.timeline()
    assert outcome.heard_saying("It is booked.") is not None
    assert outcome.heard_saying("It is charged.") is not None


@pytest.mark.parametrize("speculates", [False, True])
def test_a_typed_line_is_not_answered_with_the_calls_for_newer_words(speculates: bool) -> None:
    """It waits for the reply that the user talks over. The words that end this wait are answered
    behind it, with their own calls."""
    ran: list[str] = []
    story = "Once upon a time there was a king who had three daughters and no sons at all."
    model = ScriptedLLM(
        {"story": story, "card": Reply(calls=Call("charge")), "what else": "Nothing else."},
        {"charge": "It is charged."},
        retries="nothing was done",
    )
    user = ScriptedUser().says("a story", at=1.0).says(CHARGE, at=4.0, duration=1.2, stt_delay=1.5)
    stage = Stage(
        TurnSession,
        user=user,
        llm=model,
        tools=[_charge_once(ran)],
        turn_handling={"preemptive_generation": {"enabled": speculates}},
    )
    stage.at(5.2, lambda s: s.session.generate_reply(user_input=AND) and None)
    outcome = stage.run(16.0)
    assert ran == ["charge"], outcome.timeline()
    assert outcome.heard_saying("Nothing else.") is not None
    assert outcome.heard_saying("It is charged.") is not None


def test_a_handoff_that_was_refused_is_said_behind_what_the_tool_gave() -> None:
    """The user interrupts before the tool ends, which hands over and has something to say."""

    @function_tool
    async def transfer() -> Any:
        """Transfer the user."""
        await asyncio.sleep(4.0)
        return Says("I am the next one."), "noted"

    model = ScriptedLLM(
        {"agent": Reply(calls=Call("transfer")), "joke": "Here is a joke."},
        {"transfer": "It is noted."},
    )
    user = ScriptedUser().says("give me an agent", at=1.0).says("tell me a joke", at=3.5)
    outcome = Stage(TurnSession, user=user, llm=model, tools=[transfer]).run(20.0)
    assert _outputs(outcome) == ["noted; the handoff did not happen: its turn was interrupted"]
    assert outcome.heard_saying("I am the next one.") is None
