"""An explicit finite-state-machine runtime for the turns of a voice agent.

What a flow is and what happens when it runs; everything here imports neither LiveKit nor Pipecat.

- `turnfsm.livekit`: `TurnSession`, which takes the place of livekit-agents' `AgentSession`.
- `turnfsm.testing`: virtual time, scripted users, models and audio.
- `turnfsm.check`: the proof of a flow.
- `turnfsm.diagram`: pictures of flows and of conversations.

Example:
    >>> import turnfsm
    >>> machine = turnfsm.Machine(turnfsm.load_flow("turn"))
    >>> machine.step("user_started_speaking").source
    'listening'
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from turnfsm.fsm import (
        Action,
        Always,
        Fact,
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
    from turnfsm.runtime import (
        Entry,
        Event,
        EventPump,
        Journal,
        JournalError,
        JsonlSink,
        Ledger,
        LedgerCall,
        Note,
        TurnRuntime,
        read_journal,
        replay,
        write_journal,
    )

__all__ = [
    "Action",
    "Always",
    "Entry",
    "Event",
    "EventPump",
    "Fact",
    "Flow",
    "FlowError",
    "HostError",
    "Journal",
    "JournalError",
    "JsonlSink",
    "LeadsTo",
    "Ledger",
    "LedgerCall",
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

_MODULES = ("check", "diagram", "livekit", "testing")
_OF_RUNTIME = {"Entry", "Event", "EventPump", "Journal", "JournalError", "JsonlSink", "Ledger"}
_OF_RUNTIME |= {"LedgerCall", "Note", "TurnRuntime", "read_journal", "replay", "write_journal"}


def __getattr__(name: str) -> Any:
    # On first use: each command imports this package, and `turnfsm --help` needs none of it.
    if name in _MODULES:
        return import_module(f"{__name__}.{name}")
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    home = "runtime" if name in _OF_RUNTIME else "fsm"
    return getattr(import_module(f"{__name__}.{home}"), name)


def __dir__() -> list[str]:
    return sorted([*__all__, *_MODULES])
