"""Shows a running conversation, a line for each relevant record."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from rich.console import Console

from turnfsm.fsm import Flow

from .transcript import as_text

__all__ = ["Lines"]

Record = Mapping[str, Any]

_SPOKEN = ("user_audio", "agent_audio", "tool")
_USUAL = ("ignore_turn",)  # whether a turn needs no answer; timers are refused if a guard fails


class Lines:
    """A sink that prints one line for each relevant record."""

    def __init__(self, console: Console, flow: Flow) -> None:
        self._console, self._timers = console, flow.timers

    def write(self, record: Record) -> None:
        text = _line(record, self._timers)
        if text:
            self._console.out(f"{record['t']:7.2f} s  {text}", highlight=False)

    def close(self) -> None:
        """Every line is printed."""


def _line(record: Record, timers: Collection[str]) -> str:
    if record.get("note") in _SPOKEN:
        return as_text(record)
    match record.get("verdict"):
        case "refused" if record["trigger"] not in (*timers, *_USUAL):
            return f"refused {record['trigger']} in {record['state']}: {record['why']}"
        case "taken" if record["entered"]:
            return f"state   {record['dest']} (from {record['state']}, {record['trigger']})"
    return ""
