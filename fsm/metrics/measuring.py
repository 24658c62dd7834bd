"""Measures a conversation record by record.

A journal gives the same figures as the live session.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence

import attrs

from turnfsm.fsm.journal import (
    Entry,
    Journal,
    Note,
    Record,
    ReplyAudio,
    ReplyText,
    SessionEvent,
    session_event,
)
from turnfsm.fsm.verdicts import Refused

from .floor import FloorTimes
from .quiet import QuietTimes
from .turns import TurnTimes
from .values import (
    AgentSilence,
    LimitReached,
    Part,
    Refusal,
    Reported,
    Response,
    Silence,
    StateDuration,
    Value,
)

__all__ = ["SILENCE", "TURN_TIMERS", "Measuring", "silences_in", "values_of"]

SILENCE = 2.0
"""The shortest silence that is reported, in seconds."""

TURN_TIMERS = frozenset(
    (
        "false_interruption", "transcript_wait", "pause_limit", "settle", "handover",
        "thinking_limit", "speaking_limit", "tool_limit", "finish_limit", "turn_overdue",
        "report_after",
    )
)  # fmt: skip
"""The timers of the flow `turn`, for journals that do not name theirs."""


class Measuring:
    """Returns the values that each record completes, and stores only incomplete ones.

    Args:
        timers: The names of the flow's timers: a timer whose guard does not hold is not a refusal.
        silence: The shortest silence that counts, in seconds.
    """

    def __init__(
        self, timers: Collection[str] = TURN_TIMERS, silence: float = SILENCE, initial: str = ""
    ) -> None:
        self._timers = frozenset(timers)
        self._silence = silence
        self._floor, self._turns, self._quiet = FloorTimes(), TurnTimes(), QuietTimes()
        self._state = initial
        self._since = 0.0
        self._now = 0.0

    def feed(self, record: Record) -> Sequence[Value]:
        """The values that this record completes.

        Times are rounded to a microsecond, as in a file.
        """
        self._now = now = round(record.t, 6)
        out: list[Value] = []
        if isinstance(record, Entry):
            self._entry(now, record, out)
            self._floor.entry(now, record, out)
            self._turns.entry(now, record, out)
            self._quiet.entry(now, record, out)
        else:
            event = event_of(record)
            if event is not None and not isinstance(event, ReplyText | ReplyAudio):
                out.append(Reported(now, event))
            self._turns.note(now, record, out)
            self._quiet.note(now, record, event)
        return self._complete(out) if out else ()

    def end(self) -> Sequence[Value]:
        """The values that the end of the journal completes."""
        out: list[Value] = []
        if self._state:
            out.append(StateDuration(self._since, self._state, self._now - self._since))
        self._floor.end(self._now, out)
        self._quiet.end(self._now, out)
        return self._complete(out)

    def _entry(self, now: float, entry: Entry, out: list[Value]) -> None:
        verdict = entry.verdict
        if isinstance(verdict, Refused) and entry.refused(self._timers):
            out.append(Refusal(now, entry.trigger, verdict.state, verdict.why))
        if "report_limit" in verdict.actions:
            out.append(LimitReached(now, entry.trigger))
        if not self._state:
            self._state, self._since = verdict.state, now
        if verdict.dest != self._state:
            out.append(StateDuration(self._since, self._state, now - self._since))
            self._state, self._since = verdict.dest, now

    def _complete(self, values: list[Value]) -> list[Value]:
        """Add the silences, and the parts of the responses."""
        quiet = [value for value in values if isinstance(value, AgentSilence)]
        parts = [part for value in quiet for part in value.parts]
        for number, value in enumerate(values):
            if isinstance(value, Response):
                values[number] = attrs.evolve(value, parts=parts_of(value, parts))
        for value in quiet:
            values.extend(silences_in(value, self._silence))
        return values


def event_of(note: Note) -> SessionEvent | None:
    """The session event in a note; None if it is another note."""
    try:
        return session_event(note)
    except TypeError:  # a note of this kind from the application
        return None


def parts_of(response: Response, quiet: Iterable[Part]) -> tuple[tuple[str, float], ...]:
    """The parts of a response latency."""
    spent: dict[str, float] = {}
    for part in quiet:
        seconds = min(part.end, response.heard_at) - max(part.start, response.at)
        if seconds > 0:
            spent[part.cause] = spent.get(part.cause, 0.0) + seconds
    if (remaining := response.seconds - sum(spent.values())) > 1e-6:
        spent = {"agent_heard": remaining, **spent}
    return tuple((cause, round(seconds, 6)) for cause, seconds in spent.items())


def silences_in(quiet: AgentSilence, longer_than: float) -> Iterator[Silence]:
    """The spans in which the user said nothing either."""
    run: list[Part] = []
    for part in (*quiet.parts, None):
        if part is not None and not part.spoken:
            run.append(part)
            continue
        if run and run[-1].end - run[0].start > longer_than:
            yield Silence(tuple(run))
        run = []


def values_of(
    journal: Journal, *, timers: Collection[str] | None = None, silence: float = SILENCE
) -> Iterator[Value]:
    """Measure everything in a journal.

    Args:
        journal: The journal.
        timers: The names of its flow's timers; by default those in its header.
        silence: The shortest silence that counts, in seconds.

    Returns:
        The values, in order.

    Example:
        >>> from turnfsm import read_journal
        >>> from turnfsm.metrics import values_of
        >>> next(values_of(read_journal("journal.jsonl")))
        StateDuration(at=0.0, state='listening', seconds=2.7)
    """
    header = journal.header
    names = timers if timers is not None else header.timers or TURN_TIMERS
    measuring = Measuring(names, silence, header.initial if header.snapshot is None else "")
    for record in journal.records:
        yield from measuring.feed(record)
    yield from measuring.end()
