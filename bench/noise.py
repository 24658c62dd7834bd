"""`python -m bench.noise FOLDER`: noises while the agent speaks, on both sessions.

    python -m bench.noise tau2-bench/data/voice/background_noise_audio_pcm_mono_verified
    python -m bench.noise FOLDER --docs        the same, into docs/overlap.md

FOLDER has WAV files, perhaps in subfolders; a folder `bursts` has short sounds, which are repeated
every ten seconds. Each noise is heard by a real VAD and a real STT. Their reports are then replayed
while the agent speaks for a minute, in virtual time.
"""

from __future__ import annotations

import argparse
import asyncio
import wave
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path

import attrs
import numpy as np
from livekit.agents import __version__ as LIVEKIT

from turnfsm.runtime.demo.speech import PCM, RATE, resample
from turnfsm.testing import ScriptedLLM, ScriptedTTS, ScriptedUser, Stage, Utterance

from .docs import DOCS, write_table
from .heard import Heard, replay, scripted_vad
from .overlap_calls import ANSWER, ASKED, SESSIONS, STORY

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


def _play(sounds: Sequence[Utterance], session: object) -> Seen:
    user = ScriptedUser().says(ASKED, at=0.5, interims=((0.5, "tell"), (1.0, "tell me about")))
    count = len(STORY.split(". "))
    seconds = (_MINUTE + 2.0) / count
    outcome = Stage(
        session,  # type: ignore[arg-type]
        user=replay(sounds, user, _BEGINS),
        llm=ScriptedLLM({ASKED: STORY}, otherwise=ANSWER),
        tts=ScriptedTTS(seconds_per_word=seconds / (len(STORY.split()) / count)),
        vad=scripted_vad(),
    ).run(2.5 * _MINUTE)
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
    heads = " | ".join(f"`{name}`" for name in SESSIONS)
    lines = [
        f"| noise | speech to noise | taken for speech | {heads} |",
        "| --- | ---: | ---: |" + " ---: |" * len(SESSIONS),
    ]
    for noise in dict.fromkeys(noise for noise, _ in seen):
        ratios = [ratio for other, ratio in seen if other == noise]
        if not any(seen[noise, ratio][0] for ratio in ratios):
            span = f"{ratios[0]:g} to {ratios[-1]:g} dB"
            lines.append(_line(noise, span, *seen[noise, ratios[-1]]))
            continue
        lines += [_line(noise, f"{ratio:g} dB", *seen[noise, ratio]) for ratio in ratios]
    return "\n".join(lines)


def _line(noise: str, ratio: str, voice: float, by_session: Mapping[str, Seen]) -> str:
    cells = " | ".join(_cell(one) for one in by_session.values())
    return f"| {noise} | {ratio} | {voice:.1f} s | {cells} |"


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
    how = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(
        prog="python -m bench.noise", description=__doc__, formatter_class=how
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--docs", action="store_true", help="write docs/overlap.md")
    options = parser.parse_args(arguments)
    files = sorted(options.folder.rglob("*.wav"))
    if not files:
        raise SystemExit(f"{options.folder} has no WAV files; give the folder of the noises")
    heard = asyncio.run(_hear(files))
    seen = {
        which: (sum(one.duration for one in sounds), play(sounds))
        for which, sounds in heard.items()
    }
    text = table(seen)
    print(text)
    if options.docs:
        text += (
            f"\n\nWritten by `python -m bench.noise --docs FOLDER`, with livekit-agents {LIVEKIT}."
        )
        write_table(DOCS / "overlap.md", "python -m bench.noise", text)


if __name__ == "__main__":
    main()
