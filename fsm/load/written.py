"""How a flow is written: the sections of the file, and groups of states.

The JSON Schema and the reference of all keys are made from these classes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import attrs

from turnfsm.fsm.flow import (
    Action,
    Always,
    Fact,
    LeadsTo,
    Names,
    Never,
    Scope,
    Tools,
    Transition,
    Trigger,
    Tuning,
    doc,
)

__all__ = ["EVERY_STATE", "HOST", "SHORT", "FlowFile", "Group", "WrittenProperties", "WrittenState"]

EVERY_STATE = "all"
"""The group that every state is in, but for final ones."""

HOST = "host"
"""The section of the facts that the host is asked for."""

SHORT = (Trigger, Action, Fact)
"""What may be given as a text alone: the text is what it means."""

_ON = "Trigger to transition; a list is tried in order, the first whose guard holds is taken."
_AFTER = "Timer to transition. Started on entry, stopped on exit."
_REFUSES = "Requests that are refused here, whatever a group or the base says."
_IGNORES = "Events that change nothing here, not even facts."


@attrs.frozen
class Group:
    """What several states have in common. A state's own words come first."""

    is_: str = doc("What the states have in common, in one sentence.", yaml="is", default="")
    on: Mapping[str, tuple[Transition, ...]] = doc(_ON, factory=dict)
    after: Mapping[str, tuple[Transition, ...]] = doc(_AFTER, factory=dict)
    refuses: Names = doc(_REFUSES, default=())
    ignores: Names = doc(_IGNORES, default=())


@attrs.frozen
class WrittenState:
    """A state of the turn. It has what its groups say, but for what it says itself."""

    is_: str = doc("What it means, in one sentence.", yaml="is", default="")
    in_: Names = doc(
        "The groups that it is in, besides 'all'; a later one comes before an earlier one.",
        yaml="in",
        default=(),
    )
    on: Mapping[str, tuple[Transition, ...]] = doc(_ON, factory=dict)
    after: Mapping[str, tuple[Transition, ...]] = doc(_AFTER, factory=dict)
    refuses: Names = doc(_REFUSES, default=())
    ignores: Names = doc(_IGNORES, default=())
    final: bool = doc("Nothing leaves this state.", default=False)
    tuning: Tuning = doc("Settings that hold while the state is held.", factory=Tuning)


@attrs.frozen
class WrittenProperties:
    """What must hold, proved before the flow runs. Those of the flow's kind hold without a word."""

    never: Mapping[str, Never] = doc("What must not happen.", factory=dict)
    always: Mapping[str, Always] = doc("What holds in a state.", factory=dict)
    leads_to: Mapping[str, LeadsTo] = doc("What is reached by timers alone.", factory=dict)
    waived: Mapping[str, str] = doc(
        "Built-in properties that this flow does not claim, each with the reason.", factory=dict
    )


@attrs.frozen
class FlowFile:
    """A turn, declared."""

    flow: str = doc("The flow's name.")
    initial: str = doc("The state that a session starts in.")
    states: Mapping[str, WrittenState] = doc("The states, in the order in which they are drawn.")
    kind: Literal["turn", "session", "other"] = doc(
        "turn: held to the properties of a turn, states and triggers as TurnSession knows them.",
        default="other",
    )
    is_: str = doc("What the flow is for.", yaml="is", default="")
    extends: str | None = doc(
        "The flow that this one changes: a shipped flow's name, or a path relative to this file.",
        default=None,
    )
    scopes: Mapping[str, Scope] = doc(
        "Spans of the conversation that facts and triggers belong to.", factory=dict
    )
    facts: Mapping[str, Mapping[str, Fact]] = doc(
        "All that a guard may look at, listed by scope: 'session', a declared scope, or 'host' for "
        "those that the host is asked for at the moment of the decision.",
        factory=dict,
    )
    requests: Mapping[str, Trigger] = doc(
        "What asks: may I? A refusal means: do not do it.", factory=dict
    )
    events: Mapping[str, Trigger] = doc("What has happened.", factory=dict)
    timers: Mapping[str, float] = doc("Seconds; a session may override them.", factory=dict)
    actions: Mapping[str, Action] = doc("All that a host is asked to do.", factory=dict)
    tools: Tools = doc("What becomes of interrupted tool calls.", factory=Tools)
    groups: Mapping[str, Group] = doc(
        "What several states have in common. Every state is in the group 'all'.", factory=dict
    )
    properties: WrittenProperties = doc(
        "What must hold, proved before the flow runs.", factory=WrittenProperties
    )
