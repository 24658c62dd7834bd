"""Finds failures in a recorded session, no matter which library recorded it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from typing import Literal

import attrs

from turnfsm.fsm.diagram.lanes import read_lanes
from turnfsm.fsm.errors import TurnfsmError
from turnfsm.fsm.flow import Flow
from turnfsm.fsm.journal import Journal, replay
from turnfsm.fsm.load.loader import load_flow
from turnfsm.fsm.metrics.figures import measure
from turnfsm.fsm.metrics.measuring import SILENCE
from turnfsm.fsm.metrics.panel import Panel, Tick, panel
from turnfsm.fsm.metrics.speech import sampled

from .decisions import broken_in, decided, otherwise_in
from .events import Evidence, Recording
from .facts import Facts, facts_of
from .rules import AuditFinding, findings_in, unjudged
from .rules.outages import outages_in
from .rules.rule import LONG

__all__ = ["Audit", "Gap", "Source", "audit_journal", "audit_recording"]


Source = Literal["recording", "report", "spans", "EVA", "tau-voice", "journal"]
"""The source of an audit."""


@attrs.frozen
class Gap:
    """A silence of more than 2 s.

    Attributes:
        start, end: In seconds.
        cause: ``tool_running``, ``thinking`` (LLM or TTS; the events do not say which) or
            ``nothing_asked``; ``unknown`` if the file has no agent states.
            For a journal, a cause of `Silence`.
    """

    start: float
    end: float
    cause: str

    def __str__(self) -> str:
        return f"{self.start:8.2f} s  {self.end - self.start:.2f} s of silence: {self.cause}"


@attrs.frozen
class Audit:
    """The findings of one session.

    Attributes:
        of: Its source.
        findings: The failures, in the order of time. For a journal: the outages, and the broken
            properties of its flow.
        broken: For a journal: the first entry that the flow decides differently, as a sentence.
        silences: The silences of more than 2 s.
        ticks: Who spoke when, for the panel.
        spans: When the ``user`` and the ``agent`` were heard, and ``tools`` ran: start and end.
        end: When the session ends.
        unjudged: The evidence that the file lacks, each with the letters or properties that are
            therefore not judged, or only in part.
        scores: Figures of the tool that wrote the file.
    """

    of: Source
    findings: tuple[AuditFinding, ...]
    broken: tuple[str, ...]
    silences: tuple[Gap, ...]
    ticks: tuple[Tick, ...] = attrs.field(repr=False, default=())
    spans: Mapping[str, tuple[tuple[float, float], ...]] = attrs.field(factory=dict)
    end: float = 0.0
    unjudged: tuple[str, ...] = ()
    scores: Mapping[str, float] = attrs.field(factory=dict)

    @cached_property
    def panel(self) -> Panel:
        """The panel of tau-voice."""
        return panel([self.ticks])

    @property
    def ok(self) -> bool:
        """Nothing was found."""
        return not self.findings and not self.broken

    @property
    def properties(self) -> tuple[str, ...]:
        """Which of the ten properties of a turn were broken."""
        return tuple(dict.fromkeys(f.property for f in self.findings if f.property))


def audit_recording(
    recording: Recording,
    of: Source = "recording",
    flow: Flow | None = None,
) -> Audit:
    """Audit a session by its public events.

    Args:
        recording: The events.
        of: Where they come from.
        flow: The flow that would have governed the session; by default `turn`.

    Returns:
        What was found.

    Example:
        >>> from turnfsm.audit import audit_recording, parse_recording
        >>> audit_recording(parse_recording(b'{"events": 1}', "events.jsonl")).ok
        True
    """
    facts = facts_of(recording)
    findings = decided(findings_in(facts), recording, flow or load_flow("turn"))
    lanes = {"user": facts.user, "agent": facts.heard}
    spans = {name: tuple((s.start, s.end) for s in lane) for name, lane in lanes.items()}
    samples = zip(*(sampled(spans[name], recording.end) for name in lanes), strict=True)
    ticks = recording.ticks or tuple(Tick(*speaks) for speaks in samples)
    spans["tools"] = tuple((c.started, c.ended or recording.end) for c in facts.calls)
    return Audit(
        of,
        findings,
        (),
        tuple(_gaps(facts, findings)),
        ticks,
        spans,
        recording.end,
        unjudged(recording.lacks),
        recording.scores,
    )


def audit_journal(journal: Journal, flow: Flow | None = None) -> Audit:
    """Audit a session by its journal.

    Args:
        journal: The journal.
        flow: Its flow. Without it, the properties of the flow are not checked.

    Returns:
        What was found.

    Example:
        >>> from turnfsm import load_flow, read_journal
        >>> from turnfsm.audit import audit_journal
        >>> audit_journal(read_journal("journal.jsonl"), load_flow("turn")).ok
        True
    """
    figures = measure(journal)
    findings = [*outages_in(figures), *otherwise_in(journal)]
    broken: tuple[str, ...] = ()
    if flow is not None and journal.header.snapshot is None:
        timers = {name: s for name, s in journal.header.timers.items() if name in flow.timers}
        findings += broken_in(journal, flow, timers)
        divergence = _divergence(journal, flow)
        broken = () if divergence is None else (divergence,)
    gaps = tuple(Gap(one.start, one.end, one.cause) for one in figures.silences)
    lanes = read_lanes(journal)
    spans = {
        name: tuple((span.start, span.end) for span in getattr(lanes, name))
        for name in ("user", "agent", "tools")
    }
    findings.sort(key=lambda finding: finding.at)
    [ticks] = figures.ticks
    return Audit("journal", tuple(findings), broken, gaps, ticks, spans, lanes.end)


def _divergence(journal: Journal, flow: Flow) -> str | None:
    """The first entry that the flow decides differently, in a sentence."""
    try:
        divergence = replay(journal, flow)
    except TurnfsmError as error:  # the flow was edited: it lacks a name of the journal
        return str(error)
    return None if divergence is None else str(divergence)


def _gaps(facts: Facts, findings: Iterable[AuditFinding]) -> Iterator[Gap]:
    """The gaps between two speeches, and that after the last one if somebody waits in it: the user
    has spoken last, or something was found. Silence before the first speech does not count."""
    spoken = sorted((*facts.user, *facts.heard), key=lambda span: span.start)
    if not spoken:
        return
    end = spoken[0].end
    for span in spoken[1:]:
        if span.start - end > SILENCE:
            yield Gap(end, span.start, _cause(facts, end, span.start))
        end = max(end, span.end)
    closed = facts.recording.end
    waits = any(span.end == end for span in facts.user)
    if closed - end > SILENCE and (waits or any(found.at >= end - LONG for found in findings)):
        yield Gap(end, closed, _cause(facts, end, closed))


def _cause(facts: Facts, start: float, end: float) -> str:
    middle = (start + end) / 2
    if any(call.runs_at(middle) for call in facts.calls):
        return "tool_running"
    if Evidence.STATES in facts.recording.lacks:
        return "unknown"
    return "thinking" if facts.state_at(middle) == "thinking" else "nothing_asked"
