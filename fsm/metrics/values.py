"""The values that are measured in a conversation, each with its time."""

from __future__ import annotations

from typing import Literal, TypeAlias, get_args

import attrs

from turnfsm.fsm.journal import SessionEvent

__all__ = [
    "CAUSES",
    "Blip",
    "Cause",
    "Cut",
    "Interruption",
    "LimitReached",
    "LongWait",
    "Overlap",
    "Part",
    "Quiet",
    "Refusal",
    "Reported",
    "Response",
    "Silence",
    "StateHeld",
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
"""All of them."""


@attrs.frozen
class Response:
    """A committed turn was answered.

    Attributes:
        at: When the user stopped speaking; for a turn without voice, when it was committed.
        heard_at: When the answer was first heard.
        turn: The turn's place in the conversation, from 1; 0 if it is not known.
        parts: What the time was spent on, in order: a cause of silence, or ``agent_heard`` while
            something else of the agent was heard; and the seconds. Together they are `seconds`.
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
    """The user began to speak while the agent was heard.

    Attributes:
        at: When the user began.
        outcome: ``interrupted``: the agent stopped for good. ``resumed``: it stopped and went on.
            ``talked_through``: it did not stop. ``ended``: it had said everything within 2 s, while
            the user still spoke.
        stopped_at: When the agent was no longer heard; None if it did not stop.
    """

    at: float
    outcome: Literal["interrupted", "resumed", "talked_through", "ended"]
    stopped_at: float | None = None

    @property
    def stop_latency(self) -> float | None:
        """Seconds until the agent was no longer heard; None if it did not stop."""
        return None if self.stopped_at is None else self.stopped_at - self.at


@attrs.frozen
class Cut:
    """The agent was cut off while it was heard.

    Attributes:
        at: When.
        outcome: ``resumed``: it went on. ``interrupted``: it did not go on, because the user said
            something. ``given_up``: it did not go on, and the user had said nothing.
    """

    at: float
    outcome: Literal["resumed", "interrupted", "given_up"]


@attrs.frozen
class Overlap:
    """Both were heard.

    Attributes:
        at: When it began.
        by: Who began to speak while the other spoke.
        seconds: How long.
    """

    at: float
    seconds: float
    by: Literal["user", "agent"]


@attrs.frozen
class Blip:
    """Less than 0.7 s of the agent was heard before it was interrupted.

    Attributes:
        at: When it ended.
        seconds: How long it was heard.
        trigger: What ended it.
    """

    at: float
    seconds: float
    trigger: str


@attrs.frozen
class StateHeld:
    """A state was held.

    Attributes:
        at: From when on.
        state: The state.
        seconds: How long.
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
        deferred: It had to wait before it was taken.
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
        end: ``result``, ``error``, ``cancelled``, or ``released``: it goes on without its turn.
    """

    at: float
    name: str
    end: str


@attrs.frozen
class Reported:
    """The session has reported something beside its triggers.

    Attributes:
        at: When.
        event: What: a component has failed or was switched, audio or a transcript is missing, the
            session has closed.
    """

    at: float
    event: SessionEvent


@attrs.frozen
class LongWait:
    """What the session waited for took long, and was reported.

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
        start, end: When, in seconds.
        cause: One of `CAUSES`.
        why: The cause in a sentence, with the times and names of this conversation.
        spoken: The user said words then.
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
class Quiet:
    """The agent was not heard.

    Attributes:
        parts: One after the other, each with its cause.
    """

    parts: tuple[Part, ...]


@attrs.frozen
class Silence:
    """Nobody was heard for longer than a limit.

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
    | Cut
    | Overlap
    | Blip
    | StateHeld
    | Refusal
    | LimitReached
    | TurnEnd
    | ToolEnd
    | LongWait
    | Quiet
    | Silence
    | Reported
)
