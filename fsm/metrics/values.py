"""What is measured in a conversation, each as a value with its time."""

from __future__ import annotations

from typing import Literal, TypeAlias, get_args

import attrs

__all__ = [
    "CAUSES",
    "Blip",
    "Cause",
    "Cut",
    "Interruption",
    "Overlap",
    "Part",
    "Quiet",
    "Refusal",
    "Response",
    "Silence",
    "StateHeld",
    "ToolEnd",
    "TurnEnd",
    "Value",
]

Cause = Literal[
    "user_has_the_floor",
    "endpointing",
    "application",
    "model",
    "voice",
    "output_held",
    "tool_running",
    "refused",
    "winding_down",
    "own_state",
    "nothing_asked",
]
CAUSES: tuple[Cause, ...] = get_args(Cause)


@attrs.frozen
class Response:
    """A committed turn was answered.

    Attributes:
        at: When the user had stopped speaking; for a turn without voice, its commit.
        heard_at: When the answer was first heard.
    """

    at: float
    heard_at: float

    @property
    def seconds(self) -> float:
        """The response latency."""
        return self.heard_at - self.at


@attrs.frozen
class Interruption:
    """The user began to speak while the agent was heard.

    Attributes:
        at: When the user began.
        outcome: ``interrupted``: the agent stopped for good; ``resumed``: it stopped and went on;
            ``talked_through``: it did not stop; ``ended``: it had said all within 2 s, and the user
            still spoke.
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
        outcome: ``resumed``: it went on; ``interrupted``: it did not, and words or a turn of the
            user say why; ``given_up``: it did not, and the user had said nothing.
    """

    at: float
    outcome: Literal["resumed", "interrupted", "given_up"]


@attrs.frozen
class Overlap:
    """Both were heard.

    Attributes:
        by: Who began while the other spoke.
    """

    at: float
    seconds: float
    by: Literal["user", "agent"]


@attrs.frozen
class Blip:
    """So little was heard of the agent before it was interrupted that it means nothing.

    Attributes:
        at: When it ended.
        trigger: What ended it.
    """

    at: float
    seconds: float
    trigger: str


@attrs.frozen
class StateHeld:
    """A state was held from `at` on."""

    at: float
    state: str
    seconds: float


@attrs.frozen
class Refusal:
    """A trigger was refused."""

    at: float
    trigger: str
    state: str
    why: str


@attrs.frozen
class TurnEnd:
    """It is certain what became of a committed turn of the user.

    Attributes:
        number: Its place in the conversation, from 1.
        outcome: ``replied``, ``superseded`` or ``dropped``.
        kept: It had to wait before it was taken.
    """

    at: float
    number: int
    outcome: str
    kept: bool


@attrs.frozen
class ToolEnd:
    """A tool call has ended for its turn.

    Attributes:
        end: ``result``, ``error``, ``cancelled``, or ``released``: it goes on without its turn.
    """

    at: float
    name: str
    end: str


@attrs.frozen
class Part:
    """A stretch of time in which the agent was silent for one cause.

    Attributes:
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
    """The agent was not heard, from one stretch of its audio to the next."""

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
        """What took the most of it; of equals the first."""
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
    | TurnEnd
    | ToolEnd
    | Quiet
    | Silence
)
