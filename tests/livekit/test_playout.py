"""What is heard, and what the agent state says about it, when a part fails."""

from __future__ import annotations

import asyncio
from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest
from livekit.agents import Agent
from scripted_tool import tool

from turnfsm.livekit import TurnSession
from turnfsm.runtime.conversation.floor import Floor, Gate
from turnfsm.runtime.conversation.host import TurnHost
from turnfsm.runtime.conversation.ports import Setup
from turnfsm.runtime.testing.livekit import (
    Call,
    Outcome,
    Reply,
    ScriptedAudioOutput,
    ScriptedLLM,
    ScriptedRealtime,
    ScriptedTTS,
    ScriptedUser,
    Stage,
)

STORY = "One two three four five six seven eight nine ten."


def test_what_a_voice_that_broke_off_has_left_is_not_heard() -> None:
    """It fails while the user has cut it: its rest does not sound under another state."""
    user = ScriptedUser().makes_noise(at=2.0, duration=3.0)
    stage = Stage(TurnSession, user=user, tts=ScriptedTTS(failures={STORY: 2.9}))
    stage.at(0.5, lambda s: s.session.say(STORY) and None)
    outcome = stage.run(12.0)
    (heard,) = outcome.heard
    assert heard.end < 2.6
    assert outcome.wrong_agent_states(0.021) == []
    assert outcome.orphans == ()


def _says_two_things(user: ScriptedUser, **options: Any) -> Outcome:
    """The second one is to begin when the first one ends, at 2.5 s."""
    stage = Stage(TurnSession, user=user, **options)
    stage.at(
        0.5, lambda s: s.session.say("Please wait for it.", allow_interruptions=False) and None
    )
    stage.at(0.6, lambda s: s.session.say("Here it is.") and None)
    return stage.run(12.0)


@pytest.mark.parametrize(
    "options",
    [
        {"can_pause": True},
        {"can_pause": False},
        {"turn_handling": {"interruption": {"resume_false_interruption": False}}},
        {"can_pause": False, "turn_handling": {"turn_detection": "manual"}},
    ],
    ids=["it can pause", "it cannot", "nothing is resumed", "manual"],
)
def test_no_output_gets_a_first_frame_while_the_user_speaks(options: dict[str, Any]) -> None:
    """What cannot pause is given nothing, and nothing is lost."""
    outcome = _says_two_things(ScriptedUser().makes_noise(at=1.2, duration=2.0), **options)
    first, second = outcome.heard
    assert first.end < 2.5
    assert second.text == "Here it is."
    assert 3.2 < second.start < 6.0, outcome.timeline()


def test_a_model_that_supports_overlapping_speech_is_not_held() -> None:
    """It decides itself whether it speaks while the user does."""
    user, voice = ScriptedUser().makes_noise(at=1.2, duration=2.0), ScriptedTTS()
    model = ScriptedRealtime(user, ScriptedLLM(), voice, turn_detection=True)
    model.capabilities.supports_overlapping_speech = True
    turns = {"turn_detection": "realtime_llm"}
    outcome = _says_two_things(user, llm=model, tts=voice, can_pause=False, turn_handling=turns)
    assert outcome.heard[1].start < 2.5, outcome.timeline()


@pytest.mark.parametrize(
    ("delay", "said"),
    [(1.2, ["Please wait for it.", "Noted."]), (None, ["Please wait for it.", "Here it is."])],
)
def test_a_reply_behind_what_cannot_be_interrupted_waits_for_words(
    delay: float | None, said: list[str]
) -> None:
    """The user speaks while the first thing is said; the words come when the second could begin."""
    user = ScriptedUser()
    if delay is None:
        user.makes_noise(at=0.6, duration=0.7)
    else:
        user.says("a note", at=0.6, duration=0.7, stt_delay=delay)
    model = ScriptedLLM({"a note": "Noted."})
    heard_meanwhile = {"interruption": {"discard_audio_if_uninterruptible": False}}
    outcome = _says_two_things(user, llm=model, turn_handling=heard_meanwhile)
    assert [heard.text for heard in outcome.heard] == said, outcome.timeline()


@pytest.mark.parametrize("how", ["disabled", "disabled for a moment", "replaced", "removed"])
def test_what_was_kept_back_is_heard_although_the_output_has_changed(how: str) -> None:
    """The application changes the output while the user makes a noise, and the first frame waits:
    the output that has it goes on. Stock does not keep it back, and plays it, too."""

    def change(stage: Stage) -> None:
        output = stage.session.output
        if how in ("replaced", "removed"):
            output.audio = None if how == "removed" else ScriptedAudioOutput(ScriptedTTS())
        else:
            output.set_audio_enabled(False)

    def change_back(stage: Stage) -> None:
        if how == "disabled for a moment":
            stage.session.output.set_audio_enabled(True)

    stage = Stage(TurnSession, user=ScriptedUser().makes_noise(at=1.0, duration=2.0))
    done: list[float] = []

    async def say(stage: Stage) -> None:
        await stage.session.say("Here it is.")
        done.append(asyncio.get_running_loop().time())

    stage.at(1.2, say).at(2.0, change).at(2.5, change_back)
    outcome = stage.run(12.0)
    assert [heard.text for heard in outcome.heard] == ["Here it is."]
    assert 3.0 < outcome.heard[0].start < 6.0, outcome.timeline()
    assert len(done) == 1
    assert done[0] < 8.0
    assert stage.session.turn.state == "listening"  # type: ignore[attr-defined]


@pytest.mark.parametrize("enabled", [True, False])
def test_what_was_paused_goes_on_although_the_output_is_disabled(enabled: bool) -> None:
    """After a noise; the application has disabled the output meanwhile."""
    user = ScriptedUser().makes_noise(at=2.0, duration=1.0)
    stage = Stage(TurnSession, user=user)
    stage.at(0.5, lambda s: s.session.say(STORY) and None)
    stage.at(2.8, lambda s: s.session.output.set_audio_enabled(enabled))
    outcome = stage.run(15.0)
    assert outcome.heard[-1].end > 6.0, outcome.timeline()
    assert stage.session.turn.state == "listening"  # type: ignore[attr-defined]


def _replace_output(stage: Stage) -> None:
    stage.session.output.audio = ScriptedAudioOutput(ScriptedTTS())


@pytest.mark.parametrize("at", [1.65, 1.7, 1.8, 1.9, 2.1])
def test_a_preemptive_reply_is_heard_where_it_was_asked_for(at: float) -> None:
    """The application replaces the output between the request and the commit: LiveKit plays the
    reply into the output before, so its playout is that of the reply."""
    user = ScriptedUser().says("a story", at=0.5, duration=0.8).makes_noise(at=3.6, duration=1.0)
    model = ScriptedLLM({"a story": STORY})
    turns = {"preemptive_generation": {"enabled": True}}
    stage = Stage(TurnSession, user=user, llm=model, turn_handling=turns)
    outcome = stage.at(at, _replace_output).run(15.0)
    assert outcome.wrong_agent_states(0.021) == [], outcome.timeline()
    before, after = outcome.heard
    assert before.end < 4.2, outcome.timeline()
    assert 4.6 < after.start < 7.0, outcome.timeline()


@pytest.mark.parametrize("detects", [True, False])
def test_a_realtime_reply_is_heard_on_the_output_that_there_is_when_it_begins(
    detects: bool,
) -> None:
    """The output is replaced after the model was asked, and before its reply begins."""
    user, voice, outputs = ScriptedUser(), ScriptedTTS(), list[ScriptedAudioOutput]()
    script = ScriptedLLM({"a story": Reply(STORY, ttft=1.0)})
    model = ScriptedRealtime(user, script, voice, turn_detection=detects)
    stage = Stage(TurnSession, user=user, llm=model, tts=voice)

    def replace(stage: Stage) -> None:
        outputs.append(ScriptedAudioOutput(voice))
        stage.session.output.audio = outputs[0]

    stage.at(0.5, lambda s: s.session.generate_reply(instructions="a story") and None)
    outcome = stage.at(1.2, replace).run(15.0)
    assert [heard.text for heard in outputs[0].heard] == [STORY], outcome.timeline()
    [began] = [at for at, state in outcome.agent_states if state == "speaking"]
    assert began == pytest.approx(outputs[0].heard[0].start, abs=0.02)


class _Output:
    """An output of which it is seen whether it is paused."""

    def __init__(self, *, can_pause: bool) -> None:
        self.can_pause = can_pause
        self.paused = False

    def pause(self, *, heard: bool) -> None:
        self.paused = True

    def resume(self, *, heard: bool) -> None:
        self.paused = False


@pytest.mark.parametrize("can_pause", [True, False])
def test_a_step_that_is_held_is_held_on_the_output_with_which_it_begins(can_pause: bool) -> None:
    """It got the floor, and was held, before its task began; the application has replaced the
    output meanwhile. LiveKit plays into the new one."""
    before, now = _Output(can_pause=True), _Output(can_pause=can_pause)
    speech: Any = SimpleNamespace(id="speech")
    agent: Any = SimpleNamespace(setup=Setup())
    never: Any = None
    floor = Floor(never, never, never, never)
    turn = SimpleNamespace(post=lambda *_: None)
    host = TurnHost(SimpleNamespace(floor=floor, turn=turn))  # type: ignore[arg-type]
    floor.take(agent, speech, before)
    host.hold_output(never)
    assert before.paused
    step = floor.output_known(speech, now)
    assert step is not None
    host.output_known(step)
    assert not before.paused
    assert now.paused is can_pause
    assert asyncio.run(_lets_through(step.gate)) is can_pause  # else the gate holds it


async def _lets_through(gate: Gate) -> bool:
    frame = asyncio.ensure_future(gate.pass_on())
    await asyncio.sleep(0)
    frame.cancel()
    return gate.passed


@pytest.mark.parametrize("policy", ["detach", "finish", "hold"])
def test_a_preamble_does_not_begin_over_a_user_who_has_begun_to_speak_while_its_call_ran(
    policy: Any,
) -> None:
    """The voice is detected while the call keeps its turn; the audio comes after its end."""
    book = tool("book", "booked", seconds=0.2, policy=policy)
    user = ScriptedUser().says("a table", at=0.5, duration=0.5).makes_noise(at=1.8, duration=1.5)
    model = ScriptedLLM(
        {"a table": Reply("One moment.", Call("book"), ttft=0.3)}, {"book": "It is booked."}
    )
    stage = Stage(TurnSession, user=user, llm=model, tts=ScriptedTTS(latency=0.5), tools=[book])
    outcome = stage.run(12.0)
    assert [heard.text for heard in outcome.heard] == ["One moment.", "It is booked."]
    assert outcome.heard[0].start > 3.3, outcome.timeline()


class _Looks(Agent):
    async def on_user_turn_completed(self, turn_ctx: Any, new_message: Any) -> None:
        await asyncio.sleep(1.0)


@pytest.mark.parametrize("policy", ["detach", "finish", "hold"])
def test_a_preamble_does_not_begin_while_words_that_came_before_its_call_end_a_turn(
    policy: Any,
) -> None:
    """The words come while the call runs. It ends before they are committed, and before any audio:
    the answer to the first words was asked for ahead, and then the agent's hook took a second."""
    book = tool("book", "booked", seconds=0.2, policy=policy)
    user = ScriptedUser().says("a table", at=0.5, duration=0.9)
    user.says("please", at=1.7, duration=0.3, stt_delay=1.6)
    model = ScriptedLLM({"a table": Reply("One moment.", Call("book")), "please": "Yes."})
    agent = partial(_Looks, instructions="", tools=[book])
    voice = ScriptedTTS(latency=0.3)
    outcome = Stage(TurnSession, user=user, llm=model, agent=agent, tts=voice).run(12.0)
    assert [heard.text for heard in outcome.heard] == ["Yes."], outcome.timeline()
