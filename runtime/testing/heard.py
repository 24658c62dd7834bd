"""What the user heard."""

from __future__ import annotations

import attrs

__all__ = ["Heard"]


@attrs.frozen
class Heard:
    """Audio that the user heard without a break.

    Attributes:
        start, end: In seconds from the start of the stage.
        text: The words that were heard.
    """

    start: float
    end: float
    text: str
    """The words whose middle was heard."""
