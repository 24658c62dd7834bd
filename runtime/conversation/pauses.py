"""Finds the pauses in audio of speech."""

from __future__ import annotations

from array import array
from collections.abc import Iterator

import attrs

__all__ = ["Pause", "Pauses", "Sound"]

_STEP = 0.02
"""Length of the analysis windows, in seconds."""
_QUIET = 1 / 30
"""The highest peak of a pause, as a share of the loudest peak so far."""
_SHORTEST = 0.12
"""The shortest pause, in seconds. A shorter one is inside a word."""


@attrs.frozen
class Sound:
    """A piece of audio of a speech.

    Attributes:
        samples: 16 bits each, in the byte order of the machine; channels alternate.
        per_second: Samples per second, over all channels.
    """

    samples: bytes | memoryview
    per_second: int


@attrs.frozen
class Pause:
    """A quiet part of a speech, in seconds of its audio.

    Attributes:
        start: Its beginning.
        end: Its end, or that of the audio so far.
    """

    start: float
    end: float


class Pauses:
    """The pauses of one speech, found as its audio arrives.

    Example:
        >>> from array import array
        >>> from turnfsm.runtime.conversation.pauses import Pauses, Sound
        >>> pauses = Pauses()
        >>> second = array("h", [9000] * 600 + [0] * 200 + [9000] * 200).tobytes()
        >>> pauses.came(Sound(second, 1000))
        >>> list(pauses)
        [Pause(start=0.6, end=0.8)]
    """

    def __init__(self) -> None:
        self._found: list[Pause] = []
        self._loudest = 0
        self._at = 0.0
        self._quiet_since: float | None = None

    def came(self, sound: Sound) -> None:
        """Add the next piece of audio."""
        samples = array("h")
        samples.frombytes(bytes(sound.samples))
        size = max(1, round(sound.per_second * _STEP))
        for first in range(0, len(samples), size):
            part = samples[first : first + size]
            self._judge(max(max(part), -min(part)))
            self._at = round(self._at + len(part) / sound.per_second, 6)

    def __iter__(self) -> Iterator[Pause]:
        yield from self._found
        if (last := self._last()) is not None:
            yield last

    def _judge(self, peak: int) -> None:
        self._loudest = max(self._loudest, peak)
        if peak > self._loudest * _QUIET:
            if (last := self._last()) is not None:
                self._found.append(last)
            self._quiet_since = None
        elif self._quiet_since is None:
            self._quiet_since = self._at

    def _last(self) -> Pause | None:
        since = self._quiet_since
        if since is None or self._at - since < _SHORTEST:
            return None
        return Pause(since, self._at)
