"""What a flow claims: the properties that it declares, has built in and waives. Nothing is explored
to judge them."""

from __future__ import annotations

from collections.abc import Iterator

from turnfsm.fsm.diagnostics import Finding
from turnfsm.fsm.errors import near
from turnfsm.fsm.flow import Flow, in_words
from turnfsm.fsm.pace import times
from turnfsm.fsm.problems import problem
from turnfsm.fsm.source import Path as Place
from turnfsm.fsm.source import Source

from .space import StateSpace
from .turn import AGENDA, PROPERTIES, missing
from .unheard import NO_SILENCE

__all__ = [
    "declared",
    "has_agenda",
    "lacking_vocabulary",
    "notes",
    "too_many_host_facts",
    "wrong_waivers",
]


def restarted_limits(flow: Flow, source: Source) -> Iterator[Finding]:
    """A note for each limit whose seconds the variant sets although they end no wait."""
    for timer, seconds in flow.timers.items():
        if "limit" not in timer or source.inherited(("timers", timer)) or not flow.extends:
            continue
        for state, body in flow.states.items():
            events = [row.trigger for row in flow.rows(state) if timer in row.transition.restarts]
            if timer not in body.after or not events:
                continue
            by = ", ".join(dict.fromkeys(events))
            named = {"timer": timer, "state": state, "seconds": seconds, "by": by}
            yield problem(source, ("timers", timer), "restarted.limit", **named)


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
    yield problem(source, ("pace",), "pace.times", pace=flow.pace, shown=", ".join(shown))


MOST_HOST_FACTS = 12
"""How many host facts one decision may read, since every combination is explored."""


def declared(flow: Flow) -> tuple[str, ...]:
    """The properties and bounds that a flow declares."""
    held = flow.properties
    names = (rule.name for kind in (held.never, held.always, held.leads_to) for rule in kind)
    silence = (NO_SILENCE,) if held.no_silence_longer_than is not None else ()
    return (*names, *silence, *flow.bounds)


def has_agenda(flow: Flow) -> bool:
    """Whether the properties of an agenda are built in."""
    return flow.kind == "turn" and bool(flow.agenda.settle)


def _builtin(flow: Flow) -> tuple[str, ...]:
    return (*PROPERTIES, *AGENDA) if flow.kind == "turn" else ()


def notes(flow: Flow, source: Source) -> Iterator[Finding]:
    for name, reason in flow.properties.waived.items():
        path: Place = ("properties", "waived", name)
        message = f"{name} is waived: {reason}"
        if name in _builtin(flow):
            yield source.at_key(path, message, code=name, severity="note")
    yield from restarted_limits(flow, source)
    yield from paced_times(flow, source)


def wrong_waivers(flow: Flow, source: Source) -> Iterator[Finding]:
    """Waivers of what is neither built in, nor a property of the base's own."""
    for name in flow.properties.waived:
        path: Place = ("properties", "waived", name)
        if path not in source.removed and name not in _builtin(flow):
            yield problem(
                source, path, "waived.unknown", name=name, near=near(name, _builtin(flow))
            )


def lacking_vocabulary(flow: Flow, source: Source) -> Iterator[Finding]:
    """Built-in properties that cannot be proved, because the flow lacks what they are about."""
    if flow.kind != "turn":
        return
    if flow.initial != "listening":
        yield problem(source, ("initial",), "vocabulary.initial")
    for name in PROPERTIES:
        lacking = missing(flow, name)
        if lacking and name not in flow.properties.waived:
            named = {"name": name, "lacking": ", no ".join(lacking)}
            yield problem(source, ("kind",), "vocabulary.property", **named)


def too_many_host_facts(model: StateSpace, source: Source) -> Iterator[Finding]:
    """Decisions that read more host facts than can be explored."""
    for state, body in model.flow.states.items():
        for trigger in (*body.on, *body.after):
            count = model.asked_at_once(state, trigger)
            if count > MOST_HOST_FACTS:
                named = {"trigger": trigger, "state": state, "count": count}
                path: Place = ("states", state)
                yield problem(source, path, "not-proved.host_facts", **named, most=MOST_HOST_FACTS)
