"""`tools: confirm`: a tool runs only when the user has said yes."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any
from unittest.mock import Mock

import pytest
from flow_text import parsed
from livekit.agents import Agent, RunContext, function_tool
from livekit.agents.llm.async_toolset import AsyncToolset
from livekit.agents.voice.room_io.types import TextInputEvent, _default_text_input_cb
from outcomes import heard as said
from outcomes import run

from turnfsm.fsm import Flow, FlowError, HostError
from turnfsm.livekit import TurnSession
from turnfsm.runtime.testing.livekit import (
    Call,
    Outcome,
    Reply,
    Request,
    ScriptedLLM,
    ScriptedRealtime,
    ScriptedTTS,
    ScriptedUser,
    Stage,
    Utterance,
)

QUESTION = "Shall I transfer 500 euros?"
DONE, NOTHING, OTHERWISE = "It is done.", "Then I leave it.", "I have not transferred anything."
CONFIRM = '{say: "Shall I transfer {amount} euros?", when: {amount: {above: 100}}}'


def flow_of(confirm: str = CONFIRM, more: str = "", once: Iterable[str] = ()) -> Flow:
    tools = f"tools: {{confirm: {{transfer: {confirm}}}, once: [{', '.join(once)}]}}"
    return parsed(f"flow: bank\nextends: turn\n{more}{tools}\n")


class Bank:
    def __init__(self) -> None:
        self.transferred: list[int] = []

    def tool(self) -> Any:
        @function_tool
        async def transfer(amount: int, name: str = "") -> str:
            """Transfer money."""
            self.transferred.append(amount)
            await asyncio.sleep(0.5)
            return f"transferred {amount}"

        return transfer


def play(
    user: ScriptedUser,
    until: float,
    flow: Flow | None = None,
    amount: int = 500,
    at: tuple[float, Any] | None = None,
    answers: dict[str, Any] | None = None,
    min_words: int = 0,
) -> tuple[Outcome, list[int]]:
    bank = Bank()
    call = Call("transfer", {"amount": amount})
    model = ScriptedLLM(
        {
            "send": Reply(calls=call),
            "again": Reply(calls=call),
            "no": NOTHING,
            "cost": "Nothing.",
            **(answers or {}),
        },
        on_tool={"transfer": lambda r: DONE if "transferred" in str(r.context) else "I could not."},
        otherwise="As you like.",
    )
    stage = Stage(
        partial(TurnSession, flow=flow or flow_of(), proof="off"),
        user=user,
        llm=model,
        tts=ScriptedTTS(durations={QUESTION: 2.0}),
        tools=[bank.tool()],
        turn_handling={"interruption": {"min_words": min_words}},
    )
    if at is not None:
        stage.at(*at)
    outcome = run(stage, until)
    return outcome, bank.transferred


def context(outcome: Outcome, who: str) -> list[str]:
    return [line for line in outcome.context if line.startswith(who)]


def asked() -> ScriptedUser:
    """The question is heard from 2.2 s to 4.2 s."""
    return ScriptedUser().says("send it", at=1.0)


def test_the_question_is_the_response_to_the_turn(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "turnfsm.turn"):
        play(asked().says("yes", at=6.0), 16.0)
    first = next(record for record in caplog.records if record.name == "turnfsm.turn")
    assert first.getMessage() == "turn 1 replied, response 0.35 s"


@pytest.mark.parametrize("words", ["yes", "yes please", "Okay, go ahead. Thank you!", "ja bitte"])
def test_the_tool_runs_after_a_yes_to_the_question(words: str) -> None:
    outcome, transferred = play(asked().says(words, at=6.0), 16.0)
    assert said(outcome) == [QUESTION, DONE], outcome.timeline()
    assert transferred == [500]
    assert context(outcome, "user") == ["user: send it", f"user: {words}"]
    assert len(context(outcome, "output")) == 1


@pytest.mark.parametrize(
    "words", ["no", "thank you", "what does it cost", "yes but only fifty", "yes wait", "send it"]
)
def test_everything_else_is_answered_and_the_tool_does_not_run(words: str) -> None:
    outcome, transferred = play(asked().says(words, at=6.0), 9.5)
    assert transferred == []
    answer = outcome.heard[1]
    assert answer.start < 9.5, outcome.timeline()
    assert "did not answer with a yes" in context(outcome, "output")[0]


def test_the_model_reads_that_nothing_was_done_before_it_answers() -> None:
    seen: list[str] = []

    def no(request: Any) -> Reply:
        seen.extend(request.context)
        return Reply(NOTHING)

    play(asked().says("no", at=6.0), 12.0, answers={"no": no})
    assert any("nothing was done" in line for line in seen), seen


def test_the_agent_listens_while_it_waits_for_the_yes() -> None:
    outcome, transferred = play(asked().says("yes", at=8.0), 16.0)
    assert transferred == [500]
    question = outcome.heard[0]
    while_waiting = [
        state for at, state in outcome.agent_states if question.end <= at < outcome.heard[1].start
    ]
    assert while_waiting == ["listening", "thinking"], outcome.timeline()
    assert outcome.state_at(question.end + 0.1) == "listening"


def test_a_limit_of_tools_does_not_end_the_question() -> None:
    outcome, transferred = play(asked().says("yes", at=17.0), 30.0, flow_of(more="limits: brisk\n"))
    assert transferred == [500]
    assert said(outcome) == [QUESTION, DONE], outcome.timeline()


def test_no_answer_ends_the_call_and_the_model_says_so() -> None:
    outcome, transferred = play(asked(), 30.0)
    assert transferred == []
    assert said(outcome) == [QUESTION, "I could not."], outcome.timeline()
    assert outcome.heard[1].start == pytest.approx(outcome.heard[0].end + 15.4, abs=0.2)


def test_no_answer_ends_the_call_with_the_declared_text() -> None:
    flow = flow_of(CONFIRM[:-1] + f", otherwise: {OTHERWISE}}}", "timers: {confirm_wait: 5}\n")
    outcome, transferred = play(asked(), 30.0, flow)
    assert transferred == []
    assert said(outcome) == [QUESTION, OTHERWISE], outcome.timeline()
    assert outcome.heard[1].start == pytest.approx(outcome.heard[0].end + 5.1, abs=0.2)
    assert "did not answer" in context(outcome, "output")[0]


def test_a_yes_before_the_question_was_heard_does_not_count() -> None:
    outcome, transferred = play(asked().says("yes", at=3.2), 12.0)
    assert transferred == []
    assert "before they had heard" in context(outcome, "output")[0], outcome.timeline()


def test_a_short_yes_that_begins_before_the_end_of_the_question_does_not_count() -> None:
    """It is too short to interrupt, and its turn is complete only after the question."""
    outcome, transferred = play(asked().says("yes", at=3.95, duration=0.3), 12.0)
    assert outcome.heard[0].text == QUESTION
    assert transferred == [], outcome.timeline()


def test_a_noise_over_the_question_does_not_spoil_the_yes() -> None:
    user = asked().makes_noise(at=3.0, duration=0.8).says("yes", at=9.0)
    outcome, transferred = play(user, 16.0)
    assert transferred == [500], outcome.timeline()


def test_an_interim_transcript_over_the_question_does_not_spoil_the_yes() -> None:
    """No final transcript follows it."""
    heard = Utterance(3.0, 0.3, interims=((0.2, "well"),))
    outcome, transferred = play(asked().makes(heard).says("yes", at=9.0), 16.0)
    assert transferred == [500], outcome.timeline()


def test_a_word_over_the_question_that_cannot_interrupt_does_not_spoil_the_yes() -> None:
    user = asked().says("okay", at=2.9, duration=0.3).says("yes", at=9.0)
    outcome, transferred = play(user, 16.0, min_words=2)
    assert said(outcome)[0] == QUESTION
    assert transferred == [500], outcome.timeline()


def test_a_yes_over_the_question_that_cannot_interrupt_is_none_with_a_later_word() -> None:
    """LiveKit adds the later word to it."""
    user = asked().says("yes", at=2.9, duration=0.3).says("thank you", at=9.0)
    outcome, transferred = play(user, 16.0, min_words=2)
    assert "user: yes thank you" in context(outcome, "user"), outcome.timeline()
    assert transferred == []


def test_a_call_that_the_condition_leaves_out_runs_at_once() -> None:
    outcome, transferred = play(asked(), 9.0, amount=100)
    assert said(outcome) == [DONE]
    assert transferred == [100]


def test_a_tool_that_is_not_named_runs_at_once() -> None:
    flow = parsed("flow: m\nextends: turn\ntools: {confirm: {other: {say: Shall I?}}}\n")
    outcome, transferred = play(asked(), 9.0, flow)
    assert said(outcome) == [DONE]
    assert transferred == [500]


def test_own_phrases_replace_those_of_the_list() -> None:
    flow = flow_of(CONFIRM[:-1] + ", yes: [transfer it]}")
    assert play(asked().says("yes", at=6.0), 12.0, flow)[1] == []
    assert play(asked().says("yes transfer it please", at=6.0), 14.0, flow)[1] == [500]


@pytest.mark.one_in(3)
@pytest.mark.parametrize("policy", ["cancel", "detach", "finish", "hold"])
def test_the_question_can_be_answered_whatever_the_policy(policy: str) -> None:
    more = "fillers: {after: 1.0, say: One moment.}\n"
    flow = flow_of(f"{CONFIRM}}}, by_name: {{transfer: {policy}", more)
    outcome, transferred = play(asked().says("yes", at=6.0), 14.0, flow)
    assert transferred == [500]
    assert said(outcome)[0] == QUESTION
    assert said(outcome)[-1] == DONE
    outcome, transferred = play(asked().says("no", at=6.0), 14.0, flow)
    assert transferred == []
    assert said(outcome) == [QUESTION, NOTHING], outcome.timeline()


def test_no_filler_is_said_while_the_user_is_to_answer() -> None:
    flow = flow_of(more="fillers: {after: 1.0, say: One moment.}\n")
    outcome, _ = play(asked(), 12.0, flow)
    assert said(outcome) == [QUESTION]


def test_two_calls_are_asked_about_one_after_the_other() -> None:
    calls = (Call("transfer", {"amount": 500}), Call("transfer", {"amount": 700}))
    user = asked().says("yes", at=6.0).says("yes", at=11.0)
    outcome, transferred = play(user, 20.0, answers={"send": Reply(calls=calls)})
    assert said(outcome)[:2] == [QUESTION, QUESTION.replace("500", "700")], outcome.timeline()
    assert transferred == [500, 700]
    user = asked().says("yes", at=6.0).says("no", at=11.0)
    outcome, transferred = play(user, 20.0, answers={"send": Reply(calls=calls)})
    assert transferred == [500]


def test_the_model_may_ask_again_with_another_call() -> None:
    user = asked().says("what does it cost", at=6.0).says("again", at=11.0).says("yes", at=16.0)
    outcome, transferred = play(user, 24.0)
    assert said(outcome) == [QUESTION, "Nothing.", QUESTION, DONE], outcome.timeline()
    assert transferred == [500]


def test_another_request_shows_the_call_that_waits_for_the_yes() -> None:
    """A model that does not see the call makes it again, and the user is asked again."""

    def answer(request: Request) -> Reply:
        made = [entry for entry in request.shown if entry.kind == "call"]
        return Reply("As you like.", calls=() if made else Call("transfer", {"amount": 500}))

    def replies(stage: Stage) -> None:
        stage.session.generate_reply(instructions="Say something.")

    answers = {"send": answer}
    outcome, transferred = play(
        asked().says("yes", at=12.0), 25.0, at=(2.6, replies), answers=answers
    )
    assert said(outcome).count(QUESTION) == 1, outcome.timeline()
    assert transferred == [500]


@pytest.mark.parametrize("seconds", [0.5, 3.0])
def test_the_result_of_a_call_in_the_background_waits_for_the_yes(seconds: float) -> None:
    """It would come between the question and the yes, which would not count then."""
    bank, user = Bank(), asked().says("yes", at=7.0)

    @function_tool
    async def watch(ctx: RunContext[Any]) -> str:
        """Watch the account."""
        await ctx.update("watching")
        await asyncio.sleep(seconds)
        return "nothing new"

    calls = Call("watch"), Call("transfer", {"amount": 500})
    model = ScriptedLLM(
        {"send": Reply(calls=calls)}, on_tool={"transfer": DONE, "watch": "Nothing is new."}
    )
    tools: Any = [bank.tool(), watch]
    session = partial(TurnSession, flow=flow_of(), proof="off")
    voice = ScriptedTTS(durations={QUESTION: 2.0})
    outcome = run(Stage(session, user=user, llm=model, tts=voice, tools=tools), 20.0)
    assert bank.transferred == [500], outcome.timeline()
    assert said(outcome)[0] == QUESTION
    assert "Nothing is new." in said(outcome)


def test_an_identical_call_of_a_once_tool_waits_for_the_yes_to_the_first() -> None:
    twice = Reply(calls=(Call("transfer", {"amount": 500}),) * 2)
    flow, user = flow_of(once=["transfer"]), asked().says("yes", at=6.0)
    outcome, transferred = play(user, 20.0, flow, answers={"send": twice})
    assert said(outcome) == [QUESTION, DONE], outcome.timeline()
    assert transferred == [500]
    assert all("transferred 500" in output for output in context(outcome, "output"))


def test_a_question_that_cannot_be_formed_is_not_asked() -> None:
    flow = flow_of('{say: "Shall I transfer {amount} to {name}?"}')
    outcome, transferred = play(asked(), 9.0, flow)
    assert transferred == []
    assert said(outcome) == ["I could not."], outcome.timeline()
    assert "needs name" in context(outcome, "output")[0]


def test_a_handoff_ends_the_call() -> None:
    def hand_over(stage: Stage) -> None:
        stage.session.update_agent(Agent(instructions="Other."))

    outcome, transferred = play(asked().says("yes", at=9.0), 16.0, at=(6.0, hand_over))
    assert transferred == []
    assert said(outcome) == [QUESTION, "I could not.", "As you like."], outcome.timeline()
    assert outcome.heard[1].start < 7.0  # the handoff does not wait for an answer


def test_a_call_that_is_made_during_a_handoff_is_not_asked_about() -> None:
    """The agent that would ask is leaving."""

    def hand_over(stage: Stage) -> None:
        stage.session.update_agent(Agent(instructions="Other."))

    user = asked().says("hello", at=8.0)
    calls = (Call("transfer", {"amount": 20}), Call("transfer", {"amount": 500}))
    answers = {"send": Reply("I look.", calls=calls, ttft=1.0), "hello": "Hello."}
    outcome, transferred = play(user, 16.0, at=(2.5, hand_over), answers=answers)
    assert transferred == [20]
    assert said(outcome) == ["I look.", DONE, "Hello."], outcome.timeline()


def test_the_close_of_the_session_ends_the_call() -> None:
    outcome, transferred = play(asked(), 6.0)
    assert transferred == []
    assert said(outcome) == [QUESTION]


def test_an_interruption_by_the_application_is_no_yes() -> None:
    def interrupt(stage: Stage) -> None:
        stage.session.interrupt()

    outcome, transferred = play(asked().says("yes", at=6.0), 16.0, at=(3.0, interrupt))
    assert transferred == [], outcome.timeline()


def test_a_typed_yes_counts() -> None:
    def typed(stage: Stage) -> None:
        stage.session.generate_reply(user_input="yes")

    outcome, transferred = play(asked(), 16.0, at=(6.0, typed))
    assert transferred == [500], outcome.timeline()
    assert said(outcome) == [QUESTION, DONE], outcome.timeline()
    assert context(outcome, "user") == ["user: send it", "user: yes"]


def text_input(words: str) -> Callable[[Stage], None]:
    """What LiveKit does with a line that the user types in a room."""

    async def line(stage: Stage) -> None:
        await _default_text_input_cb(stage.session, TextInputEvent(words, Mock(), Mock()))

    tasks: list[asyncio.Task[None]] = []
    return lambda stage: tasks.append(asyncio.create_task(line(stage)))


def test_a_yes_that_is_typed_in_a_room_counts() -> None:
    """LiveKit interrupts the agent first, which says nothing then."""
    outcome, transferred = play(asked(), 16.0, at=(6.0, text_input("yes")))
    assert transferred == [500], outcome.timeline()
    assert said(outcome) == [QUESTION, DONE], outcome.timeline()


@pytest.mark.parametrize(("words", "at"), [("what does it cost", 6.0), ("yes", 3.0)])
def test_other_words_and_an_early_yes_that_are_typed_in_a_room_end_the_call(
    words: str, at: float
) -> None:
    outcome, transferred = play(asked().says("yes", at=10.0), 16.0, at=(at, text_input(words)))
    assert transferred == [], outcome.timeline()
    assert f"user: {words}" in outcome.context


async def test_a_run_ends_with_the_question_and_the_next_one_says_yes(virtual_time: Any) -> None:
    bank, call = Bank(), Call("transfer", {"amount": 500})
    model = ScriptedLLM({"send": Reply("One moment.", calls=call)}, {"transfer": DONE})
    async with TurnSession(llm=model, flow=flow_of(), proof="off") as session:
        await session.start(Agent(instructions="Help.", tools=[bank.tool()]))
        result = await session.run(user_input="send it")
        result.expect.next_event().is_message(role="assistant")
        result.expect.next_event().is_function_call(name="transfer")
        asks = result.expect.next_event().is_message(role="assistant")
        assert asks.event().item.text_content == QUESTION
        result.expect.no_more_events()
        assert virtual_time.now < 3
        result = await session.run(user_input="yes")
        result.expect.next_event().is_function_call_output(output="transferred 500")
        told = result.expect.next_event().is_message(role="assistant")
        assert told.event().item.text_content == DONE
        result.expect.no_more_events()
    assert bank.transferred == [500]


async def test_a_run_that_says_something_else_gets_its_answer(virtual_time: Any) -> None:
    bank, call = Bank(), Call("transfer", {"amount": 500})
    model = ScriptedLLM({"send": Reply(calls=call), "no": NOTHING}, {"transfer": DONE})
    async with TurnSession(llm=model, flow=flow_of(), proof="off") as session:
        await session.start(Agent(instructions="Help.", tools=[bank.tool()]))
        await session.run(user_input="send it")
        result = await session.run(user_input="no")
        told = result.expect.contains_message(role="assistant")
        assert told.event().item.text_content == NOTHING
    assert bank.transferred == []


def test_other_words_that_are_typed_end_the_call() -> None:
    def typed(stage: Stage) -> None:
        stage.session.generate_reply(user_input="what does it cost")

    outcome, transferred = play(asked().says("yes", at=10.0), 16.0, at=(6.0, typed))
    assert transferred == [], outcome.timeline()


@pytest.mark.parametrize(
    ("confirm", "place", "message"),
    [
        ('{say: "Transfer {amuont}?"}', "3:35", "has no parameter 'amuont'"),
        ("{say: Shall I?, when: {amout: {above: 1}}}", "3:52", "has no parameter 'amout'"),
    ],
)
def test_a_parameter_that_the_tool_does_not_have_is_an_error(
    confirm: str, place: str, message: str
) -> None:
    with pytest.raises(FlowError) as raised:
        play(asked(), 3.0, flow_of(confirm))
    (finding,) = raised.value.findings
    assert finding.place.endswith(place), finding.place
    assert message in finding.message
    assert finding.remedy == "did you mean 'amount'?"


def test_a_misspelt_tool_is_an_error_as_its_calls_would_need_no_yes() -> None:
    flow = parsed("flow: m\nextends: turn\ntools: {confirm: {transfr: {say: Shall I?}}}\n")
    with pytest.raises(FlowError) as raised:
        play(asked(), 3.0, flow)
    (finding,) = raised.value.findings
    assert finding.place.endswith("3:19"), finding.place
    assert finding.remedy == (
        "did you mean 'transfer'? If a later agent has 'transfr', write 'later: true' below it"
    )


def test_a_similar_name_is_no_mistake_if_the_flow_says_that_a_later_agent_has_the_tool() -> None:
    later = "{transfr: {say: Shall I?, later: true}}"
    flow = parsed(f"flow: m\nextends: turn\ntools: {{confirm: {later}}}\n")
    assert play(asked(), 8.0, flow)[1] == [500]


def test_a_similar_name_is_no_mistake_if_both_tools_are_asked_about() -> None:
    both = "{transfr: {say: Shall I?}, transfer: {say: Shall I?}}"
    outcome, transferred = play(
        asked(), 8.0, parsed(f"flow: m\nextends: turn\ntools: {{confirm: {both}}}\n")
    )
    assert said(outcome) == ["Shall I?"], outcome.timeline()
    assert transferred == []


@pytest.mark.parametrize("text", ["Uh, yes.", "Um, okay, yes please", "Well, sure, thank you"])
def test_a_hesitant_yes_is_a_yes(text: str) -> None:
    _, transferred = play(asked().says(text, at=8.0), 16.0)
    assert transferred == [500]


def test_a_backchannel_over_the_question_does_not_spoil_the_yes() -> None:
    question = "You want to send 500 euros to your brother today. Shall I do it?"
    text = "flow: m\nextends: overlap\ntools: {confirm: {transfer: {say: %s}}}\n"
    flow = parsed(text % question)
    user = asked().says("mhm", at=2.8, duration=0.4, interims=((0.25, "mhm"),))
    outcome, transferred = play(user.says("yes", at=7.0), 14.0, flow)
    assert " ".join(said(outcome)).startswith(question), outcome.timeline()
    assert transferred == [500]


@pytest.mark.parametrize("at", [3.0, 3.9, 6.0])
@pytest.mark.parametrize("question", ["Shall I transfer it?", "Please confirm the transfer."])
def test_a_backchannel_answers_the_question_however_it_ends(question: str, at: float) -> None:
    """In it, at its end, and after it: "mhm" is no yes, so it ends the call, as in `turn`."""
    text = "flow: m\nextends: overlap\ntools: {confirm: {transfer: {say: %s}}}\n"
    user = asked().says("mhm", at=at, duration=0.3, interims=((0.25, "mhm"),)).says("yes", at=12.0)
    outcome, transferred = play(user, 16.0, parsed(text % question), answers={"mhm": NOTHING})
    assert NOTHING in said(outcome), outcome.timeline()
    assert transferred == []


def test_a_yes_to_something_that_the_agent_has_said_since_is_no_yes() -> None:
    def says(stage: Stage) -> None:
        stage.session.say("Are you still there?")

    outcome, transferred = play(asked().says("yes", at=9.0), 16.0, at=(6.0, says))
    assert transferred == [], outcome.timeline()
    assert "said something else" in context(outcome, "output")[0]


def test_who_asks_for_time_is_asked_again_when_they_want_it() -> None:
    more = "hold: {say: Take your time., then: Are you back?, limit: 10}\n"
    user = asked().says("hold on", at=6.0).says("yes", at=9.0)
    outcome, transferred = play(user, 16.0, flow_of(more=more))
    assert transferred == [], outcome.timeline()


def test_an_early_yes_stays_early_when_a_noise_follows() -> None:
    user = asked().says("yes", at=3.85, duration=0.3).makes_noise(at=4.4, duration=0.3)
    outcome, transferred = play(user, 14.0)
    assert transferred == [], outcome.timeline()


def test_a_realtime_model_that_detects_turns_runs_no_tool_without_a_yes() -> None:
    bank, user = Bank(), asked().says("yes", at=8.0)
    call = Reply(calls=Call("transfer", {"amount": 500}))
    model = ScriptedLLM({"send": call}, on_tool={"transfer": "I could not."}, otherwise="Good.")
    stage = Stage(
        partial(TurnSession, flow=flow_of(), proof="off"),
        user=user,
        llm=ScriptedRealtime(user, model, ScriptedTTS()),
        tools=[bank.tool()],
    )
    outcome = stage.run(30.0)
    assert bank.transferred == [], outcome.timeline()
    assert outcome.orphans == ()


class Later(Agent):
    """Has a tool that an executor of LiveKit's own runs."""

    def __init__(self, bank: Bank) -> None:
        tools = AsyncToolset(id="bank", tools=[bank.tool()])
        super().__init__(instructions="Transfer.", tools=[tools])


def test_a_tool_that_cannot_wait_is_an_error_at_the_start() -> None:
    stage = Stage(partial(TurnSession, flow=flow_of(), proof="off"), agent=lambda: Later(Bank()))
    with pytest.raises(HostError, match="transfer runs, which is in an AsyncToolset"):
        stage.run(1.0)


def test_a_tool_of_a_later_agent_that_cannot_wait_does_not_run() -> None:
    bank = Bank()

    def hand_over(stage: Stage) -> None:
        stage.session.update_agent(Later(bank))

    call = Reply(calls=Call("transfer", {"amount": 500}))
    model = ScriptedLLM({"send": call}, on_tool={"transfer": "I could not."}, otherwise="Good.")
    stage = Stage(partial(TurnSession, flow=flow_of(), proof="off"), user=asked(), llm=model)
    stage.at(0.5, hand_over)
    outcome = stage.run(9.0)
    assert bank.transferred == []
    assert "cannot wait" in context(outcome, "output")[0], outcome.timeline()
    assert said(outcome) == ["I could not."]
