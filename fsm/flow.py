"""What a flow is: values that mirror the YAML, word for word.

The JSON Schema for editors is generated from these classes, so each field carries the sentence
that an editor shows (``metadata["doc"]``) and, where the YAML word is a keyword of Python or
says more in its place, that word (``metadata["yaml"]``).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Literal

import attrs

from .source import Source

__all__ = [
    "Action",
    "Always",
    "Fact",
    "Flow",
    "LeadsTo",
    "Names",
    "Never",
    "Policy",
    "Properties",
    "Row",
    "Scope",
    "State",
    "Tools",
    "Transition",
    "Trigger",
    "Tuning",
    "yaml_name",
]

Policy = Literal["cancel", "detach", "finish", "hold"]
"""What becomes of a tool call whose turn is interrupted."""

Names = tuple[str, ...]
"""One name or a list of names in YAML; always a tuple here."""


def _doc(sentence: str, yaml: str | None = None, merged: bool = False, **field: Any) -> Any:
    # A merged field is gone once flow and base are one: no part of the flow's own tree.
    metadata = {"doc": sentence} | ({"yaml": yaml} if yaml else {})
    return attrs.field(metadata=metadata | ({"internal": True} if merged else {}), **field)


def yaml_name(field: attrs.Attribute[Any]) -> str:
    """The key under which a field stands in YAML."""
    return str(field.metadata.get("yaml", field.name))


@attrs.frozen
class Scope:
    """A stretch of the conversation that facts and events belong to."""

    begins: Names = _doc("Triggers that begin it: its facts are forgotten.", default=())
    ends: Names = _doc("Triggers and timers that end it: its facts are forgotten.", default=())


@attrs.frozen
class Trigger:
    """Something that is asked (request) or that happened (observation)."""

    is_: str = _doc("What it means, in one sentence.", yaml="is", default="")
    kind: Literal["request", "observation"] = _doc(
        "request: may I? A refusal means: do not do it. observation: it happened.",
        default="observation",
    )
    of: str | None = _doc(
        "The scope that it belongs to. An event of a scope that is over is refused as stale.",
        default=None,
    )


@attrs.frozen
class Fact:
    """Something that guards may look at; a two-state machine beside the turn."""

    scope: str | None = _doc("Where it is forgotten: session, or a declared scope.", default=None)
    set_by: Names = _doc("Triggers that make it true.", default=())
    cleared_by: Names = _doc("Triggers that make it false.", default=())
    given: Literal["host"] | None = _doc(
        "The host answers for it at the moment of the decision.", default=None
    )
    is_: str = _doc("What it means, in one sentence.", yaml="is", default="")


@attrs.frozen
class Action:
    """Something that the host carries out after the state has changed."""

    is_: str = _doc("What it does, in one sentence.", yaml="is", default="")
    owner: str = _doc(
        "What its task dies with, if it is asynchronous: state, session, or a declared scope.",
        default="session",
    )
    done: str | None = _doc("The trigger that is posted when its task has ended.", default=None)
    failed: str | None = _doc("The trigger that is posted when it raises.", default=None)


@attrs.frozen
class Transition:
    """What one trigger does in one state."""

    dest: str | None = _doc(
        "The state that it leads to. The state itself: it is entered again, its timers start "
        "anew. Left out: nothing is left or entered.",
        default=None,
    )
    conditions: Names = _doc("Facts that must be true.", default=())
    unless: Names = _doc("Facts that must be false.", default=())
    actions: Names = _doc("What the host does once the state has changed.", default=())


@attrs.frozen
class Tuning:
    """What a state changes in the session's settings while it is held; LiveKit obeys it live."""

    min_duration: float | None = _doc(
        "Seconds that the user must speak before it may count as an interruption.", default=None
    )
    min_words: int | None = _doc(
        "Words that must be recognised before it may count as an interruption.", default=None
    )
    mute: bool | None = _doc("The user is not heard.", default=None)
    preemptive_generation: bool | None = _doc(
        "Replies may be started before the turn is committed.", default=None
    )
    max_retries: int | None = _doc("Speculative replies in one user turn, at most.", default=None)
    max_speech_duration: float | None = _doc(
        "Seconds of user speech after which nothing is speculated on.", default=None
    )


@attrs.frozen
class Tools:
    """What becomes of a tool call whose turn is interrupted."""

    interrupted: Policy = _doc(
        "cancel: it is cancelled at once. detach: it goes on, its result is owed to the user. "
        "finish: the interruption waits for it, no longer than the timer finish_limit. "
        "hold: its turn cannot be interrupted.",
        default="detach",
    )
    by_name: Mapping[str, Policy] = _doc("The same, for single tools.", factory=dict)
    repeatable: Names = _doc(
        "Tools that are executed again when a turn repeats a call; others are answered with the "
        "result that is there.",
        default=(),
    )


@attrs.frozen
class State:
    """A state of the turn."""

    is_: str = _doc("What it means, in one sentence.", yaml="is", default="")
    on: Mapping[str, tuple[Transition, ...]] = _doc(
        "Trigger to transition; a list is tried in order, the first whose guard holds is taken.",
        factory=dict,
    )
    after: Mapping[str, tuple[Transition, ...]] = _doc(
        "Timer to transition. Armed on entry, gone on exit.", factory=dict
    )
    refuses: Names = _doc(
        "Triggers that this state refuses, said aloud so that it is drawn and checked.", default=()
    )
    final: bool = _doc("Nothing leaves this state.", default=False)
    tuning: Tuning = _doc("Settings that hold while the state is held.", factory=Tuning)


@attrs.frozen
class Never:
    """A configuration, or an action in a configuration, that must not happen."""

    name: str = _doc("The property's name in reports.")
    action: str | None = _doc("The action that must not be chosen ...", default=None)
    state: str | None = _doc("... or the state that must not be held ...", default=None)
    when: Names = _doc("... while these facts are true ...", default=())
    unless: Names = _doc("... and these are false.", default=())
    because: str = _doc("Why, in one sentence; reports repeat it.", default="")


@attrs.frozen
class Always:
    """Facts that hold whenever a state is held."""

    name: str = _doc("The property's name in reports.")
    state: str = _doc("In this state ...")
    when: Names = _doc("... these facts are true ...", default=())
    unless: Names = _doc("... and these are false.", default=())
    because: str = _doc("Why, in one sentence; reports repeat it.", default="")


@attrs.frozen
class LeadsTo:
    """A state that is reached although nothing more happens, by timers alone."""

    name: str = _doc("The property's name in reports.")
    from_: str = _doc("From this state ...", yaml="from")
    to: str = _doc("... this one is reached ...")
    within: str | None = _doc("... no later than this timer's seconds.", default=None)
    because: str = _doc("Why, in one sentence; reports repeat it.", default="")


@attrs.frozen
class Properties:
    """What must hold, proved before the flow runs."""

    never: tuple[Never, ...] = _doc("What must not happen.", default=())
    always: tuple[Always, ...] = _doc("What holds in a state.", default=())
    leads_to: tuple[LeadsTo, ...] = _doc("What is reached by timers alone.", default=())
    waived: Mapping[str, str] = _doc(
        "Built-in properties that this flow does not claim, each with the reason.", factory=dict
    )


@attrs.frozen
class Row:
    """One transition with its place: what diagrams, checkers and machines iterate over.

    Attributes:
        id: ``source.trigger.index``, stable while the file's order is.
    """

    id: str
    source: str
    trigger: str
    index: int
    transition: Transition
    timer: bool

    @property
    def dest(self) -> str:
        """The state that is held afterwards."""
        return self.transition.dest or self.source

    @property
    def internal(self) -> bool:
        """Nothing is left or entered: the state's timers go on."""
        return self.transition.dest is None

    @property
    def path(self) -> tuple[str | int, ...]:
        """Where it stands in the YAML tree."""
        return ("states", self.source, "after" if self.timer else "on", self.trigger, self.index)


@attrs.frozen
class Flow:
    """A turn, declared. Load one with `load_flow`."""

    name: str = _doc("The flow's name.", yaml="flow")
    initial: str = _doc("The state that a session starts in.")
    states: Mapping[str, State] = _doc("The states, in the order in which they are drawn.")
    kind: Literal["turn", "session", "other"] = _doc(
        "turn: held to the properties of a turn, states and triggers as TurnSession knows them.",
        default="other",
    )
    is_: str = _doc("What the flow is for.", yaml="is", default="")
    scopes: Mapping[str, Scope] = _doc("Stretches that facts and events belong to.", factory=dict)
    triggers: Mapping[str, Trigger] = _doc(
        "Everything that may be asked or observed.", factory=dict
    )
    facts: Mapping[str, Fact] = _doc("All that a guard may look at.", factory=dict)
    timers: Mapping[str, float] = _doc("Seconds; a session may override them.", factory=dict)
    actions: Mapping[str, Action] = _doc("All that a host is asked to do.", factory=dict)
    tools: Tools = _doc("What becomes of interrupted tool calls.", factory=Tools)
    properties: Properties = _doc(
        "What must hold, proved before the flow runs.", factory=Properties
    )
    extends: str | None = _doc(
        "The flow that this one changes: a shipped flow's name, or a path relative to this file.",
        default=None,
        eq=False,
        merged=True,
    )
    source: Source | None = attrs.field(
        default=None, eq=False, repr=False, metadata={"internal": True}
    )

    def rows(self, state: str | None = None) -> Iterator[Row]:
        """Every transition, in the file's order; of one state only, if named."""
        for name, body in self.states.items():
            if state is not None and name != state:
                continue
            for table, timer in ((body.on, False), (body.after, True)):
                for trigger, alternatives in table.items():
                    for index, transition in enumerate(alternatives):
                        row_id = f"{name}.{trigger}.{index}"
                        yield Row(row_id, name, trigger, index, transition, timer)

    @property
    def given(self) -> Names:
        """The facts that the host answers for."""
        return tuple(name for name, fact in self.facts.items() if fact.given)
