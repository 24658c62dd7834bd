"""A loaded flow: every state with all its transitions. `flow_parts` and `flow_properties` have
its parts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Literal

import attrs

from .agenda.settlement import Rules
from .confirm import Confirm
from .correction import Correction
from .fields import Names, Texts, described, doc, loaded
from .flow_parts import (
    NEVER,
    Action,
    AgentState,
    Fact,
    Group,
    Scope,
    Seconds,
    State,
    Tools,
    Transition,
    Trigger,
    TurnDetection,
    fires_in_words,
    in_words,
)
from .flow_properties import Always, LeadsTo, Never, Properties
from .pace import Pace
from .phrases import Phrases
from .source import Path, Source
from .tuning import Owners, Policy, Question, Tuning

__all__ = [
    "NEVER",
    "OUTAGE_TIMERS",
    "Action",
    "AgentState",
    "Always",
    "Confirm",
    "Correction",
    "Declarations",
    "Fact",
    "Flow",
    "Group",
    "LeadsTo",
    "Migrates",
    "Names",
    "Never",
    "Owners",
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


@described
@attrs.frozen
class Migrates:
    """What was renamed since earlier versions of the flow. A store may still have sessions of those
    versions.

    Example:
        >>> from turnfsm import parse_flow
        >>> flow, _ = parse_flow("{flow: inn, extends: turn, migrates: {flow: hotel}}")
        >>> flow.migrates.flow
        ('hotel',)
    """

    flow: Names = doc(
        "Earlier names of this flow, or flows that it replaces: it continues their sessions. It "
        "also continues those of the flows that it extends.",
        default=(),
    )
    tools: Mapping[str, str] = doc(
        "Maps the earlier name of a tool to its present name. Calls that an earlier worker made "
        "under the earlier name count as calls of the present tool.",
        factory=dict,
    )


@attrs.frozen(kw_only=True)
class Declarations:
    """The sections that a loaded flow and its file have in common."""

    kind: Literal["turn", "session", "other"] = doc(
        "turn: a flow for TurnSession. It must have the properties of a turn, and the states and "
        "triggers that TurnSession uses.",
        default="other",
    )
    is_: str = doc("What the flow is for.", yaml="is", default="")
    extends: str | None = doc(
        "The flow that this one changes: a shipped flow's name, or a path relative to this file.",
        default=None,
        eq=False,
    )
    turn_detection: TurnDetection | None = doc(
        "The turn detection that the flow needs. manual: the application commits turns, as with a "
        "button. realtime_llm: a realtime model detects them. A session with another one does not "
        "start. Without this key the flow works with any.",
        default=None,
    )
    scopes: Mapping[str, Scope] = doc(
        "Spans of the conversation that facts and triggers belong to.", factory=dict
    )
    lasting: Names = doc(
        "Timers that continue when the state changes to another one that has them. Other timers "
        "stop with their state. 'restarts' starts them again, even in a transition with 'dest'.",
        default=(),
    )
    limits: str | None = doc(
        "The set of 'limit_sets' that gives seconds to the timers that are 'never'.", default=None
    )
    bounds: Mapping[str, float] = doc(
        "Bounds of the delays that a caller notices, in seconds; each is a property. `after_...`: "
        "at most; `for_...`: at least.",
        factory=dict,
    )
    actions: Mapping[str, Action] = doc("What the host can be asked to do.", factory=dict)
    tools: Tools = doc("What happens to tool calls whose turn is interrupted.", factory=Tools)
    overlays: Mapping[str, Tuning] = doc(
        "By agent or task, named by its id: settings of the session while this agent has the "
        "conversation. They override those of the state; those of a tool override them. Not in a "
        "Pipecat pipeline, which has no agents.",
        factory=dict,
    )
    discard_audio_if_uninterruptible: bool = doc(
        "true: the STT gets silence during uninterruptible speech. false: the user is heard, and "
        "their turn is deferred until the agent has finished. That needs a line without echo: "
        "otherwise the agent answers its own speech. LiveKit's option of the same name takes "
        "precedence if the session sets it.",
        default=True,
    )
    pace: Pace = doc(
        "Scales the default delays that a caller notices. calm: 1.5 times as long; brisk: 0.6 "
        "times. Seconds that a file or a session sets are not scaled.",
        default="normal",
    )
    agenda: Rules = doc(
        "What the agent has yet to deliver: answers, results and notices. A flow without this key "
        "has the agenda of the flow turn.",
        factory=Rules,
    )
    phrases: Mapping[str, Phrases] = doc(
        "Host facts that are true if what the user has just said consists of certain phrases. The "
        "host needs no methods for them.",
        factory=dict,
    )
    questions: Mapping[str, Question] = doc(
        "Questions of the agent, known by its last sentence, and the values that they ask for. "
        "The first one that matches counts.",
        factory=dict,
    )
    migrates: Migrates = doc(
        "What was renamed since earlier versions of this flow, so that it can continue their "
        "stored sessions.",
        factory=Migrates,
        eq=False,
        repr=False,
    )


@described
@attrs.frozen
class Flow(Declarations):
    """A flow: states, transitions, facts, timers and actions. Load one with `load_flow`.

    Example:
        >>> from turnfsm import load_flow
        >>> flow = load_flow("turn")
        >>> flow.initial, list(flow.states)[:3]
        ('listening', ['listening', 'thinking', 'tool_running'])
    """

    name: str = loaded("The flow's name.")
    initial: str = loaded("The state that a session starts in.")
    states: Mapping[str, State] = loaded("The states, in the order in which they are drawn.")
    triggers: Mapping[str, Trigger] = loaded("The requests, then the events.", factory=dict)
    facts: Mapping[str, Fact] = loaded("The facts and host facts.", factory=dict)
    timers: Mapping[str, float] = loaded(
        "Timer to seconds. `NEVER`: it does not fire unless a session gives it seconds.",
        factory=dict,
    )
    limit_sets: Mapping[str, Mapping[str, float]] = loaded(
        "The sets that `limits` can choose, each from timer to seconds.", factory=dict
    )
    properties: Properties = loaded(
        "The declared properties, without those of its kind.", factory=Properties
    )
    source: Source | None = loaded(
        "The position of each part in the file; None if the flow was not read from a text.",
        default=None,
        eq=False,
        repr=False,
    )
    paced: Mapping[str, float] = loaded(
        "Each timer or other value that the pace scales, with its seconds.",
        factory=dict,
        eq=False,
        repr=False,
    )

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
    def tunings(self) -> Iterator[tuple[str, str, Tuning, Path]]:
        """The settings that the flow makes: of a state, an agent, a tool or a question, its name,
        the tuning and its place. Each kind overrides those before it."""
        for name, state in self.states.items():
            yield "state", name, state.tuning, ("states", name, "tuning")
        for name, tuning in self.overlays.items():
            yield "agent", name, tuning, ("overlays", name)
        for name, tuning in self.tools.tuning.items():
            yield "tool", name, tuning, ("tools", "tuning", name)
        for name, question in self.questions.items():
            yield "question", name, question.tuning, ("questions", name, "tuning")

    def tunings_in(self, state: str, owners: Owners) -> Iterator[tuple[str, str, Tuning, Path]]:
        """Those of `tunings` that hold in a state."""
        for kind, name, tuning, place in self.tunings:
            if name == state if kind == "state" else owners.own(kind, name):
                yield kind, name, tuning, place

    def tuning_in(self, state: str, owners: Owners) -> Tuning:
        """The settings in a state."""
        tuned = Tuning()
        for _, _, tuning, _ in self.tunings_in(state, owners):
            tuned = tuning.over(tuned)
        if owners.question is not None:
            tuned = attrs.evolve(tuned, expect=self.questions[owners.question])
        return tuned

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
            *(
                (name, (*place, "policies", name))
                for _, _, tuning, place in self.tunings
                for name in tuning.policies or ()
            ),
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
