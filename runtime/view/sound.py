"""The recording of a conversation: the audio that a page plays, and its loudness over time."""

from __future__ import annotations

import array
import base64
import io
import sys
import wave
from pathlib import Path

import attrs

from turnfsm.fsm.errors import TurnfsmError

__all__ = ["Sound", "read_sound"]

MOST_PEAKS = 24_000
"""The maximum number of peaks of one channel: enough to see single words in half an hour."""

FINEST = 0.02  # seconds of one peak

LARGEST = 12_000_000
"""Bytes of samples that a page contains uncompressed; more is compressed."""

BITRATE = 48_000


@attrs.frozen
class Sound:
    """A recording.

    Attributes:
        name: What it was read from.
        data: What a browser plays.
        type: Its media type.
        seconds: How long it is.
        channels: 2: the user is left and the agent right. 1: both in one.
        peaks: How loud each channel is, 0 to 255, in equal parts of the time; base64.
    """

    name: str
    data: bytes = attrs.field(repr=False)
    type: str
    seconds: float
    channels: int
    peaks: list[str] = attrs.field(repr=False)


def read_sound(path: str | Path) -> Sound:
    """Read a WAV file of 16 bit samples with one or two channels.

    A file of more than 12 MB is compressed to Opus with PyAV, which livekit-agents installs.

    Raises:
        TurnfsmError: It cannot be read, is not such a WAV file, or is too large and PyAV is
        missing.
    """
    try:
        data = Path(path).read_bytes()
    except OSError as error:
        why = (error.strerror or str(error)).lower()
        raise TurnfsmError(f"{path}: {why}; name a WAV file that can be read") from None
    try:
        with wave.open(io.BytesIO(data)) as file:
            channels, width, rate = file.getnchannels(), file.getsampwidth(), file.getframerate()
            raw = file.readframes(file.getnframes())
    except (wave.Error, EOFError, RuntimeError) as error:
        why = str(error) or "it ends too early"
        raise TurnfsmError(f"{path}: not a readable WAV file ({why}); {_CONVERT}") from None
    if width != 2 or channels not in (1, 2) or not 4_000 <= rate <= 192_000:
        raise TurnfsmError(
            f"{path}: {channels} channels of {8 * width} bit at {rate} Hz; a page plays one or two "
            f"channels of 16 bit at 4000 to 192000 Hz; {_CONVERT}"
        )
    samples = array.array("h")
    samples.frombytes(raw[: len(raw) // (2 * channels) * 2 * channels])
    if sys.byteorder == "big":
        samples.byteswap()
    seconds = len(samples) / channels / rate
    if not samples:
        raise TurnfsmError(f"{path}: a WAV file without sound; name the recording")
    peaks = [_peaks(samples[n::channels], seconds) for n in range(channels)]
    kind = "audio/wav"
    if len(raw) > LARGEST:
        data, kind = _compressed(path, data), "audio/webm"
    return Sound(str(path), data, kind, seconds, channels, peaks)


_CONVERT = "convert it, for example: ffmpeg -i IN -c:a pcm_s16le -ac 2 OUT.wav"


def _peaks(channel: array.array[int], seconds: float) -> str:
    count = max(1, min(MOST_PEAKS, round(seconds / FINEST)))
    size = len(channel) / count
    step = max(1, int(size) // 200)  # in a long recording, only some of the samples
    loud = bytearray()
    for number in range(count):
        part = channel[
            int(number * size) : max(int((number + 1) * size), 1 + int(number * size)) : step
        ]
        loud.append(min(255, max(max(part, default=0), -min(part, default=0)) >> 7))
    return base64.b64encode(loud).decode()


def _compressed(path: str | Path, data: bytes) -> bytes:
    """The recording as Opus in WebM, which browsers seek exactly."""
    try:
        import av
    except ModuleNotFoundError:
        raise TurnfsmError(
            f"{path}: {len(data) / 1e6:.0f} MB, too large for a page as it is; "
            "pip install 'turnfsm[livekit]' to compress it"
        ) from None
    out = io.BytesIO()
    with av.open(io.BytesIO(data), "r") as source, av.open(out, "w", format="webm") as target:
        stereo = source.streams.audio[0].codec_context.layout.name
        stream = target.add_stream("libopus", rate=48_000, layout=stereo)
        stream.bit_rate = BITRATE
        resampler = av.AudioResampler(format="s16", layout=stereo, rate=48_000)
        for frame in source.decode(audio=0):
            for part in resampler.resample(frame):
                target.mux(stream.encode(part))
        for part in resampler.resample(None):
            target.mux(stream.encode(part))
        target.mux(stream.encode(None))
    return out.getvalue()
