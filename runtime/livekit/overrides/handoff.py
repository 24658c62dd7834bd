"""An agent that takes over from another one, and passes on when it leaves."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import AsyncIterator, Callable, Collection, Iterable, Iterator, Mapping
from functools import partial
from typing import Any, cast

from livekit import rtc
from livekit.agents import NOT_GIVEN, inference, llm
from livekit.agents.voice.agent_activity import AgentActivity
from livekit.agents.voice.speech_handle import SpeechHandle

from turnfsm.fsm.agenda.entries import Answered
from turnfsm.fsm.sound import Sound

from .components import follow_fallbacks
from .hearing import MOST_FRAMES, HearingActivity
from .history import LIVEKIT_COPIES, conversation_of
from .overlap import OverlapJudge
from .recognition import GovernedRecognition, turn_of
from .speech import GovernedHandle, govern

__all__ = ["HandoffActivity", "frames_of", "results_when_copied"]

logger = logging.getLogger("turnfsm")

VOICE = 0.3
"""Seconds within which a VAD detects speech. There is no earlier signal."""


class HandoffActivity(HearingActivity):
    """The activity of an agent that takes over from another one, and whose uncommitted transcript
    goes to the next one.

    The application copies the conversation before the handoff, or in the tool that hands over.
    Calls that end later are missing in this copy, and the new agent would repeat them. So they
    are added when it starts.
    """

    results_when_copied: frozenset[str]
    _greeting: SpeechHandle | None = None
    _stop_following: Callable[[], None] | None = None
    _evidence: inference.AdaptiveInterruptionDetector | None = None
    _following: HandoffActivity | None = None
    """The next agent, which gets the audio from now on."""
    _unheard_audio: deque[rtc.AudioFrame] | None = None
    """The audio that has come before this agent hears the user; None once it does."""

    async def _start_session(self, **how: Any) -> None:
        reused = how.get("reuse_resources")
        model = getattr(reused, "rt_session", None)
        goes_on = getattr(reused, "stt_pipeline", None) is not None
        skipped = self._complete_conversation(model)
        await super()._start_session(**how)
        if model is not None and self.commits_audio and self._conductor.turns.deferred is not None:
            self.decide_within(VOICE)  # the user may still speak
        elif model is None:
            self._forget_lost(skipped)
        self._hear(goes_on)

    def _complete_conversation(self, model: Any) -> tuple[str, ...]:
        """Add what is missing in the conversation, before a realtime model gets it. Returns the
        user's messages that nobody has answered."""
        conversation = conversation_of(self)
        if not self._has_started:
            self._has_started = True
            conversation.insert(list(self._items_to_add()))
        if model is not None and self._rt_turn_detection_enabled:
            # LiveKit interrupts the model here, although it may be about to answer.
            self.answer_later(model.update_chat_ctx.unanswered())
        # The previous agent has heard these messages, and they have no answer yet.
        skipped = self._conductor.log.agenda.unclaimed
        recognised = [self.session.history.get_by_id(id) for id in skipped]
        conversation.insert(
            [item for item in recognised if item and conversation.get_by_id(item.id) is None]
        )
        return skipped

    def _forget_lost(self, skipped: Collection[str]) -> None:
        present = {item.id for item in conversation_of(self).items}
        if lost := [id for id in skipped if id not in present]:
            self._conductor.log.add(Answered(lost))
            logger.warning(
                "%s took over before a transcript arrived; the user's message gets no answer",
                self.label,
            )

    def _hear(self, goes_on: bool) -> None:
        """The agent hears the user. `goes_on`: with the STT stream of the previous agent."""
        if self._evidence is not None:
            emit = partial(self.session.emit, "overlapping_speech")
            self._judge = OverlapJudge(self._evidence, self._conductor, emit)
        record = self._conductor.record
        self._stop_following = follow_fallbacks(self.stt, self.llm, self.tts, record)
        committed = self._conductor.commits.take_carried_commit()
        if not goes_on:
            self._conductor.utterance.post("stt_replaced")
        elif committed and isinstance(self._audio_recognition, GovernedRecognition):
            self._audio_recognition.commit_coming_transcript()
        # LiveKit marks it as started before the next iteration of the event loop
        asyncio.get_running_loop().call_soon(self._hear_missed_audio)

    def _hear_missed_audio(self) -> None:
        frames, self._unheard_audio = self._unheard_audio, None
        for frame in frames or ():
            self.push_audio(frame)

    def follow(self, previous: HandoffActivity) -> None:
        """The previous agent has begun to release what it hears with. This one will hear the audio
        that comes from now on, once it has started.

        If the session closes before that, LiveKit starts no agent, and the audio is lost.
        """
        self._unheard_audio = deque(maxlen=MOST_FRAMES)
        self._following, previous._following = None, self

    def hear_again(self, frames: Iterable[rtc.AudioFrame]) -> None:
        """The STT of the previous agent, which this one does not have, has heard this audio, and
        has not transcribed it."""
        if self._unheard_audio is not None:
            self._unheard_audio = deque([*frames, *self._unheard_audio], MOST_FRAMES)

    def push_audio(self, frame: rtc.AudioFrame) -> None:
        if self._following is not None:
            self._following.push_audio(frame)
        elif self._unheard_audio is not None:
            self._unheard_audio.append(frame)
        else:
            super().push_audio(frame)

    def reply(self, instructions: str | None = None) -> GovernedHandle:
        """Request a reply: with instructions, or to the user's messages, including those that an
        earlier agent has heard."""
        if instructions is not None:
            return self._request(instructions)
        reply = govern(self.session.generate_reply(), self._conductor)
        reply.answers_audio = True
        return reply

    def speak(
        self,
        text: str,
        *,
        interruptible: bool = True,
        sound: Sound | None = None,
        in_reply: bool = False,
    ) -> GovernedHandle:
        """Say a fixed text, or play a sound, that is no answer to the user. What is said in a reply
        is an event of the run that waits for that reply."""
        say = self.session.say if in_reply else self.say
        speech = say(
            text,
            audio=NOT_GIVEN if sound is None else frames_of(sound),
            allow_interruptions=NOT_GIVEN if interruptible else False,
            add_to_chat_ctx=sound is None,
        )
        return govern(speech, self._conductor)

    def _schedule_speech(self, speech: SpeechHandle, priority: int, force: bool = False) -> None:
        if asyncio.current_task() is self._entering:
            self._greeting = speech
        super()._schedule_speech(speech, priority, force)

    @property
    def may_greet(self) -> bool:
        """Its `on_enter` may still speak, and has not yet."""
        entering = self._entering
        return entering is None or not (entering.done() or self._greeting is not None)

    @property
    def greets(self) -> bool:
        """The speech of `on_enter` is not finished."""
        greeting = self._greeting
        return greeting is not None and not greeting.done() and not self._silent

    def _items_to_add(self) -> Iterator[llm.ChatItem]:
        # The calls that it would repeat: those for user messages in its conversation, of tools that
        # it has. Also the calls whose results it must deliver, and the replies after these, which
        # may have delivered them.
        if not self.session.history.items:
            return  # the first agent: finding its tools would take longer than all the rest
        held = {item.id for item in conversation_of(self).items}
        tools, asked = llm.ToolContext(self.tools).function_tools, ""
        due = {call.id for call in self._conductor.tools.pending if call.entry.gave != "cancelled"}
        unanswered = self._conductor.log.agenda.unclaimed
        calls: dict[str, llm.FunctionCall] = {}
        shown = False
        for item in _chronological(self.session.history, conversation_of(self)):
            if item.type == "message" and item.role == "user":
                if item.id not in unanswered:  # answered messages only
                    asked, shown = item.id, False
            elif item.type == "message" and shown and item.id not in held:
                yield item
            elif item.type == "function_call":
                first = _first_of_pair(item.call_id)
                relevant = asked in held or item.id in held or first in calls
                if first in due or (relevant and item.name in tools):
                    calls[item.call_id] = item
            elif (
                item.type == "function_call_output"
                and self._lacks(item, held)
                and (call := calls.get(item.call_id)) is not None
            ):
                shown = True
                yield from (call, item) if call.id not in held else (item,)
            elif item.type == "function_call_output" and LIVEKIT_COPIES:
                shown |= item.id in held  # the reply to it came after LiveKit's copy

    def _lacks(self, result: llm.FunctionCallOutput, held: Collection[str]) -> bool:
        return result.id not in held and result.call_id not in self.results_when_copied

    # -- the agent leaves

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
        # This agent keeps listening if no other follows: a last transcript may arrive.
        if self._never_starts(new_activity):
            return None
        assert isinstance(new_activity, HandoffActivity)
        new_activity.follow(self)
        transcribes = self.has_stt  # a realtime model may be among what it passes on
        resources = await super()._detach_reusable_resources(new_activity)
        recognition = self._audio_recognition
        goes_on = resources is not None and resources.stt_pipeline is not None
        if goes_on and isinstance(recognition, GovernedRecognition):
            new_activity.segment = recognition.segment
        elif transcribes and self._conductor.utterance.due:
            new_activity.hear_again(self.untranscribed_audio)  # LiveKit drops it
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
            self._conductor.moved()  # a commit that waits for a transcript gets none
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

    @property
    def _leaves_speech(self) -> bool:
        """The user speaks to a realtime model that the next agent takes over. If only silence
        follows, the next agent's VAD detects nothing."""
        taken_over = isinstance(self.llm, llm.RealtimeModel) and self._rt_session is None
        hears = self._conductor.user.speaking and not self._rt_turn_detection_enabled
        return taken_over and hears and not self.manual_turns


def _chronological(history: llm.ChatContext, copy: llm.ChatContext) -> list[llm.ChatItem]:
    """The items of the history in chronological order.

    With a realtime model a user message enters the history with its transcript, perhaps after the
    resulting calls. LiveKit adds an empty message to the agent's conversation when the
    model has heard the user.
    """
    copied = {item.id: item.created_at for item in copy.items}
    return sorted(history.items, key=lambda i: min(i.created_at, copied.get(i.id, i.created_at)))


def _first_of_pair(call: str) -> str:
    """A call that was answered while running ends with a second pair of call and output."""
    return call.removesuffix("_final")


def results_when_copied(
    history: llm.ChatContext, conversation: llm.ChatContext, committed: Mapping[str, float]
) -> frozenset[str]:
    """The results that a copy of the history may contain, if results were copied.

    Args:
        history: The session's history before the handoff.
        conversation: The conversation of the agent that takes over.
        committed: When results entered the history, by their calls. LiveKit commits the results of
            a step together, with the times at which they ended. Any other result entered when it
            ended.
    """
    known = {item.id for item in history.items}
    latest = max((item.created_at for item in conversation.items if item.id in known), default=0.0)
    results = (item for item in history.items if item.type == "function_call_output")
    return frozenset(
        item.call_id for item in results if committed.get(item.call_id, item.created_at) < latest
    )


async def frames_of(sound: Sound) -> AsyncIterator[rtc.AudioFrame]:
    """The frames of a sound."""
    for piece in sound.pieces():
        yield rtc.AudioFrame(piece, sound.rate, 1, len(piece) // 2)
