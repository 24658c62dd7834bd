"""Who observes a session: its log, telemetry, its own audit, the room, the application."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping

from livekit import rtc
from opentelemetry.trace import Span, get_current_span

from turnfsm.fsm import Verdict
from turnfsm.fsm.audit.properties import Broken
from turnfsm.runtime.conversation.floor import Floor
from turnfsm.runtime.observe import Consumer, Watch, log_consumers
from turnfsm.runtime.observe.conformance import Conformance
from turnfsm.runtime.observe.room_state import RoomState
from turnfsm.runtime.observe.telemetry import Telemetry, TelemetryConsumer
from turnfsm.runtime.turn import TurnRuntime

__all__ = ["Observers"]


class Observers:
    """Watches each of a session's runtimes, one after the other.

    Args:
        telemetry: Gets figures and span events.
        audit: The journal is judged as it is written.
        publish_state: The room is told the state.
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
        """Read the journal of this runtime from now on."""
        self._watch = Watch(turn.journal, self._consumers(turn, timers, floor, room))

    def report_verdicts(self, turn: TurnRuntime) -> None:
        """Emit every verdict of this runtime once somebody wants them."""
        self._turn = turn
        if self._verdicts_wanted:
            turn.observe(self._report)

    def want_verdicts(self) -> None:
        """Somebody listens to ``turn_verdict``."""
        if not self._verdicts_wanted:
            self._verdicts_wanted = True
            if self._turn is not None:
                self._turn.observe(self._report)

    def end(self) -> None:
        """The runtime has closed."""
        self._turn = None
        if self._watch is not None:
            self._watch.end()

    def _consumers(
        self, turn: TurnRuntime, timers: Mapping[str, float], floor: Floor, room: rtc.Room | None
    ) -> Iterator[Consumer]:
        yield from log_consumers()
        if self._telemetry is not None:
            yield TelemetryConsumer(self._telemetry, lambda: _span(floor))
        if self._audit:
            yield Conformance(turn.flow, timers, self._tell_broken)
        if self._publish_state and room is not None:
            yield RoomState(lambda name, value: _set_attribute(room, name, value))

    def _tell_broken(self, broken: Broken) -> None:
        """In the next turn of the loop: the entry's actions come first."""
        if self._telemetry is not None:
            self._telemetry.broken(broken.property)
        asyncio.get_running_loop().call_soon(self._emit, "turn_property_broken", broken)

    def _report(self, seq: int, verdict: Verdict) -> None:
        self._emit("turn_verdict", verdict)


def _span(floor: Floor) -> Span:
    """That of the agent's turn; else the one that whoever posts is in."""
    context = None if floor.step is None else floor.step.speech.turn_context
    span = get_current_span(context)
    return span if span.is_recording() else get_current_span()


async def _set_attribute(room: rtc.Room, name: str, value: str) -> None:
    if room.isconnected():
        await room.local_participant.set_attributes({name: value})
