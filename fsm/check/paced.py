"""Notes about the seconds that the pace of a flow scales."""

from __future__ import annotations

from collections.abc import Iterator

from turnfsm.fsm.diagnostics import Finding
from turnfsm.fsm.flow import Flow, in_words
from turnfsm.fsm.pace import times
from turnfsm.fsm.source import Source

__all__ = ["paced_times"]

_MIN_DELAY, _MAX_DELAY = 0.5, 3.0
"""LiveKit's delays of endpointing, in seconds."""


def paced_times(flow: Flow, source: Source) -> Iterator[Finding]:
    """The seconds that `pace` sets, unless it is normal."""
    if flow.pace == "normal":
        return
    shown = [f"{name} {in_words(seconds)}" for name, seconds in flow.paced.items()]
    if flow.kind == "turn":
        first, last = times(flow.pace, _MIN_DELAY), times(flow.pace, _MAX_DELAY)
        shown.append(f"endpointing {first:g} to {last:g} s, unless the session gives its delays")
    message = f"pace {flow.pace}: {', '.join(shown)}"
    yield source.at_key(("pace",), message, code="pace", severity="note")
