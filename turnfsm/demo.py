"""The parts of the demo: speech in and out without a network, and a scripted language model.

They need `pip install 'turnfsm[demo]'`. `examples/room` puts them into a LiveKit room.
"""

from turnfsm.runtime.demo.llm import Rule, RuleLLM
from turnfsm.runtime.demo.pace import Pace
from turnfsm.runtime.demo.robot import Robot
from turnfsm.runtime.demo.script import FALLBACK, RULES, SOUNDS
from turnfsm.runtime.demo.stt import MoonshineSTT
from turnfsm.runtime.demo.transcribe import Transcriber
from turnfsm.runtime.demo.tts import PiperTTS, PiperVoice

__all__ = [
    "FALLBACK",
    "RULES",
    "SOUNDS",
    "MoonshineSTT",
    "Pace",
    "PiperTTS",
    "PiperVoice",
    "Robot",
    "Rule",
    "RuleLLM",
    "Transcriber",
]


def __dir__() -> list[str]:
    return __all__
