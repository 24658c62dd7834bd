"""The observations of a stage, with times in seconds from its start."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

import attrs
from livekit.agents import llm

from turnfsm.runtime.testing.heard import Heard, TimelineEntry

from .scripted_llm import Request, items_of

__all__ = ["Outcome", "Speech", "ToolRun"]


@attrs.define
class ToolRun:
    """A tool call as LiveKit reported it.

    Attributes:
        name: The tool.
        call_id: The call's id.
        start: When it began, in seconds.
        end: When it ended; None while it runs.
        status: How it ended; None while it runs.
        message: LiveKit's message about it.
        arguments: The arguments as the model wrote them.
    """

    name: str
    call_id: str
    start: float
    end: float | None = None
    status: str | None = None
    message: str | None = None
    arguments: str = ""


@attrs.define
class Speech:
    """A speech handle.

    Attributes:
        number: Its number, from 1.
        source: What created it, such as ``generate_reply``.
        created: In seconds.
        done: When it was done; None if it was not.
        interrupted: It was interrupted.
    """

    number: int
    source: str
    created: float
    done: float | None = None
    interrupted: bool = False


@attrs.define
class Outcome:
    """The observations of a conversation. Times are seconds from the start of the stage.

    Attributes:
        events: The timeline.
        heard: The speech that the user heard, without backchannels.
        backchannels: The agent's backchannels that they heard.
        requests: The requests to the model.
        tools: The tool calls.
        speeches: The speech handles.
        agent_states, user_states: Each published state, with its time.
        items: The items that were added to the conversation, each with its time.
        false_interruptions: The time, and whether the speech was resumed.
        errors, warnings: Logged or emitted problems, with the time.
        notes: The notes of `Stage.note`, with the time.
        marks: The time at which each note was first made.
        chat_ctx: The chat context of the last agent, before the session was closed.
        history: The session's own history, over all agents.
        realtime_ctx: A realtime model's conversation, before the session was closed.
        closed_in: How long closing the session took; infinite if it did not end.
        orphans: Tasks that were still running after the session was closed.
        timers: The callbacks of timers that were still pending then; known in virtual time only.

    Example:
        >>> from turnfsm.livekit import TurnSession
        >>> from turnfsm.testing import ScriptedLLM, ScriptedUser, Stage
        >>> user = ScriptedUser().says("hello", at=1.0)
        >>> outcome = Stage(TurnSession, user=user, llm=ScriptedLLM({"hello": "Hi."})).run(5.0)
        >>> len(outcome.requests), outcome.heard_saying("Hi").text, outcome.orphans
        (1, 'Hi.', ())
    """

    events: list[TimelineEntry] = attrs.field(factory=list)
    heard: list[Heard] = attrs.field(factory=list)
    backchannels: list[Heard] = attrs.field(factory=list)
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
    chat_ctx: llm.ChatContext = attrs.field(factory=llm.ChatContext.empty)
    history: llm.ChatContext = attrs.field(factory=llm.ChatContext.empty)
    realtime_ctx: llm.ChatContext | None = None
    closed_in: float = 0.0
    orphans: tuple[str, ...] = ()
    timers: tuple[str, ...] = ()

    @property
    def context(self) -> tuple[str, ...]:
        """The last agent's chat context, one line for each item."""
        return items_of(self.chat_ctx)

    @property
    def heard_lines(self) -> tuple[str, ...]:
        """What the user heard and when, one line for each span of audio."""
        return tuple(f"{h.start:.2f}-{h.end:.2f} s {h.text!r}" for h in self.heard)

    def heard_after(self, at: float) -> list[Heard]:
        """What was heard from this moment on."""
        return [h for h in self.heard if h.start >= at - 1e-6]

    def heard_saying(self, text: str) -> Heard | None:
        """The first audio with these words, perhaps with pauses between them."""
        for end in range(1, len(self.heard) + 1):
            for start in reversed(range(end)):
                spans = self.heard[start:end]
                whole = " ".join(h.text for h in spans)
                if text in whole:
                    return Heard(spans[0].start, spans[-1].end, whole)
        return None

    def state_at(self, at: float) -> str:
        """The agent's published state at a moment."""
        past = [state for t, state in self.agent_states if t <= at + 1e-6]
        return past[-1] if past else "initializing"

    def wrong_agent_states(self, tolerance: float = 0.02) -> list[tuple[float, float, str]]:
        """Spans (start, end, agent state) of more than `tolerance` seconds in which the agent state
        was wrong: audio in a state other than speaking, or none in speaking."""
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
        """The timeline, sorted within each instant, so that equal runs give equal traces.

        LiveKit keeps listeners in sets and calls them in no fixed order.
        """
        return tuple(sorted(str(event) for event in self.events))

    def timeline(self) -> str:
        """The timeline in order, as text for a failing test."""
        return "\n".join(str(event) for event in sorted(self.events, key=lambda e: e.at))


def _merged(stretches: Iterable[tuple[float, float, str]]) -> list[tuple[float, float, str]]:
    out: list[tuple[float, float, str]] = []
    for start, end, state in stretches:
        if out and out[-1][2] == state and start - out[-1][1] < 1e-6:
            out[-1] = (out[-1][0], end, state)
        else:
            out.append((start, end, state))
    return out
