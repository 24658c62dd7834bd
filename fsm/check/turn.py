"""The ten properties of a turn, checked against what really happens.

The facts of a flow may be wrong. So the checker tracks what happens in its own facts, the ghosts. A
stale event changes no ghost, so a flow that takes one is found. A fact that has the name of a ghost
but a different value is found as well.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

import attrs

from turnfsm.fsm.flow import Flow

from .parts import Change, World

__all__ = [
    "AGENDA",
    "COMMON",
    "CONFIRMING",
    "HARMLESS",
    "PROPERTIES",
    "REQUESTED",
    "TRUE_FACTS",
    "Builtin",
    "missing",
    "turn_world",
]

_DATA = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))


def _names(body: Mapping[str, list[str]]) -> dict[str, tuple[str, ...]]:
    return {key: tuple(names) for key, names in body.items()}


_WORLD = World(
    ghosts=tuple(_DATA["ghosts"]),
    events={name: Change(**_names(body)) for name, body in _DATA["events"].items()},
    actions={name: Change(**_names(body)) for name, body in _DATA["actions"].items()},
    belongs=dict.fromkeys(_DATA["of_step"], "step"),
    begun={"step": "step_running"},
)
TRUE_FACTS = _WORLD.ghosts[:9]
"""Names with the same meaning as a fact of a flow and as a ghost."""

REQUESTED = "requested"
"""The ghost of a reply that was requested and whose step has not started; only for the property
`no_silence_longer_than`."""

CONFIRMING = "confirming"
"""The state in which the user is asked whether a tool may run."""

COMMON = frozenset(_WORLD.events) | {
    *("barge_in", "preemptive_generation", "reply", "start_playout", "next_reply"),
    *("final_transcript", "endpointing_ended", "speech_interrupted", "interruptions_disallowed"),
    *("step_progressed", "turn_replied"),
}
"""The triggers that every turn has. Others are up to the application."""

HARMLESS = ("release_output", "drop_audio")
"""Actions that have no effect if there is nothing to do."""


@attrs.frozen
class Builtin:
    """One of the ten properties.

    Attributes:
        means: Its meaning, in one sentence.
        triggers, states: The names that it needs in a flow.
    """

    means: str
    triggers: tuple[str, ...] = ()
    states: tuple[str, ...] = ()


PROPERTIES = {
    name: Builtin(body.pop("means"), **_names(body)) for name, body in _DATA["properties"].items()
}

AGENDA: Mapping[str, str] = MappingProxyType(_DATA["agenda"])
"""The properties of an agenda, with their meaning."""


def turn_world(flow: Flow) -> World:
    """The world of a conversation, as far as the flow has names for it."""
    if flow.kind != "turn":
        return World()
    belongs = {t: s for t, s in _WORLD.belongs.items() if t in flow.triggers}
    world = attrs.evolve(_WORLD, belongs=belongs)
    return world if flow.properties.no_silence_longer_than is None else _with_requests(world)


def _with_requests(world: World) -> World:
    """A world that knows, too, whether a reply was requested and its step has not started."""
    changes = {
        name: attrs.evolve(world.events[name], clears=(*world.events[name].clears, REQUESTED))
        for name in ("step_started", "turn_committed", "turn_dropped")
    }
    requested = world.events["reply_requested"]
    changes["reply_requested"] = attrs.evolve(requested, sets=(*requested.sets, REQUESTED))
    events = {**world.events, **changes}
    return attrs.evolve(world, ghosts=(*world.ghosts, REQUESTED), events=events)


def missing(flow: Flow, name: str) -> tuple[str, ...]:
    """The names that a property needs but the flow lacks."""
    body = PROPERTIES[name]
    lacking = [f"trigger {t!r}" for t in body.triggers if t not in flow.triggers]
    return tuple(lacking + [f"state {s!r}" for s in body.states if s not in flow.states])
