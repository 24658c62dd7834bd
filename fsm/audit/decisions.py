"""What a flow would have decided at the failures of a session that it did not govern."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import takewhile

import attrs

from turnfsm.fsm.flow import Flow
from turnfsm.fsm.journal import Entry, Journal
from turnfsm.fsm.load.loader import load_shipped
from turnfsm.fsm.places import decided_at
from turnfsm.fsm.source import Location

from .events import Recording
from .follower import Follower
from .properties import Broken, Judge
from .rules import AuditFinding, Decision
from .rules.rule import AT_ONCE
from .triggers import SessionTriggers, TurnTriggers

__all__ = ["broken_in", "decided", "otherwise_in"]

_PLACE = re.compile(r"(.*):(\d{1,9}):(\d{1,9})")

_ROUNDING = 1e-6  # seconds; some times are differences


def decided(
    findings: Iterable[tuple[AuditFinding, tuple[str, ...]]], recording: Recording, flow: Flow
) -> tuple[AuditFinding, ...]:
    """Replay a recording through a flow, and add the flow's decision to each finding.

    The findings are in the order of time, each with the triggers to look for. The flow is that of
    the turn; the flow `session` is the shipped one.
    """
    followers = (Follower(flow, TurnTriggers), Follower(load_shipped("session"), SessionTriggers))
    events = iter(recording.events)
    coming = next(events, None)
    line = 0
    located = []
    for finding, triggers in findings:
        while coming is not None and coming.t <= finding.at + _ROUNDING:
            for follower in followers:
                follower.process(coming)
            line, coming = coming.line, next(events, None)
        decision = _decision(followers, triggers, finding.at)
        located.append(attrs.evolve(finding, decision=decision, line=line))
    return tuple(located)


def otherwise_in(journal: Journal) -> Iterator[AuditFinding]:
    """What an observed session did although its flow decided differently."""
    for note in journal.notes:
        place = _PLACE.fullmatch(str(note.data.get("at")))
        if note.kind == "otherwise" and place is not None:
            decided = str(note.data.get("decided"))
            decision = Decision(place[1], int(place[2]), int(place[3]), decided)
            letter, property = (str(note.data.get(key, "")) for key in ("failure", "property"))
            yield AuditFinding(note.t, letter, property, str(note.data.get("did")), decision)


def broken_in(
    journal: Journal, flow: Flow, timers: Mapping[str, float]
) -> tuple[AuditFinding, ...]:
    """The properties that a journal breaks, each once, with the line of the flow that broke it. If
    the flow was edited, only the entries before the first one that it cannot have made.

    `timers` are the session's seconds, which override those of the flow.
    """
    judge = Judge(flow, {**flow.timers, **timers})
    findings = {
        AuditFinding(broken.at, "", broken.property, _said(broken), _made(flow, entry, broken))
        for entry in takewhile(judge.has, journal.entries)
        for broken in judge.entry(entry)
    }
    return tuple(sorted(findings, key=lambda finding: (finding.at, finding.what)))


def _said(broken: Broken) -> str:
    return f"{broken.where}: {broken.what}" if broken.where else broken.what


def _made(flow: Flow, entry: Entry, broken: Broken) -> Decision | None:
    """The decision that broke a property, or the timer that should have left the state."""
    if not broken.timer:
        place = decided_at(flow, entry.verdict)
        return None if place is None else _at(place, str(entry.verdict))
    rows = [row for row in flow.rows(entry.verdict.state) if row.trigger == broken.timer]
    if flow.source is None:
        return None
    transition = f"{broken.timer}: {entry.verdict.state} -> {rows[-1].dest}"
    return _at(flow.source.key(rows[-1].path), transition)


def _decision(
    followers: Iterable[Follower], triggers: tuple[str, ...], at: float
) -> Decision | None:
    for follower in followers:
        follower.go_to(at)
        if triggers == ("agent_state",):
            return _agent_state(follower)
        declared = {*follower.flow.triggers, *follower.flow.timers}
        if names := [name for name in triggers if name in declared]:
            return _verdict(follower, names, at)
    return None


def _agent_state(follower: Follower) -> Decision | None:
    flow, state = follower.flow, follower.state
    published = flow.states[state].agent_state
    if published is None or flow.source is None:
        return None
    place = flow.source.key(("states", state, "agent_state"))
    return _at(place, f"the agent state of {state} is {published}")


def _verdict(follower: Follower, names: list[str], at: float) -> Decision | None:
    """The decision at that moment, a refusal first; without one, what the flow would decide."""
    flow = follower.flow
    verdicts = [follower.verdicts[name] for name in names if name in follower.verdicts]
    given = [verdict for t, verdict in verdicts if abs(t - at) <= AT_ONCE]
    if not given and names[0] in (*flow.requests, *flow.timers):
        given.append(follower.ask(names[0]))
    given += [verdict for _, verdict in verdicts]
    if not given:
        return None
    verdict = next((candidate for candidate in given if not candidate), given[0])
    place = decided_at(flow, verdict)
    return None if place is None else _at(place, str(verdict))


def _at(place: Location, text: str) -> Decision:
    return Decision(place.page.file, place.line, place.column, text)
