"""What a caller hears is no worse than on stock: played on both sessions, and compared."""

from __future__ import annotations

import asyncio
from typing import Any

import failures
import pytest
from both import Session
from livekit.agents import Agent, AgentSession, RunContext, function_tool
from scripted_tool import tool

from turnfsm.livekit import TurnSession
from turnfsm.runtime.testing.livekit import (
    Call,
    Outcome,
    Reply,
    ScriptedLLM,
    ScriptedTTS,
    ScriptedUser,
    ScriptedVAD,
    Stage,
)

FIRST = "The weather is fine and it stays so all day long."
SECOND = "Tomorrow it rains."
STORY = "Once upon a time there was a king who had three daughters and no sons."

BOTH = pytest.mark.parametrize("session_class", [AgentSession, TurnSession])


def _asks_again(session_class: Session, **second: Any) -> Outcome:
    """The model thinks about a question from 2.1 to 3.1 s; the user makes a sound meanwhile."""
    user = ScriptedUser().says("weather please", at=1.0)
    if second.get("text"):
        user.says(**second)
    else:
        user.makes_noise(**second)
    model = ScriptedLLM({"weather": Reply(FIRST, ttft=1.0), "tomorrow": SECOND})
    return Stage(session_class, user=user, llm=model).run(12.0)


def _heard_and_cut(outcome: Outcome) -> float:
    """Seconds of the first answer that were heard before it was cut."""
    return sum(h.end - h.start for h in outcome.heard if h.text != FIRST and h.text in FIRST)


@pytest.mark.one_in(5)
@pytest.mark.parametrize("stt_delay", [0.0, 0.3, 0.6, 1.5])
@pytest.mark.parametrize(("at", "duration"), [(2.5, 0.2), (2.3, 0.3), (2.8, 0.6)])
def test_an_answer_that_is_out_of_date_is_not_begun(
    at: float, duration: float, stt_delay: float
) -> None:
    """The user goes on while the model thinks. Their words come after the end of their voice, and
    the answer to the first question is heard no longer than on stock before it is cut."""
    second: Any = {"text": "tomorrow", "at": at, "duration": duration, "stt_delay": stt_delay}
    stock, ours = (_asks_again(kind, **second) for kind in (AgentSession, TurnSession))
    assert _heard_and_cut(ours) <= _heard_and_cut(stock) + 1e-6
    assert ours.heard_saying(SECOND) is not None
    if stt_delay <= 0.5:
        assert _heard_and_cut(ours) == 0


@pytest.mark.parametrize("duration", [0.1, 0.2, 0.6, 1.2])
def test_after_a_noise_an_answer_begins_hardly_later_than_on_stock(duration: float) -> None:
    stock, ours = (_asks_again(k, at=2.8, duration=duration) for k in (AgentSession, TurnSession))
    late = ours.heard[0].start - stock.heard[0].start
    assert ours.heard[0].text == FIRST
    assert late <= 0.3 + 1e-6


def _two_words_interrupt(session_class: Session, user: ScriptedUser) -> Outcome:
    """The model thinks about the weather from 1.9 to 2.9 s."""
    model = ScriptedLLM({"weather": Reply(FIRST, ttft=1.0), "yes": SECOND})
    two = {"interruption": {"min_words": 2}}
    user.says("weather please", at=1.0)
    return Stage(session_class, user=user, llm=model, turn_handling=two).run(12.0)


@pytest.mark.parametrize("duration", [0.3, 0.8])
def test_if_only_words_interrupt_a_noise_delays_an_answer_hardly(duration: float) -> None:
    """LiveKit takes no noise for an interruption then: so none is waited for."""
    stock, ours = (
        _two_words_interrupt(kind, ScriptedUser().makes_noise(at=2.1, duration=duration))
        for kind in (AgentSession, TurnSession)
    )
    assert ours.heard[0].text == FIRST
    assert ours.heard[0].start - stock.heard[0].start <= 0.3 + 1e-6


@BOTH
@pytest.mark.parametrize("stt_delay", [0.3, 0.8])
def test_too_few_words_do_not_interrupt_an_answer_before_it_is_heard(
    session_class: Session, stt_delay: float
) -> None:
    """One word, after its voice has ended."""
    user = ScriptedUser().says("yes", at=2.1, duration=0.3, stt_delay=stt_delay)
    assert _two_words_interrupt(session_class, user).heard[0].text == FIRST


@BOTH
def test_a_vad_that_does_not_say_whether_a_frame_is_speech_does_not_resume_over_the_user(
    session_class: Session,
) -> None:
    """The user speaks for six seconds over a story: it is cut once."""
    user = ScriptedUser().says("tell me a story", at=1.0)
    user.says("no not that one please i know it by heart", at=4.0, duration=6.0)
    model = ScriptedLLM({"story": STORY, "not that one": "Another one then."})
    vad = ScriptedVAD(says_speaking=False)
    tts = ScriptedTTS(durations={STORY: 10.0})
    outcome = Stage(session_class, user=user, llm=model, tts=tts, vad=vad).run(16.0)
    assert outcome.false_interruptions == []
    assert [h.text for h in outcome.heard[1:]] == ["Another one then."]


@BOTH
def test_speech_begins_in_a_silence_of_the_user(session_class: Session) -> None:
    """This VAD waits for a second of silence before it says that the user has ended; LiveKit lets
    a speech begin after a quarter of a second."""
    user = ScriptedUser().makes_noise(at=1.0, duration=0.6)
    vad, long = ScriptedVAD(min_silence=1.0), {"interruption": {"min_duration": 3.0}}
    stage = Stage(session_class, user=user, vad=vad, turn_handling=long)
    stage.at(1.7, lambda s: s.session.say("Are you there?") and None)
    assert 1.85 <= stage.run(6.0).heard[0].start <= 2.1


def _limits(stage: Stage) -> list[str]:
    session: Any = stage.session
    return [e.trigger for e in session.turn.journal if "limit" in e.trigger and e.verdict]


@BOTH
def test_a_model_that_takes_seventy_seconds_is_heard(session_class: Session) -> None:
    user = ScriptedUser().says("weather please", at=1.0)
    model = ScriptedLLM({"weather": Reply(FIRST, ttft=70.0)})
    outcome = Stage(session_class, user=user, llm=model).run(80.0)
    assert [h.text for h in outcome.heard] == [FIRST]


@BOTH
def test_a_model_that_goes_on_giving_tokens_is_waited_for(session_class: Session) -> None:
    """thinking_limit is about silence of the model; this one needs 8 s for its sentence."""
    user = ScriptedUser().says("weather please", at=1.0)
    model = ScriptedLLM({"weather": Reply(FIRST, duration=8.0)})
    stage = Stage(session_class, user=user, llm=model, timers={"thinking_limit": 3.0})
    assert [h.text for h in stage.run(20.0).heard] == [FIRST]


@BOTH
@pytest.mark.parametrize("allow_interruptions", [True, False])
def test_a_long_story_is_heard_to_its_end(
    session_class: Session, allow_interruptions: bool
) -> None:
    """speaking_limit is about an output that does not report; this one has a lot to play."""
    tts = ScriptedTTS(durations={STORY: 60.0})
    stage = Stage(session_class, tts=tts, timers={"speaking_limit": 10.0})
    say = {"allow_interruptions": allow_interruptions}
    stage.at(1.0, lambda s: s.session.say(STORY, **say) and None)
    (heard,) = stage.run(70.0).heard
    assert heard.end - heard.start == pytest.approx(60.0, abs=0.1)


def test_a_limit_that_is_reached_is_reported_and_no_reply() -> None:
    """A model that gives nothing: event, log, journal, and the turn counts as dropped."""
    user = ScriptedUser().says("weather please", at=1.0)
    model = ScriptedLLM({"weather": Reply(FIRST, ttft=70.0)})
    reached: list[Any] = []
    stage = Stage(TurnSession, user=user, llm=model, timers={"thinking_limit": 4.0})
    stage.at(0.0, lambda s: s.session.on("turn_limit_reached", reached.append) and None)
    outcome = stage.run(20.0)
    session: Any = stage.session
    assert [(r.limit, r.seconds) for r in reached] == [("thinking_limit", 4.0)]
    assert [text for _, text in outcome.warnings] == [str(reached[0])]
    assert _limits(stage) == ["thinking_limit"]
    assert session.user_turns["replied"] == 0
    assert session.user_turns["dropped"] == 1


@function_tool
async def transfer(context: RunContext[Any]) -> str:
    """Transfer money."""
    await context.wait_for_playout()
    return "done"


def test_an_interruption_of_a_tool_leaves_no_warning_and_timers_no_refusals() -> None:
    """LiveKit warns about each ToolError; the timers of a step fire while guards hold them back."""
    user = ScriptedUser().says("transfer please", at=1.0).says("no wait", at=4.0)
    says = Reply("I transfer it now if you do not mind at all.", calls=Call("transfer"))
    model = ScriptedLLM({"transfer": says, "wait": "All right."})
    stage = Stage(TurnSession, user=user, llm=model, tools=[transfer])
    outcome = stage.run(12.0)
    assert [run.status for run in outcome.tools] == ["error"]
    assert outcome.warnings == []
    session: Any = stage.session
    refused = {entry.verdict.trigger for entry in session.turn.journal.refusals}
    assert not refused & {*session.timers}


def _manual(session_class: Session, user: ScriptedUser, commits: tuple[float, ...]) -> Outcome:
    """The application commits the turns; the model needs 0.6 s for the first answer."""
    model = ScriptedLLM({"weather": Reply(FIRST, ttft=0.6), "tomorrow": SECOND})
    stage = Stage(session_class, user=user, llm=model, turn_handling={"turn_detection": "manual"})
    for at in commits:
        stage.at(at, lambda s: s.session.commit_user_turn(transcript_timeout=1.0) and None)
    return stage.run(14.0)


@BOTH
@pytest.mark.parametrize("at", [2.5, 2.9])
def test_words_without_a_commit_do_not_end_a_reply(session_class: Session, at: float) -> None:
    """The user says more while the model thinks, and only the application may commit that."""
    user = ScriptedUser().says("weather please", at=1.0, duration=0.5)
    user.says("by the way", at=at, duration=0.9, stt_delay=0.5)
    outcome = _manual(session_class, user, commits=(2.2,))
    assert [h.text for h in outcome.heard] == [FIRST]


@pytest.mark.parametrize("stt_delay", [0.6, 0.9])
def test_a_reply_is_not_begun_while_a_commit_waits_for_the_words(stt_delay: float) -> None:
    """Committed 0.4 s after the end of the voice; the words come later. The first answer is held
    as long, and then out of date."""
    user = ScriptedUser().says("weather please", at=1.0, duration=0.5)
    user.says("tomorrow", at=2.5, duration=0.9, stt_delay=stt_delay)
    outcome = _manual(TurnSession, user, commits=(2.2, 3.8))
    assert [h.text for h in outcome.heard] == [SECOND]


count = tool("count", "seven", seconds=3.0)


def _counts(user: ScriptedUser, session_class: Session = TurnSession, **parts: Any) -> Stage:
    """The user asks for a count, which takes from about 2 to 5 s."""
    model = ScriptedLLM(
        {"count": Reply("", calls=Call("count")), "stop": "All right.", "arrived": "It is seven."},
        {"count": "It is seven."},
    )
    user.says("count please", at=1.0, duration=0.5)
    return Stage(session_class, user=user, llm=model, tools=[count], **parts)


@pytest.mark.parametrize("can_pause", [True, False])
def test_a_pending_result_is_not_delivered_while_words_of_the_user_are_due(can_pause: bool) -> None:
    """The application interrupts while the user speaks, the call ends, the STT takes 1.5 s."""

    async def interrupt(stage: Stage) -> None:
        await stage.session.interrupt(force=True)

    user = ScriptedUser().says("stop there", at=4.5, duration=0.9, stt_delay=1.5)
    outcome = _counts(user, can_pause=can_pause).at(4.8, interrupt).run(14.0)
    assert [h.text for h in outcome.heard][:1] == ["All right."]


@pytest.mark.parametrize("noise", [None, 0.15])
def test_a_reply_about_a_result_is_not_begun_while_words_of_the_user_are_due(
    noise: float | None,
) -> None:
    """The user speaks while a tool works, and it ends before the STT has the words; a noise after
    them changes nothing."""
    user = ScriptedUser().says("stop there", at=3.6, duration=0.9, stt_delay=1.5)
    if noise is not None:
        user.makes_noise(at=4.9, duration=noise)
    outcome = _counts(user).run(14.0)
    assert [h.text for h in outcome.heard][:1] == ["All right."]


@pytest.mark.parametrize("duration", [0.15, 0.3, 0.6])
def test_a_reply_about_a_result_is_begun_hardly_later_after_a_noise_than_on_stock(
    duration: float,
) -> None:
    """Nothing comes of it."""
    user = ScriptedUser().makes_noise(at=4.6, duration=duration)
    stock = _counts(user, AgentSession).run(14.0)
    ours = _counts(ScriptedUser().makes_noise(at=4.6, duration=duration)).run(14.0)
    assert ours.heard[0].text == stock.heard[0].text == "It is seven."
    assert ours.heard[0].start - stock.heard[0].start <= 0.35


def test_what_a_tool_says_is_not_begun_while_a_commit_waits_for_words() -> None:
    """The application commits at 3.0 s and waits a second; the tool speaks at 3.2 s."""

    @function_tool
    async def speak(ctx: RunContext[Any]) -> str:
        """Speak."""
        await asyncio.sleep(1.0)
        await ctx.session.say("One moment please.")
        return "spoken"

    user = ScriptedUser().says("weather please", at=1.0, duration=0.5)
    user.says("tomorrow", at=2.4, duration=0.5, stt_delay=0.9)
    model = ScriptedLLM({"weather": Reply("", calls=Call("speak")), "tomorrow": SECOND})
    stage = Stage(
        TurnSession, user=user, llm=model, tools=[speak], turn_handling={"turn_detection": "manual"}
    )
    for at in (1.9, 3.0):
        stage.at(at, lambda s: s.session.commit_user_turn(transcript_timeout=1.0) and None)
    assert [h.text for h in stage.run(12.0).heard][:1] == [SECOND]


@BOTH
def test_a_committed_turn_is_not_answered_into_the_next_words(session_class: Session) -> None:
    """The user speaks again, from 2.4 to 3.6 s, while the model thinks; only the application
    commits."""
    user = ScriptedUser().says("weather please", at=1.0, duration=0.5)
    user.says("by the way", at=2.4, duration=1.2, stt_delay=0.3)
    outcome = _manual(session_class, user, commits=(1.9,))
    assert [h.text for h in outcome.heard if h.start < 3.6] == []


@BOTH
@pytest.mark.parametrize(
    ("commits", "second"),
    [((1.4, 1.9), None), ((1.85, 1.9, 1.95), None), ((2.5,), 2.5)],
    ids=["before and after the words", "one right after another", "more words come"],
)
def test_commits_of_the_same_words_are_one_turn(
    session_class: Session, commits: tuple[float, ...], second: float | None
) -> None:
    """The application commits again while the end of the turn is being decided, or the words come
    of a voice that it has committed: nothing is left for a second turn."""
    user = ScriptedUser().says("weather please", at=1.0, duration=0.5)
    if second is not None:
        user.says("tomorrow", at=second, duration=0.7, stt_delay=0.35)
    outcome = _manual(session_class, user, commits)
    assert [h.text for h in outcome.heard] == [FIRST], outcome.timeline()
    said = "weather please tomorrow" if second else "weather please"
    assert [line for line in outcome.context if line.startswith("user")] == [f"user: {said}"]


@BOTH
@pytest.mark.parametrize("noise", [None, 1.9], ids=["quiet", "noise"])
def test_what_is_cleared_is_not_committed(session_class: Session, noise: float | None) -> None:
    """The application commits, and clears the turn while its end is being decided."""
    if session_class is AgentSession:
        failures.page()  # before 1.8.9 it answers
    user = ScriptedUser().says("weather please", at=1.0, duration=0.5)
    if noise is not None:
        user.makes_noise(at=noise, duration=0.3)
    model = ScriptedLLM({"weather": FIRST})
    handling: Any = {"turn_detection": "manual", "endpointing": {"min_delay": 1.0}}
    stage = Stage(session_class, user=user, llm=model, turn_handling=handling)
    stage.at(1.9, lambda s: s.session.commit_user_turn(transcript_timeout=1.0) and None)
    stage.at(2.3, lambda s: s.session.clear_user_turn())
    assert [h.text for h in stage.run(8.0).heard] == []


@BOTH
@pytest.mark.parametrize("at", [2.2, 2.9, 3.05])
def test_a_commit_after_all_words_have_come_holds_no_answer(
    session_class: Session, at: float
) -> None:
    """The application commits while its hook looks at the turn; the user has been silent since.
    The commit waits a second for words, the answer does not."""

    class Slow(Agent):
        async def on_user_turn_completed(self, turn_ctx: Any, new_message: Any) -> None:
            await asyncio.sleep(1.0)

    user = ScriptedUser().says("weather please", at=1.0, duration=0.6)
    model = ScriptedLLM({"weather": FIRST})
    agent = Slow(instructions="Help.")
    stage = Stage(session_class, user=user, llm=model, agent=agent)
    stage.at(at, lambda s: s.session.commit_user_turn(transcript_timeout=1.0) and None)
    outcome = stage.run(12.0)
    assert outcome.heard[0].start < 3.5
