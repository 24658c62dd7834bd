"""An activity that listens from its agent's start, and passes on the transcript when the agent
leaves."""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import partial
from typing import Any, cast

from livekit.agents import inference, llm
from livekit.agents.voice.agent_activity import AgentActivity

from .components import follow_fallbacks
from .hearing import HearingActivity
from .overlap import OverlapJudge
from .recognition import GovernedRecognition, turn_of

__all__ = ["PassingActivity"]

logger = logging.getLogger("turnfsm")


class PassingActivity(HearingActivity):
    """An activity whose uncommitted transcript goes to the next agent."""

    _stop_following: Callable[[], None] | None = None
    _evidence: inference.AdaptiveInterruptionDetector | None = None

    def take_detector(self) -> None:
        """Let LiveKit's detector of interruptions report only to the flow."""
        self._evidence, self._interruption_detector = self._interruption_detector, None
        self._interruption_detection_enabled = False
        if self._evidence is None:
            logger.warning(
                "%s has no adaptive interruption detector, whose verdicts flow %r reads; pass "
                "turn_handling={'interruption': {'mode': 'adaptive'}}, an stt and a vad",
                self.label,
                self._conductor.turn.flow.name,
            )

    async def _detach_reusable_resources(self, new_activity: AgentActivity) -> Any:
        resources = await super()._detach_reusable_resources(new_activity)
        recognition = self._audio_recognition
        goes_on = resources is not None and resources.stt_pipeline is not None
        if goes_on and isinstance(recognition, GovernedRecognition):
            assert isinstance(new_activity, PassingActivity)
            new_activity.segment = recognition.segment
        return resources

    async def _close_session(self) -> None:
        if self._stop_following is not None:
            self._stop_following()
        if self._judge is not None:
            judge, self._judge = self._judge, None
            await judge.aclose()
        # The agent is closed or pauses: a transcript in no committed turn would be lost. (When the
        # session closes, LiveKit itself commits the last agent's.)
        recognition, committed = self._audio_recognition, False
        if isinstance(recognition, GovernedRecognition):
            if self._last_commit is None:
                committed = self._leave_transcript(recognition)
            recognition.leave()
            self._conductor.user.hearing_ends()
        if self.has_stt and self._conductor.user.speaking:
            self._conductor.utterance.post("passed_on")
        if committed:
            self._conductor.commits.carry_commit()
        await super()._close_session()

    def _leave_transcript(self, recognition: GovernedRecognition) -> bool:
        """Whether a turn was committed whose transcript may still arrive."""
        committed = not self._conductor.closing and recognition.hand_over_commit()
        turn = recognition.take_uncommitted_transcript()
        if turn is None and self._leaves_speech:
            turn = turn_of("", 0.0)
        if turn is not None:
            ends = recognition.commits_by_itself or committed
            if self._conductor.closing:
                cast(Any, self.session).add_transcript(turn)
            else:
                self._conductor.commits.defer_uncommitted(turn, ends)
        return committed and turn is None

    async def _start_session(self, **how: Any) -> None:
        goes_on = getattr(how.get("reuse_resources"), "stt_pipeline", None) is not None
        await super()._start_session(**how)
        if self._evidence is not None:
            tell = partial(self.session.emit, "overlapping_speech")
            self._judge = OverlapJudge(self._evidence, self._conductor, tell)
        record = self._conductor.record
        self._stop_following = follow_fallbacks(self.stt, self.llm, self.tts, record)
        committed = self._conductor.commits.take_carried_commit()
        if not goes_on:
            self._conductor.utterance.post("stt_replaced")
        elif committed and isinstance(self._audio_recognition, GovernedRecognition):
            self._audio_recognition.commit_coming_transcript()

    @property
    def _leaves_speech(self) -> bool:
        """The user speaks to a realtime model that the next agent takes over. If only silence
        follows, the next agent's VAD detects nothing."""
        taken_over = isinstance(self.llm, llm.RealtimeModel) and self._rt_session is None
        hears = self._conductor.user.speaking and not self._rt_turn_detection_enabled
        return taken_over and hears and not self.manual_turns
