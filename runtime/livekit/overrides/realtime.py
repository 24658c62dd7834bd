"""The part of an activity that handles a realtime model, which stores its own conversation."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from typing import Any, cast

from livekit.agents import llm
from livekit.agents.utils import is_given
from livekit.agents.voice.speech_handle import SpeechHandle

from turnfsm.fsm.agenda.entries import AnswerDue
from turnfsm.runtime.conversation.ports import Source
from turnfsm.runtime.conversation.wording import UNLESS_DELIVERED, arrived

from .conversation import ChatContextSync, results_in
from .generating import GeneratingActivity
from .governed_model import ClosedRealtimeSession, GovernedModel, in_speech_task
from .history import conversation_of
from .recognition import until
from .speech import GovernedHandle, current_speech, govern, tool_interrupts

__all__ = ["Handler", "RealtimeActivity"]

Handler = Callable[[Any], object]

DECISION = 2.0
"""Seconds to wait for the reply of a model with turn detection, after the user has spoken. Such a
model does not signal that it will not answer."""

LATER = "What the user has said last is answered by the next reply."


class _DeliveryInstructions(str):
    """The session's own instructions for a reply that delivers pending results."""


class RealtimeActivity(GeneratingActivity):
    """An activity with a realtime model.

    Without a VAD, a model with turn detection reports when the user speaks. It has decided on the
    end of a turn when it creates a generation.
    """

    _decision: asyncio.Task[None] | None = None
    _decided: asyncio.Event
    _asking: SpeechHandle | None = None
    _creating: llm.GenerationCreatedEvent | None = None
    _last_model: llm.RealtimeSession[Any] | None = None

    @property
    def _rt_session(self) -> Any:
        model = self.__dict__.get("_rt_session")
        # A speech with released calls may outlive its agent.
        if model is None and self._last_model is not None and in_speech_task():
            return ClosedRealtimeSession(self._last_model)
        return model

    @_rt_session.setter
    def _rt_session(self, model: llm.RealtimeSession[Any] | None) -> None:
        # An agent may take over the model's session from the previous agent.
        if isinstance(model, GovernedModel):
            model.taken_over(self)
        elif model is not None:
            model = self._governed(model)
        self.__dict__["_rt_session"] = model
        self._last_model = model if model is not None else self._last_model

    def _governed(self, model: llm.RealtimeSession[Any]) -> Any:
        sync = ChatContextSync(model, self._conductor.log, self.session.history.get_by_id, self)
        return GovernedModel(model, sync, lambda: self._conductor.turns.deferred is not None)

    def input_speech_started(self, livekit: Handler, ev: llm.InputSpeechStartedEvent) -> None:
        """The model hears the user. `livekit` is LiveKit's handler of the event."""
        livekit(ev)
        if self._decides:  # the model cancels its own answer, even for a noise
            self.answer_later(self._unanswered_utterances())
        if self._decision is not None:
            self._decision.cancel()
        if self._hears_the_user:
            cast(Any, self.session).follow_options()
            self._conductor.user.voice_started()

    def interrupt(
        self, *, force: bool = False, source: Source = "programmatic"
    ) -> asyncio.Future[None]:
        """As `AgentActivity.interrupt`, but the user's speech does not interrupt a turn that a tool
        holds.

        A tool may interrupt its own turn; LiveKit raises an error for that if the model detects
        turns. A close also interrupts a speech that waits to deliver its results, as it is not in
        LiveKit's queue.
        """
        tool_interrupts()
        if force and self._conductor.closing:
            for speech in self._conductor.tools.speeches_between_steps():
                speech.stop(source, force=True)
        try:
            return super().interrupt(force=force, source=source)
        except RuntimeError:
            if source != "audio_activity":
                raise
        done = asyncio.get_running_loop().create_future()
        done.set_result(None)
        return done

    def input_speech_stopped(self, livekit: Handler, ev: llm.InputSpeechStoppedEvent) -> None:
        """The model hears that the user has stopped."""
        livekit(ev)
        if self._rt_turn_detection_enabled:
            self.decide_within(DECISION)
        if self._hears_the_user:
            self._conductor.user.voice_ended()
        self._conductor.host.answer_pending()

    def generation_created(self, livekit: Handler, ev: llm.GenerationCreatedEvent) -> None:
        """The model begins a reply."""
        if ev.user_initiated and self._asking is not None:
            self._begins(ev, self._asking)
            self._unhandled = self._asking, ev
        unanswered = self._unanswered_utterances()
        self._creating = None if ev.user_initiated else ev
        livekit(ev)
        self._creating = None
        if not ev.user_initiated or (not unanswered and self._is_asked_about_utterance):
            self.turn_decided()  # the model has cancelled its own answer

    @property
    def _hears_the_user(self) -> bool:
        """The model reports the user's voice: the application has given no VAD."""
        given = is_given(self.agent.vad) or cast(Any, self.session).vad_given
        return self.vad is None or not given

    @property
    def _is_asked_about_utterance(self) -> bool:
        """The requested reply answers the user."""
        asked = self._asking.id if self._asking is not None else ""
        return any(o.kind == "utterance" for o in self._conductor.log.agenda.requested_of(asked))

    # -- `Asker`

    def answer_later(self, utterances: Iterable[str]) -> None:
        """The model's own answer to these user messages will not be played: its agent is about to
        be replaced, or the model was asked for something else."""
        for id in utterances:
            self._conductor.log.add(AnswerDue(id))

    def answers_messages(self) -> bool:
        """The speech of the current task answers messages that the model has heard."""
        speech = current_speech()
        return isinstance(speech, GovernedHandle) and speech.answers_audio

    def asks(self) -> None:
        """The speech of the current task asks the model: the next reply of the model is its."""
        self._asking = current_speech()

    def about_to_ask(self, instructions: Any) -> Any:
        """The model is about to be asked: its conversation is complete. Log the request.

        A reply that only delivers results leaves the user's message to the next reply: a model that
        answers it in both makes its calls twice.
        """
        self.asks()
        speech, sync = self._asking, self._sync
        if not isinstance(speech, GovernedHandle) or sync is None:
            return instructions
        given = str(instructions) if instructions else None
        later = speech.delivers_only and self._utterance_is_answered_next
        if given is None:
            due = self._overtaken(speech) if speech.delivers_only else []
            answers = not later
            calls = self._conductor.tools.entries(result.call_id for result in due)
            own = arrived(calls) if due else None
        else:
            answers = sync.ends_with_open_utterance and not later
            own = given
        shown = results_in(conversation_of(self))
        self._conductor.requests.sent(speech, shown, given, answers=answers)
        if (given is not None or later) and self._decides:  # it cancels its own answer
            self.answer_later(sync.unanswered())
            self.turn_decided()
        delivers = self._conductor.log.agenda.delivers(speech.id) if given is None else ()
        parts = filter(None, (own, self._conductor.host.hint(delivers), LATER if later else None))
        return " ".join(parts) or instructions

    def _unanswered_utterances(self) -> list[str]:
        """The user's messages that the model has heard, without a request."""
        return self._sync.unanswered() if self._sync is not None else []

    @property
    def _decides(self) -> bool:
        """The model, which has turn detection, is about to answer by itself."""
        decision = self._decision if self._rt_turn_detection_enabled else None
        return decision is not None and not decision.done()

    @property
    def answer_decision(self) -> asyncio.Task[None] | None:
        """The task that waits for the answer of a model with turn detection."""
        return self._decision if self._decides else None

    @property
    def transcribes(self) -> bool:
        """The realtime model gives transcripts of what it hears."""
        model = self.__dict__.get("_rt_session")
        return model is not None and bool(model.capabilities.user_transcription)

    @property
    def commits_audio(self) -> bool:
        """A turn is all audio since the previous turn, not a transcript."""
        return self._rt_session is not None and not self._rt_turn_detection_enabled

    async def wait_for_idle(
        self, *, wait_for_agent: bool = True, wait_for_user: bool = True
    ) -> None:
        """As `AgentActivity.wait_for_idle`, but also waits for the flow's questions, and for models
        with turn detection.

        A reply would come between a question and the user's yes. Such a model drops a request while
        it hears the user or is about to answer.
        """
        await super().wait_for_idle(wait_for_agent=wait_for_agent, wait_for_user=wait_for_user)
        while wait_for_user and self._waits_for_user and not self._conductor.closing:
            await self._conductor.until(lambda: not self._waits_for_user or self._conductor.closing)
            await super().wait_for_idle(wait_for_agent=wait_for_agent, wait_for_user=wait_for_user)

    @property
    def _waits_for_user(self) -> bool:
        conductor = self._conductor
        objects = conductor.tools.talks_over(cast(Any, self))  # a model hears the user
        return objects or conductor.host.confirming.yes_awaited()

    def decide_within(self, seconds: float) -> None:
        """Endpointing runs until `turn_decided`, at most for `seconds`."""
        self._decided = asyncio.Event()
        self._decision = asyncio.create_task(until(self._decided, seconds))

    def turn_decided(self) -> None:
        """Endpointing has ended."""
        if self._decision is not None:
            self._decided.set()

    def was_noise(self, decision: asyncio.Task[None]) -> bool:
        """A model with turn detection has not answered in time, and has heard no user message."""
        if not self._rt_turn_detection_enabled or decision is not self._decision:
            return False
        answered = decision.cancelled() or self._decided.is_set()
        return not (answered or self._unanswered_utterances())

    async def _realtime_reply_task(self, **request: Any) -> None:
        handle, given = request["speech_handle"], request.get("instructions")
        speech, tool_reply = govern(handle, self._conductor), bool(request.get("tool_reply"))
        if tool_reply:
            speech.answers_audio = False  # only its first step answered the user
        elif not any(request.get(key) for key in ("text", "instructions", "user_input")):
            speech.answers_audio = True
        speech.delivers_only = tool_reply or isinstance(given, _DeliveryInstructions)
        speech.instructed = bool(given) and not request.get("user_input")
        if request.get("text") is None:
            await self._conductor.requests.may_request(speech)
            if pending := {task for task in (self._answerer, self._sending) if task is not None}:
                await asyncio.wait(pending)
            await self._forget()
        others = self._conductor.speeches.would_deliver(speech)
        delivers = others or self._has_undelivered_results(handle)
        if tool_reply and not (given or delivers) and self._utterance_is_answered_next:
            return  # it would answer the user, perhaps without all calls
        if not handle.interrupted:
            await super()._realtime_reply_task(**request)
        if handle.interrupted and self._unhandled is not None and self._unhandled[0] is handle:
            # LiveKit ignores an interruption at the moment when the response begins.
            (_, unhandled), self._unhandled = self._unhandled, None
            items = [message.message_id async for message in unhandled.message_stream]
            items += [call.id async for call in unhandled.function_stream]
            await self._forget(items)

    @property
    def _utterance_is_answered_next(self) -> bool:
        """The model would answer a user message that another reply answers next: the model's own,
        one of this agent, or one of the next agent."""
        if not self._unanswered_utterances():
            return False
        turns = self._conductor.turns
        waiting = (govern(handle, self._conductor) for _, _, handle in self._speech_q)
        due = any(handle.answers_audio and not handle.interrupted for handle in waiting)
        unanswered = bool(self._conductor.log.agenda.unclaimed)
        return due or turns.reply_due or unanswered or self.answer_decision is not None

    def _schedule_speech(self, speech: SpeechHandle, priority: int, force: bool = False) -> None:
        if self._creating is not None:  # the model answers by itself, or replies to results
            self._begins(self._creating, speech)
            if not self.model_replies:
                self._conductor.speech.answers_by_itself(govern(speech, self._conductor))
        super()._schedule_speech(speech, priority, force)

    def _request(self, instructions: str) -> GovernedHandle:
        if self._rt_turn_detection_enabled:  # it may have answered the user by then
            instructions = f"{instructions} {UNLESS_DELIVERED}"
        reply = self.session.generate_reply(instructions=_DeliveryInstructions(instructions))
        return govern(reply, self._conductor)

    def interrupt_model(self) -> None:
        """Interrupt a realtime model's response."""
        if self._rt_session is not None:
            self._rt_session.interrupt()
