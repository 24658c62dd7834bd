"""Every committed turn ends replied, silent, superseded or dropped; none is lost."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest
from both import hearing_session, look_up
from livekit.agents import Agent, StopResponse
from scripted_tool import tool

from turnfsm.livekit import TurnSession
from turnfsm.runtime.compare.livekit import HOST
from turnfsm.runtime.testing.livekit import (
    Call,
    Reply,
    ScriptedLLM,
    ScriptedTTS,
    ScriptedUser,
    Stage,
)

NOTICE = "This call is recorded for quality and for training purposes."


def _ends(stage: Stage) -> list[tuple[int, str]]:
    """Number and outcome of each turn, as the journal has them."""
    session: Any = stage.session
    notes = [note.data for note in session.turn.journal.notes("turn")]
    return [(note["number"], note["outcome"]) for note in notes]


@pytest.mark.parametrize(
    ("id", "replied", "superseded", "dropped"),
    [
        ("C1", 1, 0, 0),
        ("S6", 1, 0, 0),  # kept during an uninterruptible speech
        ("S7", 2, 0, 0),  # deferred while a handoff waits for a tool of the first
        ("T1", 1, 1, 0),  # a second one while the first is in on_user_turn_completed
        ("S13", 2, 0, 0),  # committed by hand, then noise
    ],
)
def test_turns_are_counted(id: str, replied: int, superseded: int, dropped: int) -> None:
    """The session counts what the journal shows, number by number."""
    case = HOST.scenario(id)
    stage = case.build(TurnSession)
    stage.run(case.seconds)
    session: Any = stage.session
    wanted = {"replied": replied, "silent": 0, "superseded": superseded, "dropped": dropped}
    assert session.user_turns == {**wanted, "asked": 0, "queued": 0}
    ends = _ends(stage)
    assert sorted(number for number, _ in ends) == list(range(1, len(ends) + 1))
    assert {o: [e for _, e in ends].count(o) for o in wanted} == wanted


def test_a_turn_that_is_kept_when_the_session_closes_is_dropped() -> None:
    """It waited for an uninterruptible speech that the close cut off; the journal has it."""
    user = ScriptedUser().says("what about tomorrow", at=2.0)
    stage = Stage(
        hearing_session,
        user=user,
        tts=ScriptedTTS(durations={NOTICE: 20.0}),
    )
    stage.at(1.0, lambda s: s.session.say(NOTICE, allow_interruptions=False) and None)
    seen: list[Any] = []
    stage.at(5.0, lambda s: seen.append(s.session.user_turns["queued"]))  # type: ignore[attr-defined]
    stage.run(6.0)
    session: Any = stage.session
    assert seen == [1]
    assert _ends(stage) == [(1, "dropped")]
    assert session.user_turns["dropped"] == 1


def test_a_turn_is_asked_until_its_reply_is_heard() -> None:
    """The reply is heard at 4.3 s. Before that it was asked for, and no more."""
    user = ScriptedUser().says("hello", at=1.0)
    stage = Stage(TurnSession, user=user, llm=ScriptedLLM({"hello": Reply("Hi.", ttft=2.0)}))
    seen: list[Mapping[str, int]] = []
    for at in (3.0, 5.0):
        stage.at(at, lambda s: seen.append(s.session.user_turns))  # type: ignore[attr-defined]
    outcome = stage.run(6.0)
    [heard] = outcome.heard
    assert [(turns["asked"], turns["replied"]) for turns in seen] == [(1, 0), (0, 1)]
    session: Any = stage.session
    at = {entry.trigger: entry.t for entry in session.turn.journal}
    assert at["reply_requested"] < heard.start == pytest.approx(at["turn_replied"], abs=0.02)


def test_a_turn_is_replied_to_with_text_in_a_session_without_audio() -> None:
    """Its first words are what the user gets."""
    user = ScriptedUser().says("hello", at=1.0)
    stage = Stage(TurnSession, user=user, llm=ScriptedLLM({"hello": "Hi."}))
    stage.at(0.5, lambda s: s.session.output.set_audio_enabled(False))
    outcome = stage.run(6.0)
    assert outcome.heard == []
    assert _ends(stage) == [(1, "replied")]


def _why(stage: Stage) -> str:
    session: Any = stage.session
    [note] = session.turn.journal.notes("turn")
    return f"{note.data['outcome']}: {note.data['why']}"


def test_a_turn_of_which_nothing_was_heard_when_the_session_closes_is_dropped() -> None:
    """The model has been asked, and has not answered."""
    user = ScriptedUser().says("hello", at=1.0)
    stage = Stage(TurnSession, user=user, llm=ScriptedLLM({"hello": Reply("Hi.", ttft=30.0)}))
    stage.run(5.0)
    assert _why(stage) == "dropped: the session closed"


def test_a_turn_whose_reply_the_application_interrupts_unheard_is_dropped() -> None:
    """The user has not said anything more."""
    user = ScriptedUser().says("hello", at=1.0)
    stage = Stage(TurnSession, user=user, llm=ScriptedLLM({"hello": Reply("Hi.", ttft=3.0)}))
    stage.at(3.0, lambda s: s.session.interrupt() and None)
    stage.run(8.0)
    assert _why(stage) == "dropped: its reply was interrupted before it was heard"


def test_a_turn_whose_reply_says_nothing_is_silent() -> None:
    """The model makes a call that needs no reply: nobody failed, and nothing was heard."""
    mute = tool("mute")
    user = ScriptedUser().says("be quiet", at=1.0)
    model = ScriptedLLM({"quiet": Reply(calls=Call("mute"))})
    stage = Stage(TurnSession, user=user, llm=model, tools=[mute])
    stage.run(8.0)
    assert _why(stage) == "silent: its reply had nothing to be heard"


class _Next(Agent):
    def __init__(self) -> None:
        super().__init__(instructions="Go on.")


@pytest.mark.parametrize("mode", ["vad", "manual"])
def test_words_that_are_heard_while_an_agent_goes_reach_the_next_one(mode: str) -> None:
    """The agent goes once its speech ends, which the words themselves interrupt: they are
    recognised, no turn is committed, and its STT closes. They are a turn of the next
    agent, or part of the one that is then committed."""
    user = ScriptedUser().says("is it open on sunday", at=3.0, stt_delay=0.05)
    model = ScriptedLLM({"sunday": "On Sunday we are closed."})
    voice = ScriptedTTS(durations={NOTICE: 9.0})
    handling = {"turn_detection": mode}
    stage = Stage(TurnSession, user=user, llm=model, tts=voice, turn_handling=handling)
    stage.at(1.0, lambda s: s.session.say(NOTICE) and None)
    stage.at(2.0, lambda s: s.session.update_agent(_Next()))
    if mode == "manual":
        stage.at(12.0, lambda s: s.session.commit_user_turn() and None)
    outcome = stage.run(18.0)
    users = [line for line in outcome.context if line.startswith("user")]
    assert users == ["user: is it open on sunday"]
    answer = outcome.heard_saying("On Sunday we are closed.")
    assert answer is not None, outcome.timeline()
    assert answer.start < (6.0 if mode == "vad" else 16.0)


class _Thoughtful(Agent):
    def __init__(self) -> None:
        super().__init__(instructions="Think.")

    async def on_user_turn_completed(self, turn_ctx: Any, new_message: Any) -> None:
        await asyncio.sleep(4.0)


def test_the_time_of_a_turn_runs_from_its_commit() -> None:
    """turn_overdue gives up a turn that has had no reply for so long, not one that comes after
    so long a silence."""
    user = ScriptedUser().says("hello", at=6.0)
    stage = Stage(TurnSession, user=user, agent=_Thoughtful, timers={"turn_overdue": 8.0})
    outcome = stage.run(15.0)
    assert _ends(stage) == [(1, "replied")]
    assert [text for _, text in outcome.warnings if "dropped" in text] == []


@pytest.mark.parametrize("stops", [False, True], ids=["answers", "stops"])
def test_a_turn_whose_agent_goes_while_its_hook_runs_is_answered_by_the_next(stops: bool) -> None:
    """on_user_turn_completed is slow and hands over: LiveKit skips the reply, the words are the
    next agent's. A hook that stops the response has its way."""

    class Front(Agent):
        async def on_user_turn_completed(self, turn_ctx: Any, new_message: Any) -> None:
            self.session.update_agent(_Next())
            await asyncio.sleep(2.0)
            if stops:
                raise StopResponse

    model = ScriptedLLM({"hello": "Good morning."})
    front: Any = lambda: Front(instructions="Hand over.")  # noqa: E731
    stage = Stage(TurnSession, user=ScriptedUser().says("hello", at=1.0), llm=model, agent=front)
    outcome = stage.run(10.0)
    assert (outcome.heard_saying("Good morning.") is None) is stops, outcome.timeline()
    ends = [(1, "dropped")] if stops else [(1, "superseded"), (2, "replied")]
    assert _ends(stage) == ends


GREETING = "Welcome to the desk of our hotel by the sea."


class _Host(_Next):
    async def on_enter(self) -> None:
        self.session.say(GREETING)


@pytest.mark.parametrize("stt_delay", [0.9, 1.5])
def test_words_behind_a_kept_turn_are_answered_with_it(stt_delay: float) -> None:
    """The user speaks into a handoff, and over the next agent's greeting. The words that were kept
    are older: their turn does not take the place of the answer to the later ones."""
    user = ScriptedUser().says("hello", at=1.0)
    user.says("is it open", at=3.0, duration=0.6)
    user.says("on sunday", at=4.2, duration=0.6, stt_delay=stt_delay)
    model = ScriptedLLM({"hello": NOTICE, "sunday": "On Sunday we are closed."})
    stage = Stage(TurnSession, user=user, llm=model)
    stage.at(3.5, lambda s: s.session.update_agent(_Host()))
    outcome = stage.run(14.0)
    users = [i.text_content for i in outcome.history.messages() if i.role == "user"]
    assert users == ["hello", "is it open on sunday"], outcome.timeline()
    assert outcome.heard[-1].text == "On Sunday we are closed."
    assert sorted(outcome for _, outcome in _ends(stage)) == ["replied", "replied", "superseded"]


@pytest.mark.parametrize("goes_on", [4.5, 5.2], ids=["in the same turn", "in another"])
def test_words_that_the_agent_has_cut_into_are_answered_once(goes_on: float) -> None:
    """`user_turn_limit`: the cut-in answers them; what the user says over it is kept."""
    first, second = "one two three four five", "six seven eight nine ten"
    user = ScriptedUser()
    user.says(first, at=1.0, duration=1.5, stt_delay=0.1)
    user.says(second, at=2.8, duration=1.5, stt_delay=0.1)
    user.says("eleven twelve", at=goes_on, duration=0.6, stt_delay=0.1)
    model = ScriptedLLM({"one two": "May I say something about all of that.", "eleven": "Twelve."})
    turns = {
        "user_turn_limit": {"max_words": 8},
        "endpointing": {"min_delay": 0.9, "max_delay": 3.0},
        "preemptive_generation": {"enabled": False},
    }
    outcome = Stage(hearing_session, user=user, llm=model, turn_handling=turns).run(25.0)
    said = [line for line in outcome.context if line.startswith("user: ")]
    assert said == [f"user: {first} {second}", "user: eleven twelve"], outcome.timeline()
    assert outcome.heard_saying("Twelve.") is not None


def test_the_model_is_asked_ahead_for_words_that_interrupt_a_reply_nobody_has_heard() -> None:
    """They come while its first frame is held: the transcript ends it and begins the next."""
    user = ScriptedUser()
    user.says("a table for two", at=1.0, duration=0.9, stt_delay=0.1)
    user.says("outside if you can", at=3.0, duration=0.9, stt_delay=0.1)
    answers = {
        "a table for two": Reply("Of course there is one.", ttft=1.0),
        "outside": Reply("Outside it is.", ttft=1.0),
    }
    turns = {"endpointing": {"min_delay": 0.4, "max_delay": 3.0}}
    model = ScriptedLLM(answers)
    outcome = Stage(TurnSession, user=user, llm=model, turn_handling=turns).run(25.0)
    assert outcome.heard_saying("Outside it is.") is not None, outcome.timeline()
    asked = [asked.at for asked in outcome.requests if "outside" in str(asked.shown[-1].text)]
    assert asked[0] == pytest.approx(4.0)  # the transcript comes; the turn ends later


def test_the_model_is_not_asked_ahead_while_a_typed_line_waits() -> None:
    """The line is in the conversation first. LiveKit would drop the request that lacks it."""
    user = ScriptedUser().says("a table for two", at=0.4, duration=0.3)
    user.says("outside if you can", at=1.6, duration=0.6)
    answers = {"a table": Reply("Of course.", ttft=1.5), "outside": "Outside it is."}
    stage = Stage(TurnSession, user=user, llm=ScriptedLLM(answers, otherwise="Seven."))
    stage.at(2.4, lambda s: s.session.generate_reply(user_input="at seven"))
    outcome = stage.run(20.0)
    asked = [[line.text for line in request.shown] for request in outcome.requests]
    about = [lines for lines in asked if "outside" in str(lines[-1])]
    assert len(about) == 1, outcome.timeline()
    assert "at seven" in about[0]


def test_words_that_cancel_a_call_are_asked_ahead_once() -> None:
    """The request shows that the call was cancelled, before LiveKit commits it."""
    search = tool("search", "found", seconds=3.0, policy="cancel")
    user = ScriptedUser().says("look it up", at=1.0, stt_delay=0.1)
    user.says("never mind please", at=2.6, duration=0.9, stt_delay=0.1)
    answers = {
        "look": Reply("I look.", calls=Call("search"), ttft=1.0),
        "never": Reply("Very well.", ttft=1.0),
    }
    turns = {"endpointing": {"min_delay": 0.4, "max_delay": 3.0}}
    stage = Stage(
        TurnSession, user=user, llm=ScriptedLLM(answers), tools=[search], turn_handling=turns
    )
    outcome = stage.run(15.0)
    asked = [request for request in outcome.requests if "never mind" in str(request.shown[-1].text)]
    assert len(asked) == 1, outcome.timeline()


@pytest.mark.parametrize(
    ("reply", "at"),
    [
        (Reply("It is ten now, and all is well."), 3.5),
        (Reply("Wait.", calls=Call("look_up")), 3.5),
    ],
    ids=["without calls", "with a call"],
)
def test_a_turn_waits_for_the_reply_before_it_only_as_long_as_that_may_make_calls(
    reply: Reply, at: float
) -> None:
    """A request that sees the typed words before their call would make the call again."""
    user = ScriptedUser().says("and tomorrow", at=2.2, duration=0.6, stt_delay=0.1)
    model = ScriptedLLM({"what time": reply, "tomorrow": "It rains."}, {"look_up": "Ten."})
    turns = {"turn_detection": "manual", "preemptive_generation": {"enabled": False}}
    stage = Stage(TurnSession, user=user, llm=model, tools=[look_up], turn_handling=turns)
    stage.at(1.0, lambda s: s.session.say(NOTICE) and None)
    stage.at(2.0, lambda s: s.session.generate_reply(user_input="what time is it") and None)
    stage.at(3.5, lambda s: s.session.commit_user_turn(transcript_timeout=0.0) and None)
    outcome = stage.run(25.0)
    assert outcome.heard_saying("It rains.") is not None, outcome.timeline()
    asked = [request.at for request in outcome.requests if "tomorrow" in str(request.shown[-1])]
    assert asked[0] == pytest.approx(at)
    assert len(outcome.tools) == len(reply.calls)


def test_a_request_about_a_result_leaves_out_words_whose_answer_is_being_heard() -> None:
    """The model would answer them once more."""
    user = ScriptedUser().says("look it up", at=0.5, duration=0.6, stt_delay=0.1)
    model = ScriptedLLM(
        {
            "what time": "It is ten now, and all is well.",
            "look it up": Reply(calls=Call("look_up")),
        },
        {"look_up": "It rains."},
    )
    stage = Stage(TurnSession, user=user, llm=model, tools=[look_up])
    stage.at(1.9, lambda s: s.session.generate_reply(user_input="what time is it") and None)
    outcome = stage.run(15.0)
    assert outcome.heard_saying("It is ten now") is not None, outcome.timeline()
    assert [entry.kind for entry in outcome.requests[-1].shown] == [
        "system",
        "user",
        "call",
        "result",
    ]
