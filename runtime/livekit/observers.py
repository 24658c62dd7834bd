"""The observers of a session: log, telemetry, audit, room, application."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial

from livekit import rtc
from opentelemetry.trace import INVALID_SPAN, Span, get_current_span

from turnfsm.fsm import Verdict
from turnfsm.runtime.conversation.floor import Floor, Step
from turnfsm.runtime.journal import Listener
from turnfsm.runtime.observe import observers
from turnfsm.runtime.observe.room_state import RoomState
from turnfsm.runtime.observe.telemetry import SpanEvents, Telemetry
from turnfsm.runtime.turn import TurnRuntime

from .overrides.speech import GovernedHandle

__all__ = ["Observers"]


class Observers(observers.Observers):
    """Connects a session's observers to each of its runtimes, its room and its spans.

    Args:
        telemetry: Gets metrics and span events.
        audit: The journal is checked while it is written.
        publish_state: The state is published in the room.
        emit: Emits an event of the session.
    """

    def __init__(
        self,
        telemetry: Telemetry | None,
        audit: bool,
        publish_state: bool,
        emit: Callable[..., None],
    ) -> None:
        super().__init__(telemetry, audit, partial(emit, "turn_property_broken"))
        self._publish_state = publish_state
        self._emit = emit
        self._verdicts_wanted = False
        self._turn: TurnRuntime | None = None
        self._at: tuple[Floor, rtc.Room | None] | None = None
        self._room_state: RoomState | None = None

    def watch_session(
        self, turn: TurnRuntime, timers: Mapping[str, float], floor: Floor, room: rtc.Room | None
    ) -> None:
        """Observe this runtime's journal from now on."""
        self._at = floor, room
        self.watch(turn, timers)

    def report_verdicts(self, turn: TurnRuntime) -> None:
        """Emit every verdict of this runtime, once there is a listener."""
        self._turn = turn
        if self._verdicts_wanted:
            turn.observe(self._report_verdict)

    def want_verdicts(self) -> None:
        """There is a listener for ``turn_verdict``."""
        if not self._verdicts_wanted:
            self._verdicts_wanted = True
            if self._turn is not None:
                self._turn.observe(self._report_verdict)

    def end(self) -> None:
        """The runtime has closed."""
        self._turn = None
        super().end()
        if self._room_state is not None:
            self._room_state.end()
            self._room_state = None

    def _listeners(self, turn: TurnRuntime) -> Iterator[Listener]:
        yield from super()._listeners(turn)
        assert self._at is not None
        floor, room = self._at
        if self.telemetry is not None and self.telemetry.spans:
            yield SpanEvents(self.telemetry.text, _Spans(floor).current)
        if self._publish_state and room is not None:
            self._room_state = RoomState(partial(_set_attribute, room))
            yield self._room_state

    def _report_verdict(self, seq: int, verdict: Verdict) -> None:
        self._emit("turn_verdict", verdict)


class _Spans:
    """The span of the agent's turn, or else the current span."""

    def __init__(self, floor: Floor) -> None:
        self._floor = floor
        self._step: Step | None = None
        self._of_step: Span = INVALID_SPAN

    def current(self) -> Span:
        step = self._floor.step
        if step is not None and step is not self._step:
            speech = step.speech
            context = speech.turn_context if isinstance(speech, GovernedHandle) else None
            if context is None:  # the turn has no span yet
                return get_current_span()
            self._step, self._of_step = step, get_current_span(context)
        if step is None or not self._of_step.is_recording():
            return get_current_span()
        return self._of_step


async def _set_attribute(room: rtc.Room, name: str, value: str) -> None:
    if room.isconnected():
        await room.local_participant.set_attributes({name: value})
