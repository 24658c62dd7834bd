"""Explains silences in sentences, with the lines of the flow."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import attrs

from turnfsm.fsm.flow import Flow
from turnfsm.fsm.journal import Closed, Journal, Note

from .measuring import SILENCE, event_of, silences_in, values_of
from .values import AgentSilence, Cause, Part, Silence

__all__ = ["Explanation", "explain", "explain_at", "how_it_ended"]


@attrs.frozen
class Explanation:
    """A span of time, and why the agent was silent in it.

    Attributes:
        start, end: When, in seconds.
        cause: The cause that took the longest; None if the agent was heard.
        lines: One line for each part: when, how long, the cause, and the places in the flow.
    """

    start: float
    end: float
    cause: Cause | None
    lines: tuple[str, ...]

    def __str__(self) -> str:
        seconds = f"{self.end - self.start:.2f} s"
        head = f"{self.start:8.2f} s  the agent is heard for {seconds}"
        if self.cause is not None:
            head = f"{self.start:8.2f} s  {seconds} of silence: {self.cause}"
        return "\n".join((head, *(f"{'':10}  {line}" for line in self.lines)))


def explain(
    journal: Journal, flow: Flow | None = None, *, longer_than: float = SILENCE
) -> tuple[Explanation, ...]:
    """Explain the silences of a conversation.

    Args:
        journal: The journal.
        flow: The flow of the journal. With it, a refusal names the line of the flow.
        longer_than: The shortest silence to explain, in seconds.

    Returns:
        Each silence with its causes. Printed, it is text for a terminal.

    Example:
        >>> from turnfsm import load_flow, read_journal
        >>> from turnfsm.metrics import explain
        >>> [silence.cause for silence in explain(read_journal("journal.jsonl"), load_flow("turn"))]
        ['nothing_asked', 'nothing_asked']
    """
    silences = (v for v in values_of(journal, silence=longer_than) if isinstance(v, Silence))
    return tuple(_explained(silence.parts, silence.cause, flow) for silence in silences)


def how_it_ended(journal: Journal) -> str | None:
    """How a conversation ended, in a sentence; None if it was closed without an error."""
    last = journal.records[-1] if journal.records else None
    closed = event_of(last) if isinstance(last, Note) else None
    if not isinstance(closed, Closed):
        at = last.t if last is not None else 0.0
        return f"{at:8.2f} s  the journal ends here, and the session has not closed"
    assert last is not None
    return f"{last.t:8.2f} s  {closed}" if closed.reason == "error" else None


def explain_at(journal: Journal, at: float, flow: Flow | None = None) -> Explanation | None:
    """Explain what happened at one moment, however short the silence is.

    Args:
        journal: The journal.
        at: Seconds from the start of the journal.
        flow: The flow of the journal. With it, a refusal names the line of the flow.

    Returns:
        The span that contains the moment; None if it is outside the journal.

    Example:
        >>> from turnfsm import read_journal
        >>> from turnfsm.metrics import explain_at
        >>> print(explain_at(read_journal("journal.jsonl"), 4.6))
            2.90 s  the agent is heard for 2.60 s
    """
    end = 0.0
    for value in values_of(journal):
        if not isinstance(value, AgentSilence):
            continue
        start = value.parts[0].start
        if at < start:
            return Explanation(end, start, None, ())
        end = value.parts[-1].end
        for part in value.parts:
            if part.start <= at < part.end:
                explanation = _explained((part,), part.cause, flow)
                whole = next((s for s in silences_in(value, 0.0) if part in s.parts), None)
                if whole is None or len(whole.parts) == 1:
                    return explanation
                start, end = whole.parts[0].start, whole.parts[-1].end
                more = f"part of a silence of {end - start:.2f} s, from {start:.2f} to {end:.2f} s"
                return attrs.evolve(explanation, lines=(*explanation.lines, more))
    last = round(journal.records[-1].t, 6) if journal.records else 0.0
    return Explanation(end, last, None, ()) if end <= at < last else None


def _explained(parts: Iterable[Part], cause: Cause, flow: Flow | None) -> Explanation:
    parts = tuple(parts)
    lines = tuple(line for part in parts for line in _lines(part, flow))
    return Explanation(parts[0].start, parts[-1].end, cause, lines)


def _lines(part: Part, flow: Flow | None) -> Iterator[str]:
    yield f"{part.start:.2f} to {part.end:.2f} s  {part.cause}: {part.why}"
    for trigger, state in part.refused:
        for place in _places(flow, trigger, state):
            yield f"  {trigger} in {state}: {place}"


def _places(flow: Flow | None, trigger: str, state: str) -> Iterator[str]:
    """The lines whose guards did not hold; if no line takes the trigger, the line of the state."""
    if flow is None or flow.source is None or state not in flow.states:
        return
    rows = [row for row in flow.rows(state) if row.trigger == trigger]
    paths = [row.path for row in rows] or [("states", state)]
    yield from dict.fromkeys(flow.source.place(path) for path in paths)
