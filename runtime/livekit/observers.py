"""The observers of a session: log, telemetry, audit, room, application."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING

from livekit import rtc
from opentelemetry.trace import INVALID_SPAN, Span, get_current_span

from turnfsm.fsm import Verdict
from turnfsm.runtime.conversation.floor import Floor, Step
from turnfsm.runtime.observe import Consumer, Listener, Watch
from turnfsm.runtime.observe.telemetry import Figures, SpanEvents, Telemetry
from turnfsm.runtime.turn import TurnRuntime

from .overrides import GovernedHandle

if TYPE_CHECKING:
    from turnfsm.fsm.audit.properties import Broken

__all__ = ["Observers"]

turn_log = logging.getLogger("turnfsm.turn")


class Observers:
    """Connects the observers of a session to each of its runtimes.

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
        self._telemetry = telemetry
        self._audit = audit
        self._publish_state = publish_state
        self._emit = emit
        self._watch: Watch | None = None
        self._verdicts_wanted = False
        self._turn: TurnRuntime | None = None

    def watch(
        self, turn: TurnRuntime, timers: Mapping[str, float], floor: Floor, room: rtc.Room | None
    ) -> None:
        """Observe this runtime's journal from now on."""
        consumers = self._consumers(turn, timers)
        self._watch = Watch(turn.journal, consumers, self._listeners(turn, floor, room))

    def report_verdicts(self, turn: TurnRuntime) -> None:
        """Emit every verdict of this runtime, once there is a listener."""
        self._turn = turn
        if self._verdicts_wanted:
            turn.observe(self._report)

    def want_verdicts(self) -> None:
        """There is a listener for ``turn_verdict``."""
        if not self._verdicts_wanted:
            self._verdicts_wanted = True
            if self._turn is not None:
                self._turn.observe(self._report)

    def end(self) -> None:
        """The runtime has closed."""
        self._turn = None
        if self._watch is not None:
            self._watch.end()
            self._watch = None

    def _consumers(self, turn: TurnRuntime, timers: Mapping[str, float]) -> Iterator[Consumer]:
        # imported only when used: they import the metrics and the checker
        if turn_log.isEnabledFor(logging.INFO):
            from turnfsm.runtime.observe.turn_log import TurnLog

            yield TurnLog()
        if self._telemetry is not None:
            yield Figures(self._telemetry)
        if self._audit:
            from turnfsm.runtime.observe.conformance import Conformance

            yield Conformance(turn.flow, timers, self._tell_broken)

    def _listeners(
        self, turn: TurnRuntime, floor: Floor, room: rtc.Room | None
    ) -> Iterator[Listener]:
        if turn_log.isEnabledFor(logging.INFO):  # DEBUG may be turned on later
            from turnfsm.runtime.observe.turn_log import VerdictLog

            yield VerdictLog(turn.journal.typed)
        if self._telemetry is not None and self._telemetry.spans:
            yield SpanEvents(self._telemetry.said, _Spans(floor).current)
        if self._publish_state and room is not None:
            from turnfsm.runtime.observe.room_state import RoomState

            yield RoomState(lambda name, value: _set_attribute(room, name, value))

    def _tell_broken(self, broken: Broken) -> None:
        """In the next iteration of the event loop: the entry's actions come first."""
        if self._telemetry is not None:
            self._telemetry.broken(broken.property)
        asyncio.get_running_loop().call_soon(self._emit, "turn_property_broken", broken)

    def _report(self, seq: int, verdict: Verdict) -> None:
        self._emit("turn_verdict", verdict)


class _Spans:
    """The span of the agent's turn, or else the current span of the post."""

    def __init__(self, floor: Floor) -> None:
        self._floor = floor
        self._step: Step | None = None
        self._of_step: Span = INVALID_SPAN

    def current(self) -> Span:
        step = self._floor.step
        if step is not None and step is not self._step:
            speech = step.speech
            context = speech.turn_context if isinstance(speech, GovernedHandle) else None
            if context is None:  # its turn has no span yet
                return get_current_span()
            self._step, self._of_step = step, get_current_span(context)
        if step is None or not self._of_step.is_recording():
            return get_current_span()
        return self._of_step


async def _set_attribute(room: rtc.Room, name: str, value: str) -> None:
    if room.isconnected():
        await room.local_participant.set_attributes({name: value})
