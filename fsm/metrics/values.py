"""The measured values of a conversation, each with its time."""

from __future__ import annotations

from typing import Literal, TypeAlias, get_args

import attrs

from turnfsm.fsm.journal import SessionEvent

__all__ = [
    "CAUSES",
    "AgentSilence",
    "Blip",
    "Cause",
    "InterruptedSpeech",
    "Interruption",
    "LimitReached",
    "LongWait",
    "Overlap",
    "Part",
    "Refusal",
    "Reported",
    "Response",
    "Silence",
    "StateDuration",
    "ToolEnd",
    "TurnEnd",
    "Value",
]

Cause = Literal[
    "user_has_the_floor",
    "stt",
    "endpointing",
    "application",
    "llm",
    "tts",
    "output",
    "output_held",
    "tool_running",
    "refused",
    "winding_down",
    "own_state",
    "vad",
    "no_audio",
    "nothing_asked",
]
"""Why the agent is silent; docs/observe.md explains each."""

CAUSES: tuple[Cause, ...] = get_args(Cause)
"""All causes."""


@attrs.frozen
class Response:
    """A committed turn was answered.

    Attributes:
        at: When the user stopped speaking; for a typed turn, when it was committed.
        heard_at: When the answer was first heard.
        turn: The turn's place in the conversation, from 1; 0 if unknown.
        parts: The parts of the latency, in order, with their seconds: a cause of silence, or
            ``agent_heard`` while the agent said something else. They add up to `seconds`.
    """

    at: float
    heard_at: float
    turn: int = 0
    parts: tuple[tuple[str, float], ...] = ()

    @property
    def seconds(self) -> float:
        """The response latency."""
        return self.heard_at - self.at


@attrs.frozen
class Interruption:
    """The user started to speak while the agent was speaking.

    Attributes:
        at: When the user started.
        outcome: ``interrupted``: the agent stopped for good. ``resumed``: it stopped and resumed.
            ``talked_through``: it did not stop. ``ended``: it had finished within 2 s, while the
            user still spoke.
        stopped_at: When the agent became silent; None if it did not stop.
    """

    at: float
    outcome: Literal["interrupted", "resumed", "talked_through", "ended"]
    stopped_at: float | None = None

    @property
    def stop_latency(self) -> float | None:
        """Seconds until the agent became silent; None if it did not stop."""
        return None if self.stopped_at is None else self.stopped_at - self.at


@attrs.frozen
class InterruptedSpeech:
    """The agent was interrupted while it was speaking.

    Attributes:
        at: When.
        outcome: ``resumed``: it resumed. ``interrupted``: it did not resume, because the user said
            something. ``given_up``: it did not resume, although the user had said nothing.
    """

    at: float
    outcome: Literal["resumed", "interrupted", "given_up"]


@attrs.frozen
class Overlap:
    """User and agent spoke at the same time.

    Attributes:
        at: When it began.
        by: Who started to speak over the other.
        seconds: Its length.
    """

    at: float
    seconds: float
    by: Literal["user", "agent"]


@attrs.frozen
class Blip:
    """The agent was interrupted after less than 0.7 s.

    Attributes:
        at: When it ended.
        seconds: Its length.
        trigger: The trigger that ended it.
    """

    at: float
    seconds: float
    trigger: str


@attrs.frozen
class StateDuration:
    """A stay in a state.

    Attributes:
        at: When it began.
        state: The state.
        seconds: Its length.
    """

    at: float
    state: str
    seconds: float


@attrs.frozen
class Refusal:
    """A trigger was refused.

    Attributes:
        at: When.
        trigger: The trigger.
        state: The state that refused it.
        why: The reason, as a sentence.
    """

    at: float
    trigger: str
    state: str
    why: str


@attrs.frozen
class LimitReached:
    """A time limit of the flow has ended a wait.

    Attributes:
        at: When.
        limit: The timer's name, such as ``tool_limit``.
    """

    at: float
    limit: str


@attrs.frozen
class TurnEnd:
    """The outcome of a committed user turn.

    Attributes:
        at: When it was known.
        number: Its place in the conversation, from 1.
        outcome: ``replied``, ``silent``, ``superseded`` or ``dropped``.
        deferred: It was deferred before it was committed.
        why: The reason, as a sentence; empty if it was replied to.
    """

    at: float
    number: int
    outcome: str
    deferred: bool
    why: str = ""


@attrs.frozen
class ToolEnd:
    """A tool call has ended for its turn.

    Attributes:
        at: When.
        name: The tool's name.
        end: ``result``, ``error``, ``cancelled``, or ``released``: it continues without its turn.
    """

    at: float
    name: str
    end: str


@attrs.frozen
class Reported:
    """A session event was reported.

    Attributes:
        at: When.
        event: The event: a component has failed or was switched, audio or a transcript is missing,
            the session has closed.
    """

    at: float
    event: SessionEvent


@attrs.frozen
class LongWait:
    """A long wait of the session was reported.

    Attributes:
        at: When it was reported first.
        cause: What it waits for: `TurnWaitsLong.cause`.
        names: The tool calls, or the hooks of the application.
    """

    at: float
    cause: str
    names: tuple[str, ...] = ()


@attrs.frozen
class Part:
    """A span in which the agent was silent for one cause.

    Attributes:
        start, end: In seconds.
        cause: One of `CAUSES`.
        why: The cause in a sentence, with the times and names of this conversation.
        spoken: The user said something then.
        refused: The requests that were refused, each with the state.
    """

    start: float
    end: float
    cause: Cause
    why: str
    spoken: bool = False
    refused: tuple[tuple[str, str], ...] = ()

    @property
    def seconds(self) -> float:
        """Its length."""
        return self.end - self.start


@attrs.frozen
class AgentSilence:
    """A silence of the agent.

    Attributes:
        parts: One after the other, each with its cause.
    """

    parts: tuple[Part, ...]


@attrs.frozen
class Silence:
    """Nobody spoke for longer than a limit.

    Attributes:
        parts: One after the other, each with its cause.
    """

    parts: tuple[Part, ...]

    @property
    def start(self) -> float:
        """When it began."""
        return self.parts[0].start

    @property
    def end(self) -> float:
        """When somebody was heard again, or the journal ended."""
        return self.parts[-1].end

    @property
    def seconds(self) -> float:
        """Its length."""
        return self.end - self.start

    @property
    def cause(self) -> Cause:
        """The cause that took the longest."""
        took: dict[Cause, float] = {}
        for part in self.parts:
            took[part.cause] = took.get(part.cause, 0.0) + part.seconds
        return max(took, key=lambda cause: round(took[cause], 6))


Value: TypeAlias = (
    Response
    | Interruption
    | InterruptedSpeech
    | Overlap
    | Blip
    | StateDuration
    | Refusal
    | LimitReached
    | TurnEnd
    | ToolEnd
    | LongWait
    | AgentSilence
    | Silence
    | Reported
)
