"""`python -m bench.noise FOLDER`: noises while the agent speaks, on both sessions.

    python -m bench.noise tau2-bench/data/voice/background_noise_audio_pcm_mono_verified
    python -m bench.noise FOLDER --docs        the same, into docs/overlap.md

FOLDER has WAV files, perhaps in subfolders; a folder `bursts` has short sounds, which are repeated
every ten seconds. Each noise is heard by a real VAD and a real STT. Their reports are then replayed
while the agent speaks for a minute, in virtual time.
"""

from __future__ import annotations

import asyncio
import wave
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import attrs
import numpy as np
from livekit.agents import AgentSession

from turnfsm.runtime.demo.speech import PCM, RATE, resample
from turnfsm.testing import ScriptedTTS, Utterance

from .frame import Frame
from .frame import table as markdown
from .heard import Heard, scripted_vad
from .overlap_calls import SESSIONS, STORY, telling

__all__ = ["main", "mixed", "table"]

_SPEECH_RMS = 3000.0
_RATIOS = (15.0, 5.0, -5.0)
"""Speech to noise, in dB. tau-voice: 15 for continuous noises, 10 to -5 for bursts."""
_MINUTE = 60.0
_BURST_EVERY = 10.0
_BEGINS = 4.0  # the agent speaks by then


@attrs.frozen
class Seen:
    """A minute of the agent's speech over a noise.

    Attributes:
        pauses: How often the agent fell silent in its speech.
        silent: For how many seconds in total.
        heard: The share of the speech that was heard.
    """

    pauses: int
    silent: float
    heard: float


def mixed(noise: PCM, ratio: float, *, burst: bool) -> PCM:
    """A minute of a noise.

    Args:
        noise: Mono samples at RATE Hz.
        ratio: Speech to noise, in dB; the RMS of the speech is 3000.
        burst: It is repeated every ten seconds; otherwise without a gap.
    """
    rms = np.sqrt(np.mean(noise.astype(np.float64) ** 2))
    gain = _SPEECH_RMS / 10 ** (ratio / 20) / max(rms, 1.0)
    loud = (noise * gain).clip(-32768, 32767).astype(np.int16)
    if burst:
        loud = np.pad(loud, (0, max(0, round(_BURST_EVERY * RATE) - len(loud))))
    return np.resize(loud, round(_MINUTE * RATE))


def play(sounds: Sequence[Utterance]) -> dict[str, Seen]:
    """The agent speaks for a minute while these sounds are made, on each session."""
    return {name: _play(sounds, session) for name, session in SESSIONS.items()}


def _play(sounds: Sequence[Utterance], session: Callable[..., AgentSession[Any]]) -> Seen:
    count = len(STORY.split(". "))
    seconds = (_MINUTE + 2.0) / count
    tts = ScriptedTTS(seconds_per_word=seconds / (len(STORY.split()) / count))
    outcome = telling(session, sounds, _BEGINS, tts, scripted_vad()).run(2.5 * _MINUTE)
    story = [heard for heard in outcome.heard if heard.text and heard.text in STORY]
    gaps = [after.start - one.end for one, after in pairwise(story)]
    gaps = [gap for gap in gaps if gap > 0.01]
    whole = seconds * count
    return Seen(len(gaps), sum(gaps), sum(one.end - one.start for one in story) / whole)


def table(seen: Mapping[tuple[str, float], tuple[float, Mapping[str, Seen]]]) -> str:
    """The figures as Markdown.

    Args:
        seen: By noise and ratio: the seconds that the VAD took for speech, and the outcomes.
    """
    rows = []
    for noise in dict.fromkeys(noise for noise, _ in seen):
        ratios = [ratio for other, ratio in seen if other == noise]
        spans = [(f"{ratio:g} dB", ratio) for ratio in ratios]
        if not any(seen[noise, ratio][0] for ratio in ratios):
            spans = [(f"{ratios[0]:g} to {ratios[-1]:g} dB", ratios[-1])]
        for span, ratio in spans:
            voice, by_session = seen[noise, ratio]
            rows.append((noise, span, f"{voice:.1f} s", *map(_cell, by_session.values())))
    *_, (_, last) = seen.values()
    heads = (f"`{name}`" for name in last)
    return markdown(("noise", "speech to noise", "taken for speech", *heads), rows)


def _cell(one: Seen) -> str:
    if one.heard > 0.99:
        return f"{one.pauses} ({one.silent:.1f} s)"
    return f"{one.pauses} ({one.silent:.1f} s), stops after {100 * one.heard:.0f} %"


async def _hear(files: Sequence[Path]) -> dict[tuple[str, float], list[Utterance]]:
    heard = Heard.load()
    found = {}
    for file in files:
        noise, burst = _read(file), file.parent.name == "bursts"
        for ratio in _RATIOS:
            name = file.stem.replace("_", " ")
            found[name, ratio] = await heard.sounds(mixed(noise, ratio, burst=burst))
    await heard.aclose()
    return found


def _read(file: Path) -> PCM:
    with wave.open(str(file)) as clip:
        samples = np.frombuffer(clip.readframes(clip.getnframes()), np.int16)
        left = samples[:: clip.getnchannels()]
        return resample(np.ascontiguousarray(left), clip.getframerate(), RATE)


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, and print or write."""
    frame = Frame(str(__doc__), "overlap.md", arguments, folder={"flag": "folder", "type": Path})
    folder = frame.options.folder
    files = sorted(folder.rglob("*.wav"))
    if not files:
        raise SystemExit(f"{folder} has no WAV files; give the folder of the noises")
    heard = asyncio.run(_hear(files))
    seen = {
        which: (sum(one.duration for one in sounds), play(sounds))
        for which, sounds in heard.items()
    }
    frame.show(table(seen))


if __name__ == "__main__":
    main()
