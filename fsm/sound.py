"""Sounds that an agent plays: WAV files with samples of 16 bit and one channel."""

from __future__ import annotations

import wave
from collections.abc import Iterator
from pathlib import Path

import attrs

__all__ = ["Sound", "read_sound"]

_BYTES = 2
_PIECE = 0.02


@attrs.frozen
class Sound:
    """A recorded sound.

    Attributes:
        rate: Samples per second.
        pcm: The samples, of 16 bit each.
    """

    rate: int
    pcm: bytes = attrs.field(repr=False)

    @property
    def seconds(self) -> float:
        """Its duration."""
        return len(self.pcm) / _BYTES / self.rate

    def pieces(self) -> Iterator[bytes]:
        """The samples in pieces of 20 ms; the last one may be shorter."""
        size = round(self.rate * _PIECE) * _BYTES
        for start in range(0, len(self.pcm), size):
            yield self.pcm[start : start + size]


def read_sound(file: Path) -> Sound:
    """Read a WAV file.

    Raises:
        ValueError: The file cannot be played. The message is a remedy.
    """
    convert = f"convert it: ffmpeg -i {file.name} -ac 1 -c:a pcm_s16le OUT.wav"
    try:
        with wave.open(str(file), "rb") as read:
            sound = Sound(read.getframerate(), read.readframes(read.getnframes()))
            fits = (read.getnchannels(), read.getsampwidth()) == (1, _BYTES)
    except OSError as exc:
        raise ValueError(f"name a readable file; {file}: {exc.strerror}") from None
    except (wave.Error, EOFError):
        raise ValueError(convert) from None
    if not fits or not sound.pcm:
        raise ValueError(convert)
    return sound
