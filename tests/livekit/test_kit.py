"""The scripted components obey livekit's interfaces and say exactly what was heard and when."""

import asyncio
import gc
import time
from collections.abc import AsyncIterator

import pytest
from livekit import rtc
from livekit.agents import AgentSession, APIConnectionError, llm, stt, vad
from livekit.agents.utils.audio import silence_frame_like

from turnfsm.runtime.testing.clock import VirtualClock
from turnfsm.runtime.testing.heard import Heard
from turnfsm.runtime.testing.livekit import (
    Call,
    Outcome,
    Reply,
    ScriptedAudioInput,
    ScriptedAudioOutput,
    ScriptedLLM,
    ScriptedRealtime,
    ScriptedSTT,
    ScriptedTTS,
    ScriptedUser,
    ScriptedVAD,
    Stage,
)

pytestmark = pytest.mark.usefixtures("old_objects_stay")

TEN = "one two three four five six seven eight nine ten"


@pytest.fixture(autouse=True)
async def nothing_left_over(virtual_time: VirtualClock) -> AsyncIterator[None]:
    """No test of a component may leave a task behind."""
    before = asyncio.all_tasks()
    yield
    await asyncio.sleep(1)
    assert asyncio.all_tasks() - before <= {asyncio.current_task()}
    gc.collect()  # here, and not while Python compiles something: gh-106905 of CPython


async def frames(user: ScriptedUser, seconds: float) -> list[rtc.AudioFrame]:
    """What the microphone gives in so many seconds."""
    microphone, sound = ScriptedAudioInput(user), []
    while sum(frame.duration for frame in sound) < seconds - 1e-6:
        sound.append(await anext(microphone))
    return sound


async def hear(recognizer: stt.STT, sound: list[rtc.AudioFrame]) -> list[tuple[float, str, str]]:
    """Push frames at the pace of speech; when which transcript came."""
    loop = asyncio.get_running_loop()
    stream, begun = recognizer.stream(), loop.time()
    heard = []

    async def listen() -> None:
        async for event in stream:
            text = event.alternatives[0].text
            heard.append((round(loop.time() - begun, 3), event.type.value, text))

    listener = asyncio.create_task(listen())
    for frame in sound:
        await asyncio.sleep(frame.duration)
        stream.push_frame(frame)
    stream.end_input()
    await listener
    await stream.aclose()
    return heard


async def test_the_microphone_paces_its_frames(virtual_time: VirtualClock) -> None:
    """A second of sound takes a second: frames of 50 ms, and one for the silence before it."""
    sound = await frames(ScriptedUser().says("hello", at=0.2, duration=0.5), 1.0)
    assert virtual_time.now == pytest.approx(1.0)
    assert [bool(f.data[0]) for f in sound] == [False] + [True] * 10 + [False] * 6
    assert [f.duration for f in sound] == [0.2] + [0.05] * 16


async def test_frames_are_long_from_a_second_after_a_sound_to_the_next() -> None:
    """Who listens has heard by then that the sound has ended."""
    user = ScriptedUser().makes_noise(at=0.0, duration=0.1).makes_noise(at=2.4, duration=0.1)
    sound = await frames(user, 2.5)
    assert [f.duration for f in sound] == [0.05] * 22 + [0.5, 0.5, 0.3] + [0.05] * 2


async def test_a_sound_that_begins_in_the_middle_of_a_silence_is_heard_at_once(
    virtual_time: VirtualClock,
) -> None:
    """What is added while the microphone is silent comes as it would if it had been planned."""
    user = ScriptedUser()
    listening = asyncio.create_task(frames(user, 1.0))
    await asyncio.sleep(0.72)
    user.says("hello", at=virtual_time.now, duration=0.15)
    sound = await listening
    assert [f.duration for f in sound] == [0.5, 0.2] + [0.05] * 6
    assert [bool(f.data[0]) for f in sound[2:]] == [True] * 3 + [False] * 3
    assert virtual_time.now == pytest.approx(1.0)


async def test_two_sounds_of_the_user_may_not_overlap() -> None:
    """A user with two mouths is refused, with the times."""
    with pytest.raises(ValueError, match=r"'hello' until 1\.5 s and 'bye' from 1\.2 s; move one"):
        ScriptedUser().says("hello", at=0.5, duration=1.0).says("bye", at=1.2)


async def test_vad_reports_start_end_and_every_frame() -> None:
    """Start after 50 ms of sound, end after 250 ms of silence, an inference event each frame."""
    sound = await frames(ScriptedUser().makes_noise(at=0.5, duration=1.0), 2.0)
    stream = ScriptedVAD().stream()
    for frame in sound:
        stream.push_frame(frame)
    stream.end_input()
    events = [event async for event in stream]
    await stream.aclose()

    inferences = [e for e in events if e.type is vad.VADEventType.INFERENCE_DONE]
    start, end = [e for e in events if e.type is not vad.VADEventType.INFERENCE_DONE]
    assert len(inferences) == len(sound) == 31
    assert (start.type, start.timestamp) == (vad.VADEventType.START_OF_SPEECH, 0.55)
    assert (end.type, end.timestamp) == (vad.VADEventType.END_OF_SPEECH, 1.75)
    assert end.speech_duration == pytest.approx(1.0)
    assert end.silence_duration == pytest.approx(0.25)
    speaking = [e.timestamp for e in inferences if e.speaking]
    assert (min(speaking), max(speaking)) == pytest.approx((0.6, 1.75))
    assert max(e.raw_accumulated_silence for e in inferences if e.speaking) == pytest.approx(0.2)


async def test_a_flush_restarts_the_vad() -> None:
    """After a flush in mid-speech the same sound is a new start of speech."""
    sound = await frames(ScriptedUser().makes_noise(at=0.0, duration=1.0), 1.0)
    stream = ScriptedVAD().stream()
    for half in (sound[:10], sound[10:]):
        for frame in half:
            stream.push_frame(frame)
        stream.flush()
    stream.end_input()
    kinds = [e.type async for e in stream if e.type is not vad.VADEventType.INFERENCE_DONE]
    await stream.aclose()
    assert kinds == [vad.VADEventType.START_OF_SPEECH] * 2


async def test_stt_gives_interims_and_the_final_on_time() -> None:
    """Interim transcripts at their offsets, the final one `stt_delay` after the sound."""
    user = ScriptedUser().says(
        TEN, at=1.0, duration=2.0, stt_delay=0.4, interims=((0.5, "one two"),)
    )
    heard = await hear(ScriptedSTT(user), await frames(user, 3.5))
    assert heard == [(1.5, "interim_transcript", "one two"), (3.4, "final_transcript", TEN)]


async def test_stt_loses_the_words_whose_frames_were_silenced() -> None:
    """Silence in place of the audio takes exactly its words out of the transcript."""
    user = ScriptedUser().says(TEN, at=0.0, duration=2.0)
    sound = await frames(user, 2.5)
    sound[:20] = [silence_frame_like(frame) for frame in sound[:20]]
    heard = await hear(ScriptedSTT(user), sound)
    assert [text for _, _, text in heard] == ["six seven eight nine ten"]


async def test_stt_begins_another_transcript_after_a_silence_that_it_was_given() -> None:
    """A final transcript ends what came before; no interim one repeats it, or comes late."""
    interims = ((0.5, "one two"), (0.75, "one two three"), (1.7, "one two three four five six"))
    user = ScriptedUser().says(TEN, at=0.0, duration=2.0, stt_delay=0.1, interims=interims)
    sound = await frames(user, 2.5)
    sound[12:16] = [silence_frame_like(frame) for frame in sound[12:16]]  # 0.6 to 0.8 s
    heard = await hear(ScriptedSTT(user), sound)
    assert [(kind[:5], text) for _, kind, text in heard] == [
        ("inter", "one two"),
        ("final", "one two three"),
        ("inter", "five six"),
        ("final", "five six seven eight nine ten"),
    ]


async def test_stt_recognizes_a_whole_recording() -> None:
    """As an STT without streaming does."""
    user = ScriptedUser().says("hello", at=0.5).makes_noise(at=2.0, duration=0.2)
    user.says("good bye", at=3.0)
    event = await ScriptedSTT(user).recognize(await frames(user, 4.0))
    assert [data.text.split() for data in event.alternatives] == [["hello", "good", "bye"]]


async def test_stt_says_nothing_about_noise_or_without_a_delay() -> None:
    """Noise has no transcript, nor has speech whose transcript never comes."""
    user = ScriptedUser().makes_noise(at=0.2, duration=0.5).says("hello", at=1.0, stt_delay=None)
    assert await hear(ScriptedSTT(user), await frames(user, 2.0)) == []


async def play(output: ScriptedAudioOutput, voice: ScriptedTTS, text: str) -> None:
    """Give the audio output a whole sentence."""
    stream = voice.synthesize(text)
    async for audio in stream:
        await output.capture_frame(audio.frame)
    await stream.aclose()
    output.flush()


async def test_the_audio_output_plays_at_the_pace_of_the_clock() -> None:
    """A sentence of three seconds is heard for three seconds and reported at its end."""
    voice = ScriptedTTS()
    output = ScriptedAudioOutput(voice)
    await play(output, voice, TEN)
    assert output.sounding
    done = await output.wait_for_playout()
    assert done.playback_position == pytest.approx(3.0, abs=0.05)
    assert not done.interrupted
    (heard,) = output.heard
    assert (heard.start, heard.text) == (pytest.approx(0.1), TEN)
    assert heard.end == pytest.approx(3.1, abs=0.05)


async def test_a_pause_splits_what_is_heard_and_loses_no_word() -> None:
    """Pause and resume give two stretches that together hold the sentence."""
    voice = ScriptedTTS()
    output = ScriptedAudioOutput(voice)
    await play(output, voice, TEN)
    await asyncio.sleep(1.5)
    output.pause()
    assert not output.sounding
    await asyncio.sleep(5)
    output.resume()
    await output.wait_for_playout()
    assert [h.text for h in output.heard] == ["one two three four five", "six seven eight nine ten"]
    assert output.heard[1].start == pytest.approx(6.6)


async def test_clearing_reports_how_far_it_came() -> None:
    """An interruption ends the segment with its position and the words heard."""
    voice = ScriptedTTS()
    output = ScriptedAudioOutput(voice)
    await play(output, voice, TEN)
    await asyncio.sleep(0.9)
    output.clear_buffer()
    done = await output.wait_for_playout()
    assert done.interrupted
    assert done.playback_position == pytest.approx(0.9)
    assert done.synchronized_transcript == "one two three"


async def test_an_output_that_cannot_pause_plays_on() -> None:
    """`can_pause=False` is what livekit sees, and a pause has no effect."""
    voice = ScriptedTTS()
    output = ScriptedAudioOutput(voice, can_pause=False)
    await play(output, voice, TEN)
    output.pause()
    assert not output.can_pause
    assert output.sounding
    await output.wait_for_playout()


async def test_the_fault_no_end_keeps_the_end_from_being_reported() -> None:
    """The fault `no_end`: the audio is heard, and waiting for its end never succeeds."""
    voice = ScriptedTTS()
    output = ScriptedAudioOutput(voice, faults=["no_end"])
    await play(output, voice, TEN)
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(output.wait_for_playout(), 60)
    assert output.heard[0].text == TEN


async def ask(model: ScriptedLLM, text: str) -> llm.CollectedResponse:
    """One request to the model."""
    context = llm.ChatContext.empty()
    context.add_message(role="user", content=text)
    return await model.chat(chat_ctx=context).collect()


async def test_the_model_answers_by_rule_and_remembers() -> None:
    """Text, tool calls with their own ids, and a record of each request with its times."""
    model = ScriptedLLM({"weather": Reply("Let me see.", calls=Call("look_up", {"city": "Rome"}))})
    answer = await ask(model, "What is the Weather?")
    assert answer.text == "Let me see."
    assert [(c.name, c.arguments, c.call_id) for c in answer.tool_calls] == [
        ("look_up", '{"city": "Rome"}', "call_1")
    ]
    assert (await ask(model, "something else")).text == "I see."
    first, second = model.requests
    assert (first.at, first.ended, first.outcome) == (0.0, pytest.approx(0.3), "complete")
    assert first.context == ("user: What is the Weather?",)
    assert second.prompt == "user: something else"


async def test_a_cancelled_request_is_recorded_as_such() -> None:
    """Closing the stream early marks the request cancelled."""
    model = ScriptedLLM()
    context = llm.ChatContext.empty()
    context.add_message(role="user", content="hello")
    stream = model.chat(chat_ctx=context)
    await asyncio.sleep(0.05)
    await stream.aclose()
    assert [(r.outcome, r.ended) for r in model.requests] == [("cancelled", 0.05)]


async def test_a_failing_model_is_recorded_and_raises() -> None:
    """An error in a reply reaches the caller after the text, as a provider's does."""
    model = ScriptedLLM({"hello": Reply("Well", error=APIConnectionError("gone", retryable=False))})
    with pytest.raises(APIConnectionError):
        await ask(model, "hello")
    assert [r.outcome for r in model.requests] == ["failed"]


async def test_chat_items_are_dated_in_virtual_time() -> None:
    """livekit orders its context by `created_at`: it must read the same clock as the rest."""
    await Stage(AgentSession).play(0.5)
    message = llm.ChatMessage(role="user", content=["hello"])
    assert message.created_at == time.time()


async def test_the_stage_observes_a_failing_tts() -> None:
    """A voice that breaks off is heard until then, and its error is in the outcome."""

    def speak(stage: Stage) -> None:
        stage.session.say(TEN)

    tts = ScriptedTTS(failures={TEN: 1.5})
    outcome = await Stage(AgentSession, tts=tts).at(1.0, speak).play(10)
    assert [h.text for h in outcome.heard] == ["one two three four five"]
    assert any("breaks off" in text for _, text in outcome.errors)


async def test_an_action_that_raises_fails_the_stage() -> None:
    """An error in a scenario's own script is not swallowed."""

    def wrong(stage: Stage) -> None:
        raise LookupError("the script is wrong")

    with pytest.raises(LookupError, match="the script is wrong"):
        await Stage(AgentSession).at(1.0, wrong).play(3)


async def test_a_stt_can_end_turns() -> None:
    """With turn detection by STT the user's turn is answered, without waiting for the VAD."""
    user = ScriptedUser().says("hello", at=1.0)
    outcome = await Stage(AgentSession, user=user, turn_handling={"turn_detection": "stt"}).play(8)
    answer = outcome.heard_saying("I see.")
    assert answer is not None
    assert outcome.timers == ()


async def test_the_stage_names_timers_that_are_left() -> None:
    """A timer that outlives the session is in the outcome, with what it calls."""

    def forget(stage: Stage) -> None:
        asyncio.get_running_loop().call_later(100, forget, stage)

    outcome = await Stage(AgentSession).at(1.0, forget).play(3)
    (left,) = outcome.timers
    assert "forget" in left


async def test_a_realtime_server_keeps_what_it_has_said() -> None:
    """LiveKit's copy of a message is empty while it is being said; that changes nothing there."""
    user = ScriptedUser()
    session = ScriptedRealtime(user, ScriptedLLM(), ScriptedTTS()).session()
    said = llm.ChatMessage(role="assistant", content=["Hello."])
    session.remember(said)  # type: ignore[attr-defined]
    await session.update_chat_ctx(llm.ChatContext([said.model_copy(update={"content": []})]))
    assert [item.text_content for item in session.chat_ctx.messages()] == ["Hello."]
    await session.aclose()


async def test_a_word_that_is_cut_in_its_middle_by_a_commit_is_heard_once() -> None:
    """The middle of the third word is the border between two frames."""
    user = ScriptedUser().says("one two three", at=0.0, duration=0.9)
    model = ScriptedRealtime(user, ScriptedLLM(), ScriptedTTS(), turn_detection=False)
    session = model.session(turn_detection_disabled=True)
    for number, frame in enumerate(await frames(user, 1.0)):
        if number == 15:
            session.commit_audio()
        session.push_audio(frame)
    session.commit_audio()
    said = [item.text_content for item in session.chat_ctx.messages()]
    assert said == ["one two", "three"]
    await session.aclose()
    await asyncio.sleep(1.0)


async def test_a_request_without_a_choice_of_tools_gets_no_call() -> None:
    """As from a provider: `tool_choice="none"`, which LiveKit sends for what a tool has said."""
    model = ScriptedLLM({"weather": Reply("let me see", calls=Call("look_up"))})
    context = llm.ChatContext.empty()
    context.add_message(role="user", content="weather")
    answer = await model.chat(chat_ctx=context, tool_choice="none").collect()
    assert (answer.text, answer.tool_calls) == ("let me see", [])


async def test_on_a_line_that_echoes_the_microphone_hears_the_agent_while_the_user_is_silent() -> (
    None
):
    """The STT recognises what was heard, to the last word; the user's sounds cover it."""
    sentences: list[str] = []
    user = ScriptedUser().says("now me", at=1.4, stt_delay=0.1)
    stage = Stage(
        AgentSession,
        user=user,
        tts=ScriptedTTS(durations={TEN: 3.0}),
        echo=True,
        turn_handling={"turn_detection": "manual"},
    )

    def say(stage: Stage) -> None:
        stage.session.on("user_input_transcribed", lambda event: sentences.append(event.transcript))
        stage.session.say(TEN, allow_interruptions=False)
        stage.session.options.interruption["discard_audio_if_uninterruptible"] = False

    await stage.at(0.0, say).play(8.0)
    assert sentences == ["one two three four", "now me", "seven eight nine ten"]


async def test_words_are_heard_also_with_a_pause_between_them() -> None:
    """As an agent says them that is paused by "mhm"; the span is as short as possible."""
    spans = [(1.0, "Good morning."), (3.0, "From"), (4.0, "seven to"), (6.0, "eleven.")]
    outcome = Outcome(heard=[Heard(t, t + 0.5, text) for t, text in spans])
    assert outcome.heard_saying("From seven to") == Heard(3.0, 4.5, "From seven to")
    assert outcome.heard_saying("seven") == Heard(4.0, 4.5, "seven to")
    assert outcome.heard_saying("to nine") is None
