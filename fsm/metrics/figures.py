"""The figures of one conversation, or of many."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from functools import cached_property
from statistics import quantiles
from typing import Any, TypeVar

import attrs

from turnfsm.fsm.journal import Journal

from .floor import YIELD
from .measuring import SILENCE, values_of
from .panel import Panel, Tick, panel
from .speech import ticks_of
from .values import (
    CAUSES,
    Blip,
    InterruptedSpeech,
    Interruption,
    LimitReached,
    Overlap,
    Refusal,
    Reported,
    Response,
    Silence,
    StateDuration,
    ToolEnd,
    TurnEnd,
    Value,
)

__all__ = ["Figures", "Summary", "measure", "summarize"]


_Value = TypeVar("_Value", bound=Value)


@attrs.frozen
class Summary:
    """A summary of durations in seconds. Percentiles are interpolated.

    Attributes:
        count: The number of durations.
        mean: The mean.
        p50, p90, p99: Percentiles.
        most: The longest.
    """

    count: int
    mean: float
    p50: float
    p90: float
    p99: float
    most: float


def summarize(seconds: Iterable[float]) -> Summary | None:
    """Summarize durations: count, mean, percentiles and maximum.

    Args:
        seconds: The durations.

    Returns:
        The summary; None if there are no durations.

    Example:
        >>> from turnfsm.metrics import summarize
        >>> summarize([1.0, 2.0, 4.0]).p50
        2.0
    """
    values = sorted(seconds)
    if not values:
        return None
    several = values if len(values) > 1 else [*values, *values]
    percentiles = quantiles(several, n=100, method="inclusive")
    p50, p90, p99 = (percentiles[percent - 1] for percent in (50, 90, 99))
    return Summary(len(values), sum(values) / len(values), p50, p90, p99, values[-1])


def _rate(count: int, total: int) -> float | None:
    return count / total if total else None


@attrs.frozen
class Figures:
    """The figures of one conversation, or of many: `Figures.over` adds them up.

    Attributes:
        journals: The number of conversations.
        seconds: How long they took together.
        values: Everything that was measured, in order.
        ticks: The ticks of each conversation, for the panel.
    """

    journals: int
    seconds: float
    values: tuple[Value, ...]
    ticks: tuple[tuple[Tick, ...], ...] = attrs.field(repr=False)

    @classmethod
    def over(cls, parts: Iterable[Figures]) -> Figures:
        """The combined figures of several conversations."""
        parts = list(parts)
        return cls(
            sum(part.journals for part in parts),
            sum(part.seconds for part in parts),
            tuple(value for part in parts for value in part.values),
            tuple(ticks for part in parts for ticks in part.ticks),
        )

    @property
    def responses(self) -> tuple[float, ...]:
        """Seconds from the end of the user's speech to the answer, for each turn that got one."""
        return tuple(value.seconds for value in self._of(Response))

    @property
    def stops(self) -> tuple[float, ...]:
        """Seconds from the start of the user's speech over the agent until the agent was silent."""
        latencies = (value.stop_latency for value in self._of(Interruption))
        return tuple(seconds for seconds in latencies if seconds is not None)

    @property
    def interruptions(self) -> Mapping[str, int]:
        """How often the user started to speak over the agent, by outcome."""
        return Counter(value.outcome for value in self._of(Interruption))

    @property
    def yield_rate(self) -> float | None:
        """The share of interruptions to which the agent stopped within 2 s.

        An interruption at the very end of the agent's speech is not counted.
        """
        interruptions = [value for value in self._of(Interruption) if value.outcome != "ended"]
        stopped = (value.stop_latency for value in interruptions)
        return _rate(sum(s is not None and s < YIELD for s in stopped), len(interruptions))

    @property
    def talk_through_rate(self) -> float | None:
        """The share of interruptions to which the agent did not stop within 2 s."""
        rate = self.yield_rate
        return None if rate is None else 1.0 - rate

    @property
    def false_interruption_rate(self) -> float | None:
        """The share of interruptions by the user that got no transcript."""
        interrupted = self._interrupted
        return _rate(interrupted["resumed"] + interrupted["given_up"], interrupted.total())

    @property
    def resume_rate(self) -> float | None:
        """The share of interruptions without a transcript after which the agent resumed."""
        interrupted = self._interrupted
        return _rate(interrupted["resumed"], interrupted["resumed"] + interrupted["given_up"])

    @property
    def silences(self) -> tuple[Silence, ...]:
        """The silences above the limit."""
        return self._of(Silence)

    @property
    def overlaps(self) -> tuple[Overlap, ...]:
        """The spans in which user and agent were heard."""
        return self._of(Overlap)

    @property
    def blips(self) -> tuple[Blip, ...]:
        """Audio of the agent of less than 0.7 s that was interrupted."""
        return self._of(Blip)

    @property
    def refusals(self) -> Mapping[tuple[str, str], int]:
        """How often a trigger was refused in a state."""
        return Counter((v.trigger, v.state) for v in self._of(Refusal))

    @property
    def response_parts(self) -> Mapping[str, tuple[float, ...]]:
        """The parts of the response latencies, in seconds for each turn."""
        parts: dict[str, list[float]] = {}
        for value in self._of(Response):
            for part, seconds in value.parts:
                parts.setdefault(part, []).append(seconds)
        return {part: tuple(parts[part]) for part in (*CAUSES, "agent_heard") if part in parts}

    @property
    def turn_ends(self) -> tuple[tuple[TurnEnd, Response | None], ...]:
        """Each turn that has ended, in order, and its response if it was heard."""
        ends: list[tuple[TurnEnd, Response | None]] = []
        response: Response | None = None
        for value in self.values:
            if isinstance(value, Response):
                response = value
            elif isinstance(value, TurnEnd):
                heard = value.outcome == "replied"
                ends.append((value, response if heard else None))
                response = None if heard else response
        return tuple(ends)

    @property
    def events(self) -> tuple[Reported, ...]:
        """The events that the sessions reported: failures, missing audio and transcripts, the
        close."""
        return self._of(Reported)

    @property
    def turns(self) -> Mapping[str, int]:
        """The user's turns by their outcome."""
        return Counter(value.outcome for value in self._of(TurnEnd))

    @property
    def tool_calls(self) -> Mapping[str, int]:
        """The tool calls by how they ended for their turn."""
        return Counter(value.end for value in self._of(ToolEnd))

    @property
    def limits(self) -> Mapping[str, int]:
        """How often each limit has ended a wait."""
        return Counter(value.limit for value in self._of(LimitReached))

    @property
    def states(self) -> Mapping[str, tuple[float, ...]]:
        """For each state the length of each stay, in seconds."""
        held: dict[str, list[float]] = {}
        for value in self._of(StateDuration):
            held.setdefault(value.state, []).append(value.seconds)
        return {state: tuple(seconds) for state, seconds in held.items()}

    @cached_property
    def panel(self) -> Panel:
        """The panel of tau-voice over these conversations."""
        return panel(self.ticks)

    @property
    def _interrupted(self) -> Counter[str]:
        return Counter(value.outcome for value in self._of(InterruptedSpeech))

    def _of(self, kind: type[_Value]) -> tuple[_Value, ...]:
        return tuple(self._by_kind.get(kind, ()))

    @cached_property
    def _by_kind(self) -> Mapping[type, list[Any]]:
        by: dict[type, list[Any]] = {}
        for value in self.values:
            by.setdefault(type(value), []).append(value)
        return by


def measure(
    journal: Journal, *, timers: Collection[str] | None = None, silence: float = SILENCE
) -> Figures:
    """Measure one conversation.

    Args:
        journal: The journal of a turn. For other flows only states and refusals are measured.
        timers: The names of the flow's timers, for journals without them.
        silence: The shortest silence that counts, in seconds.

    Returns:
        The figures.

    Example:
        >>> from turnfsm import read_journal
        >>> from turnfsm.metrics import measure, summarize
        >>> figures = measure(read_journal("journal.jsonl"))
        >>> round(summarize(figures.responses).p50, 2)
        0.45
    """
    values = tuple(values_of(journal, timers=timers, silence=silence))
    seconds = round(journal.records[-1].t, 6) if journal.records else 0.0
    return Figures(1, seconds, values, (tuple(ticks_of(journal)),))
