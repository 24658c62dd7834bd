"""An activity that reports the user's speech, and whether a transcript may still arrive."""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import Iterator
from typing import Any, cast

from livekit import rtc
from livekit.agents.utils import is_given
from livekit.agents.vad import VAD
from livekit.agents.voice.audio_recognition import AudioRecognition

from turnfsm.runtime.conversation.ports import Setup
from turnfsm.runtime.conversation.utterance import Question

from .components import vad_failure
from .leaving import LeavingActivity
from .overlap import OverlapJudge
from .recognition import GovernedRecognition
from .segment import Segment
from .watched import Watched

__all__ = ["MOST_FRAMES", "HearingActivity"]

MOST_FRAMES = 1000
"""At most so many of the last frames are kept for the next agent: 50 s of LiveKit's usual frames of
50 ms."""

_BEFORE = 20
"""So many of them are kept while no transcript is expected, as a VAD reports a voice late."""


class HearingActivity(LeavingActivity):
    """An activity that reports the user's speech."""

    untranscribed_audio: deque[rtc.AudioFrame]
    """What an STT has heard, or would have, since the last final transcript, if one is expected."""

    segment: Segment | None = None
    """The segment of the STT stream that this activity will continue."""

    _hears_silence = False
    _unheard = False
    """The STT has received none of the current speech."""
    _followed: set[asyncio.Task[None]]
    """The decisions whose ends are reported."""
    _about_to_decide = False
    """Speech has ended, and LiveKit begins to decide in this iteration of the event loop."""
    _silence = 0.0
    _judge: OverlapJudge | None = None

    def _hears_with(self, recognition: AudioRecognition | None) -> None:
        if recognition is not None:
            recognition.__class__ = GovernedRecognition
            assert isinstance(recognition, GovernedRecognition)
            recognition.waits_for = self._waits_for
            recognition.commit_wait = self._commit_wait
            recognition.late_final = self._late_final
            recognition.until = self._conductor.until
            recognition.vad_failed = self._vad_failed
            recognition.segment, self.segment = self.segment or Segment(), None
            recognition.resume_with(self._conductor.commits.take_carried_transcript())
        self.__dict__["_audio_recognition"] = recognition

    _audio_recognition: Any = Watched(_hears_with)

    @property
    def uncommitted_transcript(self) -> str:
        """The transcript that is in no committed turn yet."""
        recognition: GovernedRecognition | None = self._audio_recognition
        return recognition.uncommitted_transcript if recognition is not None else ""

    @property
    def pending_commit(self) -> asyncio.Task[None] | None:
        """A commit of the application whose turn has not ended yet, or None."""
        recognition: GovernedRecognition | None = self._audio_recognition
        return recognition.pending_commit if recognition is not None else None

    # -- the user

    def push_audio(self, frame: rtc.AudioFrame) -> None:
        self._conductor.outages.post("frame_received")
        if self._judge is not None:
            self._judge.push(frame)
        speech: Any = self._current_speech  # it has the floor, so it is governed
        if speech is None or not speech.held_by_tools:
            super().push_audio(frame)  # the usual case; a frame comes every 10 to 50 ms
        else:
            self._push_over_preamble(frame)
        if self._stt_hears:  # asking `has_stt` for each frame would cost a tenth of our time
            self.untranscribed_audio.append(frame)
            while not self._conductor.utterance.due and len(self.untranscribed_audio) > _BEFORE:
                self.untranscribed_audio.popleft()

    def _push_over_preamble(self, frame: rtc.AudioFrame) -> None:
        # The option is for speech that the application made uninterruptible. A user who talks over
        # the preamble of a tool with the policy hold or finish is answered afterwards.
        options = self.session.options.interruption
        discards = options["discard_audio_if_uninterruptible"]
        options["discard_audio_if_uninterruptible"] = False
        try:
            super().push_audio(frame)
        finally:
            options["discard_audio_if_uninterruptible"] = discards

    @contextlib.contextmanager
    def clearing(self) -> Iterator[None]:
        """The application clears the user's turn inside this context."""
        recognition, text = self._audio_recognition, self.uncommitted_transcript
        if recognition is not None:
            recognition.clears()
        yield
        if text:  # otherwise the speculative reply answers a committed turn
            self._cancel_preemptive_generation()  # it answers this text, perhaps after other text
        self._conductor.user.turn_cleared()  # LiveKit has begun another STT stream

    def _vad_failed(self, vad: VAD, error: BaseException) -> None:
        self._conductor.outages.failed(vad_failure(vad, error))

    def on_start_of_speech(self, ev: Any, speech_start_time: float) -> None:
        super().on_start_of_speech(ev, speech_start_time)
        if self._judge is not None:
            self._judge.voice_started(speech_start_time, ev.speech_duration if ev else 0.0)
        self._unheard = ev is not None and self.has_stt and not self._stt_hears
        if self.has_stt and not self._unheard:
            self._conductor.outages.voice_started()
        if self.manual_turns and not self._conductor.user.holds_output:
            self._user_silence_event.set()  # LiveKit would wait for the end of speech
        self._hears_silence = False
        if self._decision is not None:
            self._decision.cancel()
        cast(Any, self.session).follow_options()
        self._conductor.user.voice_started()
        if self.has_stt:
            self._conductor.utterance.voice_started()

    def on_end_of_speech(self, ev: Any) -> None:
        super().on_end_of_speech(ev)
        if self._judge is not None:
            self._judge.voice_ended()
        self._conductor.outages.voice_ended()
        if self._will_decide(ev):
            self._about_to_decide = True
            asyncio.get_running_loop().call_soon(self._decision_begins)
        if ev is None and self._ends_by_stt:
            self._conductor.utterance.post("stt_ended")
        elif self.has_stt:
            self._conductor.utterance.voice_ended(unheard=self._unheard)
        self._conductor.user.voice_ended(unheard=self._unheard)

    @property
    def _ends_by_stt(self) -> bool:
        recognition = self._audio_recognition
        return recognition is not None and bool(recognition.ends_by_stt)

    @property
    def _stt_hears(self) -> bool:
        """False while LiveKit gives the STT silence: during uninterruptible speech, and while the
        echo cancellation warms up."""
        return self._audio_recognition is None or self._audio_recognition.stt_hears

    def _will_decide(self, ev: Any) -> bool:
        """LiveKit begins to decide about the end of the turn right after `on_end_of_speech`."""
        recognition = self._audio_recognition
        by_vad = recognition is not None and ev is not None and recognition.decides_by_vad
        return by_vad and (self.stt is None or bool(self.uncommitted_transcript))

    def _decision_begins(self) -> None:
        self._about_to_decide = False
        if not self.endpointing:
            self._conductor.user.endpointing_finished(cancelled=False)

    def on_vad_inference_done(self, ev: Any) -> None:
        super().on_vad_inference_done(ev)
        self._silence = ev.raw_accumulated_silence
        if ev.speaking:
            self._hears_silence = True
        if seconds := ev.speech_duration:
            if not self._stt_hears:
                self._conductor.outages.voice_ended()
                return
            self._conductor.utterance.voice_heard(seconds)
            if self._unheard and not ev.raw_accumulated_silence:
                self._unheard = False
                self._conductor.outages.voice_started()

    def on_interim_transcript(self, ev: Any, *, speaking: bool | None) -> None:
        if ev.alternatives and ev.alternatives[0].text:
            self._transcript_received(ev.alternatives[0].text, final=False)
            self._conductor.utterance.post("interim_transcript")
            if self.vad is None and not (self._rt_turn_detection_enabled or speaking):
                cast(Any, self.session).follow_options()
                self._conductor.utterance.post("voice_shown")
        super().on_interim_transcript(ev, speaking=speaking)

    def on_final_transcript(self, ev: Any, *, speaking: bool | None = None) -> None:
        self.untranscribed_audio.clear()
        if ev.alternatives and ev.alternatives[0].text:
            self._transcript_received(ev.alternatives[0].text, final=True)
        super().on_final_transcript(ev, speaking=speaking)
        if ev.alternatives and ev.alternatives[0].text:
            self._conductor.user.final_transcript()
            self._conductor.utterance.post("final_transcript")

    def _transcript_received(self, text: str, *, final: bool) -> None:
        self._conductor.user.transcript_received(
            f"{self.uncommitted_transcript} {text}", final=final
        )

    def turn_decided(self) -> None:
        super().turn_decided()
        self._conductor.utterance.post("turn_decided")

    @property
    def has_stt(self) -> bool:
        """This agent has an STT."""
        return self.stt is not None and self._rt_session is None

    def _waits_for(self, question: Question) -> bool:
        return self.has_stt and self._conductor.utterance.ask(question)

    def _commit_wait(self, timeout: float) -> float:
        conductor, heard = self._conductor, self.vad is not None and self.has_stt
        if not (heard and conductor.utterance.transcribed):
            return timeout
        if self.uncommitted_transcript:
            return 0.0
        # The VAD may not have detected a short word yet. A close waits as long as LiveKit's.
        short = conductor.user.timers.get("transcript_wait", 0.0)
        return timeout if conductor.closing else min(timeout, short)

    def _late_final(self) -> bool:
        # Only a VAD shows that the user has been silent since the commit.
        return self.vad is not None and self._waits_for("late_final")

    @property
    def user_silent(self) -> bool:
        """The user has paused inside an utterance: long enough for LiveKit to start speech, or as
        long as the current state says.

        Some VADs do not set `VADEvent.speaking` (False by default), so the flag counts only once it
        was true in this utterance.
        """
        if not self._hears_silence:
            return False
        seconds: float | None = cast(Any, self.session).tuner.min_silence
        if seconds is None:
            return self._user_silence_event.is_set()
        return self._silence >= seconds or not self._conductor.user.speaking

    @property
    def endpointing(self) -> bool:
        """The end of the user's turn is being decided, or will be, as they pause after words."""
        if self._pauses_after_words:
            return True
        decision = None if self._rt_turn_detection_enabled else self._decision
        running = decision is not None and not decision.done()
        return self._about_to_decide or self._follow(decision if running else self.commit_decision)

    @property
    def _pauses_after_words(self) -> bool:
        words = bool(self.uncommitted_transcript) and not self.manual_turns
        return words and self._conductor.user.speaking and self.user_silent

    @property
    def answer_pending(self) -> bool:
        """A transcript may still be committed, or a realtime model may answer by itself."""
        return self._follow(self.answer_decision)

    def _follow(self, decision: asyncio.Task[None] | None) -> bool:
        if decision is None:
            return False
        if decision not in self._followed:
            self._followed.add(decision)
            decision.add_done_callback(self._decision_over)
        return True

    def _decision_over(self, decision: asyncio.Task[None]) -> None:
        self._followed.discard(decision)
        if self.was_noise(decision):
            self._conductor.user.noise_ended()
        self._conductor.user.endpointing_finished(cancelled=decision.cancelled())

    @property
    def commit_decision(self) -> asyncio.Task[None] | None:
        """The task that is about to commit the user's turn, while it runs."""
        recognition = self._audio_recognition
        if recognition is None:
            return None
        tasks = [recognition._end_of_turn_task]
        if self._commit_may_bring_transcript:  # it decides after the transcript
            tasks.append(recognition._commit_user_turn_atask)
        return next((task for task in tasks if task is not None and not task.done()), None)

    @property
    def _commit_may_bring_transcript(self) -> bool:
        """False if a VAD has detected no speech since the last committed transcript."""
        if self.vad is None or not self.has_stt or self.uncommitted_transcript:
            return True
        utterance = self._conductor.utterance
        return utterance.due or not utterance.ask("turn_transcribed")

    @property
    def manual_turns(self) -> bool:
        """Turn detection is manual."""
        if (recognition := self._audio_recognition) is not None:
            return not recognition.commits_by_itself
        own = self.agent.turn_detection
        return (own if is_given(own) else self.session.turn_detection) == "manual"

    @property
    def setup(self) -> Setup:
        """How this agent hears the user, and what kind of model it has."""
        return Setup(
            name=self.agent.id,
            has_stt=self.has_stt,
            manual_turns=self.manual_turns,
            stt_ends_turns=self.has_stt and self._ends_by_stt,
            commits_audio=self.commits_audio,
            keeps_context=self.model_keeps_context,
            transcribes=self.transcribes,
            replies_to_results=self.model_replies,
            overlaps=self.overlaps,
        )
