"""What a stage observed, with times in seconds from its start."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

import attrs
from livekit.agents import llm

from .scripted_llm import Request, items_of
from .speaker import Heard

__all__ = ["Outcome", "Speech", "TimelineEntry", "ToolRun"]


@attrs.frozen
class TimelineEntry:
    """One line of the timeline."""

    at: float
    lane: str
    what: str

    def __str__(self) -> str:
        return f"{self.at:7.3f}  {self.lane:<8} {self.what}"


@attrs.define
class ToolRun:
    """A tool call as livekit reported it; `end` and `status` stay None while it runs."""

    name: str
    call_id: str
    start: float
    end: float | None = None
    status: str | None = None
    message: str | None = None
    arguments: str = ""
    """As the model wrote them."""


@attrs.define
class Speech:
    """A speech handle: when it was created, when it was done, and how."""

    number: int
    source: str
    created: float
    done: float | None = None
    interrupted: bool = False


@attrs.define
class Outcome:
    """Everything that a user, an agent's author or a log reader could have observed."""

    events: list[TimelineEntry] = attrs.field(factory=list)
    heard: list[Heard] = attrs.field(factory=list)
    requests: list[Request] = attrs.field(factory=list)
    tools: list[ToolRun] = attrs.field(factory=list)
    speeches: list[Speech] = attrs.field(factory=list)
    agent_states: list[tuple[float, str]] = attrs.field(factory=list)
    user_states: list[tuple[float, str]] = attrs.field(factory=list)
    items: list[tuple[float, str]] = attrs.field(factory=list)
    false_interruptions: list[tuple[float, bool]] = attrs.field(factory=list)
    errors: list[tuple[float, str]] = attrs.field(factory=list)
    warnings: list[tuple[float, str]] = attrs.field(factory=list)
    notes: list[tuple[float, str]] = attrs.field(factory=list)
    marks: dict[str, float] = attrs.field(factory=dict)
    """The time at which each note was first made."""
    chat_ctx: llm.ChatContext = attrs.field(factory=llm.ChatContext.empty)
    """The chat context of the last agent, before the session was closed."""
    history: llm.ChatContext = attrs.field(factory=llm.ChatContext.empty)
    """The session's own history, over all agents."""
    realtime_ctx: llm.ChatContext | None = None
    """What a realtime model has as its conversation, before the session was closed."""
    closed_in: float = 0.0
    """Seconds that closing the session took; infinite if it did not end."""
    orphans: tuple[str, ...] = ()
    """Tasks that outlived the closed session."""
    timers: tuple[str, ...] = ()
    """What the timers call that outlived it; known in virtual time only."""

    @property
    def context(self) -> tuple[str, ...]:
        """The last agent's chat context, one line an item."""
        return items_of(self.chat_ctx)

    @property
    def heard_lines(self) -> tuple[str, ...]:
        """What the user heard and when, one line a stretch of audio."""
        return tuple(f"{h.start:.2f}-{h.end:.2f} s {h.text!r}" for h in self.heard)

    def heard_after(self, at: float) -> list[Heard]:
        """What was heard from this moment on."""
        return [h for h in self.heard if h.start >= at - 1e-6]

    def heard_saying(self, text: str) -> Heard | None:
        """The first stretch of audio that contains these words."""
        return next((h for h in self.heard if text in h.text), None)

    def state_at(self, at: float) -> str:
        """The agent's published state at a moment."""
        past = [state for t, state in self.agent_states if t <= at + 1e-6]
        return past[-1] if past else "initializing"

    def wrong_agent_states(self, tolerance: float = 0.02) -> list[tuple[float, float, str]]:
        """Spans (start, end, agent state) in which the agent state was not what was heard:
        audio in another state than speaking, or none in speaking, for over `tolerance` seconds."""
        cuts = sorted(
            {t for t, _ in self.agent_states} | {t for h in self.heard for t in (h.start, h.end)}
        )
        wrong = [
            (a, b, self.state_at(a))
            for a, b in pairwise(cuts)
            if (self.state_at(a) == "speaking") != self._sounding((a + b) / 2)
        ]
        return [w for w in _merged(wrong) if w[1] - w[0] > tolerance]

    def _sounding(self, at: float) -> bool:
        return any(h.start <= at < h.end for h in self.heard)

    def trace(self) -> tuple[str, ...]:
        """The timeline, sorted within an instant: equal for equal runs, although livekit keeps
        listeners in sets and so calls them in no fixed order."""
        return tuple(sorted(str(event) for event in self.events))

    def timeline(self) -> str:
        """The timeline in the order of happening, as text for a failing test."""
        return "\n".join(str(event) for event in sorted(self.events, key=lambda e: e.at))


def _merged(stretches: Iterable[tuple[float, float, str]]) -> list[tuple[float, float, str]]:
    out: list[tuple[float, float, str]] = []
    for start, end, state in stretches:
        if out and out[-1][2] == state and start - out[-1][1] < 1e-6:
            out[-1] = (out[-1][0], end, state)
        else:
            out.append((start, end, state))
    return out
