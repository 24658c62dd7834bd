"""The host of the turn's flow: one method for each action."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from contextvars import copy_context
from functools import cached_property

from turnfsm.fsm.agenda.entries import NoiseEnded, ReplyAsked, ReplyStopped
from turnfsm.runtime.event import Event

from .floor import Step
from .host_facts import HostFacts
from .open_calls import BLOCKING
from .ports import FalseInterruption, Output, Source
from .waits import Awaited, LongWait, TurnLimitReached, TurnWaitsLong
from .wording import delivery_instructions, hint_about

__all__ = ["TurnHost"]

logger = logging.getLogger("turnfsm")


class TurnHost(HostFacts):
    """The actions and host facts of `specs/turn.yaml`, carried out through the ports."""

    _paused: Output | None = None

    @cached_property
    def wait(self) -> LongWait:
        """Reports long waits of the current state."""
        return LongWait(self.publish_wait)

    # -- the reply to the user

    def answer_turn(self, event: Event) -> None:
        """Let the adapter continue with the turn. Its reply takes the place of
        one that waits for the end of a filler."""
        for reply in self._core.speeches.yielded:
            if reply.interruptible:
                reply.stop("user_turn")

    def take_deferred_turn(self, event: Event) -> None:
        """Let the agent commit the deferred turn."""
        if (agent := self._core.agent) is not None:
            self._core.turns.take_deferred(agent)

    def _left_to_adapter(self, event: Event) -> None:
        """Do nothing: the adapter reads the verdict, and carries the action out."""

    defer_turn = discard_turn = leave_turn = _left_to_adapter
    request_reply = request_with_results = start_preemptive_generation = _left_to_adapter
    let_tool_proceed = _left_to_adapter

    def drop_turn(self, event: Event) -> None:
        """Stop waiting for the reply to the open turn. A late reply is still spoken."""
        self.turn.post("turn_dropped", reason="overdue")

    # -- the output

    def start_output(self, event: Event) -> None:
        """Let the step's audio play."""
        self._release()

    def hold_output(self, event: Event) -> None:
        """Hold back the step's first frame."""
        step = self._core.floor.step
        if step is not None and step.output is not None:
            self._hold(step)
            self.turn.post("output_held", step.id)

    def yield_floor(self, event: Event) -> None:
        """Let the reply release the floor for a waiting text."""
        step = self._core.floor.step
        if step is not None and self._core.speeches.text_waits:
            self._core.speeches.yields(step.speech)
            step.speech.end(step=True)

    def output_known(self, step: Step) -> None:
        """The output of the step that has the floor is known. If the step is held back, hold
        that output."""
        if self._paused not in (None, step.output):
            self._release()
            self._hold(step)

    def drop_audio(self, event: Event) -> None:
        """Clear the output: a step that failed while paused left audio in it."""
        if (output := self._paused or self._output) is not None:
            output.drop()

    def release_output(self, event: Event) -> None:
        """Release the output."""
        step = self._core.floor.step
        self._release()
        if step is not None and self.turn.holds("output_held"):
            self.turn.post("output_released", step.id)

    def pause_output(self, event: Event) -> None:
        """Pause the audio; it can be resumed."""
        step = self._core.floor.step
        if step is not None and step.output is not None:
            self._pause(step.output, heard=True)
            step.saying.pause()
            self.turn.post("output_paused", step.id)

    def resume_output(self, event: Event) -> None:
        """Resume the paused audio."""
        step = self._core.floor.step
        if step is not None and step.output is not None:
            self._paused = None
            step.output.resume(heard=True)
            step.saying.begin()

    def report_false_interruption(self, event: Event) -> None:
        self._core.session.report(FalseInterruption())

    # -- limits

    def report_limit(self, event: Event) -> None:
        """Notify the application, and log it. The journal has the limit already."""
        reached = TurnLimitReached(event.trigger, self._core.session.settings.timers[event.trigger])
        logger.warning("%s", reached)
        self._core.session.report(reached)

    def report_wait(self, event: Event) -> None:
        """Report what the session waits for."""
        cause, names = self._wait_cause()
        now, since = self.turn.now, self.turn.held_since
        if cause in ("model", "output") and self._core.floor.step is not None:
            since = now - self._core.progress.idle
        self.wait.goes_on("turn", cause, names, since=since, now=now)

    def waits_on(self) -> bool:
        """The wait of the current state goes on."""
        return self.turn.state != "listening" or self.turn.holds("turn_open")

    def publish_wait(self, wait: TurnWaitsLong) -> None:
        """Write a long wait to the log and the journal, and notify the application."""
        self.turn.note("turn_waits_long", **wait.as_note())
        logger.log(logging.INFO if wait.usual else logging.WARNING, "%s", wait)
        self._core.session.report(wait)

    def _wait_cause(self) -> tuple[Awaited, tuple[str, ...]]:
        if self.turn.state in ("paused", "confirming"):
            return "user_has_the_floor", ()
        if self.turn.holds("output_held"):
            return "output_held", ()
        if self._core.floor.step is not None or self.turn.state == "thinking":
            return ("output" if self._core.progress.has_audio else "model"), ()
        tools = self._core.tools
        if names := tools.names_of(call.id for call in tools.find(BLOCKING)):
            return "tool_running", tuple(names)
        return "application", ("on_user_turn_completed",)

    # -- the end of a step

    def interrupt_speech(self, event: Event) -> None:
        """Interrupt the speech that holds the floor. The trigger's data says why."""
        self._stop(event.data.get("source", "audio_activity"), force=False)

    def supersede_reply(self, event: Event) -> None:
        """The reply is about to be interrupted. Its utterance and the result stay on the agenda."""
        if (step := self._core.floor.step) is not None:
            self._core.log.add(ReplyStopped(step.speech.id, "result"))

    def force_interrupt(self, event: Event) -> None:
        """Interrupt the speech that holds the floor, even if it is uninterruptible."""
        self._stop("programmatic", force=True)

    def abandon_step(self, event: Event) -> None:
        """Stop waiting for an interrupted step that hangs."""
        step = self._core.floor.step
        if step is None:
            return
        logger.warning("speech %s did not end in time; it is abandoned", step.speech.id)
        step.speech.end(step=True)

    def hang_up(self, event: Event) -> None:
        """Close the session after all queued speech."""
        self._core.session.hang_up()

    # -- tool calls

    def release_tools(self, event: Event) -> None:
        """Stop waiting for the calls of a turn that is over.

        They keep running, and their results are on the agenda.
        """
        for speech in self._core.tools.release():
            # Not before its step has returned the floor: the next speech would start while the
            # old one's audio is still being cleared.
            if not self._core.floor.holds(speech):
                speech.end()

    def unblock_tools(self, event: Event) -> None:
        """Continue without the calls that the turn waits for."""
        self._core.tools.unblock()

    def give_up_tools(self, event: Event) -> None:
        """Continue without the calls, and tell the model that they are still running."""
        self._core.tools.give_up()

    def lift_holds(self, event: Event) -> None:
        """Allow interruptions again: the time limit of calls with the policy finish is over."""
        self._core.tools.lift_holds()

    def note_objection(self, event: Event) -> None:
        """The user objects to the calls that were made before."""
        self._core.tools.objected(besides=event.data.get("speech"))

    def note_noise(self, event: Event | None = None) -> None:
        """The last interruption gets no answer, so what it has interrupted is open again."""
        self._core.log.add(NoiseEnded())

    def request_next_reply(self, event: Event) -> None:
        """Request a reply for the open obligations: an answer first, then the results."""
        agent = self._core.agent
        if agent is None:
            return
        resumes = self.resumption is not None and self.resumption.pending
        unanswered = [o.id for o in self._core.log.agenda.open if o.kind == "utterance"]
        if unanswered and not resumes:
            self._core.log.add(ReplyAsked(agent.reply().id, unanswered))
            return
        results = [o for o in self._core.log.agenda.due if o.kind == "result"]
        instructions = delivery_instructions(self._core.tools.entries(o.id for o in results))
        if self.resumption is not None and self.resumption.pending:
            instructions = [self.resumption.deliver(), *instructions]
            if self.resumption.apologises:
                self.turn.note("apology")
        if instructions:
            calls = (self._core.tools.get(o.id) for o in results)
            context = next((call.context for call in calls if call is not None), copy_context())
            reply = context.run(agent.reply, " ".join(instructions))
            claims = unanswered if resumes else []  # its instructions also ask for the answer
            self._core.log.add(ReplyAsked(reply.id, claims, [o.id for o in results]))

    def hint(self, deliver: Iterable[str], elsewhere: Iterable[str] = ()) -> str | None:
        """The hint of a request: which results it also delivers, and which another reply does."""
        return hint_about(self._core.tools.entries(deliver), self._core.tools.entries(elsewhere))

    # -- inside

    def _stop(self, source: Source, *, force: bool) -> None:
        if (step := self._core.floor.step) is not None:
            if force:
                self._core.log.add(ReplyStopped(step.speech.id, "limit"))
            # a flow's text may have the floor while a realtime model's response is the answer
            step.speech.stop(source, force=force, model=not self._core.speeches.text_has_floor)

    def _hold(self, step: Step) -> None:
        if step.output is not None and step.output.can_pause:
            self._pause(step.output, heard=False)
        else:
            step.gate.close()

    def _pause(self, output: Output, *, heard: bool) -> None:
        self._paused = output
        output.pause(heard=heard)

    def _release(self) -> None:
        paused, self._paused = self._paused, None
        if (output := paused or self._output) is not None:
            output.resume(heard=False)
        if self._core.floor.step is not None:
            self._core.floor.step.gate.open()
