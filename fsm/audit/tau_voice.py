"""Converts simulations of tau-voice (tau2-bench, full duplex) to events."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from turnfsm.fsm.metrics.panel import TICK, Tick, spans_of

from .events import Evidence, Recorded, Recording, in_order, played

__all__ = ["is_simulation", "recording_of_simulation"]

_LENGTH = "tick_duration_seconds"

Fields = Mapping[str, Any]


def is_simulation(fields: object) -> bool:
    """Whether a JSON object is a simulation in ticks."""
    return isinstance(fields, dict) and {"task_id", "ticks"} <= set(fields)


def recording_of_simulation(simulation: Fields) -> Recording:
    """The events of a simulation, which last whole ticks.

    Args:
        simulation: The JSON object. Without a length, a tick is 0.2 s.
    """
    ticks: Sequence[Fields] = simulation["ticks"]
    length = float(next((t[_LENGTH] for t in ticks if t.get(_LENGTH)), TICK))
    lacks = set(Evidence)
    if any("agent_tool_calls" in tick for tick in ticks):
        lacks.remove(Evidence.CALLS)
    start = Recorded(0.0, "simulation_started", {})
    end = Recorded(len(ticks) * length, "simulation_ended", {})
    events = [start, *_heard(ticks, length), *_calls(ticks, length), end]
    reward = (simulation.get("reward_info") or {}).get("reward")
    scores = {"reward": float(reward)} if isinstance(reward, int | float) else {}
    kept = tuple(map(_tick, ticks)) if length == TICK else None
    return Recording(in_order(events), frozenset(lacks), scores, kept)


def _heard(ticks: Sequence[Fields], length: float) -> Iterator[Recorded]:
    for start, end in _spans(ticks, "user_chunk"):
        yield Recorded(start * length, "user_state_changed", {"new": "speaking"})
        yield Recorded(end * length, "user_state_changed", {"new": "listening"})
    for start, end in _spans(ticks, "agent_chunk"):
        yield from played(str(start), start * length, end * length)


def _spans(ticks: Sequence[Fields], chunk: str) -> Iterator[tuple[int, int]]:
    speech = ((tick.get(chunk) or {}).get("contains_speech") for tick in ticks)
    return spans_of(enumerate(map(bool, speech)), len(ticks))


def _calls(ticks: Sequence[Fields], length: float) -> Iterator[Recorded]:
    for n, tick in enumerate(ticks):
        for call in tick.get("agent_tool_calls") or ():
            fields = {"call": call["id"], "update": "started"}
            yield Recorded(n * length, "tool_execution_updated", fields)
        for result in tick.get("agent_tool_results") or ():
            status = "error" if result.get("error") else "done"
            fields = {"call": result["id"], "update": "ended", "status": status}
            yield Recorded(n * length, "tool_execution_updated", fields)


def _tick(tick: Fields) -> Tick:
    user, agent = tick.get("user_chunk") or {}, tick.get("agent_chunk") or {}
    action = (user.get("turn_taking_action") or {}).get("action")
    return Tick(
        user=bool(user.get("contains_speech")),
        agent=bool(agent.get("contains_speech")),
        backchannel=action == "backchannel",
        sounds=tuple(_sounds(user)),
    )


def _sounds(chunk: Fields) -> Iterator[tuple[str, str]]:
    """Vocal tics, and speech to somebody else."""
    for effects in ("source_effects", "speech_effects"):
        inserted = (chunk.get(effects) or {}).get("speech_insert")
        if inserted:
            kind = "vocal_tic" if inserted.get("type") == "vocal_tic" else "non_directed"
            yield kind, str(inserted.get("text"))
