"""How long the user has been silent within their speech, as the VAD hears it."""

from __future__ import annotations

from pipecat.audio.vad.vad_analyzer import VADAnalyzer, VADParams, VADState

from turnfsm.fsm import Flow, HostError

__all__ = ["Pauses", "pauses_of"]

BYTES = 2  # a sample


class Pauses(VADAnalyzer):
    """The application's VAD, which also measures pauses before it reports the end of speech.

    Args:
        inner: The application's VAD.

    Attributes:
        silence: Seconds of the pause so far.
    """

    def __init__(self, inner: VADAnalyzer) -> None:
        super().__init__(params=inner.params)
        self._inner = inner
        self.silence = 0.0

    @property
    def sample_rate(self) -> int:
        return int(self._inner.sample_rate)

    @property
    def params(self) -> VADParams:
        return self._inner.params

    def set_sample_rate(self, sample_rate: int) -> None:
        self._inner.set_sample_rate(sample_rate)

    def set_params(self, params: VADParams) -> None:
        self._inner.set_params(params)

    def num_frames_required(self) -> int:
        return int(self._inner.num_frames_required())

    def voice_confidence(self, buffer: bytes) -> float:
        return float(self._inner.voice_confidence(buffer))

    async def analyze_audio(self, buffer: bytes) -> VADState:
        state = await self._inner.analyze_audio(buffer)
        seconds = len(buffer) / BYTES / self.sample_rate
        self.silence = self.silence + seconds if state is VADState.STOPPING else 0.0
        return state

    async def cleanup(self) -> None:
        await self._inner.cleanup()
        await super().cleanup()


def pauses_of(flow: Flow, vad: VADAnalyzer | None) -> Pauses | None:
    """The VAD, wrapped to measure pauses; None if the flow needs neither pauses nor the length of
    speech, or if there is no VAD.

    Raises:
        HostError: The flow says backchannels at pauses, which nothing would measure.
    """
    tunings = [tuning for _, _, tuning, _ in flow.tunings]
    wanted = [tuning.min_silence for tuning in tunings if tuning.min_silence is not None]
    if any(action.backchannel for action in flow.actions.values()):
        _require_pauses(flow, vad, max(wanted))
    measured = wanted or any(tuning.min_duration is not None for tuning in tunings)
    return Pauses(vad) if vad is not None and measured else None


def _require_pauses(flow: Flow, vad: VADAnalyzer | None, wanted: float) -> None:
    if vad is None:
        raise HostError(
            f"flow {flow.name!r} says backchannels at pauses within the user's speech, and nothing "
            "measures those; give the VAD to the governor: governor.user(LLMUserAggregatorParams("
            "vad_analyzer=...))"
        )
    if wanted >= vad.params.stop_secs:
        raise HostError(
            f"flow {flow.name!r} says backchannels at pauses of {wanted:g} s within the user's "
            f"speech, and the VAD ends the speech after {vad.params.stop_secs:g} s; write a "
            "shorter pause into the flow, or a longer one into the VAD: "
            f"VADParams(stop_secs={wanted + 0.3:.1f})"
        )
