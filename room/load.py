"""A worker for measuring load, without speech models, so that the cost is that of the session and
the room.

A tone counts as speech. Its transcript is always "hello", and the answer is a tone of 2 s. The
name of the room says which session takes it: `turn-...` or `stock-...`.
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from livekit import rtc
from livekit.agents import (
    Agent,
    AgentServer,
    AgentSession,
    APIConnectOptions,
    JobContext,
    JobProcess,
    LanguageCode,
    cli,
    stt,
    utils,
    vad,
)
from livekit.agents.types import NOT_GIVEN, NotGivenOr

from turnfsm import load_flow
from turnfsm.livekit import TurnSession
from turnfsm.testing import ScriptedLLM, ScriptedTTS

SESSIONS: dict[str, type[AgentSession[Any]]] = {"stock": AgentSession, "turn": TurnSession}
_LOUD = 500.0  # root mean square
_SPEECH, _SILENCE = 0.05, 0.3  # seconds until speech counts as begun, and as ended


class LoudnessVAD(vad.VAD):
    """A VAD for which loud audio is speech."""

    def __init__(self) -> None:
        super().__init__(capabilities=vad.VADCapabilities(update_interval=0.05))

    def stream(self) -> vad.VADStream:
        return _Loudness(self)


class _Loudness(vad.VADStream):
    def __init__(self, owner: LoudnessVAD) -> None:
        super().__init__(owner)
        self._at = self._loud = self._quiet = self._speech = self._silence = 0.0
        self._speaking = False
        self._samples = 0
        self._heard: list[rtc.AudioFrame] = []

    async def _main_task(self) -> None:
        async for item in self._input_ch:
            if not isinstance(item, vad.VADStream._FlushSentinel):
                self._hear(item)

    def _hear(self, frame: rtc.AudioFrame) -> None:
        samples = np.frombuffer(frame.data, np.int16).astype(np.float32)
        loud = float(np.sqrt(np.mean(np.square(samples)))) > _LOUD
        self._at += frame.duration
        self._samples += frame.samples_per_channel
        self._loud = self._loud + frame.duration if loud else 0.0
        self._quiet = 0.0 if loud else self._quiet + frame.duration
        if loud or self._speaking:
            self._heard.append(frame)
        if self._speaking:
            self._speech += frame.duration
        else:
            self._silence += frame.duration
        self._report(vad.VADEventType.INFERENCE_DONE, [frame])
        if not self._speaking and self._loud >= _SPEECH:
            self._speaking, self._speech, self._silence = True, self._loud, 0.0
            self._report(vad.VADEventType.START_OF_SPEECH, list(self._heard))
        elif self._speaking and self._quiet >= _SILENCE:
            self._speaking, self._silence = False, self._quiet
            self._report(vad.VADEventType.END_OF_SPEECH, list(self._heard))
            self._speech = 0.0
            self._heard.clear()

    def _report(self, kind: vad.VADEventType, frames: list[rtc.AudioFrame]) -> None:
        self._event_ch.send_nowait(
            vad.VADEvent(
                type=kind,
                samples_index=self._samples,
                timestamp=self._at,
                speech_duration=self._speech,
                silence_duration=self._silence,
                frames=frames,
                probability=1.0 if self._loud else 0.0,
                speaking=self._speaking,
                raw_accumulated_silence=self._quiet,
                raw_accumulated_speech=self._loud,
            )
        )


class HelloSTT(stt.STT[Any]):
    """An STT whose transcript is always "hello"."""

    def __init__(self) -> None:
        super().__init__(capabilities=stt.STTCapabilities(streaming=False, interim_results=False))

    async def _recognize_impl(
        self,
        buffer: utils.AudioBuffer,
        *,
        language: NotGivenOr[str] = NOT_GIVEN,
        conn_options: APIConnectOptions,
    ) -> stt.SpeechEvent:
        said = stt.SpeechData(language=LanguageCode("en"), text="hello")
        return stt.SpeechEvent(type=stt.SpeechEventType.FINAL_TRANSCRIPT, alternatives=[said])


class ToneTTS(ScriptedTTS):
    """A TTS that gives a tone as long as the text. A network drops constant samples."""

    def pcm(self, text: str, seconds: float) -> bytes:
        at = np.arange(round(seconds * self.sample_rate)) / self.sample_rate
        return (8000 * np.sin(2 * np.pi * 440 * at)).astype(np.int16).tobytes()


def load_flow_once(_: JobProcess) -> None:
    """Load the flow before the first call."""
    load_flow("turn")


server = AgentServer(
    setup_fnc=load_flow_once,
    load_fnc=lambda: 0.0,  # it accepts every call, because the limit is measured
    num_idle_processes=2,
    initialize_process_timeout=120.0,
    port=int(os.environ.get("TURNFSM_HEALTH_PORT", "0")),
)


@server.rtc_session()
async def entrypoint(ctx: JobContext) -> None:
    """A session of the kind that the room asks for."""
    session = SESSIONS[ctx.room.name.partition("-")[0]](
        stt=HelloSTT(),
        llm=ScriptedLLM({"hello": "one two three four five six"}),
        tts=ToneTTS(),
        vad=LoudnessVAD(),
        turn_handling={
            "turn_detection": "vad",
            "endpointing": {"min_delay": 0.5, "max_delay": 0.5},
            "interruption": {"mode": "vad"},
        },
        aec_warmup_duration=None,
    )
    session.on("close", lambda _: ctx.shutdown())
    await session.start(Agent(instructions="You say hello."), room=ctx.room)


if __name__ == "__main__":
    cli.run_app(server)
