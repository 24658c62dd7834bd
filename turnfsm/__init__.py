"""An explicit finite-state-machine runtime for the turns of a voice agent.

This package has flows and their runtime. It imports neither LiveKit nor Pipecat.

- `turnfsm.livekit`: `TurnSession`, which replaces livekit-agents' `AgentSession`.
- `turnfsm.pipecat`: `TurnGovernor`, which governs the turns of a Pipecat pipeline.
- `turnfsm.host`: what to write to govern another framework, or a host of your own.
- `turnfsm.testing`: virtual time, scripted users, models and audio.
- `turnfsm.check`: proves flows.
- `turnfsm.diagram`: draws flows and conversations.
- `turnfsm.store`: stores from which another worker can continue a session.
- `turnfsm.metrics`: figures of conversations, and the causes of silences.
- `turnfsm.audit`: finds failures in recorded sessions.
- `turnfsm.demo`: speech in and out without a network, and a scripted model.

Example:
    >>> import turnfsm
    >>> machine = turnfsm.Machine(turnfsm.load_flow("turn"))
    >>> machine.step("user_started_speaking").state
    'listening'
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from turnfsm.fsm import (
        Action,
        Always,
        Fact,
        Finding,
        Flow,
        FlowError,
        HostError,
        LeadsTo,
        Machine,
        Never,
        Program,
        Properties,
        Refused,
        Row,
        Scope,
        State,
        Taken,
        Transition,
        Trigger,
        TurnfsmError,
        UnknownName,
        UnknownTrigger,
        Verdict,
        compile_flow,
        load_flow,
        parse_flow,
        shipped_flows,
    )
    from turnfsm.fsm.journal import Entry, Header, Journal, JournalError, Note, read_journal, replay
    from turnfsm.runtime.event import Event
    from turnfsm.runtime.journal import JsonlSink, LiveJournal, write_journal
    from turnfsm.runtime.ledger import Ledger, LedgerCall
    from turnfsm.runtime.pump import EventPump
    from turnfsm.runtime.turn import TurnRuntime

__all__ = [
    "Action",
    "Always",
    "Entry",
    "Event",
    "EventPump",
    "Fact",
    "Finding",
    "Flow",
    "FlowError",
    "Header",
    "HostError",
    "Journal",
    "JournalError",
    "JsonlSink",
    "LeadsTo",
    "Ledger",
    "LedgerCall",
    "LiveJournal",
    "Machine",
    "Never",
    "Note",
    "Program",
    "Properties",
    "Refused",
    "Row",
    "Scope",
    "State",
    "Taken",
    "Transition",
    "Trigger",
    "TurnRuntime",
    "TurnfsmError",
    "UnknownName",
    "UnknownTrigger",
    "Verdict",
    "compile_flow",
    "load_flow",
    "parse_flow",
    "read_journal",
    "replay",
    "shipped_flows",
    "write_journal",
]

# not pipecat: `help(turnfsm)` imports them, and Pipecat prints a banner and warns when imported
_MODULES = ("audit", "check", "demo", "diagram", "host", "livekit", "metrics", "store", "testing")
_HOMES = dict.fromkeys(__all__, "fsm")
_HOMES |= dict.fromkeys(
    ("Entry", "Header", "Journal", "JournalError", "Note", "read_journal", "replay"), "fsm.journal"
)
_HOMES |= dict.fromkeys(("JsonlSink", "LiveJournal", "write_journal"), "runtime.journal")
_HOMES |= dict.fromkeys(("Ledger", "LedgerCall"), "runtime.ledger")
_HOMES |= {"Event": "runtime.event", "EventPump": "runtime.pump", "TurnRuntime": "runtime.turn"}


def __getattr__(name: str) -> Any:
    # On first use: each command imports this package, and `turnfsm --help` needs none of it.
    if name in _MODULES:
        return import_module(f"{__name__}.{name}")
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted([*__all__, *_MODULES])
