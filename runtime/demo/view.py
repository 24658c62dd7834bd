"""Shows a running conversation, a line for each relevant record."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.console import Console

from turnfsm.fsm import Flow

from .transcript import as_text

__all__ = ["Lines"]

Record = Mapping[str, Any]

_SPOKEN = ("user_audio", "agent_audio", "tool")


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


def _line(record: Record, timers: Mapping[str, float]) -> str:
    if record.get("note") in _SPOKEN:
        return as_text(record)
    if "trigger" not in record or _idle(record, timers):
        return ""
    if record["verdict"] == "refused" or record["entered"]:
        return _verdict(record)
    return ""


def _idle(record: Record, timers: Mapping[str, float]) -> bool:
    """A due timer whose guard does not hold."""
    return record["trigger"] in timers and record["verdict"] == "refused"


def _verdict(record: Record) -> str:
    if record["verdict"] == "refused":
        return f"refused {record['trigger']} in {record['state']}: {record['why']}"
    if not record["entered"]:
        does = f" ({', '.join(record['actions'])})" if record["actions"] else ""
        return f"taken   {record['trigger']}{does}"
    return f"state   {record['dest']} (from {record['state']}, {record['trigger']})"
