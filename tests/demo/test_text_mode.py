"""The typed conversation: the same script in virtual time, without models."""

import subprocess
import sys
import time

import pytest
from livekit.agents import AgentSession

from turnfsm.runtime.demo.on_livekit import prompter_of
from turnfsm.runtime.demo.pace import Pace
from turnfsm.runtime.demo.robot import Robot
from turnfsm.runtime.demo.script import CONVERSATION, IGNORED, Cue, When
from turnfsm.runtime.demo.text import TextStack
from turnfsm.runtime.testing.clock import run

CPU_TIME = time.process_time  # of this process alone, however busy the machine is


async def converse() -> tuple[list[str], list[str], int]:
    """Play the script on a stock session: what was heard, the user's turns, where the robot is."""
    stack = await TextStack.load(Pace(), IGNORED)
    robot = Robot(stack.pace)
    session: AgentSession[None] = AgentSession(**stack.options())
    stack.attach(session)
    prompter = prompter_of(session, stack.output, stack.pace)
    await session.start(robot)
    for line in CONVERSATION:
        await prompter.wait_for(line.cue)
        prompter.speaks(line)
        await stack.say(line)
    await prompter.wait_for(Cue(When.QUIET, 1.0))
    await session.aclose()
    await stack.aclose()
    turns = [item.text_content or "" for item in session.history.messages() if item.role == "user"]
    return [heard.text for heard in stack.output.heard], turns, robot.position


def test_whole_conversation_in_no_time() -> None:
    """Every line falls into its situation: tools run, the answer pauses, resumes and is cut."""
    began = CPU_TIME()
    heard, turns, position = run(converse())
    assert CPU_TIME() - began < 3.0
    assert turns == [line.text for line in CONVERSATION if not line.ignored]
    assert heard[:3] == [
        "Going forward ten meters.",
        "I have reached the place.",
        "Let me look for that parcel.",
    ]
    before, after = (i for i, text in enumerate(heard) if text and text in long_answer(heard))
    assert after == before + 1
    assert "battery" not in heard[after]
    assert heard[after + 1] == "Okay, I will stop talking."
    assert heard[-1] == "I am back at the dock."
    assert position == 0


def long_answer(heard: list[str]) -> str:
    """The one answer that the script pauses and cuts, as far as it was heard."""
    start = next(i for i, text in enumerate(heard) if text.startswith("I need a clearer"))
    return " ".join(heard[start : start + 2])


@pytest.mark.exhaustive
def test_needs_no_model() -> None:
    """Neither the STT nor the TTS is imported for a typed conversation."""
    script = (
        "import sys; import turnfsm.runtime.demo.text, turnfsm.runtime.demo.on_livekit; "
        "sys.exit(any(m in sys.modules for m in ('moonshine_voice', 'piper', 'onnxruntime')))"
    )
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0


def test_speed_belongs_to_the_spoken_conversation() -> None:
    """Virtual time has no speed; asking for one is refused, not ignored."""
    with pytest.raises(ValueError, match="no speed"):
        TextStack(Pace(2.0), ())
