"""A loaded flow: every state with all its transitions. `flow_parts` and `flow_properties` have
its parts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Literal

import attrs

from .agenda.settlement import Rules
from .confirm import Confirm
from .correction import Correction
from .fields import Names, Texts
from .flow_parts import (
    NEVER,
    Action,
    AgentState,
    Fact,
    Migrates,
    Policy,
    Scope,
    Seconds,
    State,
    Tools,
    Transition,
    Trigger,
    Tuning,
    TurnDetection,
    fires_in_words,
    in_words,
)
from .flow_properties import Always, LeadsTo, Never, Properties
from .pace import Pace
from .phrases import Phrases
from .source import Path, Source

__all__ = [
    "NEVER",
    "OUTAGE_TIMERS",
    "Action",
    "AgentState",
    "Always",
    "Confirm",
    "Correction",
    "Fact",
    "Flow",
    "LeadsTo",
    "Migrates",
    "Names",
    "Never",
    "Phrases",
    "Policy",
    "Properties",
    "Row",
    "Scope",
    "Seconds",
    "State",
    "Texts",
    "Tools",
    "Transition",
    "Trigger",
    "Tuning",
    "TurnDetection",
    "fires_in_words",
    "in_words",
]

OUTAGE_TIMERS: Names = ("audio_limit", "transcript_limit")
"""The timers of the flow `outages`, which runs beside a flow of kind `turn`."""


@attrs.frozen
class Row:
    """One transition with its place in the flow.

    Attributes:
        id: ``STATE.TRIGGER.INDEX``. It stays the same as long as the order in the file does.
        source: The state that it leaves.
        trigger: The trigger or timer that takes it.
        index: Its place among the transitions of the same state and trigger, from 0.
        transition: What it does.
        timer: Its trigger is a timer.

    Example:
        >>> from turnfsm import load_flow
        >>> next(load_flow("turn").rows("speaking")).id
        'speaking.barge_in.0'
    """

    id: str
    source: str
    trigger: str
    index: int
    transition: Transition
    timer: bool

    @property
    def dest(self) -> str:
        """The state afterwards."""
        return self.transition.dest or self.source

    @property
    def internal(self) -> bool:
        """No state is left or entered, so the state's timers continue."""
        return self.transition.dest is None

    @property
    def path(self) -> tuple[str | int, ...]:
        """Its place in the YAML tree."""
        return ("states", self.source, "after" if self.timer else "on", self.trigger, self.index)


@attrs.frozen
class Flow:
    """A flow: states, transitions, facts, timers and actions. Load one with `load_flow`.

    Attributes:
        name: The flow's name.
        initial: The state that a session starts in.
        states: The states, in the order in which they are drawn.
        kind: ``turn``: the ten properties of a turn are proved, and `TurnSession` can use the flow.
        is_: What the flow is for.
        turn_detection: The turn detection that the flow needs, by LiveKit's name; None if the flow
            works with all of them.
        scopes: The parts of the conversation that facts and triggers belong to.
        triggers: The requests, then the events.
        facts: The facts and host facts.
        timers: Timer to seconds. `NEVER`: it does not fire unless a session gives it seconds.
        lasting: The timers that go on when the state changes to one that has them, too.
        limits: The chosen set of seconds for the timers that are `NEVER`.
        limit_sets: The sets that can be chosen, each from timer to seconds.
        bounds: Bounds of delays that a caller notices, in seconds, by the names of
            `turnfsm.fsm.bounds.BOUNDS`.
        actions: The actions that the host carries out.
        tools: What an interruption does to tool calls.
        discard_audio_if_uninterruptible: The STT gets silence while the agent's speech is
            uninterruptible, unless the application sets another value.
        pace: How patient the agent is. The timers are scaled already.
        agenda: What the agent must deliver, and how claims on it settle when a reply ends.
        phrases: For each host fact, the phrases that the user's text must consist of.
        properties: The declared properties, without those of its kind.
        migrates: What was renamed since earlier versions.
        extends: The flow that it extends, as named in the file.
        source: The position of each part in the file; None if the flow was not read from a text.
        paced: Each timer or other value that the pace scales, with its seconds.

    Example:
        >>> from turnfsm import load_flow
        >>> flow = load_flow("turn")
        >>> flow.initial, list(flow.states)[:3]
        ('listening', ['listening', 'thinking', 'tool_running'])
    """

    name: str
    initial: str
    states: Mapping[str, State]
    kind: Literal["turn", "session", "other"] = "other"
    is_: str = ""
    turn_detection: TurnDetection | None = None
    scopes: Mapping[str, Scope] = attrs.field(factory=dict)
    triggers: Mapping[str, Trigger] = attrs.field(factory=dict)
    facts: Mapping[str, Fact] = attrs.field(factory=dict)
    timers: Mapping[str, float] = attrs.field(factory=dict)
    lasting: Names = ()
    limits: str | None = None
    limit_sets: Mapping[str, Mapping[str, float]] = attrs.field(factory=dict)
    bounds: Mapping[str, float] = attrs.field(factory=dict)
    actions: Mapping[str, Action] = attrs.field(factory=dict)
    tools: Tools = attrs.field(factory=Tools)
    discard_audio_if_uninterruptible: bool = True
    pace: Pace = "normal"
    agenda: Rules = attrs.field(factory=Rules)
    phrases: Mapping[str, Phrases] = attrs.field(factory=dict)
    properties: Properties = attrs.field(factory=Properties)
    migrates: Migrates = attrs.field(factory=Migrates, eq=False, repr=False)
    extends: str | None = attrs.field(default=None, eq=False)
    source: Source | None = attrs.field(default=None, eq=False, repr=False)
    paced: Mapping[str, float] = attrs.field(factory=dict, eq=False, repr=False)

    def rows(self, state: str | None = None) -> Iterator[Row]:
        """Every transition, in the order of the file; with `state` only those of that state."""
        for name, body in self.states.items():
            if state is not None and name != state:
                continue
            for table, timer in ((body.on, False), (body.after, True)):
                for trigger, alternatives in table.items():
                    for index, transition in enumerate(alternatives):
                        row_id = f"{name}.{trigger}.{index}"
                        yield Row(row_id, name, trigger, index, transition, timer)

    @property
    def host_facts(self) -> Names:
        """The host facts."""
        return tuple(name for name, fact in self.facts.items() if fact.host)

    @property
    def named_tools(self) -> Mapping[str, Path]:
        """The tools that the flow names, each with a place that does."""
        tools = self.tools
        named: list[tuple[str, Path]] = [
            *((name, ("tools", "by_name", name)) for name in tools.by_name),
            *((name, ("tools", "once", i)) for i, name in enumerate(tools.once)),
            *((name, ("tools", "tuning", name)) for name in tools.tuning),
            *((name, ("tools", "confirm", name)) for name in tools.confirm),
            *((name, ("tools", "corrects", name)) for name in tools.corrects),
            *((name, ("facts", key)) for key, fact in self.facts.items() for name in fact.tools),
            *((now, ("migrates", "tools", old)) for old, now in self.migrates.tools.items()),
        ]
        return dict(named)

    @property
    def requests(self) -> Names:
        """The triggers that are requests."""
        return tuple(name for name, body in self.triggers.items() if body.kind == "request")

    @property
    def settable(self) -> Names:
        """The timers to which a file that extends the flow, or a session, may give seconds."""
        return (*self.timers, *(OUTAGE_TIMERS if self.kind == "turn" else ()))

    def limited(self, limits: str) -> Mapping[str, float]:
        """The seconds that a set of limits gives to the timers that are `NEVER`."""
        seconds = self.limit_sets[limits].items()
        return {name: one for name, one in seconds if self.timers.get(name) == NEVER}

    def refused_in(self, state: str) -> Names:
        """The requests for which a state has no transition."""
        on = self.states[state].on
        return tuple(name for name in self.requests if name not in on)

    def without_effect(self, state: str) -> Names:
        """The triggers that never change anything in a state."""
        return (*self.refused_in(state), *self.states[state].ignores)
