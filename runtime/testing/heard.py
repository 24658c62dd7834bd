"""What the user heard, and the lines of a timeline."""

from __future__ import annotations

import attrs

__all__ = ["Heard", "TimelineEntry"]


@attrs.frozen
class Heard:
    """Audio that the user heard without a break.

    Attributes:
        start, end: In seconds from the start of the stage.
        text: The words whose middle was heard.
    """

    start: float
    end: float
    text: str = ""

    def since(self, origin: float) -> Heard:
        """The same, in seconds from another origin."""
        return Heard(round(self.start - origin, 6), round(self.end - origin, 6), self.text)


@attrs.frozen
class TimelineEntry:
    """One line of the timeline.

    Attributes:
        at: In seconds.
        lane: Who it is about, such as ``user`` or ``agent``.
        what: What happened.
    """

    at: float
    lane: str
    what: str

    def __str__(self) -> str:
        return f"{self.at:7.3f}  {self.lane:<8} {self.what}"
