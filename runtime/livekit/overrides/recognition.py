"""LiveKit's AudioRecognition, in which a manual commit survives and gets the whole transcript."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, cast

from livekit import rtc
from livekit.agents import llm
from livekit.agents.stt import SpeechEvent, SpeechEventType
from livekit.agents.vad import VAD
from livekit.agents.voice.audio_recognition import (
    AudioRecognition,
    _EndOfTurnInfo,
    _EndOfTurnMetrics,
)
from livekit.agents.voice.endpointing import BaseEndpointing

from turnfsm.fsm.flow import NEVER
from turnfsm.runtime.conversation.utterance import Question

from .segment import Segment

__all__ = ["GovernedRecognition", "turn_of", "until"]


class GovernedRecognition(AudioRecognition):
    """An AudioRecognition in which a manual commit is not cancelled and gets the whole transcript.

    LiveKit cancels a pending end-of-turn decision when speech is detected. That is right for a
    decision after silence, and wrong for a turn that the application has committed
    (livekit/agents#7010). If a commit gets no transcript within its `transcript_timeout`, LiveKit
    commits an empty turn.
    """

    waits_for: Callable[[Question], bool]
    """Answers a question about the transcript of the last speech: no, without an STT."""

    commit_wait: Callable[[float], float]
    """Seconds that a commit waits for a transcript once the microphone is off, at most these."""

    late_final: Callable[[], bool]
    """Says whether a final transcript that comes now belongs to the turn just committed."""

    until: Callable[..., Awaitable[bool]]
    """`Conductor.until`."""

    vad_failed: Callable[[VAD, BaseException], None]
    """Called with the VAD and the exception that it has raised."""

    segment: Segment
    """The segment of the STT stream; the next agent may continue it."""

    stt_hears = True
    """The STT gets the audio, and not silence in its place."""

    _committing = False
    _skips_reply = False
    _commit: asyncio.Task[None] | None = None
    _commit_future: asyncio.Future[str] | None = None
    _leaves = False
    _commit_waits_until = 0.0
    _ends_now = False
    _confidence = 0.0

    def _push_audio(self, frame: rtc.AudioFrame, **how: Any) -> None:
        self.stt_hears = how.get("stt_frame") is None
        super()._push_audio(frame, **how)

    async def _vad_task(self, vad: VAD, *audio: Any) -> None:
        try:
            await super()._vad_task(vad, *audio)
        except Exception as error:
            self.vad_failed(vad, error)
            raise

    def _run_eou_detection(self, *args: Any, **kwargs: Any) -> None:
        if kwargs["trigger"] == "manual":
            self.segment.commit(self._audio_transcript)
            self._skips_reply = kwargs.get("skip_reply", False)
            if self._waits_for_transcript:
                self._commit_later(partial(self._decide, *args, **kwargs))
                return
        elif self._commit is not None and not self._commit.done():
            kwargs["skip_reply"] = self._skips_reply  # the commit's transcript has arrived
        elif self._value_due:
            if kwargs["trigger"] == "vad":
                self._flush_stt()
            self._decide_later(partial(self._decide, *args, **kwargs))
            return
        self._decide(*args, **kwargs)

    def _decide(self, *args: Any, **kwargs: Any) -> None:
        self._committing = kwargs["trigger"] == "manual"
        # If the application commits without a transcript, there is no end of speech to wait for.
        empty = self._committing and not self._audio_transcript and self.late_final()
        self._ends_now = empty or (not self._committing and self.waits_for("ends_now"))
        mode = self._turn_detection_mode
        if self._ends_now:
            self._turn_detection_mode = "manual"  # no turn detector is asked
        try:
            super()._run_eou_detection(*args, **kwargs)
        finally:
            self._turn_detection_mode = mode
            self._committing = False

    @property
    def _endpointing(self) -> BaseEndpointing:
        endpointing: BaseEndpointing = self.__dict__["_endpointing"]
        return cast(BaseEndpointing, _Undelayed(endpointing)) if self._ends_now else endpointing

    @_endpointing.setter
    def _endpointing(self, endpointing: BaseEndpointing) -> None:
        self.__dict__["_endpointing"] = endpointing

    @property
    def _value_due(self) -> bool:
        return bool(self._audio_transcript) and self.waits_for("value_due")

    def _decide_later(self, decide: Callable[[], None]) -> None:
        if (open := self._end_of_turn_task) is not None:
            open.cancel()
        self._end_of_turn_task = asyncio.create_task(self._decide_when_due(decide))

    async def _decide_when_due(self, decide: Callable[[], None]) -> None:
        await self.until(lambda: self._leaves or not self._value_due)
        self.__dict__["_end_of_turn_task"] = None
        if not self._leaves:
            decide()

    def _flush_stt(self) -> None:
        # Since 1.8.9 LiveKit's decision asks an STT that only transcribes on request.
        if (flush := getattr(self._stt_pipeline, "flush", None)) is not None:
            flush()

    def _commit_user_turn(self, **how: Any) -> asyncio.Future[str]:
        self._skips_reply = how.get("skip_reply", False)
        if how["audio_detached"]:
            how["transcript_timeout"] = self.commit_wait(how["transcript_timeout"])
        self._commit_waits_until = _now() + how["transcript_timeout"]
        self._commit_future = super()._commit_user_turn(**how)
        return self._commit_future

    @property
    def _waits_for_transcript(self) -> bool:
        if self.commits_by_itself or self._leaves or not self.waits_for("commit_waits"):
            return False
        # If a transcript arrived less than 0.5 s ago, LiveKit does not wait, but the transcript may
        # be that of earlier speech.
        return not self._audio_transcript or self._commit_waits_until > _now()

    def _commit_later(self, decide: Callable[[], None]) -> None:
        wait = self._commit_waits_until - _now() if self._audio_transcript else NEVER
        commit = self._commit_with_transcript(decide, wait)
        self._committing = True
        self._end_of_turn_task = asyncio.create_task(commit)
        self._committing = False

    async def _commit_with_transcript(self, decide: Callable[[], None], wait: float) -> None:
        await self.until(lambda: self._leaves or not self.waits_for("transcript_pending"), wait)
        self._commit = self.__dict__["_end_of_turn_task"] = None
        decide()
        if (decision := self._end_of_turn_task) is not None:
            await asyncio.wait({decision})

    @property
    def pending_commit(self) -> asyncio.Task[None] | None:
        """A commit of the application whose turn has not ended yet, or None."""
        commits = (self._commit, self._commit_user_turn_atask)
        return next((commit for commit in commits if commit and not commit.done()), None)

    def leave(self) -> None:
        """The close is near: no transcript arrives any more."""
        self._leaves = True

    def hand_over_commit(self) -> bool:
        """End a pending commit. Returns whether the next agent must carry it out.

        If the next agent continues the STT stream, it gets the final transcript. LiveKit would wait
        for it here until the commit's timeout, and then use the interim transcript.
        """
        if self.commits_by_itself:
            if self._stt_pipeline is None:  # handed over
                self._end_wait_for_transcript()
            return False
        if self._skips_reply:
            return False
        waits = self._end_wait_for_transcript()
        return self._cancel_commit() or waits

    def commit_coming_transcript(self) -> None:
        """Carry out a commit that the previous agent left pending. Without a transcript there is no
        turn."""
        if self._waits_for_transcript:
            self._commit_later(self._decide_on_transcript)

    def _decide_on_transcript(self) -> None:
        if self._audio_transcript:
            self._decide(llm.ChatContext.empty(), trigger="manual")

    def _process_stt_event(self, ev: SpeechEvent) -> None:
        if ev.type is SpeechEventType.FINAL_TRANSCRIPT and ev.alternatives:
            self._confidence = ev.alternatives[0].confidence
        late = ev.type is SpeechEventType.FINAL_TRANSCRIPT and self._commit_has_ended
        super()._process_stt_event(self.segment.without_taken(ev))
        if late and self._audio_transcript:
            self._decide(llm.ChatContext.empty(), trigger="manual", skip_reply=self._skips_reply)

    @property
    def _commit_has_ended(self) -> bool:
        """The application has committed the turn without the transcript that comes now."""
        return self.pending_commit is None and self.late_final()

    def clears(self) -> None:
        """The transcript is about to be cleared. LiveKit then begins another stream."""
        self._cancel_commit()
        self._end_wait_for_transcript()
        self.segment = Segment()

    def _end_wait_for_transcript(self) -> bool:
        # A commit that still waits for a transcript would end the next turn.
        if self._commit_future is None or self._commit_future.done():
            return False
        self._commit_future.set_result("")  # the application may wait for it
        if self._commit_user_turn_atask is not None:
            self._commit_user_turn_atask.cancel()
        return True

    @property
    def _end_of_turn_task(self) -> Any:
        task: Any = self.__dict__.get("_end_of_turn_task")
        if self._commit is not None and not self._commit.done() and task.done():
            # The user's speech has cancelled the shield, not the commit.
            task = self.__dict__["_end_of_turn_task"] = asyncio.shield(self._commit)
        return task

    @_end_of_turn_task.setter
    def _end_of_turn_task(self, task: Any) -> None:
        # A decision that replaces a commit becomes the commit, with the newer transcript. Otherwise
        # both would end the same turn, the second one without a transcript.
        replaces = self._cancel_commit()
        self._commit = task if replaces or self._committing else None
        self.__dict__["_end_of_turn_task"] = task if self._commit is None else asyncio.shield(task)

    def _cancel_commit(self) -> bool:
        commit, self._commit = self._commit, None
        return commit is not None and commit.cancel()

    def take_uncommitted_transcript(self) -> _EndOfTurnInfo | None:
        """The transcript that is in no committed turn, as a turn."""
        transcript, self._audio_transcript = self._audio_transcript, ""
        if not transcript:
            return None
        return turn_of(transcript, self._confidence)

    @property
    def uncommitted_transcript(self) -> str:
        """The transcript that is in no committed turn."""
        return self._audio_transcript

    def resume_with(self, transcript: str) -> None:
        """Start with a transcript of the previous agent, to be committed later."""
        self._audio_transcript = transcript

    @property
    def commits_by_itself(self) -> bool:
        """Turn detection is not manual."""
        return bool(self._turn_detection_mode != "manual")

    @property
    def decides_by_vad(self) -> bool:
        """A turn ends when the VAD detects the end of speech."""
        return self._turn_detection_mode in ("vad", None)

    @property
    def ends_by_stt(self) -> bool:
        """The STT detects the end of speech."""
        return bool(self._turn_detection_mode == "stt")


class _Undelayed:
    """Endpointing without a delay. It delegates to the wrapped endpointing."""

    min_delay = max_delay = 0.0

    def __init__(self, endpointing: BaseEndpointing) -> None:
        self._endpointing = endpointing

    def __getattr__(self, name: str) -> Any:
        return getattr(self._endpointing, name)


def _now() -> float:
    return asyncio.get_running_loop().time()


def turn_of(transcript: str, confidence: float) -> _EndOfTurnInfo:
    """LiveKit's description of a user turn."""
    return _EndOfTurnInfo(
        skip_reply=False,
        new_transcript=transcript,
        transcript_confidence=confidence,
        metrics=_EndOfTurnMetrics(None, None, None, None),
    )


async def until(happened: asyncio.Event, seconds: float) -> None:
    """Wait for an event, with a timeout in seconds."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await happened.wait()
