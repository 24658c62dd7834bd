"""Runs flows: the event pump, the journal, timers, tasks, and the adapters."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .event import Event
    from .journal import JsonlSink, LiveJournal, write_journal
    from .ledger import Ledger, LedgerCall
    from .pump import EventPump
    from .turn import TurnRuntime

__all__ = [
    "Event",
    "EventPump",
    "JsonlSink",
    "Ledger",
    "LedgerCall",
    "LiveJournal",
    "TurnRuntime",
    "write_journal",
]

_HOMES = dict.fromkeys(__all__, "journal")
_HOMES |= {"Event": "event", "EventPump": "pump", "TurnRuntime": "turn"}
_HOMES |= dict.fromkeys(("Ledger", "LedgerCall"), "ledger")


def __getattr__(name: str) -> Any:
    # Imported on first use: every command imports this package, and `turnfsm --help` needs none of
    # it.
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f".{_HOMES[name]}", __name__), name)
