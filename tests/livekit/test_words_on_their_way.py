"""Words of the user whose sound is over, and which the STT has not recognised yet."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from livekit.agents import (
    Agent,
    AgentSession,
    AgentTask,
    FunctionTool,
    RunContext,
    StopResponse,
    function_tool,
    llm,
)
from outcomes import heard
from realtime_stage import Says
from scripted_tool import tool

from turnfsm.livekit import TurnSession, on_interruption
from turnfsm.runtime.testing.livekit import (
    Call,
    Outcome,
    Reply,
    Request,
    ScriptedLLM,
    ScriptedUser,
    Stage,
)

BOOKED = "Your table is booked."


def _tool(policy: Any, seconds: float) -> FunctionTool:
    return tool("book", "booked", seconds=seconds, policy=policy)


def _play(user: ScriptedUser, tool: FunctionTool, preamble: str = "", **given: Any) -> Outcome:
    model = ScriptedLLM(
        {
            "please": "",
            "table": Reply(preamble, calls=Call("book")),
            "tomorrow": "It rains.",
            "Sunday": "It rains and then it does not.",
            "booked": BOOKED,
        },
        {"book": BOOKED},
    )
    stage = Stage(TurnSession, user=user, llm=model, tools=[tool], **given)
    return stage.run(20.0)


@pytest.mark.parametrize(
    ("stt_delay", "at", "duration"),
    [(0.05, 5.2, 0.2), (0.05, 4.2, 1.2), (1.5, 4.4, 1.2)],
    ids=["too short to interrupt", "begun before a commit", "begun before other words"],
)
def test_a_late_result_is_not_told_while_words_may_come(
    stt_delay: float, at: float, duration: float
) -> None:
    """The user interrupts a call and goes on. The call ends before that is recognised."""
    user = ScriptedUser().says("a table", at=0.5, duration=0.9)
    user.says("please", at=3.0, duration=0.9, stt_delay=stt_delay)
    user.says("and on Sunday", at=at, duration=duration, stt_delay=1.5)
    outcome = _play(user, _tool("detach", 4.4))
    assert heard(outcome) == ["It rains and then it does not."], outcome.timeline()


@pytest.mark.parametrize(
    ("can_pause", "duration", "begins"),
    [(True, 1.0, 8.25), (True, 0.2, 7.3), (False, 1.0, 8.25)],
    ids=["long noise", "short noise", "an output that cannot pause"],
)
def test_a_turn_that_was_kept_is_asked_about_at_once_after_a_noise(
    can_pause: bool, duration: float, begins: float
) -> None:
    """The noise is over before the call that has kept the turn: its result is told with the answer,
    and not begun, cut, and told again. After a noise that is long enough to interrupt, the audio is
    held as long as any other."""
    user = ScriptedUser().says("a table", at=0.5, duration=0.9)
    user.says("what about tomorrow", at=2.5, duration=0.9)
    user.makes_noise(at=6.0 - duration, duration=duration)
    outcome = _play(user, _tool("finish", 5.0), can_pause=can_pause)
    assert len(outcome.heard) == 1, outcome.timeline()
    answer = outcome.heard_saying("It rains.")
    assert answer is not None
    assert answer.start == pytest.approx(begins, abs=0.1), outcome.timeline()
    assert outcome.requests[-1].at < 7.0, outcome.timeline()


def test_the_answer_to_a_turn_that_was_kept_is_held_while_words_may_come() -> None:
    """The user says more before the call ends that has kept the turn, and the STT is slow."""
    user = ScriptedUser().says("a table", at=0.5, duration=0.9)
    user.says("what about tomorrow", at=2.5, duration=0.9)
    user.says("and on Sunday", at=4.8, duration=1.2, stt_delay=1.5)
    outcome = _play(user, _tool("finish", 4.6))
    assert heard(outcome) == ["It rains and then it does not."], outcome.timeline()


def test_the_answer_to_a_turn_that_was_kept_waits_for_no_words_before_its_commit() -> None:
    """The user coughs, and then says something that is recognised while they speak: it might be
    what was heard before. It is committed at 5.4 s, and kept until the call has ended at 5.5 s."""
    user = ScriptedUser().says("a table", at=0.9, duration=0.6)
    user.makes_noise(at=2.4, duration=1.0)
    user.says("and on Sunday", at=4.3, duration=0.6, stt_delay=0.05)
    outcome = _play(user, _tool("hold", 3.4), "A table, and let me see.")
    answer = outcome.heard[-1]
    assert answer.text.startswith("It rains and then it does not."), outcome.timeline()
    assert answer.start < 6.4, outcome.timeline()


@pytest.mark.parametrize("can_pause", [True, False])
def test_a_commit_of_earlier_words_that_is_kept_does_not_let_an_output_begin(
    can_pause: bool,
) -> None:
    """The user goes on at 3.2 s. At 4.4 s what they have said before is committed, at 4.6 s the STT
    has recognised the rest, which cuts what the tool would say (257370)."""

    @on_interruption("finish")
    @function_tool
    async def book(context: RunContext[Any]) -> str:
        """Book a table."""
        await asyncio.sleep(1.9)
        context.session.say("It takes some time to book a table.")
        await asyncio.sleep(4.0)
        return "booked"

    user = ScriptedUser().says("a table", at=0.5, duration=0.4)
    user.says("what about tomorrow", at=2.4, duration=0.4, stt_delay=0.2)
    user.says("and on Sunday", at=3.2, duration=0.7, stt_delay=0.7)
    outcome = _play(user, book, can_pause=can_pause)
    assert heard(outcome) == ["It rains."], outcome.timeline()


@pytest.mark.parametrize("can_pause", [True, False])
@pytest.mark.parametrize(
    ("words", "said"),
    [("", [BOOKED]), ("what about tomorrow", ["It rains."])],
    ids=["a noise", "words"],
)
def test_a_reply_that_is_not_heard_yet_waits_for_the_end_of_a_voice(
    words: str, said: list[str], can_pause: bool
) -> None:
    """The reply to a result. If there are words, the model is asked to tell the result with its
    answer."""
    user = ScriptedUser().says("a table", at=0.5, duration=0.9)
    if words:
        user.says(words, at=3.2, duration=1.0)
    else:
        user.makes_noise(at=3.2, duration=1.0)
    outcome = _play(user, _tool("detach", 1.7), can_pause=can_pause)
    assert heard(outcome) == said, outcome.timeline()
    shown = [entry.text for entry in outcome.requests[-1].shown if entry.kind == "system"]
    assert any("result of book" in text for text in shown) == bool(words)


@pytest.mark.parametrize("seconds", [0.3, 0.8, 1.0])
def test_a_reply_does_not_wait_for_words_over_uninterruptible_speech(seconds: float) -> None:
    """LiveKit gives the STT silence then. AgentSession does not wait either."""
    said = "One two three four five six seven eight nine ten."
    starts = []
    for session in (AgentSession, TurnSession):
        user = ScriptedUser().makes_noise(at=2.9, duration=seconds)
        stage = Stage(session, user=user, llm=ScriptedLLM(otherwise="Fine."))
        stage.at(1.0, lambda stage: stage.session.say(said, allow_interruptions=False))
        stage.at(1.2, lambda stage: stage.session.generate_reply(instructions="Go on."))
        outcome = stage.run(12.0)
        assert heard(outcome) == [said, "Fine."]
        starts.append(outcome.heard[1].start)
    assert starts[1] <= starts[0] + 0.05


@pytest.mark.parametrize(("at", "stopped"), [(4.6, False), (3.9, True)], ids=["said", "given up"])
def test_a_result_that_waits_for_the_end_of_a_noise_is_said_before_what_the_application_asks_for(
    at: float, stopped: bool
) -> None:
    """The output cannot pause. The reply that is asked for has instructions of its own, and says
    nothing of the result."""

    async def ask(stage: Stage) -> None:
        handle = stage.session.generate_reply(instructions="Say that it takes long.")
        if stopped:
            handle.interrupt()

    def answer(request: Request) -> str:
        asked = [entry.text for entry in request.shown if entry.kind == "system"]
        return "It takes long." if any("takes long" in text for text in asked) else BOOKED

    user = ScriptedUser().says("a table", at=0.5, duration=0.9).makes_noise(at=3.2, duration=1.0)
    model = ScriptedLLM({"a table": Reply("", Call("book"))}, {"book": answer}, otherwise=answer)
    tool = _tool("detach", 1.7)
    stage = Stage(TurnSession, user=user, llm=model, tools=[tool], can_pause=False)
    stage.at(at, ask)
    outcome = stage.run(14.0)
    said = [] if stopped else ["It takes long."]
    assert heard(outcome) == [BOOKED, *said], outcome.timeline()


@pytest.mark.parametrize("at", [1.1, 1.7, 2.6], ids=["early", "mid-voice", "after it"])
@pytest.mark.parametrize(
    ("words", "said", "by"),
    [("what about tomorrow", ["It rains."], 3.5), ("", ["I go on."], 4.2)],
    ids=["words", "noise"],
)
def test_words_that_come_after_a_handoff_are_waited_for_by_the_next_agent(
    at: float, words: str, said: list[str], by: float
) -> None:
    """Its VAD has heard the end of the voice, or nothing of it. If no words come, its greeting is
    heard 2 s after the voice."""

    user = ScriptedUser()
    if words:
        user.says(words, at=1.0, duration=0.9, stt_delay=1.0)
    else:
        user.makes_noise(at=1.0, duration=0.9)
    model = ScriptedLLM({"tomorrow": "It rains."}, {})
    stage = Stage(TurnSession, user=user, llm=model, tools=[])
    stage.at(at, lambda stage: stage.session.update_agent(Says("I go on.")))
    outcome = stage.run(12.0)
    assert heard(outcome) == said, outcome.timeline()
    assert outcome.heard[0].start < by + 0.1, outcome.timeline()


class Errand(AgentTask[str]):
    """A task that ends with the user's next turn."""

    def __init__(self) -> None:
        super().__init__(instructions="Ask.")

    async def on_enter(self) -> None:
        self.session.say("What is your name?")

    async def on_user_turn_completed(
        self, turn_ctx: llm.ChatContext, new_message: llm.ChatMessage
    ) -> None:
        self.complete("noted")
        raise StopResponse


@function_tool
async def collect() -> str:
    """Have it done."""
    return await Errand()


@pytest.mark.parametrize("kind", [AgentSession, TurnSession])
@pytest.mark.parametrize("at", [2.4, 2.8])
def test_a_voice_that_a_handoff_cuts_in_two_has_its_words_once(
    kind: type[AgentSession], at: float
) -> None:
    """The task begins at 2.9 s, the user's words end it. They are recognised before the VAD hears
    the end of the voice; the result waits for no others."""
    user = ScriptedUser().says("a table", at=1.0)
    user.says("my name is what you know", at=at, duration=1.5, stt_delay=0.1)
    model = ScriptedLLM(
        {"a table": Reply("I ask you.", Call("collect"))}, {"collect": "I noted it."}
    )
    outcome = Stage(kind, user=user, llm=model, tools=[collect]).run(14.0)
    assert heard(outcome) == ["I ask you.", "I noted it."]
    assert outcome.heard[-1].start < at + 2.5, outcome.timeline()


@pytest.mark.parametrize(
    ("clear", "said", "begins"),
    [(None, "Fine.", 6.9), (4.0, "It rains.", 4.0), (3.4, "Fine.", 6.9)],
    ids=["not cleared", "cleared", "cleared while the user speaks"],
)
def test_nobody_waits_for_words_that_the_application_has_cleared(
    clear: float | None, said: str, begins: float
) -> None:
    """The hook ends at 3.3 s, and the answer is ready at 3.6 s. The user speaks again from 2.6 to
    3.6 s, and the words of that would come at 5.6 s. `clear_user_turn` begins another STT stream;
    the rest of a voice may bring words."""

    class Slow(Agent):
        async def on_user_turn_completed(self, *_: Any, **__: Any) -> None:
            await asyncio.sleep(1.0)

    user = ScriptedUser().says("tomorrow", at=1.0, duration=0.8)
    user.says("never mind", at=2.6, duration=1.0, stt_delay=2.0)
    model = ScriptedLLM({"tomorrow": "It rains.", "mind": "Fine."})
    stage = Stage(TurnSession, user=user, llm=model, agent=lambda: Slow(instructions="Help."))
    if clear is not None:
        stage.at(clear, lambda s: s.session.clear_user_turn())
    first = stage.run(12.0).heard[0]
    assert first.text == said
    assert first.start == pytest.approx(begins, abs=0.15)
