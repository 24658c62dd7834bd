"""Tools and waits of realtime models: what holds of a pipeline holds of speech to speech."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest
from livekit.agents import Agent, RunContext, function_tool, llm
from livekit.agents.voice import SpeechHandle
from realtime_stage import Says, realtime
from scripted_tool import tool

from turnfsm.fsm.agenda.entries import AnswerDue
from turnfsm.livekit import SpeechInterrupted
from turnfsm.runtime.livekit.overrides.conversation import ChatContextSync
from turnfsm.runtime.livekit.overrides.tool_context import REFUSED
from turnfsm.runtime.livekit.overrides.tools import STILL_RUNNING
from turnfsm.runtime.log import Log
from turnfsm.runtime.testing.clock import run
from turnfsm.runtime.testing.livekit import (
    Call,
    Outcome,
    Reply,
    ScriptedLLM,
    ScriptedUser,
    Stage,
)

BOTH = pytest.mark.parametrize("detects", [True, False], ids=["server", "client"])
AUTO = pytest.mark.parametrize("auto", [True, False], ids=["auto", "asked"])


def _stage(
    user: ScriptedUser, tool: Any, *, detects: bool, auto: bool, text: str = "", agent: Any = None
) -> Stage:
    answers = ScriptedLLM(
        {
            "reserve": Reply(text, calls=Call("book")),
            "result of": "Your table is booked.",
            "joke": "Here is a joke.",
            "else": "What else can I do?",
        },
        {"book": "Your table is booked."},
    )
    given = {"detects": detects, "auto": auto}
    if agent is not None:
        return realtime(user, answers, agent=agent, **given)
    return realtime(user, answers, tool, **given)


def _calls(stage: Stage, outcome: Outcome) -> tuple[list[str], list[str]]:
    """How the ledger says that calls ended, and the outputs in the history."""
    ledger: Any = stage.session.ledger  # type: ignore[attr-defined]
    items = outcome.history.items
    outputs = [item.output for item in items if item.type == "function_call_output"]
    return [call.end for call in ledger], outputs


@BOTH
@AUTO
@pytest.mark.parametrize("preamble", ["", "I am booking a table for you tonight at eight."])
def test_a_call_whose_turn_is_interrupted_is_made_once(
    detects: bool, auto: bool, preamble: str
) -> None:
    """The user speaks over the preamble or while a silent tool runs: it goes on, its result is
    committed once, and the user hears of it. A model that is asked for replies is told at once
    that it goes on; one that replies by itself would say so into the user's turn."""
    ran: list[float] = []

    @function_tool
    async def book() -> str:
        """Book."""
        await asyncio.sleep(6.0)
        ran.append(stage.now)
        return "booked"

    user = ScriptedUser().says("reserve a table", at=1.0).says("no tell me a joke", at=3.5)
    stage = _stage(user, book, detects=detects, auto=auto, text=preamble)
    outcome = stage.run(25.0)
    assert len(ran) == 1
    told = ["booked"] if auto else [STILL_RUNNING, "booked"]
    assert _calls(stage, outcome) == (["released"], told)
    (model,) = stage.llm.sessions  # type: ignore[union-attr]
    assert "Here is a joke." in [item.text_content for item in model.chat_ctx.messages()]
    joke, booked = outcome.heard_saying("Here is a joke."), outcome.heard_saying("table is booked")
    assert joke is not None, outcome.timeline()
    assert booked is not None, outcome.timeline()
    assert joke.start < 7.0
    assert outcome.errors == []
    assert outcome.orphans == ()


@BOTH
@AUTO
def test_a_call_that_is_cancelled_says_so_to_the_model(detects: bool, auto: bool) -> None:
    """Policy cancel, and the model waits for the tool alone: its output is no empty success."""
    book = tool("book", "booked", seconds=6.0, policy="cancel")
    user = ScriptedUser().says("reserve a table", at=1.0).says("no tell me a joke", at=3.5)
    stage = _stage(user, book, detects=detects, auto=auto)
    outcome = stage.run(25.0)
    said = ["cancelled: its turn was interrupted before it had ended"]
    assert _calls(stage, outcome) == (["cancelled"], said)
    (model,) = stage.llm.sessions  # type: ignore[union-attr]
    held = [item for item in model.chat_ctx.items if item.type == "function_call_output"]
    assert [(item.output, item.is_error) for item in held] == [(said[0], True)]


@BOTH
def test_a_wait_for_the_preamble_ends_with_the_interruption(detects: bool) -> None:
    """wait_for_playout raises at once, the tool ends as interrupted, the next request is heard."""
    waits: list[tuple[float, str]] = []

    @function_tool
    async def book(ctx: RunContext[Any]) -> str:
        """Book."""
        try:
            await ctx.wait_for_playout()
        except SpeechInterrupted as error:
            waits.append((stage.now, error.speech_id))
            raise
        return "booked"

    user = ScriptedUser().says("reserve a table", at=1.0)
    preamble = "I am booking a table for you tonight at eight o'clock."
    stage = _stage(user, book, detects=detects, auto=False, text=preamble)

    def interrupt(stage: Stage) -> None:
        stage.session.interrupt()
        stage.session.generate_reply(user_input="something else")

    outcome = stage.at(4.0, interrupt).run(15.0)
    ((at, said),) = waits
    assert at == pytest.approx(4.0, abs=0.05)
    assert said.startswith("speech_")
    answer = outcome.heard_saying("What else can I do?")
    assert answer is not None, outcome.timeline()
    assert answer.start < 5.5
    assert outcome.errors == []


def test_a_result_that_comes_before_the_reply_to_newer_words_does_not_take_their_place() -> None:
    """The tool ends while `on_user_turn_completed` runs: the model answers what comes last."""
    book = tool("book", "booked", seconds=2.8)

    class Slow(Agent):
        async def on_user_turn_completed(self, turn_ctx: Any, new_message: Any) -> None:
            await asyncio.sleep(1.0)

    user = ScriptedUser().says("reserve a table", at=1.0, duration=0.6)
    user.says("tell me a joke", at=4.5, duration=0.6)
    agent = lambda: Slow(instructions="Help.", tools=[book])  # noqa: E731
    outcome = _stage(user, book, detects=False, auto=False, agent=agent).run(14.0)
    asked = next(r for r in outcome.requests if "joke" in str(r.shown))
    shown = [entry.text for entry in asked.shown if entry.kind in ("user", "result")]
    assert shown == ["reserve a table", STILL_RUNNING, "booked", "tell me a joke"], (
        outcome.timeline()
    )


@pytest.mark.skipif(
    not hasattr(RunContext, "_make_update_output"), reason="livekit-agents 2.0 refuses it itself"
)
@BOTH
def test_an_interrupted_turn_hands_nobody_over(detects: bool) -> None:
    """A tool returns an agent after the interruption: the model is told that nothing happened."""

    @function_tool
    async def book() -> Agent:
        """Book."""
        await asyncio.sleep(4.0)
        return Agent(instructions="Go on.")

    user = ScriptedUser().says("reserve a table", at=1.0).says("no tell me a joke", at=4.0)
    stage = _stage(user, book, detects=detects, auto=False)
    outcome = stage.run(20.0)
    assert outcome.errors == []
    assert _calls(stage, outcome) == (["released"], [STILL_RUNNING, REFUSED])
    handoffs = [item for item in outcome.history.items if item.type == "agent_handoff"]
    assert len(handoffs) == 1  # the first agent


@BOTH
def test_a_speech_whose_calls_have_ended_does_not_outlive_its_turn(detects: bool) -> None:
    """It waits until nobody speaks; interrupted, it is over, and no watchdog has to end it."""

    speeches: list[SpeechHandle] = []

    @function_tool
    async def book(ctx: RunContext[Any]) -> str:
        """Book."""
        speeches.append(ctx.speech_handle)
        await asyncio.sleep(1.0)
        return "booked"

    def say(stage: Stage) -> None:
        stage.session.say("This must be heard: " + "word " * 30, allow_interruptions=False)

    user = ScriptedUser().says("reserve a table", at=1.0)
    stage = _stage(user, book, detects=detects, auto=False)
    stage.at(3.0, say)
    stage.at(6.0, lambda s: speeches[0].interrupt() and None)
    outcome = stage.run(25.0)
    assert outcome.errors == []


class _SlowServer:
    """What it has been sent stands in its conversation a second later."""

    def __init__(self, *items: llm.ChatItem) -> None:
        self.chat_ctx = llm.ChatContext(list(items))
        self.created: list[str] = []
        self.capabilities = SimpleNamespace(
            auto_tool_reply_generation=False, mutable_chat_context=True
        )

    async def update_chat_ctx(self, chat_ctx: llm.ChatContext) -> None:
        known = {item.id for item in self.chat_ctx.items}
        self.created += [item.id for item in chat_ctx.items if item.id not in known]
        await asyncio.sleep(1.0)
        self.chat_ctx = chat_ctx

    def generate_reply(self, **how: Any) -> asyncio.Future[Any]:
        return asyncio.Future()


def _asker(*words: str) -> Any:
    """An activity whose speech is to answer these messages of the user."""
    return SimpleNamespace(answers_messages=lambda: bool(words), about_to_ask=lambda given: given)


def _log(*words: str) -> Log:
    """The log of a conversation in which these messages of the user are to be answered."""
    log = Log(lambda: None, lambda end: None)
    for id in words:
        log.add(AnswerDue(id))
    return log


def test_a_result_on_its_way_is_not_sent_again() -> None:
    """LiveKit sends a result, too; the server would refuse an item that it has been sent before."""
    call = llm.FunctionCall(call_id="call_1", name="book", arguments="{}")
    said = llm.ChatMessage(role="user", content=["hello"])
    result = llm.FunctionCallOutput(call_id="call_1", name="book", output="done", is_error=False)

    async def main() -> None:
        told = asyncio.create_task(sync.tell([result]))
        await asyncio.sleep(0.5)
        await sync(llm.ChatContext([call, said, result]))
        await told

    server: Any = _SlowServer(call, said)
    sync = ChatContextSync(server, _log(), llm.ChatContext([call, said]).get_by_id, _asker())
    run(main())
    assert server.created == [result.id]
    assert [item.type for item in server.chat_ctx.items][:2] == [call.type, result.type]


def test_a_reply_that_is_asked_for_while_another_is_asked_for_is_no_error() -> None:
    """Both are to answer the same words, which are put last for the first of them."""
    said = llm.ChatMessage(role="user", content=["hello"])
    late = llm.ChatMessage(role="assistant", content=["a moment please"])

    async def main() -> None:
        asked = [sync.generate_reply() for _ in range(2)]
        await asyncio.wait(asked, timeout=10.0)
        assert [reply.done() for reply in asked] == [False, False], "the model has not begun"
        for reply in asked:
            reply.cancel()

    server: Any = _SlowServer(said, late)
    sync = ChatContextSync(
        server, _log(said.id), llm.ChatContext([said, late]).get_by_id, _asker(said.id)
    )
    run(main())
    assert [item.id for item in server.chat_ctx.items] == [late.id, said.id]


@BOTH
def test_a_result_is_told_though_others_have_spoken_since(detects: bool) -> None:
    """While a tool runs the application asks for something else: the model, which has the result
    behind its call, is asked about the result afterwards, and not about the latest words again."""
    book = tool("book", "booked", seconds=4.0)
    user = ScriptedUser().says("reserve a table", at=1.0)
    stage = _stage(user, book, detects=detects, auto=False)
    stage.at(4.0, lambda s: s.session.generate_reply(user_input="tell me a joke") and None)
    outcome = stage.run(25.0)
    said = [heard.text for heard in outcome.heard]
    assert said == ["Here is a joke.", "Your table is booked."]


@BOTH
@pytest.mark.parametrize("seconds", [3.5, 5.0, 7.0])
def test_a_model_that_replies_by_itself_is_not_asked_about_a_late_result(
    detects: bool, seconds: float
) -> None:
    """The user interrupts while the tool runs; the model tells of the result when it gets it, and
    nobody else asks for a reply about it."""
    book = tool("book", "booked", seconds=seconds)
    user = ScriptedUser().says("reserve a table", at=1.0).says("no tell me a joke", at=4.0)
    outcome = _stage(user, book, detects=detects, auto=True).run(20.0)
    about = [r.prompt for r in outcome.requests if "book" in r.prompt]
    assert about == ["tool book: booked"], outcome.timeline()
    said = [heard for heard in outcome.heard if "table is booked" in heard.text]
    assert len(said) == 1, outcome.timeline()


def test_words_without_a_transcript_stay_with_the_model() -> None:
    """LiveKit sends the conversation when a reply that nobody has heard is interrupted; the words
    that interrupt it are not in there yet."""

    async def main() -> None:
        await sync(llm.ChatContext([known]))

    known, gone, new = (
        llm.ChatMessage(id=f"item_{n}", role="user", content=[f"words {n}"]) for n in range(3)
    )
    server: Any = _SlowServer(known, gone)
    server.chat_ctx.items.append(new)
    sync = ChatContextSync(server, _log(), llm.ChatContext([known, gone]).get_by_id, _asker())
    run(main())
    assert [item.id for item in server.chat_ctx.items] == [known.id, new.id]


def test_what_is_said_while_a_model_thinks_about_its_answer_is_heard_at_once() -> None:
    """The model has ended the user's turn by itself, and nothing that is said cuts its answer."""

    user = ScriptedUser().says("tell me a joke", at=1.0)
    stage = realtime(user, ScriptedLLM({"joke": Reply("Here is a joke.", ttft=1.5)}))
    stage.at(2.8, lambda stage: stage.session.say("One moment."))
    outcome = stage.run(10.0)
    begun = [(heard.text, round(heard.start, 2)) for heard in outcome.heard]
    assert begun == [("One moment.", 2.9), ("Here is a joke.", 4.25)], outcome.timeline()


@pytest.mark.parametrize("policy", ["hold", "finish"])
def test_who_speaks_over_a_tool_that_holds_its_turn_is_answered_before_it_is_told(
    policy: Any,
) -> None:
    """The tool ends while the user speaks: the model that has heard them answers at once, as it
    does on AgentSession; what came of the tool is told after that."""
    book = tool("book", "booked", seconds=2.5, policy=policy)
    user = ScriptedUser().says("reserve a table", at=1.0)
    user.says("no tell me a joke now please", at=4.5)
    stage = _stage(user, book, detects=True, auto=False)
    outcome = stage.run(20.0)
    assert _calls(stage, outcome) == (["released"], ["booked"])
    said = [heard.text for heard in outcome.heard]
    assert said == ["Here is a joke.", "Your table is booked."], outcome.timeline()
    assert outcome.heard[0].start < user.utterances[1].end + 1.0
    assert outcome.errors == []


def test_a_result_whose_reply_nobody_heard_is_told_after_the_models_own_answer() -> None:
    """A model that detects turns answers by itself: nobody asks it to tell the result as well."""
    book = tool("book", "booked")
    user = ScriptedUser().says("reserve a table", at=1.0).says("no tell me a joke", at=2.75)
    stage = _stage(user, book, detects=True, auto=False)
    outcome = stage.run(20.0)
    first = next(r for r in outcome.requests if "result of" in r.prompt or "tool book" in r.prompt)
    assert first.outcome == "cancelled", outcome.timeline()
    said = [heard.text for heard in outcome.heard]
    assert said == ["Here is a joke.", "Your table is booked."], outcome.timeline()


def test_a_result_is_told_if_the_call_beside_it_lets_go_of_their_turn() -> None:
    """The user speaks over two calls, and the model answers. The turn ends with the call that holds
    it; the other one has ended before."""
    pay = tool("pay", "", seconds=8.0, policy="hold")
    book = tool("book", "booked", seconds=6.0)
    user = ScriptedUser().says("reserve a table", at=1.0).says("no tell me a joke", at=4.5)
    answers = ScriptedLLM(
        {
            "result of book": "Your table is booked.",
            "reserve": Reply(calls=(Call("pay"), Call("book"))),
            "joke": "Here is a joke.",
        }
    )
    stage = realtime(user, answers, pay, book)
    outcome = stage.run(25.0)
    said = [heard.text for heard in outcome.heard]
    assert said == ["Here is a joke.", "Your table is booked."], outcome.timeline()


def test_a_turn_that_a_tool_has_ended_is_not_scheduled_again_behind_a_handoff() -> None:
    """The user speaks over a call that holds its turn, and the model answers with a handoff."""

    book = tool("book", "booked", seconds=5.0, policy="hold")

    @function_tool
    async def hand_over() -> tuple[Agent, str]:
        """Hand over."""
        return Says("I am the next one."), "handed over"

    user = ScriptedUser().says("reserve a table", at=1.0).says("no tell me a joke", at=4.5)
    joke = Reply("Here is a long joke that takes a while.", calls=Call("hand_over"))
    answers = ScriptedLLM(
        {"result of": "Booked.", "reserve": Reply(calls=Call("book")), "joke": joke}
    )
    stage = realtime(user, answers, book, hand_over)
    outcome = stage.run(25.0)
    assert outcome.heard_saying("I am the next one.") is not None, outcome.timeline()
    assert outcome.warnings == [], outcome.timeline()


def test_a_noise_over_a_tool_that_holds_its_turn_does_not_end_the_turn() -> None:
    """A cough is over when the tool ends: the reply to its result follows."""
    book = tool("book", "booked", seconds=4.0, policy="hold")
    user = ScriptedUser().says("reserve a table", at=1.0).makes_noise(at=3.0, duration=0.3)
    stage = _stage(user, book, detects=True, auto=False)
    outcome = stage.run(20.0)
    assert _calls(stage, outcome) == (["result"], ["booked"])
    assert [heard.text for heard in outcome.heard] == ["Your table is booked."]


def _joking(user: ScriptedUser, tool: Any) -> Stage:
    """A model that needs a second for a joke; the session ends the user's turns."""
    joke = Reply("Here is a joke.", ttft=1.0)
    by_user = {"reserve": Reply(calls=Call("book")), "result of": "Booked.", "joke": joke}
    return realtime(user, ScriptedLLM(by_user, {"book": "Booked."}), tool, detects=False)


def test_a_result_that_comes_while_the_model_is_about_to_answer_is_told_after_it() -> None:
    """The request did not show it: it comes before the answer begins, and is no part of it."""
    ended: list[float] = []

    @function_tool
    async def book() -> str:
        """Book."""
        await asyncio.sleep(6.0)
        ended.append(stage.now)
        return "booked"

    user = ScriptedUser().says("reserve a table", at=1.0)
    user.says("well", at=4.0).says("tell me a joke", at=6.5)
    stage = _joking(user, book)
    outcome = stage.run(20.0)
    asked = next(r.at for r in outcome.requests if "joke" in r.prompt)
    joke = outcome.heard_saying("joke")
    assert joke is not None
    assert asked < ended[0] < joke.start, outcome.timeline()
    booked = outcome.heard_saying("Booked.")
    assert booked is not None, outcome.timeline()
    assert booked.start > joke.start


def test_a_turn_that_waited_for_a_tool_is_not_committed_in_the_middle_of_the_next_sentence() -> (
    None
):
    """The model has the sound, not the words: it would be given half of what the user says."""
    book = tool("book", "booked", seconds=4.0, policy="hold")
    user = ScriptedUser().says("reserve a table", at=1.0)
    user.says("one more thing", at=4.0).says("tell me a good joke now", at=6.0)
    outcome = _joking(user, book).run(20.0)
    assert outcome.heard_saying("Booked.") is not None
    said = [m.text_content for m in outcome.history.messages() if m.role == "user"]
    assert said == ["reserve a table", "one more thing tell me a good joke now"]


@pytest.mark.parametrize("empty", [True, False], ids=["nothing", "again"])
def test_a_model_that_has_told_a_result_by_itself_may_reply_with_nothing(empty: bool) -> None:
    """It detects turns, and answers by itself when the user asks for what the tool has given. It is
    asked once to tell the result, and not again if it says nothing to that."""

    @function_tool
    async def book(context: RunContext[Any]) -> str:
        """Book."""
        await context.session.say("I am booking the table for you.")
        return "booked"

    user = ScriptedUser().says("reserve a table", at=1.0)
    user.says("is it reserved now", at=4.0)
    answers = ScriptedLLM(
        {
            "reply with nothing": Reply("") if empty else "As I said: reserved.",
            "is it": "Yes it is.",
            "reserve": Reply(calls=Call("book")),
            "joke": "Here is a joke.",
        }
    )
    stage = realtime(user, answers, book)
    stage.at(14.0, lambda s: s.session.generate_reply(user_input="tell me a joke"))
    outcome = stage.run(25.0)
    heard = [h.text for h in outcome.heard[1:]]
    told = [] if empty else ["As I said: reserved."]
    assert heard == ["Yes it is.", *told, "Here is a joke."], outcome.timeline()
    asked = [request.prompt for request in outcome.requests if "result of book" in request.prompt]
    assert len(asked) == 1, asked


@pytest.mark.parametrize("speaks", [True, False], ids=["speaks", "silent"])
def test_a_model_is_not_shown_a_reply_about_a_result_that_nobody_has_heard(speaks: bool) -> None:
    """The user speaks before the reply is heard, and the model is asked for an answer to that. It
    would take the result for told."""

    @function_tool
    async def book(context: RunContext[Any]) -> str:
        """Book."""
        if speaks:
            context.session.say("Hm.")
        return "booked"

    user = ScriptedUser().says("reserve a table", at=0.5, duration=0.6)
    user.says("tell me a joke", at=2.2 if speaks else 1.85, duration=0.6)
    outcome = _stage(user, book, detects=False, auto=False).run(12.0)
    *_, request = outcome.requests
    assert request.at > 2.5
    shown = {entry.text for entry in request.shown if entry.kind == "assistant"}
    assert shown <= {h.text for h in outcome.heard if h.start < request.at}, outcome.timeline()
    assert outcome.heard_saying("Your table is booked.") is not None
