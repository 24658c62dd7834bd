"""Notes on limits that a variant sets but an event restarts."""

from __future__ import annotations

from collections.abc import Iterator

from turnfsm.fsm.diagnostics import Finding
from turnfsm.fsm.flow import Flow
from turnfsm.fsm.source import Source

__all__ = ["restarted_limits"]


def restarted_limits(flow: Flow, source: Source) -> Iterator[Finding]:
    """A note for each limit whose seconds the variant sets although they end no wait."""
    for timer, seconds in flow.timers.items():
        if "limit" not in timer or source.inherited(("timers", timer)) or not flow.extends:
            continue
        for state, body in flow.states.items():
            events = [row.trigger for row in flow.rows(state) if timer in row.transition.restarts]
            if timer not in body.after or not events:
                continue
            by = ", ".join(dict.fromkeys(events))
            message = (
                f"{timer} does not limit {state} to {seconds:g} s: it counts from the last {by}"
            )
            remedy = f"for a limit of the whole state, add a timer of your own to {state!r}"
            yield source.at_key(
                ("timers", timer), message, remedy, code="restarted", severity="note"
            )
