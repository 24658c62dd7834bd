"""Which words a listener heard of an utterance, by its samples."""

from collections.abc import Iterator

import numpy as np
import pytest

from turnfsm.runtime.demo.speech import PCM
from turnfsm.runtime.demo.tts import PiperTTS, PiperVoice

HZ = 1000
FIRST, SECOND = "One two three four.", "Five six."


class Tones(PiperVoice):
    """A voice whose sentences last as long as they have letters."""

    def __init__(self) -> None:
        self.rate = HZ

    def sentences(self, text: str, *, slower: float = 1.0) -> Iterator[PCM]:
        yield np.full(100 * len(text), len(text), np.int16)


@pytest.fixture
def spoken() -> tuple[PiperTTS, bytes]:
    """Two sentences as they reach the output: 10 ms of silence between them."""
    piper = PiperTTS(Tones())
    pcm = [next(piper.voice.sentences(text)).tobytes() for text in (FIRST, SECOND)]
    for text, samples in zip((FIRST, SECOND), pcm, strict=True):
        piper.remember(text, samples)
    return piper, bytes(2 * HZ // 100).join(pcm)


@pytest.mark.parametrize(
    ("part", "heard"),
    [
        (0.0, ""),
        (0.02, ""),
        (0.34, "One two"),
        (0.68, "One two three four."),
        (0.84, "One two three four. Five"),
        (1.0, "One two three four. Five six."),
    ],
)
def test_words_follow_the_samples(spoken: tuple[PiperTTS, bytes], part: float, heard: str) -> None:
    """A sentence's words are spread evenly over its own samples, whatever the speed."""
    piper, pcm = spoken
    assert piper.words_in(pcm, round(part * len(pcm))) == heard


def test_sentence_that_was_cut_off_before_it_was_complete(spoken: tuple[PiperTTS, bytes]) -> None:
    """An interruption may come before all samples were handed over."""
    piper, pcm = spoken
    half = bytearray(pcm[: len(pcm) // 3])
    assert piper.words_in(half, len(half)) == "One two"


def test_unknown_samples_say_nothing(spoken: tuple[PiperTTS, bytes]) -> None:
    """Sound that this voice never made has no words and no end of its own."""
    piper, _ = spoken
    assert piper.words_in(b"\x01\x02" * 500, 1000) == ""
