"""An activity that reports what it hears of the user, and whether words may still come."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from math import inf
from types import MappingProxyType
from typing import Any

from livekit import rtc
from livekit.agents import llm
from livekit.agents.vad import VAD
from livekit.agents.voice.agent_activity import AgentActivity
from livekit.agents.voice.audio_recognition import AudioRecognition
from livekit.agents.voice.speech_handle import SpeechHandle

from turnfsm.runtime.conversation.user_turns import CarriedVoice

from .arriving import ArrivingActivity
from .components import follow_fallbacks, vad_failure
from .recognition import GovernedRecognition, turn_of, until
from .segment import Segment
from .speech import govern
from .watched import Watched

__all__ = ["HearingActivity"]

REHEARD = 0.3
"""Seconds within which a VAD that has just begun notices that the user speaks."""


class HearingActivity(ArrivingActivity):
    """An activity that reports what it hears of the user.

    The words of a voice come after its end, with some STTs more than a second later. While they may
    come, the end of the user's turn is open.
    """

    segment: Segment | None = None
    """Of the STT stream with which it will go on."""

    _stop_following: Callable[[], None] | None = None
    _hears_silence = False
    _voice = 0.0
    _voice_before = 0.0
    _sound = 0.0  # the last voice alone; `_voice` is the longest whose words are waited for
    _words_came = True
    words_since_voice = True
    """Words came since the last voice began. They may be those of an earlier voice."""
    _earlier_words_due = False
    _voice_goes_on = False
    _words_wait: asyncio.Task[None] | None = None
    _behind: asyncio.Task[None] | None = None  # for a speech that follows an uninterruptible one
    _words_here: asyncio.Event
    _go_on: frozenset[str] = frozenset()
    """Which waits for words were not over when the last voice began."""
    _waits_until: Mapping[str, float] = MappingProxyType({})

    def _hears_with(self, recognition: AudioRecognition | None) -> None:
        if recognition is not None:
            recognition.__class__ = GovernedRecognition
            assert isinstance(recognition, GovernedRecognition)
            recognition.words_limit = self._words_limit
            recognition.vad_failed = self._vad_failed
            recognition.segment, self.segment = self.segment or Segment(), None
            recognition.resume_with(self._conductor.take_carried_transcript())
        self.__dict__["_audio_recognition"] = recognition

    _audio_recognition: Any = Watched(_hears_with)

    async def _detach_reusable_resources(self, new_activity: AgentActivity) -> Any:
        resources = await super()._detach_reusable_resources(new_activity)
        recognition = self._audio_recognition
        goes_on = resources is not None and resources.stt_pipeline is not None
        if goes_on and isinstance(recognition, GovernedRecognition):
            assert isinstance(new_activity, HearingActivity)
            new_activity.segment = recognition.segment
        return resources

    async def _close_session(self) -> None:
        if self._stop_following is not None:
            self._stop_following()
        # The agent is closed, or pauses: recognised words in no committed turn would be lost.
        # (When the session closes LiveKit itself commits those of the last agent.)
        recognition, committed = self._audio_recognition, False
        if isinstance(recognition, GovernedRecognition):
            if not self._commits_at_the_close:
                committed = self._leave_words(recognition)
            recognition.leave()
        due = self._words_may_come or self._words_limit() > 0.0
        speaks = self._conductor.user_speaks and not self._words_came
        if due or speaks:
            goes_on = speaks and not self._earlier_words_due
            self._conductor.carry_voice(CarriedVoice(self._voice, committed, goes_on))
        await super()._close_session()

    def _leave_words(self, recognition: GovernedRecognition) -> bool:
        """Whether the application has committed words that may still come."""
        committed = not self._conductor.closing and recognition.hand_over_commit()
        turn = recognition.take_uncommitted_transcript()
        if turn is None and self._leaves_a_voice:
            turn = turn_of("", 0.0)
        if turn is not None:
            ends = recognition.commits_by_itself or committed
            self._conductor.keep_uncommitted_turn(self.label, turn, ends)
        return committed and turn is None

    async def _start_session(self, **how: Any) -> None:
        goes_on = getattr(how.get("reuse_resources"), "stt_pipeline", None) is not None
        await super()._start_session(**how)
        switched = self._conductor.record
        self._stop_following = follow_fallbacks(self.stt, self.llm, self.tts, switched)
        carried = self._conductor.take_carried_voice()
        if carried is not None and goes_on:  # the agent before has heard it
            self._voice = self._voice_before = carried.seconds
            self._words_came, self._voice_goes_on = False, carried.goes_on
            self._wait_for_words(self._conductor.since_voice)
            if carried.committed and isinstance(self._audio_recognition, GovernedRecognition):
                self._audio_recognition.commit_words_that_come()

    @property
    def _leaves_a_voice(self) -> bool:
        """The user speaks to a realtime model that the next agent takes over. It may be that only
        silence follows, and the next agent's VAD hears nothing."""
        taken_over = isinstance(self.llm, llm.RealtimeModel) and self._rt_session is None
        hears = self._conductor.user_speaks and not self._rt_turn_detection_enabled
        return taken_over and hears and not self.manual_turns

    @property
    def _commits_at_the_close(self) -> bool:
        recognition = self._audio_recognition
        commit = recognition._commit_user_turn_atask if recognition is not None else None
        return self._conductor.closing and commit is not None and not commit.done()

    @property
    def uncommitted_words(self) -> str:
        """The words of the user that were recognised and are in no committed turn."""
        recognition = self._audio_recognition
        return recognition.uncommitted_words if isinstance(recognition, GovernedRecognition) else ""

    # -- the user

    def push_audio(self, frame: rtc.AudioFrame) -> None:
        self._conductor.outages.frame_came()
        speech = self._current_speech
        if speech is None or not govern(speech, self._conductor).held_by_tools:
            super().push_audio(frame)  # nearly always; a frame comes every 10 to 50 ms
            return
        # The option is about speech that the application has made uninterruptible. Who talks over
        # the preamble of a tool with the policy hold or finish is answered afterwards.
        options = self._session.options.interruption
        discards = options["discard_audio_if_uninterruptible"]
        options["discard_audio_if_uninterruptible"] = False
        try:
            super().push_audio(frame)
        finally:
            options["discard_audio_if_uninterruptible"] = discards

    def clear_user_turn(self) -> None:
        words = self.uncommitted_words
        super().clear_user_turn()
        if words:  # else the reply was asked for ahead to a turn that is committed
            self._cancel_preemptive_generation()  # it answers these, perhaps behind kept ones
        if self._words_missing and not self._conductor.user_speaks:
            self._no_words_come()  # LiveKit has begun another STT stream

    def _no_words_come(self) -> None:
        self._words_came, self._earlier_words_due = True, False
        self.turn_decided()
        if self._words_may_come:
            self._words_here.set()

    def _vad_failed(self, vad: VAD, error: BaseException) -> None:
        self._conductor.outages.failed(vad_failure(vad, error))

    def on_start_of_speech(self, ev: Any, speech_start_time: float) -> None:
        super().on_start_of_speech(ev, speech_start_time)
        if self._hears_words:
            self._conductor.outages.voice_started()
        if self.manual_turns and not self._conductor.voice_holds_output:
            self._user_silence_event.set()  # LiveKit would wait until the voice has ended
        self._hears_silence = False
        due = self._words_may_come or self._words_limit() > 0.0
        self._earlier_words_due = due and not self._is_the_voice_before
        self._words_came = self.words_since_voice = self._voice_goes_on = False
        waits = self._waits.items()
        self._go_on = frozenset(name for name, task in waits if task and not task.done())
        if "decision" not in self._go_on:  # else words of the last voice may still come
            self._voice = self._voice_before = 0.0
        self._sound = 0.0
        self.expect_no_words()
        self._conductor.user_started()

    def on_end_of_speech(self, ev: Any) -> None:
        super().on_end_of_speech(ev)
        self._conductor.outages.voice_ended()
        if ev is not None:
            self._wait_for_words()
        self._voice_before = 0.0
        self._conductor.user_stopped()

    def _wait_for_words(self, since: float = 0.0) -> None:
        """Expect the words of a voice that ended `since` seconds ago."""
        if not self._words_are_due:
            return
        now = asyncio.get_running_loop().time()
        limits = {
            "decision": self._conductor.decision_limit(self._voice),
            "words": self._conductor.words_limit(inf),
            "behind": self._conductor.words_limit(self._voice),
        }
        # A short sound prolongs no wait: the next one would do the same, and a reply would wait for
        # as long as they go on.
        before = {} if self._is_long else {n: self._waits_until[n] for n in self._go_on}
        anew = {name: now + limit - since for name, limit in limits.items()}
        self._waits_until = anew | before
        left = {name: when - now for name, when in self._waits_until.items()}
        self._words_here = asyncio.Event()
        self.decide_within(left["decision"])
        self._words_wait = asyncio.create_task(until(self._words_here, left["words"]))
        self._behind = asyncio.create_task(until(self._decided, left["behind"]))

    @property
    def _is_long(self) -> bool:
        """The last sound was long enough to interrupt."""
        return self._conductor.words_limit(self._sound) > self._conductor.words_limit(0.0)

    @property
    def _waits(self) -> dict[str, asyncio.Task[None] | None]:
        """What waits for the words of the last voice."""
        return {"decision": self._decision, "words": self._words_wait, "behind": self._behind}

    def expect_no_words(self) -> None:
        """The words of the last voice are not waited for any more."""
        for task in self._waits.values():
            if task is not None:
                task.cancel()

    def on_vad_inference_done(self, ev: Any) -> None:
        super().on_vad_inference_done(ev)
        if ev.speaking:
            self._hears_silence = True
        heard = self._voice_before + ev.speech_duration
        if heard > self._sound:  # one comparison a frame while nobody speaks
            self._sound = heard
            self._voice = max(self._voice, heard)

    def on_interim_transcript(self, ev: Any, *, speaking: bool | None) -> None:
        unreported = self.vad is None and not self._rt_turn_detection_enabled and not speaking
        if unreported and ev.alternatives and ev.alternatives[0].text:
            self._conductor.interim_transcript()
        super().on_interim_transcript(ev, speaking=speaking)

    def on_final_transcript(self, ev: Any, *, speaking: bool | None = None) -> None:
        super().on_final_transcript(ev, speaking=speaking)
        if ev.alternatives and ev.alternatives[0].text:
            of_this_voice = not (self._earlier_words_due and self._conductor.user_speaks)
            self._earlier_words_due, self._words_came = False, of_this_voice
            self.words_since_voice = True
            if isinstance(self._audio_recognition, GovernedRecognition):
                self._audio_recognition.words_came()
            self.turn_decided()
            if self._words_may_come:
                self._words_here.set()
            self._conductor.final_transcript()

    @property
    def _words_are_due(self) -> bool:
        """The transcript of the last voice is missing, and words would end a turn."""
        recognition = self._audio_recognition
        by_itself = isinstance(recognition, GovernedRecognition) and recognition.commits_by_itself
        return by_itself and self._words_missing

    @property
    def _is_the_voice_before(self) -> bool:
        """A handoff has cut the voice that begins: its VAD ends, and the next agent's VAD hears the
        rest."""
        return self._voice_goes_on and self._conductor.since_voice <= REHEARD

    @property
    def _words_missing(self) -> bool:
        return self._hears_words and not self._words_came

    @property
    def _hears_words(self) -> bool:
        return self.stt is not None and self._rt_session is None

    def _words_limit(self) -> float:
        """For how many seconds the words of the last voice may still come."""
        if self._conductor.user_speaks or not self._words_missing:
            return 0.0
        return self._conductor.words_limit(self._voice) - self._conductor.since_voice

    @property
    def _words_may_come(self) -> bool:
        return self._words_wait is not None and not self._words_wait.done()

    @property
    def user_silent(self) -> bool:
        """The user pauses inside an utterance for so long that LiveKit lets speech begin.

        Some VADs do not say whether a frame is speech (`VADEvent.speaking` is False by default). A
        VAD is believed when it has said so for one frame of this utterance.
        """
        return self._hears_silence and self._user_silence_event.is_set()

    @property
    def turn_decision(self) -> asyncio.Task[None] | None:
        """The task that decides on the end of the user's turn, while it runs."""
        words = None if self._rt_turn_detection_enabled else self._decision
        if words is not None and words.done() and not self._conductor.uninterruptible:
            words = self._behind
        return words if words is not None and not words.done() else self.commit_decision

    @property
    def commit_decision(self) -> asyncio.Task[None] | None:
        """The task that is about to commit the user's words, while it runs."""
        recognition = self._audio_recognition
        if recognition is None:
            return None
        tasks = [recognition._end_of_turn_task]
        if self._commit_may_bring_words:  # it waits for the words, then it decides
            tasks.append(recognition._commit_user_turn_atask)
        return next((task for task in tasks if task is not None and not task.done()), None)

    @property
    def answer_decision(self) -> asyncio.Task[None] | None:
        """The task that waits for an answer to the user: that of a model that detects turns, or one
        to words that may still come, although an earlier turn was committed after the voice."""
        return self._words_wait if self._words_may_come else super().answer_decision

    @property
    def _commit_may_bring_words(self) -> bool:
        """False if a VAD has heard no voice since the last committed words."""
        return self.vad is None or not self._words_came or bool(self.uncommitted_words)

    @property
    def manual_turns(self) -> bool:
        """Turn detection is manual."""
        return bool(self._turn_detection == "manual")

    # -- words with which a reply was asked for: they may be typed

    def _generate_reply(self, **request: Any) -> SpeechHandle:
        handle = govern(super()._generate_reply(**request), self._conductor)
        asked: llm.ChatMessage | None = request.get("user_message") or None
        self._conductor.replies.asked(
            handle,
            self,
            [asked.id] if asked is not None else [],
            instructed=bool(request.get("instructions")),
        )
        if asked is None:
            return handle
        if not isinstance(self.llm, llm.RealtimeModel):  # it makes its own message
            handle.answers = asked.id
        if handle.scheduled:
            info = turn_of(asked.text_content or "", asked.transcript_confidence or 0.0)
            self._conductor.answer_asked(asyncio.current_task(), handle, info, self._item_ids)
        return handle

    @property
    def _item_ids(self) -> frozenset[str]:
        return frozenset([item.id for item in self._agent._chat_ctx.items])
