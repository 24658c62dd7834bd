"""What the machine decides, carried out in LiveKit: one method for each action of the flow."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any

from livekit.agents import AgentFalseInterruptionEvent
from livekit.agents.voice.io import AudioOutput
from livekit.agents.voice.speech_handle import SpeechHandle

from turnfsm.runtime.event import Event
from turnfsm.runtime.livekit.overrides import GovernedActivity, GovernedHandle, cancel_call

from .floor import Floor
from .tool_calls import ToolCalls

if TYPE_CHECKING:
    from turnfsm.runtime.livekit.session import TurnSession

__all__ = ["TurnHost"]

logger = logging.getLogger("turnfsm")

_FORCED = {"thinking_limit", "speaking_limit"}

OWED = (
    "The result of {calls} has arrived after the user had interrupted. Tell the user now, in a "
    "sentence, and do not make the call again."
)


class TurnHost:
    """The actions and the given facts of `specs/turn.yaml`."""

    def __init__(self, session: TurnSession[Any], floor: Floor, tools: ToolCalls) -> None:
        self._session = session
        self._floor = floor
        self._tools = tools
        self._let_go: set[GovernedHandle] = set()
        self._watched: asyncio.Task[None] | None = None
        self.delivering = False
        self.results_need_reply = False

    # -- given facts: asked at the moment of a decision

    def interruptible(self) -> bool:
        """The speech that holds the floor may be interrupted."""
        step = self._floor.step
        return step is not None and step.interruptible

    def user_silent(self) -> bool:
        """The user is silent inside what they say, for so long that the agent may begin."""
        activity = self._activity
        return activity is not None and activity.user_silent

    def pausable(self) -> bool:
        """The output can pause, and the session wants false interruptions resumed."""
        activity = self._activity
        return activity is not None and activity.can_pause

    def turn_pending(self) -> bool:
        """The end of the user's turn is being decided; its end is then reported."""
        task = self._session.activity.turn_decision if self._session.activity else None
        if task is None:
            return False
        if task is not self._watched:
            self._watched = task
            task.add_done_callback(self._decided)
        return True

    def tools_held(self) -> bool:
        """A call runs whose turn cannot be interrupted."""
        return any(call.held for call in self._tools.running.values())

    def model_replies(self) -> bool:
        """A realtime model starts the reply to the results of tools by itself."""
        activity = self._session.activity
        return self.results_need_reply and activity is not None and activity.model_replies

    def moot(self) -> bool:
        """Nothing is owed that the user has not heard."""
        return all(owed.moot for owed in self._tools.owed)

    # -- the reply to the user

    def answer_turn(self, event: Event) -> None:
        """LiveKit goes on with the turn that it asked about."""

    def drop_turn(self, event: Event) -> None:
        """Give the open turn up."""
        logger.warning("a user turn got no reply in time; it is dropped")
        self._session.turn.post("turn_dropped", reason="overdue")

    def start_preemptive_generation(self, event: Event) -> None:
        """LiveKit goes on with the speculation that it asked about."""

    def request_reply(self, event: Event) -> None:
        """LiveKit goes on with the request that it asked about."""

    # -- the output

    def start_output(self, event: Event) -> None:
        """Let the step's audio be played."""
        if (output := self._output) is not None:
            output.resume()

    def hold_output(self, event: Event) -> None:
        """Keep the step's first frame back."""
        step, output = self._floor.step, self._output
        if step is not None and output is not None:
            output.pause()
            self._session.turn.post("output_held", step.id)

    def release_output(self, event: Event) -> None:
        """Let the output go."""
        step, activity = self._floor.step, self._activity
        if event.trigger == "step_finished" and activity is not None:
            activity.drop_audio()  # a step that failed while it was paused: its rest is not heard
        if (output := self._output) is not None:
            output.resume()
        if step is not None and self._session.turn.holds("output_held"):
            self._session.turn.post("output_released", step.id)

    def pause_output(self, event: Event) -> None:
        """Cut the audio; it can go on."""
        step, output = self._floor.step, self._output
        if step is not None and output is not None:
            output.pause()
            step.activity.audio_cut()

    def resume_output(self, event: Event) -> None:
        """Let the audio that was cut go on."""
        step, output = self._floor.step, self._output
        if step is not None and output is not None:
            step.activity.audio_goes_on()
            output.resume()

    def report_false_interruption(self, event: Event) -> None:
        """Tell the application."""
        self._session.emit("agent_false_interruption", AgentFalseInterruptionEvent(resumed=True))

    # -- the end of a step

    def interrupt_speech(self, event: Event) -> None:
        """Interrupt the speech that holds the floor."""
        step = self._floor.step
        if step is None:
            return
        by_voice = event.trigger in {"barge_in", "pause_limit"}
        step.activity.interrupt_model()
        step.handle.interrupt(
            force=event.trigger in _FORCED, source="audio_activity" if by_voice else "user_turn"
        )

    def abandon_step(self, event: Event) -> None:
        """Stop waiting for a step that does not wind down."""
        step = self._floor.step
        if step is None or not isinstance(step.handle, GovernedHandle):
            return
        logger.warning("speech %s did not wind down in time; it is abandoned", step.handle.id)
        step.activity.end_playout(self._floor.heard_for)
        step.handle.end_step()

    def release_tools(self, event: Event) -> None:
        """Let go of the calls of a turn that is over: they run on, their results are owed."""
        for handle in {call.handle for call in self._tools.running.values()}:
            if not isinstance(handle, GovernedHandle):
                continue
            if event.trigger == "turn_committed":
                self._tools.unblock(handle)
            elif event.trigger == "tool_limit":
                self._give_up(handle)
            if handle.interrupted:
                self._let_go_of(handle)
        if self._session.turn.holds("tools_running") and not self._tools.blocking(
            self._session.activity
        ):
            self._session.turn.post("tools_released")

    def _give_up(self, handle: GovernedHandle) -> None:
        """The turn goes on without the calls that still run; the model says what it makes of it."""
        open_calls = [call for call in self._tools.of(handle) if call.blocking]
        self._tools.unblock(handle)
        if open_calls and (activity := open_calls[0].activity) is not None:
            activity.answer([call.id for call in open_calls])

    def lift_holds(self, event: Event) -> None:
        """Calls that may finish have had their time."""
        for call in tuple(self._tools.running.values()):
            if call.policy == "finish":
                self._tools.let_go(call)

    def on_step_finished(self, handle: GovernedHandle) -> None:
        """A step has given the floor back: what was to be let go of with it can go now."""
        if handle in self._let_go:
            self._let_go.discard(handle)
            handle.end()

    def _let_go_of(self, handle: GovernedHandle) -> None:
        for call in self._tools.detach(handle):
            cancel_call(self._session, call.id)
        released = [call for call in self._tools.of(handle) if call.policy != "cancel"]
        for call in released:
            if self._session.ledger.end(call.id, "released"):
                self._session.turn.note("tool_ended", call=call.id, name=call.name, how="released")
        self.answer_calls_delaying_commit(handle)
        if (activity := released[0].activity if released else None) is not None:
            activity.answer_open_calls([call.id for call in released if not call.reported])
        # Not before its step has given the floor back: the next speech would start while the old
        # one's audio is still being cleared.
        if self._floor.holds(handle):
            self._let_go.add(handle)
        else:
            handle.end()

    def answer_calls_delaying_commit(self, handle: SpeechHandle) -> None:
        """LiveKit commits the results of a speech when its last call has ended, or was answered."""
        calls = self._tools.delaying_commit(handle)
        if calls and (activity := calls[0].activity) is not None:
            activity.answer([call.id for call in calls])

    # -- what is owed

    def deliver_owed_reply(self, event: Event) -> None:
        """Have the results said that the user has not heard."""
        due = self._tools.take_owed()
        calls = ", ".join(f"{owed.name} ({owed.id})" for owed in due)
        self.delivering = True
        try:
            self._session.generate_reply(instructions=OWED.format(calls=calls))
        finally:
            self.delivering = False

    # -- inside

    @property
    def _activity(self) -> GovernedActivity | None:
        step = self._floor.step
        return step.activity if step is not None else self._session.activity

    @property
    def _output(self) -> AudioOutput | None:
        activity = self._activity
        return activity.audio_output if activity is not None else None

    def _decided(self, task: asyncio.Task[None]) -> None:
        self._watched = None
        if not task.cancelled():
            self._session.turn.post("turn_settled")
